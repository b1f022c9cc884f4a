"""Conv and ConvTranspose of one and two axes."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor

from ...errors import Refused
from ..call import Call
from .shape import padded

CONV = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def around(
    c: Call, shape: Sequence[int], kernel: list[int], strides: list[int], dilations: list[int]
) -> list[tuple[int, int]]:
    """Zeros before and after each axis of the window. `shape`: of those axes."""
    axes, auto = len(kernel), c.attr("auto_pad", "NOTSET")
    if auto == "VALID":
        return [(0, 0)] * axes
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        made = []
        for n, k, s, d in zip(shape, kernel, strides, dilations):
            total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
            less = total // 2
            made.append((less, total - less) if auto == "SAME_UPPER" else (total - less, less))
        return made
    if auto != "NOTSET":
        raise Refused(f"auto_pad={auto}", "the file is damaged: export it again")
    pads = c.ints("pads", default=[0] * 2 * axes)
    if len(pads) != 2 * axes or min(pads) < 0:
        raise Refused(f"pads {pads} of {axes} axes", "the file is damaged: export it again")
    return list(zip(pads[:axes], pads[axes:]))


def window(c: Call, axes: int, kernel: list[int]) -> tuple[list[int], list[int]]:
    strides, dilations = c.ints("strides", default=[1] * axes), c.ints("dilations", default=[1] * axes)
    if (
        len(kernel) != axes
        or len(strides) != axes
        or len(dilations) != axes
        or min([*strides, *dilations, *kernel], default=1) < 1
    ):
        raise Refused(
            f"kernel {kernel}, strides {strides} and dilations {dilations} for {axes} axes",
            "the file is damaged: export it again",
        )
    return strides, dilations


def bias_of(c: Call, channels: int) -> Tensor | None:
    """Checked here, because PyTorch tells shapes without a look at it."""
    if not c.has(2):
        return None
    if list(c.tensor(2).shape) != [channels]:
        raise Refused(
            f"its bias has shape {list(c.tensor(2).shape)}, not [{channels}]", "the file is damaged: export it again"
        )
    return c.tensor(2)


def conv(c: Call) -> Tensor:
    x, w = c.tensor(0), c.tensor(1)
    axes = w.dim() - 2
    if axes not in CONV or x.dim() != w.dim():
        raise Refused(
            f"convolves shape {list(x.shape)} with {list(w.shape)}", "convolutions over one or two axes are read"
        )
    strides, dilations = window(c, axes, list(w.shape[2:]))
    zeros = around(c, x.shape[2:], list(w.shape[2:]), strides, dilations)
    same = all(before == after for before, after in zeros)
    if not same:
        x = padded(x, [(0, 0), (0, 0), *zeros])
    return CONV[axes](
        x,
        w,
        bias_of(c, w.shape[0]),
        strides,
        [before for before, _ in zeros] if same else 0,
        dilations,
        c.integer("group", 1),
    )


def conv_transpose(c: Call) -> Tensor:
    """All rows that PyTorch makes without padding, and then a cut: the importer knows this form."""
    x, w = c.tensor(0), c.tensor(1)
    axes = w.dim() - 2
    if axes not in TRANSPOSED or x.dim() != w.dim():
        raise Refused(
            f"a transposed convolution of shape {list(x.shape)} with {list(w.shape)}",
            "transposed convolutions over one or two axes are read",
        )
    kernel = list(w.shape[2:])
    strides, dilations = window(c, axes, kernel)
    extra = c.ints("output_padding", default=[0] * axes)
    whole = [s * (n - 1) + e + (k - 1) * d + 1 for n, s, e, k, d in zip(x.shape[2:], strides, extra, kernel, dilations)]
    wanted, auto = c.ints("output_shape"), c.attr("auto_pad", "NOTSET")
    if wanted is None and auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [n * s for n, s in zip(x.shape[2:], strides)]
    if wanted is not None:
        zeros = []
        for total in (a - b for a, b in zip(whole, wanted[-axes:])):
            less, more = max(total, 0) // 2, max(total, 0) - max(total, 0) // 2
            zeros.append((less, more) if auto == "SAME_UPPER" else (more, less))
    else:
        zeros = around(c, x.shape[2:], kernel, strides, dilations)
    y = TRANSPOSED[axes](
        x, w, bias_of(c, w.shape[1] * c.integer("group", 1)), strides, 0, extra, c.integer("group", 1), dilations
    )
    for axis, (before, after) in enumerate(zeros, 2):
        if before or after:
            y = y.narrow(axis, before, max(y.shape[axis] - before - after, 0))
    return y


TABLE = {"Conv": conv, "ConvTranspose": conv_transpose}
