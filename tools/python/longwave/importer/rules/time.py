"""Pooling over time, and embeddings."""
from __future__ import annotations

import torch

from ..decompositions import written
from ..errors import Refused
from ..places import Placed, features
from .linear import matrix

DEVIATIONS = {"var", "std", "var_mean", "std_mean"}


def reduce(importer, n) -> Placed:
    """mean and sum: over time one row for the sequence, over features a matrix."""
    x = importer.settled(n.args[0])
    op, kind, dims = importer.op(x), importer.kind(n), n.args[1] if len(n.args) > 1 else n.kwargs.get("dim")
    count = x.at.dim()
    dims = list(range(count)) if not dims else [d % count for d in ([dims] if isinstance(dims, int) else dims)]
    keep = n.args[2] if len(n.args) > 2 else n.kwargs.get("keepdim", False)
    if all(x.at.shape[d] == 1 for d in dims) and op.rows > 1:
        return x if keep else x.moved(x.at.squeeze(tuple(dims)))
    time = [] if op.timeless else [d for d in dims if x.at.shape[d] == op.rows]
    if not time:
        return matrix(importer, n)
    if [d for d in dims if d not in time and x.at.shape[d] > 1] or len(time) > 1:
        raise Refused("reduces time and features together", "reduce one after the other")
    if kind == "sum" and (written(n) or ("", ""))[1] in DEVIATIONS:
        raise Refused("divides by the number of rows less one, which changes with the length", "use correction=0, which takes the mean")
    out = reduce_all(importer, x, time[0], kind, True)
    at = out.at
    for d in sorted(dims, reverse=True):
        at = at if keep else at.squeeze(d)
    return out.moved(at)


def reduce_all(importer, x: Placed, time: int, mode: str, keep: bool) -> Placed:
    """All rows of the sequence to one: their mean, sum or largest values."""
    op = importer.op(x)
    p = x.at.movedim(time, 0).reshape(op.rows, -1)
    order = p[0] % op.width
    if not torch.equal(p, torch.arange(op.rows)[:, None] * op.width + order):
        raise Refused("its rows are not one time step each", "reduce all rows of the sequence")
    out = importer.graph.emit("mean", [importer.graph.flat(x.value)], [], {"mode": mode}, timeless=True)
    at = order.reshape([e for d, e in enumerate(x.at.shape) if d != time]).unsqueeze(time)
    return Placed(out, at if keep else at.squeeze(time))


def embedding(importer, n) -> Placed:
    table, x = importer.constant(n.args[0]), importer.placed(n.args[1])
    if importer.op(x).kind != "input":
        raise Refused("its ids are not an input", "give the ids of the sequence as an input")
    features(importer.graph, x.moved(x.at.unsqueeze(-1)), x.at.dim())
    out = importer.graph.emit("embedding", [x.value], [("table", table)], {}, table.shape[1])
    return Placed(out, torch.arange(x.at.numel() * table.shape[1]).reshape(*x.at.shape, table.shape[1]))


RULES = {"mean": reduce, "sum": reduce, "embedding": embedding}
