"""Windows of rows: the largest or the mean value. Over the whole sequence, mean and maximum are in reduce.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.fx.node import Node

from ..errors import NoOp, Refused, retrain
from ..nodes import args_of
from ..places import NONE, Placed, natural, paired
from .convolution import both, centred, late, leading, option, result, short
from .reduce import reduced

if TYPE_CHECKING:
    from ..match import Importer
    from ..recovered import Op

NOT_NEGATIVE = {"relu", "sigmoid", "abs", "square", "exp", "softplus", "softmax", "sqrt", "power_spectrum"}


def pool1d(importer: Importer, n: Node) -> Placed:
    """(1, channels, rows)"""
    x, op = importer.settled(args_of(n)[0]), importer.op(importer.settled(args_of(n)[0]))
    if op.timeless or x.at.dim() != 3 or x.at.shape[0] != 1:
        raise Refused("not a sequence with a batch of 1", "pool (1, channels, rows)")
    window = Window(importer, n, 1)
    if window.all_rows(x, [2]):
        return reduced(importer, x, [2], window.mode, True)
    zeros, order = leading(x.at[0].T, op.width, op.rows)
    if x.at.shape[2] > op.rows:
        window.with_zeros(zeros, x.at.shape[2] - zeros - op.rows, op)
    value = importer.graph.take(importer.graph.flat(x.value), order)
    return window.emit(importer, n, value, len(order), 2)


def pool2d(importer: Importer, n: Node) -> Placed:
    """(1, channels, time, frequency), or with time last."""
    x, op = importer.settled(args_of(n)[0]), importer.op(importer.settled(args_of(n)[0]))
    if op.timeless or x.at.dim() != 4 or x.at.shape[0] != 1:
        raise Refused("not an image sequence with a batch of 1", "pool (1, channels, time, frequency)")
    at, window = x.at[0], Window(importer, n, 2)
    if window.all_rows(x, [2, 3]):
        return reduced(importer, x, [2, 3], window.mode, True)
    if at.shape[2] == op.rows and at.shape[1] != op.rows:
        at = at.transpose(1, 2)
        time = 3
    else:
        time = 2
    channels, _, bands = at.shape
    zeros, order = leading(at.permute(1, 2, 0).flatten(1), op.width, op.rows)
    if (
        zeros
        or channels * bands != op.width
        or (op.dims != (bands, channels) and bands > 1)
        or not torch.equal(order, torch.arange(op.width))
    ):
        raise Refused(
            "pools something else than a whole image that a convolution made",
            "pool the image as the convolution made it",
        )
    if bands > 1 and channels == 1:
        raise Refused("pools the frequencies of one channel", retrain("use at least 2 channels"))
    return window.emit(importer, n, x.value, channels, time, bands)


class Window:
    def __init__(self, importer: Importer, n: Node, axes: int) -> None:
        kind = importer.kind(n)
        self.mode = "max" if kind.startswith("max") else "mean"
        self.size = both(args_of(n)[1], axes)
        self.stride = both(option(n, 2, "stride", None) or self.size, axes)
        self.padding = both(option(n, 3, "padding", 0), axes)  # of time: zeros in front
        self.behind = 0  # so many more zeros after the rows
        after = 4
        if self.mode == "max":
            if any(d != 1 for d in both(option(n, 4, "dilation", 1), axes)):
                raise NoOp("pools with dilation", retrain("use dilation=1"))
            after = 5
        if option(n, after, "ceil_mode", False) and self.rounded(n, axes):
            raise Refused("rounds the number of rows up", retrain("use ceil_mode=False"))
        self.outside = int(option(n, after + 1, "count_include_pad", True)) if self.mode == "mean" else 0
        if self.mode == "mean" and option(n, after + 2, "divisor_override", None):
            raise Refused("divides by a number of its own", "multiply after it")

    def rounded(self, n: Node, axes: int) -> bool:
        """Whether the last window is not whole. At multiples of the stride it is."""
        before, after = args_of(n)[0].meta["val"].shape[-axes:], n.meta["val"].shape[-axes:]
        return any(
            out != (rows + 2 * pad - size) // stride + 1
            for rows, out, size, stride, pad in zip(before, after, self.size, self.stride, self.padding)
        )

    def all_rows(self, x: Placed, dims: list[int]) -> bool:
        """Whether one window holds all rows and all frequencies, at this length."""
        return not any(self.padding) and list(self.size) == [x.at.shape[d] for d in dims]

    def with_zeros(self, before: int, after: int, op: Op) -> None:
        """Zeros that a pad added around the rows. They count in a mean.

        Where no row is negative, they do not change the largest value.
        """
        if self.mode == "mean" and (self.outside or not self.padding[0]):
            self.outside = 1
        elif self.mode == "mean" or self.padding[0] or op.kind not in NOT_NEGATIVE:
            raise Refused("pools zeros that a pad added", "use the padding of the pooling")
        self.padding, self.behind = [self.padding[0] + before], after - before

    def ahead(self, importer: Importer, n: Node, value: int, channels: int, ahead: int) -> Placed:
        """Means of windows that look ahead: convolutions with equal taps.

        The number of rows inside a window is the sum of a channel of ones.
        """
        graph, size, stride = importer.graph, self.size[0], self.stride[0]
        rows = graph.ops[value].rows
        late(importer, n, ahead, self.behind + self.padding[0], n.meta["val"].shape[2], rows, stride)

        def sums(v: int, w: torch.Tensor) -> Placed:
            order = torch.arange(len(w))
            if stride == 1:
                made = centred(importer, v, order, w, None, ahead)
            else:
                made = short(graph, v, order, w, None, stride, len(w), ahead)
            return result(made, graph.ops[made].rows, natural(made, (1, len(w), n.meta["val"].shape[2]), 2).at, 2)

        ones = torch.ones(channels, 1, size, dtype=torch.float64)
        if self.outside:
            return sums(value, ones / size)
        one = graph.affine(graph.select(value, torch.zeros(1, dtype=torch.long)), torch.zeros(1), torch.ones(1))
        counts = sums(one, ones[:1])
        return paired(graph, "mul", sums(value, ones), Placed(graph.emit("reciprocal", [counts.value]), counts.at))

    def emit(self, importer: Importer, n: Node, value: int, channels: int, time: int, bands: int = 1) -> Placed:
        """The pool op and its places in the result, of which `time` is the axis of time."""
        t = 1 if len(self.size) == 2 and time == 3 else 0
        size, stride, pad = self.size[t], self.stride[t], self.padding[t]
        kf, sf, pf = (self.size[1 - t], self.stride[1 - t], self.padding[1 - t]) if len(self.size) == 2 else (1, 1, 0)
        lag = stride + pad - size  # rows of a stride that are newer than the window
        if lag < 0 and self.mode == "mean" and len(self.size) == 1:
            return self.ahead(importer, n, value, channels, -lag)
        if lag < 0:
            raise Refused(
                f"looks {-lag} rows ahead", retrain(f"pad rows in front only: {-lag} more, and cut the result")
            )
        if lag >= stride:
            raise Refused("pads as many rows as a window has", retrain("use a smaller padding"))
        graph = importer.graph
        rows = graph.ops[value].rows // stride
        out_f = (bands + 2 * pf - kf) // sf + 1
        attributes = {
            "mode": self.mode,
            "time": size,
            "stride_t": stride,
            "frequency": kf,
            "stride_f": sf,
            "pad_f": pf,
            "lag": lag,
            "count_outside": self.outside,
        }
        dims = (out_f, channels) if out_f > 1 else (channels,)
        out = graph.emit("pool", [value], [], attributes, out_f * channels, rows, dims)
        shape = n.meta["val"].shape
        if len(shape) == 3:
            made = natural(out, shape, 2).at
        else:
            at = torch.arange(shape[time] * out_f * channels).reshape(shape[time], out_f, channels)
            made = (at.permute(2, 0, 1) if time == 2 else at.permute(2, 1, 0))[None]
        row = torch.arange(made.shape[time]).reshape([-1 if d == time else 1 for d in range(made.dim())])
        return Placed(out, torch.where(row < rows, made, NONE))


RULES = {"max_pool1d": pool1d, "avg_pool1d": pool1d, "max_pool2d": pool2d, "avg_pool2d": pool2d}
