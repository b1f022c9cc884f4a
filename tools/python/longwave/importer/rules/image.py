"""Convolutions over images of (frequency, channel), of which each row of the sequence holds one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.node import Node

from ..errors import Refused, retrain
from ..nodes import args_of
from ..places import ZERO, Placed, natural, other_rows
from .convolution import (
    MOST,
    both,
    causal,
    dense,
    gathered,
    inside_one_row,
    late,
    leading,
    option,
    result,
    short,
    spread,
    ungrouped,
    zeros_around,
)

if TYPE_CHECKING:
    from ..match import Importer
    from ..recovered import Op, Recovered

MOVED = 4  # an image out of any features pays where all features in one kernel take more products than so many times its own


def time_first(at: Tensor, width: int) -> tuple[Tensor, bool]:
    """Places (channels, time, frequency), and whether the module has time last. A slice of one time holds one row."""

    def is_time(axis: int) -> bool:
        p = at.movedim(axis, 0).flatten(1)
        row = torch.where(p < 0, -1, p // width)
        return bool(((row == row.amax(1, True)) | (row < 0)).all())

    last = is_time(2) and not is_time(1)
    return (at.transpose(1, 2), True) if last else (at, False)


def without_zeros(at: Tensor) -> tuple[Tensor, tuple[int, int]]:
    """Without the bands of zeros that a pad added at both ends of the frequencies, and how many there were."""
    zero = (at == ZERO).flatten(0, 1).all(0)
    before, after = int(zero.cumprod(0).sum()), int(zero.flip(0).cumprod(0).sum())
    return (at, (0, 0)) if before == len(zero) else (at[..., before : len(zero) - after], (before, after))


def conv2d(importer: Importer, n: Node) -> Placed:
    """(1, channels, time, frequency), or with time last."""
    if importer.op(importer.settled(args_of(n)[0])).timeless:
        return inside_one_row(importer, n)
    x, at, last = opened(importer, n)
    w, bias = importer.constant(args_of(n)[1]), importer.constant(option(n, 2, "bias", None))
    stride, dilation = both(option(n, 3, "stride", 1), 2), both(option(n, 5, "dilation", 1), 2)
    w = spread(spread(w, 2, dilation[0]), 3, dilation[1])
    zeros = zeros_around(option(n, 4, "padding", 0), w.shape[2:])
    if last:  # the same with both axes exchanged
        w, stride, zeros = w.transpose(2, 3), stride[::-1], zeros[::-1]
    count = n.meta["val"].shape[2 if last else 3]
    out = over_image(importer, n, x, at, w, bias, stride, zeros, option(n, 6, "groups", 1), (count, last))
    band = torch.arange(count) * features_of_band(importer.graph.ops[out])
    return of_image(importer.graph, out, n, band, last)


def opened(importer: Importer, n: Node) -> tuple[Placed, Tensor, bool]:
    """The value that a convolution over images reads, its places (channels, time, frequency), and whether it has time last."""
    x = importer.settled(args_of(n)[0])
    op = importer.op(x)
    if not op.timeless and x.at.dim() == 4 and x.at.shape[0] == op.rows > 1:
        raise Refused(
            "convolves along two axes inside each row",
            "convolve along one axis with conv1d, or along time and one axis",
        )
    if op.timeless or x.at.dim() != 4 or x.at.shape[0] != 1:
        raise Refused("not an image sequence with a batch of 1", "convolve (1, channels, time, frequency)")
    return (x, *time_first(x.at[0], op.width))


def over_image(
    importer: Importer,
    n: Node,
    x: Placed,
    at: Tensor,
    w: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    zeros: Sequence[tuple[int, int]],
    groups: int,
    result: tuple[int, bool],
) -> int:
    """A value with so many bands (at least), of which each has the results of `w` [out, in / groups, time, frequency]."""
    (wanted, last), graph, op = result, importer.graph, importer.op(x)
    at, added = without_zeros(at)
    front, order = leading(at.permute(1, 2, 0).flatten(1), op.width, op.rows)
    value, w, ahead = causal(graph, x.value, w, front + zeros[0][0], stride[0])
    late(
        importer,
        n,
        ahead,
        at.shape[1] - front - op.rows + zeros[0][1],
        n.meta["val"].shape[3 if last else 2],
        op.rows,
        stride[0],
    )
    bands = Bands(at.shape[2], wanted, stride[1], zeros[1][0] + added[0], zeros[1][1] + added[1])
    return convolved(graph, value, order, w, bias, stride[0], bands, groups, ahead)


def features_of_band(op: Op) -> int:
    return op.dims[1] if len(op.dims) == 2 else 1


def of_image(graph: Recovered, out: int, n: Node, band: Tensor, last: bool) -> Placed:
    """The result in torch's shape. `band`: where in a row each frequency has its first channel."""
    channels, time = n.meta["val"].shape[1], 3 if last else 2
    places = (
        torch.arange(n.meta["val"].shape[time])[:, None, None] * graph.ops[out].width
        + band[:, None]
        + torch.arange(channels)
    )
    made = places.permute(2, 1, 0) if last else places.permute(2, 0, 1)
    return result(out, graph.ops[out].rows, made[None], time)


def transposed_along_frequency(importer: Importer, n: Node) -> Placed:
    """conv_transpose2d with stride along frequency alone: image_up.py has the others.

    Frequency q * stride + phase is a result of band q: a convolution with results for each phase.
    """
    x, at, last = opened(importer, n)
    w, bias = importer.constant(args_of(n)[1]), importer.constant(option(n, 2, "bias", None))
    stride, padding, groups = (
        both(option(n, 3, "stride", 1), 2),
        both(option(n, 4, "padding", 0), 2),
        option(n, 6, "groups", 1),
    )
    dilation = both(option(n, 7, "dilation", 1), 2)
    if last:
        w, stride, padding, dilation = w.transpose(2, 3), stride[::-1], padding[::-1], dilation[::-1]
    w = spread(spread(w, 2, dilation[0]), 3, dilation[1])
    count, phases, channels = n.meta["val"].shape[2 if last else 3], stride[1], n.meta["val"].shape[1]
    depthwise = groups == len(w) == channels > 1 == phases
    w = w if depthwise else ungrouped(w, groups).transpose(0, 1)  # [out, in, time, frequency]
    taps = -(-w.shape[3] // phases)  # of a phase
    w = F.pad(w, (0, taps * phases - w.shape[3])).unflatten(3, (taps, phases))
    kernel = w.permute(4, 0, 1, 2, 3).flatten(0, 1).flip(2, 3)  # [phase * out, in, oldest row first, lowest band first]
    first = min(padding[1] // phases, taps - 1)  # the bands before it are cut
    zeros = (w.shape[2] - 1 - padding[0],) * 2, (taps - 1 - first, taps - 1)
    wanted = (count - 1 + padding[1]) // phases + 1 - first
    out = over_image(
        importer,
        n,
        x,
        at,
        kernel,
        None if bias is None else bias.repeat(phases),
        (1, 1),
        zeros,
        len(w) if depthwise else 1,
        (wanted, last),
    )
    f = torch.arange(count) + padding[1] - first * phases
    return of_image(
        importer.graph, out, n, f // phases * features_of_band(importer.graph.ops[out]) + f % phases * channels, last
    )


def im2col(importer: Importer, n: Node) -> Placed:
    """Windows of an image side by side: nothing but places."""
    x = importer.placed(args_of(n)[0])
    kernel, dilation, padding, stride = (
        both(option(n, i, name, one), 2)
        for i, name, one in ((1, "kernel_size", 1), (2, "dilation", 1), (3, "padding", 0), (4, "stride", 1))
    )
    at = F.pad(x.at, (padding[1], padding[1], padding[0], padding[0]), value=ZERO)
    for axis in range(2):
        at = at.unfold(2 + axis, (kernel[axis] - 1) * dilation[axis] + 1, stride[axis])[..., :: dilation[axis]]
    return x.moved(at.movedim((-2, -1), (-4, -3)).reshape(n.meta["val"].shape))


class Bands:
    """Frequencies of an image and of the result, with the zeros around them."""

    def __init__(self, there: int, wanted: int, stride: int, before: int, after: int) -> None:
        self.there, self.wanted, self.stride, self.before, self.after = there, wanted, stride, before, after

    def plain(self, taps: int) -> bool:
        """As the op pads: (taps - 1) / 2 zeros at both ends."""
        return self.before == self.after == (taps - 1) // 2


def convolved(
    graph: Recovered,
    value: int,
    order: Tensor,
    w: Tensor,
    bias: Tensor | None,
    stride: int,
    bands: Bands,
    groups: int,
    ahead: int,
) -> int:
    """As an image where its features are one in order, unless a matrix of all features takes fewer products."""
    op, channels, taps = graph.ops[value], w.shape[1] * groups, w.shape[3]
    whole = (
        torch.equal(order, torch.arange(op.width))
        and len(order) == bands.there * channels
        and (
            op.dims == (bands.there, channels)
            or bands.there == 1
            and op.dims == (channels,)
            or channels == 1
            and len(op.dims) == 1
        )
    )
    if whole and bands.plain(taps):
        return image(graph, value, w, bias, (stride, bands.stride), groups, bands.there, ahead)
    half = max(bands.before, taps - 1 - bands.before)
    wide = F.pad(
        w, (half - bands.before, half - (taps - 1 - bands.before))
    )  # an odd number of taps, and the op's own zeros
    needed = (bands.wanted - 1) * bands.stride + 1
    if (
        whole
        and needed <= bands.there
        and bands.wanted * bands.there * groups > ((bands.there - 1) // bands.stride + 1) * wide.shape[3]
    ):
        return image(graph, value, wide, bias, (stride, bands.stride), groups, bands.there, ahead)
    products = bands.wanted * w.numel()
    if bands.there > 1 and bands.wanted * bands.there * len(w) * channels * w.shape[2] > MOVED * products:
        there = max(needed, bands.there)
        value = graph.arranged(
            value, F.pad(order.reshape(bands.there, channels), (0, 0, 0, there - bands.there), value=ZERO)
        )
        return image(graph, value, wide, bias, (stride, bands.stride), groups, there, ahead)
    return features(graph, value, order, dense(w, groups), bias, stride, bands, ahead)


def features(
    graph: Recovered, value: int, order: Tensor, w: Tensor, bias: Tensor | None, stride: int, bands: Bands, ahead: int
) -> int:
    """One kernel over all features: band b of the result reads the bands from b * stride - before on."""
    out, channels, kt, taps = w.shape
    if bands.wanted * out * bands.there * channels * kt > MOST:
        raise Refused(
            "an image whose kernel over all features is too large",
            "keep (channel, frequency) as the convolution before it made them",
        )
    full = torch.zeros(bands.wanted, out, bands.there, channels, kt, dtype=torch.float64)
    for b in range(bands.wanted):
        for k in range(taps):
            f = b * bands.stride + k - bands.before
            if 0 <= f < bands.there:
                full[b, :, f] += w[..., k].to(torch.float64)
    bias = None if bias is None else bias.repeat(bands.wanted)
    made = short(
        graph,
        graph.flat(value),
        order,
        full.reshape(bands.wanted * out, bands.there * channels, kt),
        bias,
        stride,
        1,
        ahead,
    )
    return made if bands.wanted == 1 or out == 1 else graph.image(made, bands.wanted)


def image(
    graph: Recovered,
    value: int,
    w: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    groups: int,
    frequencies: int,
    ahead: int = 0,
) -> int:
    channels = graph.ops[value].width // frequencies
    if groups != 1 and not groups == channels == len(w):
        w, groups = dense(w, groups), 1
    bands = (frequencies + 2 * ((w.shape[3] - 1) // 2) - w.shape[3]) // stride[1] + 1
    if len(w) == 1 and bands > 1:  # the kernel computes at least two channels
        w, bias = torch.cat([w, torch.zeros_like(w)]), None if bias is None else F.pad(bias, (0, 1))
    w, dilation = gathered(w)
    attributes = {
        "stride_t": stride[0],
        "stride_f": stride[1],
        "groups": groups,
        "bias": int(bias is not None),
        "frequency": int(len(graph.ops[value].dims) == 1 and channels == 1),
        **({"ahead": ahead} if ahead else {}),
        **({"dilation": dilation} if dilation > 1 else {}),
    }
    dims = (bands, len(w)) if bands > 1 else (len(w),)
    return graph.emit(
        "conv2d",
        [value],
        [("weight", w), ("bias", bias)],
        attributes,
        bands * len(w),
        graph.ops[value].rows // stride[0],
        dims,
    )


def pixelwise(graph: Recovered, value: int, w: Tensor, bias: Tensor | None, bands: int) -> int:
    """A matrix of the channels of each band of an image."""
    return image(graph, value, w[:, :, None, None], bias, (1, 1), 1, bands)


def in_bands(importer: Importer, n: Node, x: Placed, w: Tensor, bias: Tensor | None) -> Placed:
    """linear over the last axis, of which each row has several. A matrix with few numbers, such as a filter bank, is one for all."""
    op, graph = importer.op(x), importer.graph
    for axis in range(x.at.dim() - 1):
        p = x.at.movedim(axis, 0).flatten(1, -2)  # [rows, bands, features]
        if (
            len(p) == op.rows
            and bool((p[0] >= 0).all())
            and torch.equal(p, torch.arange(len(p))[:, None, None] * op.width + p[0] % op.width)
        ):
            break
    else:
        other_rows(op.rows, x.at)
        raise Refused("its rows are not one time step each", "keep one axis of time and one of features")
    order, w = p[0] % op.width, w.to(torch.float64)
    bands, out = len(order), len(w)
    if SPARSE * int((w != 0).sum()) < w.numel():
        # The features of a band side by side, so that each result reads a short piece of the row.
        taken = graph.take(graph.flat(x.value), order.flatten())
        full = torch.block_diag(*[w] * bands)
        constants = [("weight", full), ("bias", None if bias is None else bias.repeat(bands))]
        made = graph.emit("linear", [taken], constants, {"bias": int(bias is not None)}, len(full))
    else:
        made = pixelwise(graph, graph.arranged(x.value, order), w, bias, bands)
    at = natural(made, (len(p), bands, graph.ops[made].width // bands), 0).at[..., :out]
    rest = [e for d, e in enumerate(x.at.shape[:-1]) if d != axis]
    return Placed(made, at.reshape(len(p), *rest, out).movedim(0, axis))


SPARSE = 8  # one number in so many is not zero


def pixels(importer: Importer, n: Node, x: Placed, w: Tensor, bias: Tensor | None) -> Placed:
    """linear over the channels of an image, or over windows of (time, frequency) that unfold cut from one channel."""
    graph, p, op = importer.graph, x.at[0], importer.op(x)
    if p.dim() != 3 or op.timeless:
        raise Refused("its rows are not one time step each", "keep one axis of time and one of features")
    if torch.equal(p.reshape(-1), torch.arange(p.numel())):
        if op.dims != tuple(p.shape[1:]) and not (p.shape[2] == 1 and len(op.dims) == 1):
            raise Refused("an image that no convolution made", "start from one channel")
        kernel, stride = w[:, :, None, None], (1, 1)
    else:
        kernel, stride = windows(p, op, w)
    frequencies = op.dims[0]
    out = image(graph, x.value, kernel, bias, stride, 1, frequencies)
    places = natural(out, (p.shape[0], p.shape[1], graph.ops[out].dims[-1]), 0).at[..., : len(w)]
    return result(out, graph.ops[out].rows, places[None], 1)


def windows(p: Tensor, op: Op, w: Tensor) -> tuple[Tensor, tuple[int, int]]:
    middle = p[p.shape[0] // 2, p.shape[1] // 2]
    kt, kf = len((middle // op.width).unique()), len((middle % op.width).unique())
    if kt * kf != p.shape[2] or len(op.dims) != 1 or min(p.shape[0], p.shape[1]) < 2:
        raise Refused("its windows are not a causal convolution", "use conv2d")
    half = p.shape[1] // 2
    st, sf = (
        int((p[-1, half, 0] - p[-2, half, 0]) // op.width),
        int(p[p.shape[0] // 2, half, 0] - p[p.shape[0] // 2, half - 1, 0]),
    )
    t = torch.arange(p.shape[0])[:, None, None] * st + torch.arange(kt * kf) // kf + st - kt
    f = torch.arange(p.shape[1])[None, :, None] * sf + torch.arange(kt * kf) % kf - (kf - 1) // 2
    if not torch.equal(torch.where((t >= 0) & (f >= 0) & (f < op.width), t * op.width + f, ZERO), p):
        raise Refused("its windows are not a causal convolution", retrain("pad time only on the left"))
    return w.reshape(len(w), 1, kt, kf), (st, sf)


RULES = {"conv2d": conv2d, "im2col": im2col}
