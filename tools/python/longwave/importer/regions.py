"""Finds the largest region of linear operations behind a value that is one long convolution."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.fx.node import Node

from .errors import Refused, UnclearLength
from .export import name_of, op_name, run_nodes
from .nodes import args_of, kwargs_of
from .places import Placed
from .probe import probe_convolution, time_axis

if TYPE_CHECKING:
    from .match import Importer

INVERSE = {"fft_irfft", "fft_ifft", "fft_hfft", "_fft_c2r"}
FORWARD = {"fft_rfft", "fft_fft", "_fft_r2c", "_fft_c2c"}
LINEAR = (
    INVERSE
    | FORWARD
    | set(
        "flip roll pad constant_pad_nd slice unsqueeze squeeze view reshape _unsafe_view flatten transpose permute movedim select real imag conj _conj "
        "_conj_physical resolve_conj view_as_real view_as_complex alias clone contiguous neg einsum expand to _to_copy detach sum".split()
    )
)


def find_convolution(importer: Importer, base: Node) -> None:
    val, placed = base.meta.get("val"), importer.values.get(base)
    if (
        not isinstance(val, Tensor)
        or not val.is_floating_point()
        or not isinstance(placed, Placed)
        or placed.value in importer.opaque
    ):
        return
    if importer.op(placed).timeless or importer.op(placed).width > val.numel():
        return
    if not any(
        op_name(n) in INVERSE and n not in importer.values and importer.varies(n) for n in importer.exported.nodes
    ):
        return
    inside, after = grow(importer, base)
    if not after:
        return
    refusal: Refused | None = None
    only_fft = any(op_name(u) in FORWARD and along_time(importer, placed, u) for u in base.users)
    for end in reversed([n for n in inside if n in after and not n.meta["val"].is_complex()]):
        region = between(inside, base, end)
        if any(u not in region for n in region & after - {end} for u in n.users):
            continue  # a part of it is read elsewhere
        try:
            importer.values[end] = convolution(
                importer, base, [n for n in inside if n in region and n is not base], end
            )
        except UnclearLength as e:
            importer.unclear = True
            refusal = refusal or e
        except Refused as e:
            refusal = refusal or e
        else:
            for n in reversed(inside):  # what only the convolution reads needs no value of its own
                if n in region - {base, end} and all(
                    u in region and (u is end or u in importer.values) for u in n.users
                ):
                    importer.values.setdefault(n, None)
            return
    if only_fft:
        importer.refuse(
            next(u for u in base.users if op_name(u) in FORWARD),
            refusal
            or Refused(
                "an FFT whose result is not one real value of the same rows",
                "cut the result of the inverse FFT to the rows of its input",
            ),
        )
        for n in inside:  # consequences
            if n is not base and n not in importer.values:
                importer.stand_in(n)


def along_time(importer: Importer, placed: Placed, transform: Node) -> bool:
    """Whether it transforms several rows, and not each row for itself."""
    dim = args_of(transform)[2] if len(args_of(transform)) > 2 and isinstance(args_of(transform)[2], int) else -1
    rows = torch.where(placed.at < 0, -1, placed.at // importer.op(placed).width).movedim(dim, -1)
    return bool((rows.amax(-1) > torch.where(rows < 0, rows.amax(-1, True), rows).amin(-1)).any())


def is_linear(importer: Importer, n: Node) -> bool:
    """Linear in what varies, and without a constant part."""
    kind, args = op_name(n), args_of(n)
    if kind in ("add", "sub", "complex"):
        return all(importer.varies(a) for a in args[:2])
    if kind in ("stack", "cat"):
        return all(importer.varies(a) or not bool(importer.constants[a].any()) for a in args[0])
    if kind in ("pad", "constant_pad_nd") and len(args) > 2:
        return args[2] in ("constant", 0) and not any(args[3:])
    one = len(importer.variables(n)) == 1
    if kind == "mul":
        return one and args[0] is not args[1]
    if kind == "div":
        return one and importer.varies(args[0]) and not kwargs_of(n)
    return kind in LINEAR and one


def grow(importer: Importer, base: Node) -> tuple[list[Node], set[Node]]:
    """Linear operations on base without a value yet, and those behind an inverse FFT."""
    inside, known, after = [base], {base}, set()
    for n in importer.exported.nodes:
        if (
            not importer.varies(n)
            or n in importer.values
            or not is_linear(importer, n)
            or not all(v in known for v in importer.variables(n))
        ):
            continue
        inside.append(n)
        known.add(n)
        if op_name(n) in INVERSE or any(v in after for v in importer.variables(n)):
            after.add(n)
    return inside, after


def between(inside: list[Node], base: Node, end: Node) -> set[Node]:
    region = {end}
    for n in reversed(inside):
        if any(u in region for u in n.users):
            region.add(n)
    return region


def convolution(importer: Importer, base: Node, region: list[Node], end: Node) -> Placed:
    graph, placed = importer.graph, importer.placed(base)
    op, shape = importer.op(placed), tuple(end.meta["val"].shape)
    axis = time_axis(shape, op.rows)
    if end.meta["val"].numel() % op.rows:
        raise Refused("not a depthwise convolution")

    def run(x: Tensor) -> Tensor:
        values = dict(importer.constants)
        values[base] = torch.where(placed.at >= 0, x.reshape(-1)[placed.at.clamp(min=0)], 0.0)
        run_nodes(region, values, [end])
        return values[end].movedim(axis, 0).reshape(op.rows, -1)

    taps = probe_convolution(run, op.rows, op.width)
    graph.here = (importer.module(end), name_of(end))
    outputs = len(taps.channel)
    counts = torch.bincount(taps.channel, minlength=op.width)
    if bool((counts == counts[0]).all()):  # copies of all channels: (copy, channel)
        order = torch.argsort(taps.channel, stable=True).reshape(op.width, -1).T.reshape(-1)
        value, copies = graph.flat(placed.value), outputs // op.width
    else:  # one output each, of the channels it reads
        order = torch.arange(outputs)
        value, copies = graph.take(graph.flat(placed.value), taps.channel), 1
    width = graph.ops[value].width
    lags, ahead = taps.lags[order], taps.ahead[order]
    two_sided = bool((ahead != 0).any()) if ahead.numel() else False
    size = max(lags.shape[1], ahead.shape[1])
    kernel = torch.nn.functional.pad(lags, (0, size - lags.shape[1])).reshape(copies, width, size)
    if two_sided:
        kernel = torch.cat(
            [kernel, torch.nn.functional.pad(ahead, (0, size - ahead.shape[1])).reshape(copies, width, size)]
        )
    dims = (copies, width) if copies > 1 and width > 1 else (copies * width,)
    out = graph.emit(
        "long_conv",
        [value],
        [("taps", kernel), ("D", torch.zeros(copies, width))],
        {"channels": copies, "two_sided": int(two_sided)},
        outputs,
        dims=dims,
    )
    importer.note_convolution(end, taps, two_sided)
    at = torch.argsort(order)
    rest = shape[:axis] + shape[axis + 1 :]
    return Placed(out, (torch.arange(op.rows)[:, None] * outputs + at).reshape(op.rows, *rest).movedim(0, axis))
