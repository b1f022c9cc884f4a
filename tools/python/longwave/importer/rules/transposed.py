"""Transposed convolutions: a row becomes several time steps, which stay side by side in one row of the result."""
from __future__ import annotations

import torch
import torch.nn.functional as F

from ..errors import NoOp, Refused, retrain
from ..places import NONE, Placed
from .convolution import both, leading, option, short


def conv_transpose1d(importer, n) -> Placed:
    """Step t * stride + s of channel c is feature s * channels + c of row t: a convolution with kernel ceil(taps / stride)."""
    graph, x = importer.graph, importer.settled(n.args[0])
    w, bias = importer.constant(n.args[1]), importer.constant(option(n, 2, "bias", None))
    (stride,), (padding,) = both(option(n, 3, "stride", 1), 1), both(option(n, 4, "padding", 0), 1)
    (dilation,), groups, op = both(option(n, 7, "dilation", 1), 1), option(n, 6, "groups", 1), importer.op(x)
    if op.timeless or x.at.dim() != 3 or x.at.shape[0] != 1:
        raise Refused("not a sequence with a batch of 1", "convolve (1, channels, rows)")
    if groups != 1 or dilation != 1:
        raise NoOp(f"has groups={groups}, dilation={dilation}", retrain("use a transposed convolution of one group without dilation"))
    if padding:
        raise Refused(f"cuts {padding} steps at the start: it looks ahead", retrain("use padding=0 and cut the end"))
    zeros, order = leading(x.at[0].T, op.width, op.rows)
    if zeros:
        raise Refused("its rows are not one time step each", "convolve all rows in order")
    lags = -(-w.shape[2] // stride)
    w = F.pad(w, (0, lags * stride - w.shape[2])).unflatten(2, (lags, stride))  # [in, out, lag, step]
    kernel = w.permute(3, 1, 0, 2).flatten(0, 1).flip(2)  # [step * out, in, oldest row first]
    bias = None if bias is None else bias.repeat(stride)
    made = short(graph, graph.flat(x.value), order, kernel, bias, 1, 1)
    channels, steps = w.shape[1], n.meta["val"].shape[2]
    at = torch.arange(steps)[None, :] * channels + torch.arange(channels)[:, None]  # step s of row t: (t * stride + s) * channels
    rows = torch.arange(steps)[None, :] // stride
    return Placed(made, torch.where(rows < op.rows, at, NONE)[None])


RULES = {"conv_transpose1d": conv_transpose1d}
