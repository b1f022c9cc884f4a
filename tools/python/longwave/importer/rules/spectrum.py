"""From frames of a signal to their power. In between, tensors are named parts of a spectrum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.node import Node

from ..errors import Refused
from ..export import call
from ..nodes import args_of
from ..places import ZERO, Placed
from . import complexes

if TYPE_CHECKING:
    from ..match import Importer

WAY_OUT = "frame the samples yourself, with window - hop zeros in front; keep only the power of the transform"


CENTRED = "call stft with center=False on F.pad(x, (n_fft - hop_length, 0)): the same frames, later by n_fft / 2 samples less a hop"


@dataclass(frozen=True)
class Spectrum:
    part: str  # "X" complex, "ri" pairs, "re", "im", "re2", "im2", "mag"
    frame: int  # the value with the frames
    size: int  # of the transform
    at: Tensor  # places of the power in the shape of the tensor; pairs have each place twice


VIEWS = set("view reshape _unsafe_view transpose permute t mT unsqueeze squeeze movedim flatten unflatten".split())
STEPS = {
    ("X", "view_as_real"): "ri",
    ("X", "real"): "re",
    ("X", "imag"): "im",
    ("X", "abs"): "mag",
    ("re", "square"): "re2",
    ("im", "square"): "im2",
    ("mag", "square"): "power",
}


def framed(importer: Importer, at: Tensor, value: int, window: Tensor) -> int:
    """Evenly spaced windows of a signal. Frame i must end with sample (i + 1) * hop."""
    op, p = importer.graph.ops[value], at.reshape(-1, at.shape[-1])
    if op.width != 1 or len(p) < 2:
        raise Refused("not windows of one signal", WAY_OUT)
    hop = int(p[len(p) // 2, -1] - p[len(p) // 2 - 1, -1])
    t = torch.arange(len(p))[:, None] * hop + torch.arange(p.shape[1]) - p.shape[1] + hop
    lead = int(p[len(p) // 2, -1] - t[len(p) // 2, -1])
    if hop <= 0 or not torch.equal(p, (t + lead).clamp(min=ZERO)):
        raise Refused("its windows are not evenly spaced", WAY_OUT)
    if lead:
        raise Refused(f"its frames lie {abs(lead)} samples {'ahead' if lead > 0 else 'late'}", WAY_OUT)
    rows = op.rows // hop
    if len(p) != rows:
        raise Refused(f"{len(p)} frames where {op.rows} samples have {rows}", WAY_OUT)
    return importer.graph.emit(
        "frame", [value], [("window", window)], {"window": p.shape[1], "hop": hop}, p.shape[1], rows
    )


def windowed(importer: Importer, n: Node, x: Placed, window: Tensor) -> Placed:
    window = window.expand(x.at.shape).reshape(-1, x.at.shape[-1])
    if not bool((window == window[0]).all()):
        raise Refused("a window that changes from frame to frame", WAY_OUT)
    out = framed(importer, x.at, x.value, window[0])
    return Placed(out, torch.arange(x.at.numel()).reshape(x.at.shape))


def power_of(importer: Importer, frame: int, n_fft: int) -> int:
    if n_fft & (n_fft - 1) or not 64 <= n_fft <= 4096:  # no kernel transforms it: a matrix does
        return complexes.power(
            importer, complexes.transformed(importer, frame, n_fft, torch.arange(n_fft // 2 + 1)[None])
        ).value
    return importer.graph.emit("power_spectrum", [frame], [], {"n_fft": n_fft}, n_fft // 2 + 1)


def rfft(importer: Importer, n: Node) -> Spectrum | complexes.Complex:
    x = importer.placed(args_of(n)[0])
    size = args_of(n)[1] if len(args_of(n)) > 1 and args_of(n)[1] else x.at.shape[-1]
    if (
        (args_of(n)[2] if len(args_of(n)) > 2 else -1) % x.at.dim() != x.at.dim() - 1
        or (len(args_of(n)) > 3 and args_of(n)[3])
        or size < x.at.shape[-1]
    ):
        raise Refused("only transforms of the last axis without norm", WAY_OUT)
    value = x.value
    if importer.op(x).kind != "frame":
        if importer.op(x).width > 1 or x.at.shape[-1] == 1:
            x = importer.settled(args_of(n)[0])
            if len((x.at.flatten(0, -2)[0] // importer.op(x).width).unique()) == 1:  # each row is a frame
                return complexes.rows_rfft(importer, n, size)
        if not importer.overlaps(x) and (importer.op(x).width != 1 or x.at.numel() == x.at.shape[-1]):
            raise Refused(
                "FFT that is neither a convolution with constant taps nor the spectrum of frames",
                "kernels must not depend on the input; " + WAY_OUT,
            )
        value = framed(importer, x.at, x.value, torch.ones(x.at.shape[-1]))
    return whole(n, value, size, n.meta["val"].dim() - 1)


def stft(importer: Importer, n: Node) -> Spectrum:
    a = list(args_of(n)) + [None] * 9
    size, hop = a[1], a[2] or a[1] // 4
    length = a[3] or size
    if a[5] or not n.meta["val"].is_complex() or a[6] is False:
        raise Refused("normalized or two-sided", "use normalized=False, onesided=True, return_complex=True")
    window = importer.constant(a[4]) if a[4] is not None else torch.ones(length, dtype=torch.float64)
    window = F.pad(window, ((size - length) // 2, size - length - (size - length) // 2))
    x = importer.placed(a[0])
    return whole(
        n, framed(importer, x.at.reshape(-1).unfold(0, size, hop), x.value, window), size, n.meta["val"].dim() - 2
    )


def whole(n: Node, frame: int, size: int, axis: int) -> Spectrum:
    """What a transform gives: frames in order, frequencies along `axis`."""
    shape = list(n.meta["val"].shape)
    shape.append(shape.pop(axis))
    return Spectrum("X", frame, size, torch.arange(n.meta["val"].numel()).reshape(shape).movedim(-1, axis))


def spectrum(importer: Importer, n: Node) -> Spectrum | Placed | None:
    """The next step from a spectrum towards its power. None: something reads more than that."""
    kind, read = importer.kind(n), [importer.values[v] for v in importer.variables(n)]
    parts = [part for part in read if isinstance(part, Spectrum)]
    one = parts[0]
    if kind in ("alias", "clone", "to", "_to_copy", "contiguous"):
        return one
    if kind == "pow" and args_of(n)[1] == 2 or kind == "mul" and len(n.all_input_nodes) == 1:
        kind = "square"
    if kind in VIEWS and one.part not in ("ri", "mag"):  # a magnitude becomes a value of its own
        return replace(
            one,
            at=one.at.reshape(args_of(n)[1])
            if kind in ("view", "_unsafe_view", "reshape")
            else call(n, {args_of(n)[0]: one.at}),
        )
    word = STEPS.get((one.part, kind))
    if (one.part, kind) == ("ri", "select") and (args_of(n)[1] % args_of(n)[0].meta["val"].dim()) == args_of(n)[0].meta[
        "val"
    ].dim() - 1:
        word = ("re", "im")[args_of(n)[2]]
    if (
        kind == "add"
        and len(parts) == 2
        and {p.part for p in parts} == {"re2", "im2"}
        and parts[0].frame == parts[1].frame
        and parts[0].size == parts[1].size
    ):
        word = "power"
    if word is None:
        return None
    if word == "power":
        return Placed(power_of(importer, one.frame, one.size), one.at)
    at = one.at[..., None].expand(*one.at.shape, 2) if word == "ri" else one.at[..., 0] if one.part == "ri" else one.at
    return Spectrum(word, one.frame, one.size, at)


def value_of(importer: Importer, one: Spectrum) -> Placed | complexes.Complex:
    """A part of a spectrum as a value of its own, where something reads more than its power."""
    graph = importer.graph
    if one.part == "mag":
        return Placed(graph.emit("sqrt", [power_of(importer, one.frame, one.size)]), one.at)
    made = complexes.transformed(importer, one.frame, one.size, one.at[..., 0] if one.part == "ri" else one.at)
    if one.part in ("re2", "im2"):
        part = made.re if one.part == "re2" else made.im
        return Placed(graph.emit("square", [part.value]), part.at)
    if one.part == "X":
        return made
    return {"re": made.re, "im": made.im}.get(one.part) or complexes.joined(importer, made)


RULES = {"fft_rfft": rfft, "stft": stft}
