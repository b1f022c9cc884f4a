"""Convolutions with short kernels over all channels or images of (frequency, channel). Those that look ahead stream late."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.node import Node

from ..errors import Refused, retrain
from ..nodes import args_of, kwargs_of
from ..places import NONE, ZERO, Placed, natural, other_rows

if TYPE_CHECKING:
    from ..match import Importer
    from ..recovered import Recovered


def option(n: Node, index: int, name: str, default: Any) -> Any:
    value = args_of(n)[index] if len(args_of(n)) > index else kwargs_of(n).get(name, default)
    return default if value is None else value


def both(value: int | Sequence[int], count: int) -> list[int]:
    made = [value] if isinstance(value, int) else list(value)
    return made * count if len(made) == 1 else made


def zeros_around(padding: str | int | Sequence[int], taps: Sequence[int]) -> list[tuple[int, int]]:
    """Zeros before and after each axis of a kernel, in any spelling of `padding`. `taps`: of each axis, dilation counted."""
    if padding == "same":
        return [((k - 1) // 2, k - 1 - (k - 1) // 2) for k in taps]
    return [(0, 0) for _ in taps] if isinstance(padding, str) else [(p, p) for p in both(padding, len(taps))]


def dense(w: Tensor, groups: int) -> Tensor:
    """The same kernel for one group."""
    if groups == 1:
        return w
    out, per = w.shape[0] // groups, w.shape[1]
    full = torch.zeros(w.shape[0], per * groups, *w.shape[2:], dtype=w.dtype)
    for g in range(groups):
        full[g * out : (g + 1) * out, g * per : (g + 1) * per] = w[g * out : (g + 1) * out]
    return full


def ungrouped(w: Tensor, groups: int) -> Tensor:
    """[in, out / groups, ...] of a transposed convolution as a kernel of one group."""
    if groups == 1:
        return w
    of_in, out = w.shape[0] // groups, w.shape[1]
    full = w.new_zeros(w.shape[0], out * groups, *w.shape[2:])
    for g in range(groups):
        full[g * of_in : (g + 1) * of_in, g * out : (g + 1) * out] = w[g * of_in : (g + 1) * of_in]
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


def gathered(w: Tensor) -> tuple[Tensor, int]:
    """A kernel [out, in, kt, ...] without the zeros between all its taps, the newest last, and their distance."""
    some = w.movedim(2, 0).flatten(1).any(1).flip(0)
    step = math.gcd(*some.nonzero().flatten().tolist())
    return (w, 1) if step < 2 else (w[:, :, (w.shape[2] - 1) % step :: step], step)


def leading(rows: Tensor, width: int, count: int) -> tuple[int, Tensor]:
    """Zero rows in front, and the order of the features. `rows`: places [padded time, features]."""
    zeros = int((rows == ZERO).all(1).cumprod(0).sum())
    real = rows[zeros : zeros + count]
    order = real[0] % width if len(real) else real
    if (
        len(real) != count
        or not torch.equal(real, torch.arange(count)[:, None] * width + order)
        or not bool((rows[zeros + count :] == ZERO).all())
    ):
        other_rows(count, rows)
        raise Refused("its rows are not one time step each", "convolve all rows in order, with zeros outside")
    return zeros, order


def shifted(graph: Recovered, x: Placed) -> Placed:
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
    return Placed(graph.shift(x.value, by), torch.where(t < 0, ZERO, t * op.width + order).T[None])


MOST = 1 << 26  # numbers of a kernel over all features
COPY = 2  # products in the time of which a number is copied
CALL = 512  # products in the time of a call of a kernel


def causal(graph: Recovered, x: int, w: Tensor, zeros: int, stride: int) -> tuple[int, Tensor, int]:
    """The value that the kernel [out, in, kt, ...] reads, the kernel, and how many rows it looks ahead.

    The newest tap weighs the newest row. A delay becomes taps of zero for the newest rows, or a shift of all rows where that
    takes less time. Taps of zero for the oldest rows go.
    """
    ahead = w.shape[2] - stride - zeros
    some = w.movedim(2, 0).flatten(1).any(1)
    w = w[:, :, min(int((~some).cumprod(0).sum()), len(some) - 1) :]
    if ahead >= 0:
        return x, w, ahead
    op = graph.ops[x]
    if w[:, :, 0].numel() * -ahead > COPY * stride * op.width + CALL:
        return graph.shift(x, -ahead), w, 0
    return x, torch.cat([w, w.new_zeros(*w.shape[:2], -ahead, *w.shape[3:])], 2), 0


def result(value: int, rows: int, made: Tensor, axis: int) -> Placed:
    """Places of a result whose rows beyond the value's do not exist. `made`: natural places with all rows of torch."""
    t = torch.arange(made.shape[axis]).reshape([-1 if d == axis else 1 for d in range(made.dim())])
    return Placed(value, torch.where(t < rows, made, NONE))


def conv1d(importer: Importer, n: Node) -> Placed:
    graph, x = importer.graph, importer.settled(args_of(n)[0])
    w, bias = importer.constant(args_of(n)[1]), importer.constant(option(n, 2, "bias", None))
    (stride,), padding, (dilation,) = (
        both(option(n, 3, "stride", 1), 1),
        option(n, 4, "padding", 0),
        both(option(n, 5, "dilation", 1), 1),
    )
    groups, op = option(n, 6, "groups", 1), importer.op(x)
    if op.timeless:
        return inside_one_row(importer, n)
    if x.at.dim() != 3 or x.at.shape[0] != 1:
        raise Refused(
            "not a sequence with a batch of 1",
            "convolve (1, channels, rows), or (rows, channels, positions) inside each row",
        )
    x = shifted(graph, x)
    w = spread(w, 2, dilation)
    ((before, after),) = zeros_around(padding, w.shape[2:])
    zeros, order = leading(x.at[0].T, op.width, op.rows)
    value, w, ahead = causal(graph, graph.flat(x.value), w, zeros + before, stride)
    late(importer, n, ahead, x.at.shape[2] - zeros - op.rows + after, n.meta["val"].shape[2], op.rows, stride)
    if ahead and stride == 1 and groups == len(order) == len(w):
        out = centred(importer, value, order, w, bias, ahead)
    else:
        out = short(graph, value, order, w, bias, stride, groups, ahead)
    return result(out, graph.ops[out].rows, natural(out, n.meta["val"].shape, 2).at, 2)


def inside_one_row(importer: Importer, n: Node) -> Placed:
    """A convolution of a value without a time axis, such as of a mean over all rows: a matrix of its numbers."""
    from .linear import matrix  # which reads this file

    if importer.op(importer.placed(args_of(n)[0])).width * n.meta["val"].numel() > MOST:
        raise Refused("a convolution of one row for all, whose matrix is too large", retrain("use fewer channels"))
    return matrix(importer, n)


def late(importer: Importer, n: Node, ahead: int, zeros: int, found: int, rows: int, stride: int) -> None:
    """A convolution that looks ahead must give every row, at each length.

    It needs as many zeros after the rows. Its stream waits.
    """
    if ahead > zeros:
        few = (
            f"gives {found} rows of {rows // stride}"
            if found < rows // stride
            else f"gives a row less at some lengths, such as {rows // stride * stride}"
        )
        raise Refused(
            f"looks {ahead} rows ahead, and {few}", retrain('pad with zeros at both ends, as padding="same" does')
        )
    if ahead:
        importer.looks_ahead(n, ahead)


def short(
    graph: Recovered,
    value: int,
    order: Tensor,
    w: Tensor,
    bias: Tensor | None,
    stride: int,
    groups: int,
    ahead: int = 0,
) -> int:
    width = graph.ops[value].width
    if groups == len(order) == len(w):
        value = graph.take(value, order)
    else:
        w = dense(w, groups)
        w, groups = (
            torch.zeros(len(w), width, w.shape[2], dtype=torch.float64).index_add(1, order, w.to(torch.float64)),
            1,
        )
    w, dilation = gathered(w)
    attributes = {
        "stride_t": stride,
        "stride_f": 1,
        "groups": groups,
        "bias": int(bias is not None),
        "frequency": 0,
        **({"ahead": ahead} if ahead else {}),
        **({"dilation": dilation} if dilation > 1 else {}),
    }
    return graph.emit(
        "conv2d",
        [value],
        [("weight", w[..., None]), ("bias", bias)],
        attributes,
        len(w),
        graph.ops[value].rows // stride,
    )


def centred(importer: Importer, value: int, order: Tensor, w: Tensor, bias: Tensor | None, ahead: int) -> int:
    """One filter per channel."""
    graph = importer.graph
    behind = w.shape[2] - 1 - ahead
    half = max(ahead, behind)
    w = F.pad(w[:, 0], (half - behind, half - ahead))
    return graph.emit(
        "centred_conv", [graph.take(value, order)], [("weight", w), ("bias", bias)], {"bias": int(bias is not None)}
    )
