"""The recovered graph against the module as it is, in its own type: at the example's length, and at short lengths of all sizes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .errors import ImportFailed, Problem
from .execute import execute
from .export import float64_default
from .inputs import Input
from .lengths import Lengths, short_lengths
from .match import Importer
from .recovered import Output, Recovered

ROUNDED = 1e-3  # of the peak: rounding, not meaning


def rows_of(output: Output, result: Tensor) -> Tensor:
    result = result.to(torch.float64)
    if output.axis is None:
        return result.reshape(1, -1)
    rows = result.movedim(output.axis, 0)
    return rows.reshape(len(rows) // output.steps, output.steps * rows.shape[1:].numel())  # no rows have a width too


def as_it_is(importer: Importer, module: nn.Module, inputs: Sequence[Input], length: int, lengths: Lengths) -> None:
    """Against the module in its own type: at the example's length, at short ones, and between those that it takes whole.
    Notes the least number of rows at which it means the same, and what is different below: convolutions in too small
    circles and branches on the length are like that. `enough_rows` judges it."""
    worst, peaks = difference(importer.graph, module, inputs, length)
    if worst is None or worst > ROUNDED:
        raise ImportFailed(
            [
                Problem(
                    "",
                    "",
                    f"the module itself differs from its export by {worst or 0:.1e} of the peak",
                    "check it in eval mode",
                )
            ]
        )
    importer.warnings += zeros(importer, peaks)
    peak = max(peaks, default=0.0)

    def other(n: int) -> float:
        return difference(importer.graph, module, inputs, n, peak)[0] or 0.0

    short = short_lengths(lengths, length)
    last = next((n for n in reversed(short) if other(n) > ROUNDED), None)
    if last is not None:
        least = next((n for n in short if n > last), length)
        low = last
        while least - low > lengths.stride:
            middle = lengths.near((low + least) // 2)
            middle = middle if middle < least else middle - lengths.stride
            low, least = (middle, least) if other(middle) > ROUNDED else (low, middle)
        worst = other(last)
        how = "it has another number of rows" if worst == float("inf") else f"it differs by {worst:.1e} of the peak"
        importer.least, importer.below = (
            least,
            f"the module means something else below {least} rows, and the file does not: at {last} rows {how}",
        )
    if lengths.stride > 1:
        importer.warnings.append(between(importer.graph, module, inputs, lengths))


def enough_rows(importer: Importer, given: int) -> None:
    """Raises ImportFailed where the module means something else at `given` rows or more: a stream begins with one row."""
    if importer.least > given:
        raise ImportFailed(
            [
                Problem(
                    "",
                    "",
                    importer.below,
                    "streams begin with one row: let all lengths mean the same; or, if no sequence "
                    f"is shorter, say so: --min-rows {importer.least}, in Python min_rows={importer.least}",
                )
            ]
        )
    if importer.least:
        importer.warnings.append(importer.below)


def zeros(importer: Importer, peaks: Sequence[float]) -> list[str]:
    """What the comparisons say nothing about: weights as they are before a training, often."""
    parts = [f"{o.name}: is zero for random inputs" for o, peak in zip(importer.graph.outputs, peaks) if peak == 0]
    parts += [
        f"{c.where}: all taps of its convolution are zero"
        for c in importer.convolutions
        if not bool(c.lags[:, 1:].any()) and not bool(c.ahead.any())
    ]  # lag 0 may be a direct path beside it
    return [f"{part}, so no comparison tells anything of it: import trained weights" for part in parts]


def between(graph: Recovered, module: nn.Module, inputs: Sequence[Input], lengths: Lengths) -> str:
    """What the module does at other lengths than multiples of its stride."""
    base = lengths.near(8 * lengths.stride)
    found = [
        difference(graph, module, inputs, base + part)[0]
        for part in sorted({1, lengths.stride // 2, lengths.stride - 1})
    ]
    whole = f"compared at multiples of {lengths.stride} rows" + (f", plus {lengths.rest}" if lengths.rest else "")
    if all(worst is None for worst in found):
        return f"{whole}: the module takes no others"
    same = all(worst is None or worst <= ROUNDED for worst in found)
    return (
        f"{whole}; others are the same"
        if same
        else f"{whole}: at others the module also counts a part of a stride, which the file leaves out"
    )


@torch.no_grad()
def difference(
    graph: Recovered, module: nn.Module, inputs: Sequence[Input], length: int, peak: float = 0.0
) -> tuple[float | None, list[float]]:
    """From the module in its own type, and the peak of each output. None: the module does not run so, or gives no numbers. `peak`: below a
    hundredth of it, results are rounding."""
    floats = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
    x = [i.example(length, floats, seed=7) for i in inputs]
    try:
        expected = [t for t in torch.utils._pytree.tree_leaves(module(*x)) if isinstance(t, Tensor)]
        expected = [rows_of(o, e) for o, e in zip(graph.outputs, expected, strict=True)]
    except (Exception, SystemExit):  # whatever the module raises: it does not take so few rows
        return None, []
    if not all(bool(torch.isfinite(e).all()) for e in expected):
        return None, []
    try:
        with float64_default():
            found = execute(graph, [i.rows(t) for i, t in zip(inputs, x)])
    except RuntimeError:  # values of different rows: a part of a stride
        return float("inf"), []
    worst = 0.0
    for f, e in zip(found, expected):
        if f.shape != e.shape:
            return float("inf"), []
        if e.numel():
            worst = max(worst, float((f - e).abs().max() / max(float(e.abs().max()), peak / 100, 1e-30)))
    return (worst if worst == worst else float("inf")), [float(e.abs().max()) for e in expected if e.numel()]
