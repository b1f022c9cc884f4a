"""Running sums over time."""

from __future__ import annotations

import torch

from ..errors import Refused
from ..places import Placed, features, natural
from ..probe import time_axis


def over_time(importer, n) -> tuple[int, Placed]:
    """The value whose rows are summed along time, and the places of the result."""
    x = importer.settled(n.args[0])
    dim = n.args[1] % x.at.dim()
    op = importer.op(x)
    if op.timeless or x.at.shape[dim] != op.rows:
        raise Refused("sums along features", "multiply by a triangular matrix instead")
    at = x.at.movedim(dim, 0).reshape(op.rows, -1)
    order = features(importer.graph, x.moved(at), 1)
    value = importer.graph.take(importer.graph.flat(x.value), order)
    return value, natural(value, x.at.shape, time_axis(x.at.shape, op.rows))


def cumsum(importer, n) -> Placed:
    value, places = over_time(importer, n)
    ones = torch.ones(importer.graph.ops[value].width, 1)
    return Placed(importer.graph.emit("exponential_scan", [value], [("lambda", ones), ("c", ones)]), places.at)


def logcumsumexp(importer, n) -> Placed:
    value, places = over_time(importer, n)
    return Placed(importer.graph.emit("cumulative_softmax", [value], [], {"start": 0, "log": 1}), places.at)


RULES = {"cumsum": cumsum, "logcumsumexp": logcumsumexp}
