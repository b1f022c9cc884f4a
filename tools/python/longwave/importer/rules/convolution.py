"""Convolutions with short kernels over all channels or images of (frequency, channel). Those that look ahead stream late."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import Refused
from ..places import NONE, ZERO, Placed, more_rows, natural


def option(n, index: int, name: str, default):
    value = n.args[index] if len(n.args) > index else n.kwargs.get(name, default)
    return default if value is None else value


def both(value, count: int) -> list[int]:
    value = [value] if isinstance(value, int) else list(value)
    return value * count if len(value) == 1 else value


def dense(w: Tensor, groups: int) -> Tensor:
    """The same kernel for one group."""
    if groups == 1:
        return w
    out, per = w.shape[0] // groups, w.shape[1]
    full = torch.zeros(w.shape[0], per * groups, *w.shape[2:], dtype=w.dtype)
    for g in range(groups):
        full[g * out:(g + 1) * out, g * per:(g + 1) * per] = w[g * out:(g + 1) * out]
    return full


def spread(w: Tensor, axis: int, dilation: int) -> Tensor:
    """Dilation as zeros between the taps."""
    if dilation == 1:
        return w
    shape = list(w.shape)
    shape[axis] = (shape[axis] - 1) * dilation + 1
    full = torch.zeros(shape, dtype=w.dtype)
    full[(slice(None),) * axis + (slice(None, None, dilation),)] = w
    return full


def leading(rows: Tensor, width: int, count: int) -> tuple[int, Tensor]:
    """Zero rows in front, and the order of the features. `rows`: places [padded time, features]."""
    zeros = int((rows == ZERO).all(1).cumprod(0).sum())
    real = rows[zeros:zeros + count]
    order = real[0] % width if len(real) else real
    if len(real) != count or not torch.equal(real, torch.arange(count)[:, None] * width + order) or not bool((rows[zeros + count:] == ZERO).all()):
        more_rows(count, rows)
        raise Refused("its rows are not one time step each", "convolve all rows in order, with zeros outside")
    return zeros, order


def shifted(graph, x: Placed) -> Placed:
    """Zeros before rows of which the last are cut: a delay, and the zeros that are left. `x`: (1, features, padded time)."""
    op, p = graph.ops[x.value], x.at[0].T
    zeros = int((p == ZERO).all(1).cumprod(0).sum())
    by = op.rows - (len(p) - zeros)
    if not 0 < by <= zeros or zeros == len(p):
        return x
    order = p[zeros] % op.width
    if not torch.equal(p[zeros:], torch.arange(len(p) - zeros)[:, None] * op.width + order):
        return x
    t = torch.arange(len(p))[:, None] - (zeros - by)
    value = graph.emit("shift", [x.value], [], {"rows": by}, dims=op.dims)
    return Placed(value, torch.where(t < 0, ZERO, t * op.width + order).T[None])


def causal(w: Tensor, zeros: int, stride: int) -> tuple[Tensor, int]:
    """The kernel [out, in, kt, ...] so that the newest tap weighs the newest row; and how many rows it looks ahead."""
    ahead = w.shape[2] - stride - zeros
    if ahead < 0:  # a delay: taps of zero for the newest rows
        w = torch.cat([w, w.new_zeros(*w.shape[:2], -ahead, *w.shape[3:])], 2)
    return w, max(ahead, 0)


def result(value: int, rows: int, made: Tensor, axis: int) -> Placed:
    """Places of a result whose rows beyond the value's do not exist. `made`: natural places with all rows of torch."""
    t = torch.arange(made.shape[axis]).reshape([-1 if d == axis else 1 for d in range(made.dim())])
    return Placed(value, torch.where(t < rows, made, NONE))


def conv1d(importer, n) -> Placed:
    graph, x = importer.graph, importer.settled(n.args[0])
    w, bias = importer.constant(n.args[1]), importer.constant(option(n, 2, "bias", None))
    (stride,), padding, (dilation,) = both(option(n, 3, "stride", 1), 1), option(n, 4, "padding", 0), both(option(n, 5, "dilation", 1), 1)
    groups, op = option(n, 6, "groups", 1), importer.op(x)
    if op.timeless or x.at.dim() != 3 or x.at.shape[0] != 1:
        raise Refused("not a sequence with a batch of 1", "convolve (1, channels, rows)")
    x = shifted(graph, x)
    w = spread(w, 2, dilation)
    reach = w.shape[2] - 1
    before, after = (reach // 2, reach - reach // 2) if padding == "same" else (0, 0) if padding == "valid" else both(padding, 1) * 2
    zeros, order = leading(x.at[0].T, op.width, op.rows)
    w, ahead = causal(w, zeros + before, stride)
    late(importer, n, ahead, x.at.shape[2] - zeros - op.rows + after, n.meta["val"].shape[2], op.rows, stride)
    if ahead and stride == 1 and groups == len(order) == len(w):
        out = centred(importer, graph.flat(x.value), order, w, bias, ahead)
    else:
        out = short(importer, graph.flat(x.value), order, w, bias, stride, groups, ahead)
    return result(out, graph.ops[out].rows, natural(out, n.meta["val"].shape, 2).at, 2)


def late(importer, n, ahead: int, zeros: int, found: int, rows: int, stride: int) -> None:
    """A convolution that looks ahead must give every row, at each length.

    It needs as many zeros after the rows. Its stream waits.
    """
    if ahead > zeros:
        few = f"gives {found} rows of {rows // stride}" if found < rows // stride else f"gives a row less at some lengths, such as {rows // stride * stride}"
        raise Refused(f"looks {ahead} rows ahead, and {few}", "pad with zeros at both ends, as padding=\"same\" does")
    if ahead:
        importer.warn(n, f"looks {ahead} rows ahead: its stream comes so many rows late")


def short(importer, value: int, order: Tensor, w: Tensor, bias, stride: int, groups: int, ahead: int = 0) -> int:
    graph, width = importer.graph, importer.graph.ops[value].width
    if groups == len(order) == len(w):
        value = graph.take(value, order)
    else:
        w = dense(w, groups)
        w, groups = torch.zeros(len(w), width, w.shape[2], dtype=torch.float64).index_add(1, order, w.to(torch.float64)), 1
    attributes = {"stride_t": stride, "stride_f": 1, "groups": groups, "bias": int(bias is not None), "frequency": 0,
                  **({"ahead": ahead} if ahead else {})}
    return graph.emit("conv2d", [value], [("weight", w[..., None]), ("bias", bias)], attributes, len(w), graph.ops[value].rows // stride)


def centred(importer, value: int, order: Tensor, w: Tensor, bias, ahead: int) -> int:
    """One filter per channel."""
    graph = importer.graph
    behind = w.shape[2] - 1 - ahead
    half = max(ahead, behind)
    w = F.pad(w[:, 0], (half - behind, half - ahead))
    return graph.emit("centred_conv", [graph.take(value, order)], [("weight", w), ("bias", bias)], {"bias": int(bias is not None)})


def conv2d(importer, n) -> Placed:
    """(1, channels, time, frequency), or with time last."""
    graph, x = importer.graph, importer.settled(n.args[0])
    w, bias = importer.constant(n.args[1]), importer.constant(option(n, 2, "bias", None))
    stride, padding = both(option(n, 3, "stride", 1), 2), option(n, 4, "padding", 0)
    dilation, groups, op = both(option(n, 5, "dilation", 1), 2), option(n, 6, "groups", 1), importer.op(x)
    if isinstance(padding, str) or op.timeless or x.at.dim() != 4 or x.at.shape[0] != 1:
        raise Refused("not an image sequence with a batch of 1 and padding in numbers", "convolve (1, channels, time, frequency)")
    padding, at = both(padding, 2), x.at[0]
    middle = at.shape[1] // 2
    first_last = at.shape[2] > 1 and int(at[0, middle, -1] - at[0, middle, -2]) == op.width
    if first_last:  # time last: the same with both axes exchanged
        at, w = at.transpose(1, 2), w.transpose(2, 3)
        stride, padding, dilation = stride[::-1], padding[::-1], dilation[::-1]
    w = spread(spread(w, 2, dilation[0]), 3, dilation[1])
    channels, _, frequencies = at.shape
    zeros, order = leading(at.permute(1, 2, 0).flatten(1), op.width, op.rows)
    if not torch.equal(order, torch.arange(op.width)) or channels * frequencies != op.width or padding[1] != (w.shape[3] - 1) // 2:
        raise Refused("only convolutions over (time, frequency) of a whole image, with (taps - 1) / 2 zeros at both ends of the frequencies",
                      "use this padding, and keep (channel, frequency) as the convolution before it made them")
    dims = op.dims if len(op.dims) == 2 else (frequencies, 1)
    if (dims != (frequencies, channels)) and not (frequencies == 1 and op.dims == (channels,)):
        raise Refused("an image that no convolution made", "start from one channel")
    w, ahead = causal(w, zeros + padding[0], stride[0])
    shape = list(n.meta["val"].shape)
    time, frequency = (3, 2) if first_last else (2, 3)
    late(importer, n, ahead, at.shape[1] - zeros - op.rows + padding[0], shape[time], op.rows, stride[0])
    out = image(graph, x.value, w, bias, stride, groups, frequencies, ahead)
    places = torch.arange(shape[time])[:, None, None] * graph.ops[out].width + torch.arange(shape[frequency])[:, None] * graph.ops[out].dims[-1] \
        + torch.arange(shape[1])
    made = places.permute(2, 1, 0) if first_last else places.permute(2, 0, 1)
    return result(out, graph.ops[out].rows, made[None], time)


def image(graph, value: int, w: Tensor, bias, stride, groups: int, frequencies: int, ahead: int = 0) -> int:
    channels = graph.ops[value].width // frequencies
    if groups != 1 and not groups == channels == len(w):
        w, groups = dense(w, groups), 1
    bands = (frequencies + 2 * ((w.shape[3] - 1) // 2) - w.shape[3]) // stride[1] + 1
    if len(w) == 1 and bands > 1:  # the kernel computes at least two channels
        w, bias = torch.cat([w, torch.zeros_like(w)]), None if bias is None else F.pad(bias, (0, 1))
    attributes = {"stride_t": stride[0], "stride_f": stride[1], "groups": groups, "bias": int(bias is not None),
                  "frequency": int(len(graph.ops[value].dims) == 1 and channels == 1), **({"ahead": ahead} if ahead else {})}
    dims = (bands, len(w)) if bands > 1 else (len(w),)
    return graph.emit("conv2d", [value], [("weight", w), ("bias", bias)], attributes, bands * len(w), graph.ops[value].rows // stride[0], dims)


def pixels(importer, n, x: Placed, w: Tensor, bias) -> Placed:
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
    places = natural(out, (p.shape[0], p.shape[1], graph.ops[out].dims[-1]), 0).at[..., :len(w)]
    return result(out, graph.ops[out].rows, places[None], 1)


def windows(p: Tensor, op, w: Tensor) -> tuple[Tensor, tuple[int, int]]:
    middle = p[p.shape[0] // 2, p.shape[1] // 2]
    kt, kf = len((middle // op.width).unique()), len((middle % op.width).unique())
    if kt * kf != p.shape[2] or len(op.dims) != 1 or min(p.shape[0], p.shape[1]) < 2:
        raise Refused("its windows are not a causal convolution", "use conv2d")
    half = p.shape[1] // 2
    st, sf = int((p[-1, half, 0] - p[-2, half, 0]) // op.width), int(p[p.shape[0] // 2, half, 0] - p[p.shape[0] // 2, half - 1, 0])
    t = torch.arange(p.shape[0])[:, None, None] * st + torch.arange(kt * kf) // kf + st - kt
    f = torch.arange(p.shape[1])[None, :, None] * sf + torch.arange(kt * kf) % kf - (kf - 1) // 2
    if not torch.equal(torch.where((t >= 0) & (f >= 0) & (f < op.width), t * op.width + f, ZERO), p):
        raise Refused("its windows are not a causal convolution", "pad time only on the left")
    return w.reshape(len(w), 1, kt, kf), (st, sf)


RULES = {"conv1d": conv1d, "conv2d": conv2d}
