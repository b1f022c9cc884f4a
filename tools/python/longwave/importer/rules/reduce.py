"""Means, sums and largest values: over time one row for the whole sequence, over time and features one after the other."""
from __future__ import annotations

import torch
from torch import Tensor

from ..decompositions import written
from ..errors import NoOp, Refused, retrain
from ..places import ZERO, Placed, more_rows
from .linear import matrix

DEVIATIONS = {"var", "std", "var_mean", "std_mean"}


def axes(x: Placed, dims) -> list[int]:
    count = x.at.dim()
    return list(range(count)) if dims is None or dims == [] else [d % count for d in ([dims] if isinstance(dims, int) else dims)]


def over_time(importer, x: Placed, dims: list[int]) -> bool:
    """Whether elements along these axes are of several rows."""
    op = importer.op(x)
    if op.timeless or x.at.numel() == 0:
        return False
    row = torch.where(x.at < 0, -1, x.at // op.width).movedim(dims, list(range(-len(dims), 0))).flatten(-len(dims))
    return bool((row.amax(-1) > torch.where(row < 0, op.rows, row).amin(-1)).any())


def reduce(importer, n) -> Placed:
    """mean and sum."""
    x, kind = importer.settled(n.args[0]), importer.kind(n)
    dims = axes(x, n.args[1] if len(n.args) > 1 else n.kwargs.get("dim"))
    keep = n.args[2] if len(n.args) > 2 else n.kwargs.get("keepdim", False)
    if all(x.at.shape[d] == 1 for d in dims) and importer.op(x).rows > 1:
        return x if keep else x.moved(x.at.squeeze(tuple(dims)))
    if not over_time(importer, x, dims):
        return matrix(importer, n)
    if kind == "sum" and (written(n) or ("", ""))[1] in DEVIATIONS:
        raise Refused("divides by the number of rows less one, which changes with the length", retrain("use correction=0, which takes the mean"))
    return reduced(importer, x, dims, kind, keep)


def reduced(importer, x: Placed, dims: list[int], mode: str, keep: bool) -> Placed:
    """All rows, and the features along the same axes, to one number for each element that is left: mean, sum or max."""
    op, graph = importer.op(x), importer.graph
    kept = [d for d in range(x.at.dim()) if d not in dims]
    p = x.at.permute(*kept, *dims).reshape(torch.Size(x.at.shape[d] for d in kept).numel(), -1).sort(-1).values  # zeros of pads first, then row by row
    zeros, rest = divmod(int((p[0] == ZERO).sum()), op.rows)
    p = p[:, zeros * op.rows:]
    if rest or p.shape[1] == 0 or p.shape[1] % op.rows or not in_order(p.reshape(len(p), op.rows, -1), op.width):
        more_rows(op.rows, x.at)
        raise Refused("its rows are not one time step each", "reduce all rows of the sequence")
    order = p.reshape(len(p), op.rows, -1)[:, 0]
    value, at = graph.emit("mean", [graph.flat(x.value)], [], {"mode": mode}, timeless=True), order[:, 0]
    if order.shape[1] > 1 or zeros:
        value, at = features(graph, value, order, zeros, mode), torch.arange(len(order))
    at = at.reshape([x.at.shape[d] for d in kept])
    for d in sorted(dims) if keep else []:
        at = at.unsqueeze(d)
    return Placed(value, at)


def in_order(p: Tensor, width: int) -> bool:
    """[elements, rows, features]: whether each element has the same features of every row."""
    return bool((p[:, 0] < width).all() and (p[:, 0] >= 0).all()) and torch.equal(p, torch.arange(p.shape[1])[:, None] * width + p[:, :1])


def features(graph, value: int, order: Tensor, zeros: int, mode: str) -> int:
    """The features `order` [elements, features] of a value, and so many zeros, to one number for each element."""
    count = order.shape[1]
    if mode == "max":
        return largest_of(graph, value, order, zeros)
    weight = torch.zeros(len(order), graph.ops[value].width, dtype=torch.float64)
    weight.scatter_add_(1, order, torch.full(order.shape, 1.0 if mode == "sum" else 1.0 / (count + zeros), dtype=torch.float64))
    return graph.linear(value, weight)


def largest_of(graph, value: int, order: Tensor, zeros: int) -> int:
    """Half against half, until one is left: max(a, b) = a + relu(b - a)."""
    while (count := order.shape[1]) > 1:
        half = (count + 1) // 2
        a, b = (graph.select(value, part.flatten()) for part in (order[:, :half], order[:, count - half:]))
        width = graph.ops[a].width
        less = graph.emit("add", [b, graph.affine(a, -torch.ones(width), torch.zeros(width))])
        value = graph.emit("add", [a, graph.emit("relu", [less])])
        order = torch.arange(len(order) * half).reshape(len(order), half)
    value = graph.take(value, order.flatten())
    return graph.emit("relu", [value]) if zeros else value


def adaptive(importer, n):
    """Pooling to one row for the whole sequence; along frequencies, to one band or to all of them."""
    x = importer.settled(n.args[0])
    kind = importer.kind(n)
    count, mode = 2 if kind.endswith("2d") else 1, "max" if "max" in kind else "mean"
    sizes = n.args[1] if isinstance(n.args[1], (list, tuple)) else [n.args[1]] * count
    sizes = [None for _ in range(count)] if not sizes else list(sizes) * (count if len(sizes) == 1 else 1)
    dims = list(range(x.at.dim() - count, x.at.dim()))
    for dim, size in zip(dims, sizes):
        if size not in (None, 1, x.at.shape[dim]):
            raise Refused(f"pools to {size} windows whose sizes change with the length", retrain("pool to 1, or use windows of a fixed size"))
    ones = [dim for dim, size in zip(dims, sizes) if size == 1 and x.at.shape[dim] > 1]
    if not ones:
        return [x, None] if mode == "max" else x
    if over_time(importer, x, ones):
        out = reduced(importer, x, ones, mode, True)
    elif mode == "mean":
        out = matrix(importer, n)
    else:
        raise Refused("takes the largest of features", retrain("take the largest value over time only"))
    return [out, None] if mode == "max" else out


def largest(importer, n):
    """amax, and max along one axis with its values only."""
    if len(n.all_input_nodes) > 1:
        raise NoOp("the larger of two values has no op", retrain("use relu or clamp"))
    x, kind = importer.settled(n.args[0]), importer.kind(n)
    dims = axes(x, n.args[1] if len(n.args) > 1 else n.kwargs.get("dim"))
    keep = n.args[2] if len(n.args) > 2 else n.kwargs.get("keepdim", False)
    if importer.op(x).timeless or not over_time(importer, x, dims):
        raise Refused("takes the largest of features", retrain("take the largest value over time only"))
    out = reduced(importer, x, dims, "max", keep)
    return [out, None] if kind == "max" and len(n.args) > 1 else out


RULES = {"mean": reduce, "sum": reduce, "amax": largest, "max": largest,
         "adaptive_avg_pool1d": adaptive, "adaptive_avg_pool2d": adaptive, "adaptive_max_pool1d": adaptive, "adaptive_max_pool2d": adaptive}
