"""The proof of a state: the module as it is, called with the state that its last call returned, against the recovered graph."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..as_it_is import ROUNDED, rows_of
from ..errors import ImportFailed, Problem
from ..execute import execute
from ..export import float64_default
from ..known import Wide
from ..lengths import Lengths
from ..match import Importer
from ..prove import EXACT, error
from .rows import Rows
from .step import Stepped, call_with, results_of

STEPS, OWN_STEPS = 400, 60  # in float64; in the type of the module
CHUNKS = 12  # calls of a module of chunks
ROUNDED_CHUNKS = 1e-4  # of the peak, in the type of the module, where it does not run in float64


def compare(importer: Importer, made: Stepped, rows: list[Tensor], found: list[Tensor]) -> float:
    with float64_default():
        graph = execute(importer.graph, [i.rows(x) for i, x in zip(made.inputs, rows)])
    return max(error(g, rows_of(o, f)) for o, g, f in zip(importer.graph.outputs, graph, found, strict=True))


def failed(made: Stepped, worst: float, count: int, calls: int) -> ImportFailed:
    names = ", ".join(p.name for p in made.pairs)
    how = "has another number of rows" if worst == float("inf") else f"differs by {worst:.1e} of the peak"
    return ImportFailed(
        [
            Problem(
                names,
                "state",
                f"the module, called {calls} times with the state that it returned, {how} from a sequence of {count} rows",
                "each call must go on where the last one ended; check --state",
            )
        ]
    )


@torch.no_grad()
def prove_steps(
    importer: Importer, made: Stepped, log: Callable[[str], None], lengths: Lengths = Lengths()
) -> dict[str, float]:
    """How often the module was called, and the largest error of the peak. Raises ImportFailed."""
    return by_rows(importer, made, log) if made.by_rows else by_chunks(importer, made, log, lengths)


def by_rows(importer: Importer, made: Stepped, log: Callable[[str], None]) -> dict[str, float]:
    log(f"proof over {STEPS} steps")
    assert isinstance(made.module, Rows)
    exported, pairs = made.module.exported, made.pairs
    rest = [entry for k, entry in enumerate(made.given) if all(p.argument != k for p in pairs)]
    floats = next((p.dtype for p in made.original.parameters() if p.is_floating_point()), torch.float32)
    worst = 0.0
    for count, dtype, limit in ((STEPS, torch.float64, EXACT), (OWN_STEPS, floats, ROUNDED)):
        steps = [[entry.example(1, dtype, seed=100 + t) for entry in rest] for t in range(count)]
        states, rows = [s.to(dtype) for s in made.first], []
        for step in steps:
            if dtype is torch.float64:
                given, waiting = dict(zip((p.argument for p in pairs), states)), iter(step)
                results = exported.run([given[i] if i in given else next(waiting) for i in range(len(made.given))])
            else:
                results = results_of(call_with(made.original, pairs, step, states))[1]
            states = [results[p.result] for p in pairs]
            rows.append([r for i, r in enumerate(results) if all(p.result != i for p in pairs)])
        x = [torch.stack([step[i] for step in steps]) for i in range(len(rest))]
        x = [t.reshape(1, -1) if entry.rate else t for t, entry in zip(x, rest)]
        found = compare(importer, made, x, [torch.stack([row[i] for row in rows]) for i in range(len(rows[0]))])
        if not found <= limit:
            raise failed(made, found, count, count)
        worst = max(worst, found) if dtype is torch.float64 else worst
    return {"calls": STEPS, "rows": STEPS, "error": worst}


def by_chunks(importer: Importer, made: Stepped, log: Callable[[str], None], lengths: Lengths) -> dict[str, float]:
    """Calls of few rows, and of many."""
    shuffled = random.Random(4)
    cuts = [lengths.stride * shuffled.choice([1, 2, 3, 7, 16, 33]) for _ in range(CHUNKS)]
    total = sum(cuts)
    log(f"proof over {CHUNKS} calls of {min(cuts)} to {max(cuts)} rows")
    floats = next((p.dtype for p in made.original.parameters() if p.is_floating_point()), torch.float32)
    try:
        with Wide():
            worst = chunks(importer, made, copy.deepcopy(made.original).double(), cuts, torch.float64)
            limit = EXACT
    except Exception:  # whatever a module raises that does not run in float64
        worst, limit = chunks(importer, made, made.original, cuts, floats), ROUNDED_CHUNKS
    if not worst <= limit:
        raise failed(made, worst, total, CHUNKS)
    return {"calls": CHUNKS, "rows": total, "error": worst}


def chunks(importer: Importer, made: Stepped, module: nn.Module, cuts: list[int], dtype: torch.dtype) -> float:
    inputs, pairs, states, found = made.inputs, made.pairs, [s.to(dtype) for s in made.first], []
    x = [entry.example(sum(cuts), dtype, seed=9) for entry in inputs]
    at = 0
    for cut in cuts:
        results = results_of(
            call_with(module, pairs, [t.narrow(entry.shape.index(0), at, cut) for t, entry in zip(x, inputs)], states)
        )[1]
        states = [results[p.result] for p in pairs]
        found.append([r for i, r in enumerate(results) if all(p.result != i for p in pairs)])
        at += cut
    joined = [
        torch.cat([part[k] for part in found], output.axis or 0) for k, output in enumerate(importer.graph.outputs)
    ]
    return compare(importer, made, x, joined)
