"""Means, sums and largest values: over time one row for the whole sequence, over time and features one after the other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.fx.node import Node

from ..decompositions import written
from ..errors import Refused, retrain
from ..nodes import args_of, kwargs_of
from ..places import ZERO, Placed, other_rows
from .choice import extreme
from .linear import matrix
from .pointwise import affine, negated

if TYPE_CHECKING:
    from ..match import Importer
    from ..recovered import Recovered

DEVIATIONS = {"var", "std", "var_mean", "std_mean"}


def axes(x: Placed, dims: Sequence[int] | int | None) -> list[int]:
    count = x.at.dim()
    return (
        list(range(count))
        if dims is None or dims == []
        else [d % count for d in ([dims] if isinstance(dims, int) else dims)]
    )


def over_time(importer: Importer, x: Placed, dims: list[int]) -> bool:
    """Whether elements along these axes are of several rows."""
    op = importer.op(x)
    if op.timeless or x.at.numel() == 0:
        return False
    row = torch.where(x.at < 0, -1, x.at // op.width).movedim(dims, list(range(-len(dims), 0))).flatten(-len(dims))
    return bool((row.amax(-1) > torch.where(row < 0, op.rows, row).amin(-1)).any())


def reduce(importer: Importer, n: Node) -> Placed:
    """mean and sum."""
    x, kind = importer.settled(args_of(n)[0]), importer.kind(n)
    dims = axes(x, args_of(n)[1] if len(args_of(n)) > 1 else kwargs_of(n).get("dim"))
    keep = args_of(n)[2] if len(args_of(n)) > 2 else kwargs_of(n).get("keepdim", False)
    if all(x.at.shape[d] == 1 for d in dims) and importer.op(x).rows > 1:
        return x if keep else x.moved(x.at.squeeze(tuple(dims)))
    if not over_time(importer, x, dims):
        over_bands = mean_of_bands(importer, x, dims, keep) if kind == "mean" else None
        return over_bands or matrix(importer, n)
    if kind == "sum" and (written(n) or ("", ""))[1] in DEVIATIONS:
        raise Refused(
            "divides by the number of rows less one, which changes with the length",
            retrain("use correction=0, which takes the mean"),
        )
    if kind == "sum" and (whole := of_equal_shares(importer, args_of(n)[0], x, dims)) is not None:
        return reduced(importer, whole, dims, "mean", keep)
    return reduced(importer, x, dims, kind, keep)


def of_equal_shares(importer: Importer, source: Node, x: Placed, dims: list[int]) -> Placed | None:
    """x times count, where a sum is that of values times 1 / count: a mean, whatever the number of rows. The proof has
    other lengths."""
    if importer.kind(source) != "mul":
        return None
    shares = [a for a in args_of(source) if not (isinstance(a, Node) and importer.varies(a))]
    count = math.prod(x.at.shape[d] for d in dims)
    share = torch.as_tensor(importer.constant(shares[0]) if shares else 0.0, dtype=torch.float64)
    return affine(importer, x, float(count), 0.0) if bool(((share * count - 1).abs() <= 1e-12).all()) else None


def mean_of_bands(importer: Importer, x: Placed, dims: list[int], keep: bool) -> Placed | None:
    """All bands of an image to one, by a pool. None: other features."""
    op, graph = importer.op(x), importer.graph
    if op.timeless or len(op.dims) != 2:
        return None
    kept = [d for d in range(x.at.dim()) if d not in dims]
    p = x.at.permute(*kept, *dims).flatten(len(kept))
    channel = p[..., 0] % op.width
    bands = torch.arange(op.dims[0]) * op.dims[1]
    if (
        p.shape[-1] != len(bands)
        or bool((channel >= op.dims[1]).any())
        or not torch.equal(p, p[..., :1] + bands)
        or int(p.min()) < 0
    ):
        return None
    attributes = {
        "mode": "mean",
        "time": 1,
        "stride_t": 1,
        "frequency": len(bands),
        "stride_f": 1,
        "pad_f": 0,
        "lag": 0,
        "count_outside": 0,
    }
    value = graph.emit("pool", [x.value], [], attributes, op.dims[1], op.rows, (op.dims[1],))
    at = p[..., 0] // op.width * op.dims[1] + channel
    for d in sorted(dims) if keep else []:
        at = at.unsqueeze(d)
    return Placed(value, at)


def reduced(importer: Importer, x: Placed, dims: list[int], mode: str, keep: bool) -> Placed:
    """All rows, and the features along the same axes, to one number for each element that is left: mean, sum or max."""
    op, graph = importer.op(x), importer.graph
    kept = [d for d in range(x.at.dim()) if d not in dims]
    p = (
        x.at.permute(*kept, *dims).reshape(torch.Size(x.at.shape[d] for d in kept).numel(), -1).sort(-1).values
    )  # zeros of pads first, then row by row
    zeros, rest = divmod(int((p[0] == ZERO).sum()), op.rows)
    p = p[:, zeros * op.rows :]
    if rest or p.shape[1] == 0 or p.shape[1] % op.rows or not in_order(p.reshape(len(p), op.rows, -1), op.width):
        other_rows(op.rows, x.at)
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
    return bool((p[:, 0] < width).all() and (p[:, 0] >= 0).all()) and torch.equal(
        p, torch.arange(p.shape[1])[:, None] * width + p[:, :1]
    )


def features(graph: Recovered, value: int, order: Tensor, zeros: int, mode: str) -> int:
    """The features `order` [elements, features] of a value, and so many zeros, to one number for each element."""
    count = order.shape[1]
    if mode == "max":
        return largest_of(graph, value, order, zeros)
    weight = torch.zeros(len(order), graph.ops[value].width, dtype=torch.float64)
    weight.scatter_add_(
        1, order, torch.full(order.shape, 1.0 if mode == "sum" else 1.0 / (count + zeros), dtype=torch.float64)
    )
    return graph.linear(value, weight)


def largest_of(graph: Recovered, value: int, order: Tensor, zeros: int) -> int:
    """Half against half, until one is left."""
    while (count := order.shape[1]) > 1:
        half = (count + 1) // 2
        a, b = (graph.select(value, part.flatten()) for part in (order[:, :half], order[:, count - half :]))
        value = graph.emit("maximum", [a, b])
        order = torch.arange(len(order) * half).reshape(len(order), half)
    value = graph.take(value, order.flatten())
    return graph.emit("relu", [value]) if zeros else value


def largest_features(importer: Importer, x: Placed, dims: list[int], keep: bool) -> Placed:
    """The largest of the features along these axes, in each row."""
    op, graph = importer.op(x), importer.graph
    kept = [d for d in range(x.at.dim()) if d not in dims]
    shape = [x.at.shape[d] for d in kept]
    p = x.at.permute(*kept, *dims).reshape(torch.Size(shape).numel(), -1)
    row = p[:, 0] // op.width
    if int(p.min()) < 0 or not torch.equal(p // op.width, row[:, None].expand(p.shape)):
        raise Refused("takes the largest of several rows and zeros", retrain("take the largest value over time only"))
    of_first = p[row == row.min()] % op.width
    each = row.argsort(stable=True)
    if not torch.equal(
        p[each],
        (torch.arange(op.rows).repeat_interleave(len(of_first)) * op.width)[:, None] + of_first.repeat(op.rows, 1),
    ):
        raise Refused("its rows are not one time step each", "keep one axis of time and one of features")
    value = largest_of(graph, graph.flat(x.value), of_first, 0)
    at = torch.empty(len(p), dtype=torch.long).index_copy(0, each, torch.arange(len(p))).reshape(shape)
    for d in sorted(dims) if keep else []:
        at = at.unsqueeze(d)
    return Placed(value, at)


def adaptive(importer: Importer, n: Node) -> Placed | list[Placed | None]:
    """Pooling to one row for the whole sequence; along frequencies, to one band or to all of them."""
    x = importer.settled(args_of(n)[0])
    kind = importer.kind(n)
    count, mode = 2 if kind.endswith("2d") else 1, "max" if "max" in kind else "mean"
    sizes = args_of(n)[1] if isinstance(args_of(n)[1], (list, tuple)) else [args_of(n)[1]] * count
    sizes = [None for _ in range(count)] if not sizes else list(sizes) * (count if len(sizes) == 1 else 1)
    dims = list(range(x.at.dim() - count, x.at.dim()))
    for dim, size in zip(dims, sizes):
        if size not in (None, 1, x.at.shape[dim]):
            raise Refused(
                f"pools to {size} windows whose sizes change with the length",
                retrain("pool to 1, or use windows of a fixed size"),
            )
    ones = [dim for dim, size in zip(dims, sizes) if size == 1 and x.at.shape[dim] > 1]
    if not ones:
        return [x, None] if mode == "max" else x
    if over_time(importer, x, ones):
        out = reduced(importer, x, ones, mode, True)
    elif mode == "mean":
        out = matrix(importer, n)
    else:
        out = largest_features(importer, x, ones, True)
    return [out, None] if mode == "max" else out


def largest(importer: Importer, n: Node) -> Placed | list[Placed | None]:
    """amax and amin, and max and min along one axis with their values only, or of two values."""
    if len(args_of(n)) > 1 and isinstance(args_of(n)[1], Node):
        return extreme(importer, n)
    x, kind = importer.settled(args_of(n)[0]), importer.kind(n)
    dims = axes(x, args_of(n)[1] if len(args_of(n)) > 1 else kwargs_of(n).get("dim"))
    keep, least = args_of(n)[2] if len(args_of(n)) > 2 else kwargs_of(n).get("keepdim", False), "min" in kind
    x = negated(importer, x) if least else x
    out = (
        reduced(importer, x, dims, "max", keep)
        if over_time(importer, x, dims)
        else largest_features(importer, x, dims, keep)
    )
    out = negated(importer, out) if least else out
    return [out, None] if kind in ("max", "min") and len(args_of(n)) > 1 else out


RULES = {
    "mean": reduce,
    "sum": reduce,
    "amax": largest,
    "max": largest,
    "amin": largest,
    "min": largest,
    "adaptive_avg_pool1d": adaptive,
    "adaptive_avg_pool2d": adaptive,
    "adaptive_max_pool1d": adaptive,
    "adaptive_max_pool2d": adaptive,
}
