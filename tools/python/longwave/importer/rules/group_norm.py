"""Norms of groups of channels over the whole sequence. They look ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.fx.node import Node

from ..errors import NoOp, Refused, retrain
from ..nodes import args_of
from ..places import Placed, features, groups as of_rows, other_rows
from .convolution import option

if TYPE_CHECKING:
    from ..match import Importer


def group_norm(importer: Importer, n: Node) -> Placed:
    """(1, channels, ...) with time among the other axes."""
    return normed(
        importer,
        n,
        args_of(n)[1],
        importer.constant(option(n, 2, "weight", None)),
        importer.constant(option(n, 3, "bias", None)),
        option(n, 4, "eps", 1e-5),
    )


def instance_norm(importer: Importer, n: Node) -> Placed:
    weight, bias, mean = (
        importer.constant(option(n, i, name, None)) for i, name in ((1, "weight"), (2, "bias"), (3, "running_mean"))
    )
    if mean is not None and not option(n, 5, "use_input_stats", True):
        raise NoOp("uses stored statistics", retrain("use batch norm in eval mode"))
    return normed(importer, n, args_of(n)[0].meta["val"].shape[1], weight, bias, option(n, 7, "eps", 1e-5))


def normed(importer: Importer, n: Node, groups: int, weight: Tensor | None, bias: Tensor | None, eps: float) -> Placed:
    x, graph = importer.settled(args_of(n)[0]), importer.graph
    op, at = importer.op(x), x.at
    if not op.timeless and at.shape[0] == op.rows > 1:
        return inside(importer, n, x, groups, weight, bias, eps)
    if op.timeless or at.shape[0] != 1 or op.rows not in at.shape[2:]:
        other_rows(op.rows, at)
        raise Refused("its rows are not one time step each", "normalise (1, channels, rows)")
    channels, time = at.shape[1], list(at.shape).index(op.rows, 2)
    p = at[0].movedim(time - 1, 0).reshape(op.rows, channels, -1).transpose(1, 2).flatten(1)  # (rows, bands * channels)
    order = features(graph, x.moved(p), 1)
    bands = p.shape[1] // channels
    image = bands > 1 and op.dims == (bands, channels)
    if bands > 1 and not (image and torch.equal(order, torch.arange(op.width))):
        raise Refused(
            "normalises something else than a whole image that a convolution made",
            "normalise the image as the convolution made it",
        )
    value = x.value if bands > 1 else graph.take(graph.flat(x.value), order)
    weight = torch.ones(channels) if weight is None else weight
    bias = torch.zeros(channels) if bias is None else bias
    out = graph.emit(
        "group_norm",
        [value],
        [("weight", weight), ("bias", bias)],
        {"groups": int(groups), "eps": float(eps)},
        dims=graph.ops[value].dims,
    )
    importer.looks_ahead(n)
    # By channel, not by feature of x: a feature may come twice, with two weights.
    made = torch.arange(op.rows * p.shape[1]).reshape(op.rows, bands, channels).transpose(1, 2)
    rest = [extent for axis, extent in enumerate(at.shape) if axis > 1 and axis != time]
    return Placed(out, made.reshape(op.rows, channels, *rest).movedim(0, time - 1)[None])


def inside(
    importer: Importer, n: Node, x: Placed, count: int, weight: Tensor | None, bias: Tensor | None, eps: float
) -> Placed:
    """(rows, channels, ...): parts of each row are normalised."""
    graph, channels = importer.graph, x.at.shape[1]
    value, parts, at = of_rows(graph, x.value, x.at.reshape(len(x.at) * count, -1))
    each = x.at.shape[2:].numel()
    weight, bias = (
        t.repeat_interleave(each)
        for t in (torch.ones(channels) if weight is None else weight, torch.zeros(channels) if bias is None else bias)
    )
    out = graph.emit(
        "layer_norm",
        [graph.flat(value)],
        [("weight", weight), ("bias", bias)],
        {"eps": float(eps)} | ({"groups": parts} if parts > 1 else {}),
    )
    return Placed(out, at.reshape(x.at.shape))


RULES = {"group_norm": group_norm, "instance_norm": instance_norm}
