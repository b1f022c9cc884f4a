"""From a .onnx file to a module that the importer takes, with its inputs and outputs by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..api import rows_of_example
from ..errors import ImportFailed, Problem
from ..inputs import Input, parse_outputs
from ..lengths import LEAST
from .graph import OnnxGraph
from .interface import Value, check_rates, fixed_of, inputs_of, values_of
from .limits import NUMBERS, too_much
from .overlap import Overlap, overlaps
from .reader import Model, read
from .states import pairs


@dataclass
class Opened:
    """`inputs`, `outputs`: all of the module, with its states. `states`: input -> output. `length`: rows of the example, where
    the file or the user says them. `notes`: what names and shapes alone decided. `warnings`: what is likely wrong."""

    model: Model
    module: OnnxGraph
    inputs: list[Input]
    outputs: list[str]
    states: dict[str, str]
    fixed: dict[str, np.ndarray]
    declared: dict[str, Value]
    length: int | None
    notes: list[str] = field(default_factory=list)
    lags: dict[str, int] = field(default_factory=dict)  # outputs that are audio, and by how many samples these are late
    warnings: list[str] = field(default_factory=list)

    @property
    def rows(self) -> list[Input]:
        """The inputs that are no states."""
        return [e for e in self.inputs if e.name not in self.states]

    @property
    def results(self) -> list[str]:
        return [name for name in self.outputs if name not in self.states.values()]


def open_file(
    path: str | Path,
    inputs: Sequence[str] = (),
    fix: Mapping[str, str] | None = None,
    states: Mapping[str, str] | None = None,
    outputs: Sequence[str] | None = None,
    length: int | None = None,
) -> Opened:
    """`inputs`: texts of --input; the shapes decide on the others. `outputs`: the results to keep. `length`: rows of the example, at
    which every node is judged.

    Raises ImportFailed with all that is refused, and OSError.
    """
    model = read(path)
    held = {t.name for t in model.graph.initializer}
    declared = [
        v for v in values_of(model.graph.input) if v.name not in held
    ]  # up to IR version 3 constants are inputs too
    results = values_of(model.graph.output)
    if not results:
        raise ImportFailed([Problem(str(path), "", "the graph has no output", "export the model again")])
    for values, kind in ((declared, "inputs"), (results, "outputs")):
        if twice := next((v.name for i, v in enumerate(values) if v.name in [w.name for w in values[:i]]), None):
            raise ImportFailed([Problem(twice, "", f"two {kind} have this name", "export the model again")])
    fixed = fixed_of(fix or {}, declared)
    rest = [v for v in declared if v.name not in fixed]
    named = {text.partition("=")[0] for text in inputs if "T" in text.partition("=")[2]}
    given, found = pairs(states or {}, [v for v in rest if v.name not in named], results)
    states = given | found
    entries = inputs_of(rest, inputs, states)
    check_rates(fixed, entries)
    if all(e.name in states for e in entries):
        raise ImportFailed([Problem(str(path), "", "no input is left that rows can be", "name it: --input x=1xTx64")])
    wanted, lags = parse_outputs(outputs or [])
    kept = chosen(wanted, [v.name for v in results if v.name not in states.values()], str(path)) + list(states.values())
    known = {v.name: v for v in [*declared, *results]}
    length = length or fixed_length(entries, known)
    rows = rows_of_example(entries, length)
    module = OnnxGraph(model, [e.name for e in entries], kept, fixed)
    examples = [
        torch.empty(bounded(e.name, e.sized(rows)), dtype=torch.long if e.vocabulary else torch.float32, device="meta")
        for e in entries
    ]
    module.judge(examples)
    over = overlaps(module, [e for e in entries if e.name not in states], examples, known)
    notes = [f"{name} is a state that becomes {result}; say another with --state" for name, result in found.items()]
    told = {text.partition("=")[0] for text in inputs}
    notes += [
        f"input {shape_text(e)}{audio_hint(e, over.get(e.name))}"
        for e in entries
        if e.name not in told and e.name not in states
    ]
    warnings = [str(overlap) for overlap in over.values() if overlap.entry.rate]
    return Opened(model, module, entries, kept, states, fixed, known, length, notes, lags, warnings)


def fixed_length(entries: Sequence[Input], declared: Mapping[str, Value]) -> int | None:
    """The rows that the file fixes, where these are an example."""
    extents = [declared[e.name].shape[e.shape.index(0)] for e in entries if e.timed]
    return next((n for n in extents if isinstance(n, int) and n >= LEAST), None)


def chosen(wanted: Sequence[str], there: list[str], path: str) -> list[str]:
    for name in wanted:
        if name not in there:
            raise ImportFailed(
                [Problem(f"--output {name}", "", "the graph has no such output", f"its outputs are {', '.join(there)}")]
            )
    if not there:
        raise ImportFailed(
            [Problem(path, "", "every output is a state", "name one state for each input: --state h=hn")]
        )
    return list(wanted or there)


def bounded(name: str, shape: Sequence[int]) -> Sequence[int]:
    if math.prod(shape) > NUMBERS:
        raise too_much(name, "numbers", math.prod(shape), NUMBERS)
    return shape


def shape_text(e: Input) -> str:
    return f"{e.name}=" + "x".join(str(n or "T") for n in e.shape)


def audio_hint(e: Input, overlap: Overlap | None) -> str:
    """Many numbers for each call, which may be samples: nothing in the file tells them from features."""
    samples = not e.timed and e.shape[-1] > 1 and e.width == e.shape[-1] and e.shape[0] == 1
    return (
        f" is one row of features for each call; if it is audio, say its rate: --input {overlap.form if overlap else shape_text(e)}@16000"
        if samples
        else ""
    )


def facts(opened: Opened) -> dict[str, Any]:
    """Of the file, for the report."""
    return {
        "file": opened.model.path.name,
        "opset": opened.model.opset,
        "nodes": len(opened.model.graph.node),
        "states": opened.states,
    }
