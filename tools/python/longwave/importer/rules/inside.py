"""Convolutions along an axis of features, inside each row. The batch of the module is time: (rows, channels, positions)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.node import Node

from ..errors import Refused
from ..nodes import args_of
from ..places import ZERO, Placed
from . import convolution
from .convolution import both, dense, option, spread, zeros_around
from .image import image

if TYPE_CHECKING:
    from ..match import Importer
    from ..recovered import Op, Recovered

MOST_GATHERED = 1 << 16  # numbers of the windows of a row
# The kernel leaves out the products of so many channels with zeros. Windows of fewer channels cost little.
CHANNELS_OF_A_TAP = 33


def conv1d(importer: Importer, n: Node) -> Placed:
    x = importer.settled(args_of(n)[0])
    op = importer.op(x)
    if op.timeless or x.at.dim() != 3 or not x.at.shape[0] == op.rows > 1:
        return convolution.conv1d(importer, n)
    w, bias = importer.constant(args_of(n)[1]), importer.constant(option(n, 2, "bias", None))
    (stride,), (dilation,) = both(option(n, 3, "stride", 1), 1), both(option(n, 5, "dilation", 1), 1)
    w = spread(w, 2, dilation)
    ((before, after),) = zeros_around(option(n, 4, "padding", 0), w.shape[2:])
    order = F.pad(places_in_row(importer, x), (0, 0, before, after), value=ZERO)
    count = (len(order) - w.shape[2]) // stride + 1
    value, skip = convolved(importer.graph, x.value, order, w, bias, stride, option(n, 6, "groups", 1), count)
    made, outs = importer.graph.ops[value], len(w)
    band = torch.arange(skip, skip + count) * (made.dims[-1] if len(made.dims) > 1 else outs)
    return Placed(value, torch.arange(op.rows)[:, None, None] * made.width + band + torch.arange(outs)[:, None])


def places_in_row(importer: Importer, x: Placed) -> Tensor:
    """[positions, channels], the same in every row. ZERO: a zero in every row."""
    op, (rows, channels, length) = importer.op(x), x.at.shape
    p = x.at.reshape(rows, -1)
    order = torch.where(p[0] == ZERO, ZERO, p[0] % op.width)
    if not torch.equal(p, torch.where(order < 0, ZERO, torch.arange(rows)[:, None] * op.width + order)):
        raise Refused("its batch is not one time step each", "let the batch be the rows in order")
    return order.reshape(channels, length).T


def convolved(
    graph: Recovered, value: int, order: Tensor, w: Tensor, bias: Tensor | None, stride: int, groups: int, count: int
) -> tuple[int, int]:
    """A value whose bands are the positions of the result, and how many bands lie before the first.

    As the op pads where the value is such an image already, or has many channels. Else its windows side by side, which a matrix
    multiplies, or an image with zeros of its own.
    """
    outs, _, taps = w.shape
    channels, half = order.shape[1], (taps - 1) // 2
    depthwise = groups == channels == outs > 1
    if count == 1 and not depthwise:
        return single(graph, value, order[:taps], dense(w, groups), bias), 0
    inner = order[half : len(order) - half]
    if is_image(graph.ops[value], order, half):
        return image(graph, value, w[:, :, None], bias, (1, stride), groups, len(inner)), 0
    if half > 0 and channels >= CHANNELS_OF_A_TAP and around(order, half) and len(inner) > 1:
        return image(graph, graph.arranged(value, inner), w[:, :, None], bias, (1, stride), groups, len(inner)), 0
    if not depthwise and outs >= 8 and count * taps * channels <= MOST_GATHERED:
        windows = order.unfold(0, taps, stride).movedim(1, 2)  # [count, taps, channels]
        gathered = graph.arranged(value, windows.reshape(count, -1))
        return image(
            graph, gathered, dense(w, groups).transpose(1, 2).reshape(outs, -1, 1, 1), bias, (1, 1), 1, count
        ), 0
    front = -half % stride  # the op adds `half` zeros at both ends: the first bands of its result may lie there
    skip = (half + front) // stride
    back = max(0, (count + skip - 1) * stride + taps - half - front - len(order) - half)
    padded = F.pad(order, (0, 0, front, back), value=ZERO)
    return image(graph, graph.arranged(value, padded), w[:, :, None], bias, (1, stride), groups, len(padded)), skip


def around(order: Tensor, half: int) -> bool:
    """Whether both ends are the zeros that a convolution adds itself."""
    return len(order) > 2 * half and bool((order[:half] == ZERO).all() and (order[len(order) - half :] == ZERO).all())


def is_image(op: Op, order: Tensor, half: int) -> bool:
    """Whether the places are all features of the op in order, between the zeros that a convolution adds itself."""
    inner, channels, there = order[half : len(order) - half], order.shape[1], around(order, half)
    dims = (len(inner),) if channels == 1 else (channels,) if len(inner) == 1 else (len(inner), channels)
    return there and op.dims == dims and torch.equal(inner.reshape(-1), torch.arange(op.width))


def single(graph: Recovered, value: int, order: Tensor, w: Tensor, bias: Tensor | None) -> int:
    """One position: a matrix of the features that it reads. It stays float32 as other convolutions do, unless it has one tap."""
    place, weight = order.T.reshape(-1), w.reshape(len(w), -1).to(torch.float64)
    read, at = place[place >= 0].unique(return_inverse=True)
    if len(read) == 0:
        read, at = torch.zeros(1, dtype=torch.long), torch.zeros(0, dtype=torch.long)
    matrix = torch.zeros(len(w), len(read), dtype=torch.float64).index_add(1, at, weight[:, place >= 0])
    flat, attributes = graph.flat(value), {"weights": "float32"} if w.shape[2] > 1 else {}
    if 2 * len(read) > graph.ops[flat].width:
        return graph.linear(graph.take(flat, read), matrix, bias, attributes)
    return graph.emit(
        "linear",
        [graph.select(flat, read)],
        [("weight", matrix), ("bias", bias)],
        attributes | {"bias": int(bias is not None)},
        len(w),
    )


RULES = {"conv1d": conv1d}
