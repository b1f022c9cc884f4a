"""Rows that a sequence begins with, from ops that begin with zeros.

A row of ones less the same rows, one later, is 1 in the first row and 0 in all others. A convolution of that has any first rows
and then zeros. So what a state holds at first is part of the graph: offline, in streams, after a reset and in saved states.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from .recovered import Recovered


def begins(graph: Recovered, like: int, rows: Tensor) -> int:
    """A value with these first rows [K, width], and then zeros, as many as `like` has."""
    first, (count, width) = first_row(graph, like), rows.shape
    if count == 1:
        return graph.emit("linear", [first], [("weight", rows.T)], {"bias": 0}, width, graph.ops[like].rows)
    kernel = rows.flip(0).T[:, None, :, None].contiguous()
    attributes = {"stride_t": 1, "stride_f": 1, "groups": 1, "bias": 0, "frequency": 0}
    return graph.emit("conv2d", [first], [("weight", kernel)], attributes, width, graph.ops[like].rows)


def first_row(graph: Recovered, like: int) -> int:
    """1 in the first row, 0 in the others."""
    one = ones(graph, like)
    return graph.emit("add", [one, graph.affine(graph.shift(one, 1), -torch.ones(1), torch.zeros(1))])


def ones(graph: Recovered, like: int) -> int:
    """1 in every row."""
    return graph.affine(
        graph.select(source_of(graph, like), torch.zeros(1, dtype=torch.long)), torch.zeros(1), torch.ones(1)
    )


def source_of(graph: Recovered, like: int) -> int:
    """A value of the same rows that is always finite: an input of numbers. Else the value itself."""
    ids = {i for op in graph.ops if op.kind == "embedding" for i in op.inputs}
    found = (
        i
        for i, op in enumerate(graph.ops[: like + 1])
        if op.kind == "input" and i not in ids and op.rows == graph.ops[like].rows
    )
    return graph.flat(next(found, like))
