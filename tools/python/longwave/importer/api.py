"""From a module to a model folder, in one call."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from .errors import ImportFailed, Problem
from .export import Exported, float64_default, prepare
from .inputs import Input, parse_input
from .match import Importer
from .prove import prove
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


def import_module(module: nn.Module, inputs: Sequence[Input | str], *, length: int | None = None, longest: int | None = None, name: str = "model",
                  outputs: Sequence[str] | None = None, log=lambda text: None) -> Imported:
    """Raises ImportFailed with every problem. `length`: rows of the example; it doubles up to `longest` while taps are cut."""
    inputs = [parse_input(i) if isinstance(i, str) else i for i in inputs]
    length = length or (inputs[0].rate or LENGTH)
    longest = longest or max(length, LONGEST)
    log(f"export at length {length}")
    ready = prepare(module, inputs, length)
    importer = match_at_a_clear_length(ready, inputs, length, outputs)
    while any(c.cut for c in importer.convolutions) and not importer.problems and 2 * length <= longest:
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
    errors = prove(importer, ready, inputs, log)
    model, tensors = document(name, importer.graph, inputs, importer.exported.length)
    return Imported(importer, model, tensors, report_of(importer, errors))
