"""From a module to a model folder, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .as_it_is import enough_rows
from .blame import unexpected
from .compact import compact
from .errors import ImportFailed, Problem, merged
from .export import Exported, address, float64_default, prepare
from .inputs import Input, mark_audio, parse_input, parse_outputs
from .known import marked
from .lengths import LEAST, Lengths, Runs, lengths_of, loops as looping
from .loops import LOOP, ROW_BY_ROW
from .match import Importer
from .named import renamed
from .prove import far_length, prove, table_length
from .report import report_of
from .settle import WHOLE, settle
from .state.proof import prove_steps
from .state.step import Stepped, has_state, stepped
from .torchscript import python_module
from .wrappers import copied
from .write import document, write

LENGTH, LONGEST = 509, 8192  # rows of the example; most rows while taps are cut


@dataclass
class Imported:
    importer: Importer
    model: dict[str, Any]  # model.json
    tensors: dict[str, torch.Tensor]
    report: dict[str, Any]
    stepped: Stepped | None = None  # a module with its state as inputs and results
    settled: int = 0  # rows of zeros before the first one

    def write(self, folder: Path) -> None:
        write(Path(folder), self.model, self.tensors, self.report)


def matched(module: nn.Module, inputs: Sequence[Input], length: int, names: Sequence[str] | None) -> Importer:
    exported = Exported(module, inputs, length)
    if len(exported.arguments) != len(inputs):
        raise ImportFailed(
            [
                Problem(
                    "--input",
                    "",
                    f"the module reads {len(exported.arguments)} inputs, {len(inputs)} are named",
                    "name each one",
                )
            ]
        )
    with float64_default():
        importer = Importer(exported).run()
        count = len(exported.results)
        names = list(names or (["y"] if count == 1 else [f"y{i}" for i in range(count)]))
        if len(names) != count:
            raise ImportFailed(
                [
                    Problem(
                        "--output", "", f"the module returns {count} tensors, {len(names)} are named", "name each one"
                    )
                ]
            )
        importer.outputs(names)
    importer.problems = merged(renamed(importer.problems, exported.nodes, address))
    return importer


def match_at_a_clear_length(
    module: nn.Module, inputs: Sequence[Input], length: int, names: Sequence[str] | None, lengths: Lengths
) -> Importer:
    importer = matched(module, inputs, lengths.example(length), names)
    for attempt in range(1, 4):
        if importer.unclear:
            importer = match_a_little_longer(module, inputs, length, attempt, names, lengths) or importer
    return importer


def match_a_little_longer(
    module: nn.Module, inputs: Sequence[Input], length: int, attempt: int, names: Sequence[str] | None, lengths: Lengths
) -> Importer | None:
    """At the first of these lengths that the module takes."""
    for step in (6, 16, 256) if lengths.stride == 1 else (2 * lengths.stride,):
        try:
            return matched(module, inputs, lengths.example(length + attempt * step), names)
        except ImportFailed as e:
            failed = e
    if lengths.stride > 1:
        raise failed
    return None


def match_longer(
    module: nn.Module, inputs: Sequence[Input], length: int, names: Sequence[str] | None, lengths: Lengths
) -> Importer | None:
    """None: the module means something else at this length, for example beyond the length of its filters."""
    try:
        importer = match_at_a_clear_length(module, inputs, length, names, lengths)
    except ImportFailed:
        return None
    return None if importer.problems else importer


def worth_doubling(importer: Importer, first: int, length: int, longest: int | None) -> bool:
    """Whether taps are cut, and a longer example is not too long. Rows of frames are fewer than samples."""
    rows = [c.lags.shape[1] for c in importer.convolutions if c.cut] + [table.rows for table in importer.tables]
    if not rows:
        return importer.masked and length == first and longest is None
    if longest is not None:
        return 2 * length <= longest
    return 2 * length <= LONGEST or 2 * max(rows) <= LONGEST and length < 4 * first


def refuse_loops(module: nn.Module, inputs: Sequence[Input], length: int, known: bool, runs: Runs) -> None:
    """Raises ImportFailed for loops over the rows, told from few rows: export writes out every one, which takes long."""
    parts, short = looping(runs, length)
    if short is None:
        return
    ready = prepare(module, inputs, short, known)
    if parts and not marked(ready):
        raise ImportFailed([Problem(part, type(ready.get_submodule(part)).__name__, *LOOP) for part in parts])
    try:
        problems = matched(ready, inputs, short, None).problems
    except ImportFailed:
        return  # the example's length says more
    if found := [p for p in problems if p.reason.startswith(ROW_BY_ROW)]:
        raise ImportFailed(found)


def proven(
    ready: nn.Module,
    inputs: Sequence[Input],
    length: int,
    longest: int | None,
    outputs: Sequence[str] | None,
    log: Callable[[str], None],
    lengths: Lengths,
) -> tuple[Importer, dict[int, float]]:
    """The matched graph, and its largest error at each length."""
    log(f"export at length {length}")
    first, importer = length, match_at_a_clear_length(ready, inputs, length, outputs, lengths)
    while not importer.problems and worth_doubling(importer, first, length, longest):
        length *= 2
        log(f"taps reach the example's length: export at length {lengths.example(length + 1)}")
        longer = match_longer(ready, inputs, length + 1, outputs, lengths)
        if longer is None:
            log("the module takes no longer sequence: its taps end with the example")
            break
        importer = longer
    if importer.problems:
        raise ImportFailed(importer.problems)
    importer.graph.tidy()
    return importer, prove(importer, ready, inputs, log, lengths)


def attempted(
    module: nn.Module,
    inputs: Sequence[Input],
    length: int,
    longest: int | None,
    outputs: Sequence[str] | None,
    known: bool,
    log: Callable[[str], None],
    lengths: Lengths,
) -> tuple[Importer, dict[int, float]]:
    """With known layers, and where that fails operation by operation."""
    ready = prepare(module, inputs, length, known)
    try:
        return proven(ready, inputs, length, longest, outputs, log, lengths)
    except ImportFailed as first:
        if not marked(ready):
            raise
        log("import once more, operation by operation")
        try:
            return proven(prepare(module, inputs, length, known=False), inputs, length, longest, outputs, log, lengths)
        except ImportFailed:
            raise first from None


def rows_of_example(inputs: Sequence[Input], length: int | None) -> int:
    if length is not None and length < LEAST:
        raise ImportFailed(
            [
                Problem(
                    "--length",
                    "",
                    f"{length} rows are too few",
                    f"give at least {LEAST} rows, and more than the longest kernel",
                )
            ]
        )
    return inputs[0].rate or LENGTH if length is None else length


def explained(
    module: nn.Module, inputs: Sequence[Input], length: int | None, outputs: Sequence[str] | None
) -> Importer:
    """The matched graph alone, whatever is refused in it."""
    length = rows_of_example(inputs, length)
    module = python_module(module, inputs)
    runs = Runs(copied(module), inputs)
    if runs.shapes(length) is None:
        length = lengths_of(runs, length).example(length)
    return matched(prepare(module, inputs, length), inputs, length, outputs)


def at_its_lengths(
    module: nn.Module,
    inputs: Sequence[Input],
    length: int,
    longest: int | None,
    outputs: Sequence[str] | None,
    known: bool,
    log: Callable[[str], None],
    samples: int,
) -> tuple[Importer, dict[int, float], Lengths]:
    """At the example's length, or where that fails at multiples of the module's stride. `samples`: those of each call."""
    runs, lengths = Runs(copied(module), inputs), Lengths(samples)
    refuse_loops(module, inputs, length, known, runs)
    if samples > 1:
        return *attempted(module, inputs, lengths.example(length), longest, outputs, known, log, lengths), lengths
    if runs.shapes(length) is None:
        lengths = lengths_of(runs, length)
        log(f"the module does not run at length {length}; it does at multiples of {lengths.stride}")
        return *attempted(module, inputs, lengths.example(length), longest, outputs, known, log, lengths), lengths
    try:
        return *attempted(module, inputs, length, longest, outputs, known, log, lengths), lengths
    except ImportFailed as first:
        if any(p.reason.startswith("circular") for p in first.problems):
            raise
        lengths = lengths_of(runs, length)
        if (
            lengths.stride == 1
            or lengths.near(length) == length
            and not any("at length" in p.reason for p in first.problems)
        ):
            raise
    log(f"once more at multiples of the module's stride, {lengths.stride}")
    return *attempted(module, inputs, lengths.example(length), longest, outputs, known, log, lengths), lengths


def import_module(
    module: nn.Module,
    inputs: Sequence[Input | str],
    *,
    length: int | None = None,
    longest: int | None = None,
    name: str = "model",
    outputs: Sequence[str] | None = None,
    known: bool = True,
    recurrences: bool = True,
    min_rows: int = 1,
    log: Callable[[str], None] = lambda text: None,
    state: Mapping[str, str | int] | None = None,
    initial: Mapping[str, object] | None = None,
) -> Imported:
    """Raises ImportFailed with every problem. `length`: rows of the example; it doubles while taps are cut, up to
    `longest`, or else to LONGEST rows of the convolution and four times the length. Offline runs of the folder have as
    many rows, or as many as the longest kernel needs.
    `known`: published layers become layers of the package; without it all is imported operation by operation.
    `recurrences`: taps that are sums of exponentials become recurrences; without it they stay tables.
    `min_rows`: the fewest rows of any sequence; a module that means something else at so many rows or more is refused.
    `state`: input -> the result that the next call reads in its place, by name or index; guessed for inputs without a time axis.
    `outputs`: names of the results; clean=audio@384: samples that lag by so many.
    `initial`: input -> its values before the first row, or ("settle", N): what N rows of zeros leave; else zeros. The name ""
    stands for all states, and of a module without state inputs for all that it remembers."""
    try:
        entries: Sequence[Input] = [parse_input(i) if isinstance(i, str) else i for i in inputs]
        names, lags = parse_outputs(outputs or [])
        outputs = names or None
        module = python_module(module, entries)
        made: Stepped | None = None
        rest: dict[str, Any] = {}
        initial = dict(initial or {})
        whole = initial.get(WHOLE)
        if has_state(entries, state):
            made = stepped(module, entries, state, initial, outputs)
            module, entries, outputs = made.module, made.inputs, made.outputs
            known = known and not made.by_rows
        elif initial.keys() - {WHOLE} or initial and not isinstance(whole, tuple):  # of a module without state inputs
            raise ImportFailed(
                [Problem("--initial", "", "the module has no state", "name its state: --state INPUT=RESULT")]
            )
        settles = made is None and isinstance(whole, tuple)
        known = known and not settles
        length = rows_of_example(entries, length)
        if not 1 <= min_rows <= length:
            raise ImportFailed(
                [
                    Problem(
                        "--min-rows",
                        "",
                        f"expected 1 to {length}, the rows of the example; found {min_rows}",
                        "give the fewest rows of any sequence",
                    )
                ]
            )
        importer, errors, lengths = at_its_lengths(
            module, entries, length, longest, outputs, known, log, made.samples if made else 1
        )
        steps = prove_steps(importer, made, log, lengths) if made else {}
        enough_rows(importer, min_rows)
        if settles and isinstance(whole, tuple):
            log(f"proof behind {whole[1]} rows of zeros")
            rest = settle(importer, copied(module), entries, int(whole[1]), lengths)
        far = far_length(importer.graph, importer.exported.length)
        compact(importer, recurrences)
    except ImportFailed:
        raise
    except (Exception, SystemExit) as e:
        raise ImportFailed([unexpected(e)]) from e
    length = length if lengths.stride == 1 else lengths.example(length)
    length = lengths.near(
        max(
            length,
            lengths.near(far) if far and lengths.near(far) in errors else 0,
            table_length(importer.graph, importer.exported.length),
        )
    )
    model, tensors = document(name, importer.graph, entries, length)
    mark_audio(model, lags)
    report = report_of(importer, errors, min_rows)
    if made:
        report["state"] = {"pairs": made.names, "found": made.notes, **steps}
    if rest:
        report["settled"] = rest
    return Imported(importer, model, tensors, report, made, rest.get("rows", 0))
