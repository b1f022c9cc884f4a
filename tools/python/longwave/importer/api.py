"""From a module to a model folder, in one call."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from .compact import compact
from .errors import ImportFailed, Problem
from .export import Exported, address, float64_default, prepare
from .inputs import Input, parse_input
from .known import marked
from .match import Importer
from .named import renamed
from .prove import far_length, prove, table_length
from .report import report_of
from .write import document, write

LENGTH, LONGEST = 509, 8192  # rows of the example; most rows while taps are cut


@dataclass
class Imported:
    importer: Importer
    model: dict  # model.json
    tensors: dict[str, torch.Tensor]
    report: dict

    def write(self, folder: Path) -> None:
        write(Path(folder), self.model, self.tensors, self.report)


def matched(module: nn.Module, inputs: Sequence[Input], length: int, names: Sequence[str] | None) -> Importer:
    exported = Exported(module, inputs, length)
    if len(exported.arguments) != len(inputs):
        raise ImportFailed([Problem("--input", "", f"the module reads {len(exported.arguments)} inputs, {len(inputs)} are named", "name each one")])
    with float64_default():
        importer = Importer(exported).run()
        count = len(exported.results)
        names = list(names or (["y"] if count == 1 else [f"y{i}" for i in range(count)]))
        if len(names) != count:
            raise ImportFailed([Problem("--output", "", f"the module returns {count} tensors, {len(names)} are named", "name each one")])
        importer.outputs(names)
    importer.problems = renamed(importer.problems, exported.nodes, address)
    return importer


def match_at_a_clear_length(module, inputs, length: int, names) -> Importer:
    for attempt in range(4):
        importer = matched(module, inputs, length + 6 * attempt, names)
        if not importer.unclear:
            break
    return importer


def match_longer(module, inputs, length: int, names) -> Importer | None:
    """None: the module means something else at this length, for example beyond the length of its filters."""
    try:
        importer = match_at_a_clear_length(module, inputs, length, names)
    except ImportFailed:
        return None
    return None if importer.problems else importer


def worth_doubling(importer: Importer, first: int, length: int, longest: int | None) -> bool:
    """Whether taps are cut, and a longer example is not too long. Rows of frames are fewer than samples."""
    rows = [c.lags.shape[1] for c in importer.convolutions if c.cut]
    if not rows:
        return False
    if longest is not None:
        return 2 * length <= longest
    return 2 * length <= LONGEST or 2 * max(rows) <= LONGEST and length < 4 * first


def proven(ready: nn.Module, inputs: Sequence[Input], length: int, longest: int | None, outputs, log) -> tuple[Importer, dict[int, float]]:
    """The matched graph, and its largest error at each length."""
    log(f"export at length {length}")
    first, importer = length, match_at_a_clear_length(ready, inputs, length, outputs)
    while not importer.problems and worth_doubling(importer, first, length, longest):
        length *= 2
        log(f"taps reach the example's length: export at length {length + 1}")
        longer = match_longer(ready, inputs, length + 1, outputs)
        if longer is None:
            log("the module takes no longer sequence: its taps end with the example")
            break
        importer = longer
    if importer.problems:
        raise ImportFailed(importer.problems)
    importer.graph.tidy()
    return importer, prove(importer, ready, inputs, log)


def import_module(module: nn.Module, inputs: Sequence[Input | str], *, length: int | None = None, longest: int | None = None, name: str = "model",
                  outputs: Sequence[str] | None = None, known: bool = True, recurrences: bool = True, log=lambda text: None) -> Imported:
    """Raises ImportFailed with every problem. `length`: rows of the example; it doubles while taps are cut, up to
    `longest`, or else to LONGEST rows of the convolution and four times the length. Offline runs of the folder have as
    many rows, or as many as the longest kernel needs.
    `known`: published layers become layers of the package; without it all is imported operation by operation.
    `recurrences`: taps that are sums of exponentials become recurrences; without it they stay tables."""
    inputs = [parse_input(i) if isinstance(i, str) else i for i in inputs]
    length = length or (inputs[0].rate or LENGTH)
    ready = prepare(module, inputs, length, known)
    try:
        importer, errors = proven(ready, inputs, length, longest, outputs, log)
    except ImportFailed as first:
        if not marked(ready):
            raise
        log("import once more, operation by operation")
        try:
            importer, errors = proven(prepare(module, inputs, length, known=False), inputs, length, longest, outputs, log)
        except ImportFailed:
            raise first from None
    far = far_length(importer.graph, importer.exported.length)
    compact(importer, recurrences)
    length = max(length, far if far in errors else 0, table_length(importer.graph, importer.exported.length))
    model, tensors = document(name, importer.graph, inputs, length)
    return Imported(importer, model, tensors, report_of(importer, errors))
