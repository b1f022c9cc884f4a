"""Sums, means and maxima over axes, and running sums."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ..call import Call, axis_of


def product(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    for d in sorted(axes, reverse=True):
        x = x.prod(d, keep)
    return x


def reduced(function: Callable[[Tensor, list[int], bool], Tensor]) -> Callable[[Call], Tensor]:
    """The axes are an attribute, and an input in later opsets. None: all, or none where the node says so."""

    def run(c: Call) -> Tensor:
        x, axes = c.tensor(0), c.ints("axes", 1)
        if not axes:
            if c.integer("noop_with_empty_axes", 0):
                return x
            axes = list(range(x.dim()))
        return function(x, [axis_of(a, x.dim()) for a in axes], bool(c.integer("keepdims", 1)))

    return run


def extreme(function: Callable[[Tensor, int, bool], Tensor]) -> Callable[[Call], Tensor]:
    def run(c: Call) -> Tensor:
        x, keep = c.tensor(0), bool(c.integer("keepdims", 1))
        axis = axis_of(c.integer("axis", 0), x.dim())
        if c.integer("select_last_index", 0):
            return x.shape[axis] - 1 - function(x.flip(axis), axis, keep)
        return function(x, axis, keep)

    return run


def running_sum(c: Call) -> Tensor:
    x, axis = c.tensor(0), axis_of(c.number(1, "axis"), c.tensor(0).dim())
    x = x.flip(axis) if c.integer("reverse", 0) else x
    y = x.cumsum(axis)
    y = y - x if c.integer("exclusive", 0) else y
    return y.flip(axis) if c.integer("reverse", 0) else y


TABLE = {
    "ReduceMean": reduced(lambda x, axes, keep: x.mean(axes, keep)),
    "ReduceSum": reduced(lambda x, axes, keep: x.sum(axes, keep)),
    "ReduceMax": reduced(lambda x, axes, keep: x.amax(axes, keep)),
    "ReduceMin": reduced(lambda x, axes, keep: x.amin(axes, keep)),
    "ReduceProd": reduced(product),
    "ReduceL1": reduced(lambda x, axes, keep: x.abs().sum(axes, keep)),
    "ReduceL2": reduced(lambda x, axes, keep: x.square().sum(axes, keep).sqrt()),
    "ReduceSumSquare": reduced(lambda x, axes, keep: x.square().sum(axes, keep)),
    "ReduceLogSum": reduced(lambda x, axes, keep: x.sum(axes, keep).log()),
    "ReduceLogSumExp": reduced(lambda x, axes, keep: torch.logsumexp(x, axes, keep)),
    "ArgMax": extreme(torch.argmax),
    "ArgMin": extreme(torch.argmin),
    "CumSum": running_sum,
}
