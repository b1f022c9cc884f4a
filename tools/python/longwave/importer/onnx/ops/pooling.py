"""Pools over windows, and over all of the last axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch.nn.functional as F
from torch import Tensor

from ...errors import Refused
from ..call import Call
from .convolution import around, window
from .shape import padded

MAXIMUM = {1: F.max_pool1d, 2: F.max_pool2d}
MEAN = {1: F.avg_pool1d, 2: F.avg_pool2d}


def prepared(
    c: Call, x: Tensor, table: Mapping[int, Callable[..., Any]]
) -> tuple[list[int], list[int], list[int], list[tuple[int, int]], bool]:
    kernel = c.ints("kernel_shape", default=[])
    axes = x.dim() - 2
    if axes not in table:
        raise Refused(f"pools shape {list(x.shape)}", "pools over one or two axes are read")
    strides, dilations = window(c, axes, kernel)
    return (
        kernel,
        strides,
        dilations,
        around(c, x.shape[2:], kernel, strides, dilations),
        bool(c.integer("ceil_mode", 0)),
    )


def max_pool(c: Call) -> Tensor:
    c.only_outputs(1, "the places of its maxima")
    x = c.tensor(0)
    kernel, strides, dilations, zeros, ceil = prepared(c, x, MAXIMUM)
    equal = all(a == b and 2 * a <= k for (a, b), k in zip(zeros, kernel))
    if not equal:
        x = padded(x, [(0, 0), (0, 0), *zeros], value=float("-inf"))
    return MAXIMUM[x.dim() - 2](x, kernel, strides, [a for a, _ in zeros] if equal else 0, dilations, ceil)


def average_pool(c: Call) -> Tensor:
    x = c.tensor(0)
    kernel, strides, dilations, zeros, ceil = prepared(c, x, MEAN)
    counted = bool(c.integer("count_include_pad", 0))
    if any(d != 1 for d in dilations):
        raise Refused(f"a mean with dilations {dilations}", "use dilation 1")
    equal = all(a == b and 2 * a <= k for (a, b), k in zip(zeros, kernel))
    if not equal and not counted and any(map(any, zeros)):
        raise Refused(f"pads by {zeros} and does not count the zeros", "use count_include_pad=1")
    if not equal:
        x = padded(x, [(0, 0), (0, 0), *zeros])
    return MEAN[x.dim() - 2](x, kernel, strides, [a for a, _ in zeros] if equal else 0, ceil, counted)


def all_of(function: Callable[[Tensor, list[int]], Tensor]) -> Callable[[Call], Tensor]:
    return lambda c: function(c.tensor(0), list(range(2, c.tensor(0).dim())))


TABLE = {
    "MaxPool": max_pool,
    "AveragePool": average_pool,
    "GlobalAveragePool": all_of(lambda x, axes: x.mean(axes, True)),
    "GlobalMaxPool": all_of(lambda x, axes: x.amax(axes, True)),
}
