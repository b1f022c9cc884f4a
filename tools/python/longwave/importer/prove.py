"""The proof: the recovered graph in float64 against the exported module in float64 at three lengths and a short one, at
one more where a kernel is longer, and against the module as it is, at short lengths of all sizes too."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from .as_it_is import as_it_is, rows_of
from .errors import ImportFailed, Problem, retrain
from .execute import execute
from .export import Exported, float64_default
from .inputs import Input
from .lengths import LEAST, Lengths
from .match import Importer
from .recovered import Recovered

EXACT = 1e-10  # of the peak, against the module in float64
BEYOND, MOST_PRODUCTS = 32, 1 << 34  # rows behind the longest kernel; of the proof there, half a minute in float64


def error(found: Tensor, expected: Tensor) -> float:
    if found.shape != expected.shape:
        return float("inf")
    if expected.numel() == 0:
        return 0.0
    worst = (found - expected).abs().max() / expected.abs().max().clamp(min=1e-30)
    return float(worst) if torch.isfinite(found).all() and torch.isfinite(expected).all() else float("inf")


def other_lengths(length: int, extents: set[int], lengths: Lengths) -> list[int]:
    """Two shorter ones, one odd and one even where the module takes both, and different from every extent of the model."""
    found: list[int] = []
    for part, odd in ((0.83, 1), (0.61, 0)):
        n, step = lengths.near(int(length * part) // 2 * 2 + odd), 2 if lengths.stride == 1 else lengths.stride
        while n in extents or n in found:
            n += step
        found.append(n)
    return found


def far_length(graph: Recovered, length: int) -> int | None:
    """A length at which every tap of the longest kernel weighs a row. None: the example is that long, or its rows are not those of the kernel."""
    far, products = 0, 1
    for op in graph.ops:
        if op.kind not in ("conv2d", "centred_conv"):
            continue
        weight = op.constant("weight")
        ticks, rest = divmod(length, graph.ops[op.inputs[0]].rows)  # of a row
        taps = (weight.shape[2] - 1) * op.attributes.get("dilation", 1) + 1 if op.kind == "conv2d" else weight.shape[1]
        if rest == 0 and taps * ticks > far:
            far, products = taps * ticks, weight.numel()
    if far < length:
        return None
    return max(length, min(far + BEYOND, MOST_PRODUCTS // products))


def table_length(graph: Recovered, length: int) -> int:
    """A length at which every tap of a long_conv weighs a row; those that end with the example may be made for each length."""
    reaches = [
        op.constant("taps").shape[2] * (length // graph.ops[op.inputs[0]].rows)
        for op in graph.ops
        if op.kind == "long_conv"
    ]
    return max((reach + BEYOND for reach in reaches if reach < length), default=0)


def prove(
    importer: Importer,
    module: nn.Module,
    inputs: Sequence[Input],
    log: Callable[[str], None] = lambda text: None,
    lengths: Lengths = Lengths(),
) -> dict[int, float]:
    """Length -> largest error of any output, relative to its peak."""
    length = importer.exported.length
    extents = {extent for op in importer.graph.ops for extent in (op.width, *op.dims)}
    errors = {}
    for n in [length, *other_lengths(length, extents, lengths)]:
        log(f"proof at length {n}")
        try:
            exported = importer.exported if n == length else Exported(module, inputs, n)
        except ImportFailed as e:
            reason = e.problems[0].reason
            raise ImportFailed(
                [
                    Problem(
                        "",
                        "",
                        f"the module does not run at length {n}: {reason}",
                        "it must take every length up to the example's",
                    )
                ]
            ) from e
        errors[n] = prove_at(importer.graph, exported, inputs, n)
        if errors[n] == float("inf") and (few := rows_at(importer.graph, exported, inputs, n)):
            raise ImportFailed([few])
        if errors[n] > EXACT:
            raise ImportFailed(causes(importer, exported, errors[n]))
    as_it_is(importer, module, inputs, length, lengths)
    errors |= prove_short(importer, module, inputs, importer.least, log, lengths)
    errors |= prove_far(importer, module, inputs, log, lengths)
    return errors


def prove_short(
    importer: Importer,
    module: nn.Module,
    inputs: Sequence[Input],
    least: int,
    log: Callable[[str], None],
    lengths: Lengths,
) -> dict[int, float]:
    """The proof at few rows, if the module takes so few. `least`: of those at which it means the same."""
    n = lengths.near(max((LEAST + 1) * min(lengths.stride, 4), lengths.stride, least))
    if 2 * n > importer.exported.length:
        return {}
    log(f"proof at length {n}")
    return prove_if_it_runs(importer, module, inputs, n)


def prove_if_it_runs(importer: Importer, module: nn.Module, inputs: Sequence[Input], n: int) -> dict[int, float]:
    try:
        exported = Exported(module, inputs, n)
    except ImportFailed:
        return {}
    found = prove_at(importer.graph, exported, inputs, n)
    if found > EXACT:
        raise ImportFailed(causes(importer, exported, found))
    return {n: found}


def prove_far(
    importer: Importer, module: nn.Module, inputs: Sequence[Input], log: Callable[[str], None], lengths: Lengths
) -> dict[int, float]:
    """The proof at the length of the longest kernel, if the module takes such a sequence."""
    n = far_length(importer.graph, importer.exported.length)
    if n is None:
        return {}
    n = lengths.near(n)
    if any(op.kind == "positions" for op in importer.graph.ops):
        return {}  # these end with the example
    log(f"proof at length {n}, for the furthest taps")
    return prove_if_it_runs(importer, module, inputs, n)


def prove_at(graph: Recovered, exported: Exported, inputs: Sequence[Input], length: int) -> float:
    x = [i.example(length, torch.float64, seed=7) for i in inputs]
    expected = exported.run(x)
    try:
        with float64_default():
            found = execute(graph, [i.rows(t) for i, t in zip(inputs, x)])
    except RuntimeError:  # values of different rows
        return float("inf")
    return max(error(f, rows_of(o, e)) for o, f, e in zip(graph.outputs, found, expected, strict=True))


def rows_at(graph: Recovered, exported: Exported, inputs: Sequence[Input], length: int) -> Problem | None:
    """The first output whose number of rows is another one at this length."""
    x = [i.example(length, torch.float64, seed=7) for i in inputs]
    try:
        with float64_default():
            found = execute(graph, [i.rows(t) for i, t in zip(inputs, x)])
    except RuntimeError:
        return Problem(
            "",
            "",
            f"its values have different numbers of rows at length {length}",
            retrain("give one row for each complete stride: pad with zeros, or cut the result"),
        )
    for o, f, e in zip(graph.outputs, found, exported.run(x), strict=True):
        rows = len(rows_of(o, e))
        if o.axis is not None and rows != len(f):
            return Problem(
                o.name,
                "output",
                f"has {rows} rows at length {length}, and its graph gives {len(f)}",
                retrain("give one row for each complete stride: pad with zeros, or cut the result"),
            )
    return None


def causes(importer: Importer, exported: Exported, worst: float) -> list[Problem]:
    """Which taps change with the length; else only where it showed."""
    with float64_default():
        again = Importer(exported).run()
    problems = []
    for a, b in zip(importer.convolutions, again.convolutions):
        for x, y in ((a.lags, b.lags), (a.ahead, b.ahead)):
            size = min(x.shape[1], y.shape[1], exported.length - 1)
            top = max(float(x.abs().max()) if x.numel() else 0.0, 1e-300)
            if x.shape[0] != y.shape[0] or size and float((x[:, :size] - y[:, :size]).abs().max()) > EXACT * top:
                problems.append(
                    Problem(
                        a.where,
                        "convolution",
                        "circular convolution: its taps change with the length",
                        "transform at least the rows plus the taps, and let taps not depend on the rows",
                    )
                )
                break
    return (
        problems
        or again.problems
        or [
            Problem(
                "",
                "",
                f"the result at length {exported.length} differs by {worst:.1e} of the peak",
                "nothing may depend on the number of rows, except means and sums over all of them; "
                "where a kernel does not fit into fewer rows, give a longer --length",
            )
        ]
    )
