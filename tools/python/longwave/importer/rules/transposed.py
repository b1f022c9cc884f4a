"""Upsampling in time: transposed convolutions, repeated rows. A row becomes several time steps, which stay side by side until
something reads them as rows (places.split)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.node import Node

from ..errors import NoOp, Refused, retrain
from ..export import call, op_name
from ..nodes import args_of
from ..places import NONE, Placed
from .convolution import both, leading, option, short, spread, ungrouped
from .unary import TABLE

if TYPE_CHECKING:
    from ..match import Importer

MOVES = set(
    "slice select narrow view reshape _unsafe_view flatten unflatten transpose permute squeeze unsqueeze alias clone contiguous".split()
)


def first_read(importer: Importer, n: Node, axis: int) -> int:
    """The first step of `n` along `axis` that anything reads: slices cut the steps before it."""
    steps = torch.arange(n.meta["val"].shape[axis])
    at = steps.reshape([-1 if d == axis else 1 for d in range(n.meta["val"].dim())]).expand(n.meta["val"].shape)
    return _first_read(importer, n, at)


def _first_read(importer: Importer, n: Node, at: Tensor) -> int:
    if n in importer.exported.results or not n.users or at.numel() == 0:
        return int(at.min()) if at.numel() else 0
    found = []
    for user in n.users:
        kind = op_name(user)
        if kind in TABLE and len(user.all_input_nodes) == 1:
            found.append(_first_read(importer, user, at))
        elif kind in MOVES and not any(importer.varies(a) for a in user.all_input_nodes if a is not n):
            moved = (
                at.reshape(args_of(user)[1])
                if kind in ("view", "_unsafe_view", "reshape")
                else call(user, {**importer.constants, n: at})
            )
            found.append(_first_read(importer, user, moved))
        else:
            found.append(int(at.min()))
    return min(found)


def conv_transpose1d(importer: Importer, n: Node) -> Placed:
    """Step t * stride + s of channel c is feature s * channels + c of row t: a convolution with kernel ceil(taps / stride).

    Steps that are cut at the start make it look ahead.
    """
    graph, x = importer.graph, importer.settled(args_of(n)[0])
    w, bias = importer.constant(args_of(n)[1]), importer.constant(option(n, 2, "bias", None))
    (stride,), (padding,) = both(option(n, 3, "stride", 1), 1), both(option(n, 4, "padding", 0), 1)
    groups, (dilation,), op = option(n, 6, "groups", 1), both(option(n, 7, "dilation", 1), 1), importer.op(x)
    if op.timeless or x.at.dim() != 3 or x.at.shape[0] != 1:
        raise Refused("not a sequence with a batch of 1", "convolve (1, channels, rows)")
    zeros, order = leading(x.at[0].T, op.width, op.rows)
    if zeros:
        raise Refused("its rows are not one time step each", "convolve all rows in order")
    w = spread(ungrouped(w, groups), 2, dilation).to(torch.float64)
    cut = padding + first_read(importer, n, 2)
    ahead = -(-cut // stride)
    w = F.pad(w, (ahead * stride - cut, 0))
    lags = max(-(-w.shape[2] // stride), ahead + 1)
    channels = w.shape[1]
    if added := overlap_added(importer, x, order, w, bias, stride, ahead):
        made = added
    else:
        w = F.pad(w, (0, lags * stride - w.shape[2])).unflatten(2, (lags, stride))  # [in, out, lag, step]
        kernel = w.permute(3, 1, 0, 2).flatten(0, 1).flip(2)  # [step * out, in, oldest row first]
        made = short(
            graph, graph.flat(x.value), order, kernel, None if bias is None else bias.repeat(stride), 1, 1, ahead
        )
    if ahead:
        importer.looks_ahead(n, ahead)
    steps = n.meta["val"].shape[2]
    t = torch.arange(steps)[None, :] + padding - cut  # step s of row t: (t * stride + s) * channels
    at = t * channels + torch.arange(channels)[:, None]
    return Placed(made, torch.where((t >= 0) & (t < op.rows * stride), at, NONE)[None])


def overlap_added(
    importer: Importer, x: Placed, order: Tensor, w: Tensor, bias: Tensor | None, hop: int, ahead: int
) -> int | None:
    """A kernel [window, 1, taps] in which every feature of a frame has a place of its own: the frames are added where they overlap."""
    taps = w[:, 0].T  # [place in the frame, feature]
    if (
        w.shape[1] != 1
        or bias is not None
        or w.shape[2] < hop
        or not bool(((taps != 0).sum(0) <= 1).all() and ((taps != 0).sum(1) <= 1).all())
    ):
        return None
    graph = importer.graph
    feature = torch.where((taps != 0).any(1), order[(taps != 0).int().argmax(1)], -1)
    weight = taps.sum(1)
    frames = graph.select(x.value, feature) if bool((feature < 0).any()) else graph.take(graph.flat(x.value), feature)
    if not bool((weight[feature >= 0] == 1).all()):
        frames = graph.affine(frames, weight, torch.zeros_like(weight))
    return graph.unframe(frames, hop, ahead)


def upsample_nearest1d(importer: Importer, n: Node) -> Placed:
    x = importer.placed(args_of(n)[0])
    before, after = x.at.shape[-1], n.meta["val"].shape[-1]
    if before == 0 or after % before:
        raise NoOp(f"makes {after} steps of {before}", retrain("upsample by a whole factor"))
    return x.moved(x.at.repeat_interleave(after // before, -1))


def repeat_interleave(importer: Importer, n: Node) -> Placed:
    x, count, axis = importer.placed(args_of(n)[0]), args_of(n)[1], option(n, 2, "dim", None)
    return x.moved(x.at.repeat_interleave(count, axis))


RULES = {
    "conv_transpose1d": conv_transpose1d,
    "upsample_nearest1d": upsample_nearest1d,
    "repeat_interleave": repeat_interleave,
}
