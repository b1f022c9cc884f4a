"""Running sums over time. Running sums, products and extremes along the features of each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node

from ..errors import NoOp, Refused, retrain
from ..nodes import args_of
from ..places import ZERO, Placed, features, natural, paired, settled
from ..probe import time_axis
from .linear import matrix
from .pointwise import affine, negated
from .reduce import over_time as spans_rows

if TYPE_CHECKING:
    from ..match import Importer


def along(importer: Importer, n: Node) -> tuple[Placed, int, bool]:
    """What is scanned, along which axis, and whether that is time."""
    x = importer.settled(args_of(n)[0])
    dim = args_of(n)[1] % max(x.at.dim(), 1)
    return x, dim, spans_rows(importer, x, [dim])


def over_time(importer: Importer, x: Placed, dim: int) -> tuple[int, Placed]:
    """The value whose rows are summed along time, and the places of the result."""
    op = importer.op(x)
    if x.at.shape[dim] != op.rows:
        raise Refused("its rows are not one time step each", "keep one axis of time and one of features")
    at = x.at.movedim(dim, 0).reshape(op.rows, -1)
    order = features(importer.graph, x.moved(at), 1)
    value = importer.graph.take(importer.graph.flat(x.value), order)
    return value, natural(value, x.at.shape, time_axis(x.at.shape, op.rows))


def cumsum(importer: Importer, n: Node) -> Placed:
    x, dim, time = along(importer, n)
    if not time:
        return matrix(importer, n)
    value, places = over_time(importer, x, dim)
    ones = torch.ones(importer.graph.ops[value].width, 1)
    return Placed(importer.graph.emit("exponential_scan", [value], [("lambda", ones), ("c", ones)]), places.at)


def logcumsumexp(importer: Importer, n: Node) -> Placed:
    x, dim, time = along(importer, n)
    if not time:
        raise NoOp(
            "goes along the features of each row",
            "take the largest feature m, and write (x - m).exp().cumsum(dim).log() + m",
        )
    value, places = over_time(importer, x, dim)
    return Placed(importer.graph.emit("cumulative_softmax", [value], [], {"start": 0, "log": 1}), places.at)


def running_extreme(importer: Importer, n: Node) -> list[Placed | None]:
    """cummax and cummin with their values only: each feature against the one 1, 2, 4, ... before it."""
    x, dim, time = along(importer, n)
    least = importer.kind(n) == "cummin"
    if time:
        raise NoOp(
            f"a running {'minimum' if least else 'maximum'} over all rows so far has no op",
            retrain("use F.max_pool1d over a window of past rows, or torch.logcumsumexp, a smooth maximum"),
        )
    x, by = negated(importer, x) if least else x, 1
    while by < x.at.shape[dim]:
        before = (torch.arange(x.at.shape[dim]) - by).clamp(min=0)
        x, by = paired(importer.graph, "maximum", x, x.moved(x.at.index_select(dim, before))), 2 * by
    return [negated(importer, x) if least else x, None]


def cumprod(importer: Importer, n: Node) -> Placed:
    x, dim, time = along(importer, n)
    if time:
        raise NoOp(
            "a running product over all rows so far has no op", "of positive numbers, write x.log().cumsum(dim).exp()"
        )
    count, by = x.at.shape[dim], 1
    while by < count:
        kept = x.at.narrow(dim, 0, count - by)
        before = settled(
            importer.graph, x.moved(torch.cat([torch.full_like(x.at.narrow(dim, 0, by), ZERO), kept], dim))
        )
        first = (torch.arange(count) < by).to(torch.float64)
        first = first.reshape([count if d == dim else 1 for d in range(x.at.dim())])
        x, by = paired(importer.graph, "mul", x, affine(importer, before, 1.0, first)), 2 * by
    return x


RULES: dict[str, Callable[[Importer, Node], Any]] = {
    "cumsum": cumsum,
    "logcumsumexp": logcumsumexp,
    "cummax": running_extreme,
    "cummin": running_extreme,
    "cumprod": cumprod,
}
