"""Transposed convolutions of images (frequency, channel) that make several rows of each.

Band q of the result holds the frequencies q * stride to q * stride + stride - 1, side by side as channels: an ordinary convolution.
A selection then puts the frequencies in order. Steps in time stay side by side until something reads them as rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.node import Node

from ..errors import Refused, retrain
from ..nodes import args_of
from ..places import NONE, Placed
from .convolution import both, leading, option, spread, ungrouped
from .image import Bands, convolved, opened, transposed_along_frequency, without_zeros
from .transposed import first_read

if TYPE_CHECKING:
    from ..match import Importer
    from ..recovered import Recovered


def conv_transpose2d(importer: Importer, n: Node) -> Placed:
    """(1, channels, time, frequency), or with time last."""
    graph, (x, at, last) = importer.graph, opened(importer, n)
    w, bias = importer.constant(args_of(n)[1]), importer.constant(option(n, 2, "bias", None))
    stride, padding, dilation = (
        both(option(n, index, name, default), 2)
        for index, name, default in ((3, "stride", 1), (4, "padding", 0), (7, "dilation", 1))
    )
    op = importer.op(x)
    if stride[1 if last else 0] == 1:
        return transposed_along_frequency(importer, n)
    w = spread(spread(ungrouped(w, option(n, 6, "groups", 1)), 2, dilation[0]), 3, dilation[1]).to(torch.float64)
    if last:
        w, stride, padding = w.transpose(2, 3), stride[::-1], padding[::-1]
    at, added = without_zeros(at)
    zeros, order = leading(at.permute(1, 2, 0).flatten(1), op.width, op.rows)
    if zeros:
        raise Refused("its rows are not one time step each", "convolve all rows in order")
    time, frequency = (3, 2) if last else (2, 3)
    shape, outs = list(n.meta["val"].shape), w.shape[1]
    cut = padding[0] + first_read(importer, n, time)
    ahead = -(-cut // stride[0])
    kernel = phases(F.pad(w, (0, 0, ahead * stride[0] - cut, 0)), stride, ahead)
    lags = kernel.shape[3]
    bands = Bands(at.shape[2], sum(added) + at.shape[2] + lags - 1, 1, lags - 1 + added[0], lags - 1 + added[1])
    value = convolved(
        graph, x.value, order, kernel, None if bias is None else bias.repeat(stride[0] * stride[1]), 1, bands, 1, ahead
    )
    if ahead:
        importer.looks_ahead(n, ahead)
    made = graph.ops[value]
    f = torch.arange(shape[frequency]) + padding[1]
    if int(f.max()) // stride[1] >= bands.wanted:
        raise Refused("has frequencies that no input reaches", retrain("leave output_padding out"))
    per_band = made.dims[1] if len(made.dims) == 2 else stride[0] * stride[1] * outs if bands.wanted == 1 else 1
    step = torch.arange(stride[0])[:, None, None]
    index = (
        f[None, :, None] // stride[1] * per_band
        + (step * stride[1] + f[None, :, None] % stride[1]) * outs
        + torch.arange(outs)
    )
    steps, bands_out = shape[time], shape[frequency]
    value = selected(graph, value, index.flatten(), bands_out if stride[0] == 1 else 1, outs)
    t = torch.arange(steps)[:, None, None] + padding[0] - cut  # of the rows, one after the other
    places = (t * bands_out + torch.arange(bands_out)[:, None]) * outs + torch.arange(outs)
    places = torch.where((t >= 0) & (t < op.rows * stride[0]), places, NONE)
    return Placed(value, (places.permute(2, 1, 0) if last else places.permute(2, 0, 1))[None])


def phases(w: Tensor, stride: list[int], ahead: int) -> Tensor:
    """[in, out, taps, taps] as the kernel [steps * out, in, lags, lags] of a convolution, the oldest row first."""
    lags = [max(-(-w.shape[2] // stride[0]), ahead + 1), -(-w.shape[3] // stride[1])]
    w = F.pad(w, (0, lags[1] * stride[1] - w.shape[3], 0, lags[0] * stride[0] - w.shape[2]))
    w = w.unflatten(3, (lags[1], stride[1])).unflatten(2, (lags[0], stride[0]))  # [in, out, lag, step, lag, step]
    return w.permute(3, 5, 1, 0, 2, 4).flatten(0, 2).flip(2, 3)


def selected(graph: Recovered, value: int, index: Tensor, bands: int, channels: int) -> int:
    """The features `index`, as an image of so many bands."""
    flat = graph.flat(value)
    if bands == 1 or channels == 1:
        return graph.take(flat, index)
    return graph.emit("take", [flat], [("index", index)], {"bands": bands}, len(index), dims=(bands, channels))


RULES = {"conv_transpose2d": conv_transpose2d}
