"""Pads: zeros, and copies of features. Both only move addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch.fx.node import Node

from ..errors import NoOp, Refused, retrain
from ..nodes import args_of, kwargs_of
from ..places import ZERO, Placed, folded, split
from . import spectrum

if TYPE_CHECKING:
    from ..match import Importer


def time_of(importer: Importer, x: Placed) -> int | None:
    """The axis of time: along it the places span the most rows. None: there is none."""
    op = importer.op(x)
    if op.timeless or op.rows == 1 or x.at.numel() == 0:
        return None
    rows = torch.where(x.at < 0, ZERO, x.at // op.width)
    spans = [int((rows.amax(d) - torch.where(rows < 0, op.rows, rows).amin(d)).max()) for d in range(x.at.dim())]
    return spans.index(max(spans)) if max(spans) > 0 else None


def padded_axes(x: Placed, amounts: Sequence[int]) -> list[int]:
    return [x.at.dim() - 1 - d for d in range(len(amounts) // 2) if any(amounts[2 * d : 2 * d + 2])]


def copies(importer: Importer, x: Placed, amounts: Sequence[int], mode: str) -> Placed:
    """Reflected, repeated or circular features. Copies of rows would be rows that a stream does not have yet."""
    if (time := time_of(importer, x)) in padded_axes(x, amounts):
        before, after = amounts[2 * (x.at.dim() - 1 - time) :][:2]
        raise NoOp(
            f"pads time with {mode}: rows at the ends of a sequence, {before} in front and {after} behind, would be copies of "
            "other rows",
            retrain("pad with zeros: only rows near the ends of a sequence differ"),
        )
    return x.moved(F.pad(x.at.to(torch.float64), list(amounts), mode=mode).to(torch.long))


def pad(importer: Importer, n: Node) -> Placed:
    kind, amounts, x = importer.kind(n), args_of(n)[1], importer.placed(importer.variables(n)[0])
    mode = args_of(n)[2] if kind == "pad" and len(args_of(n)) > 2 else kwargs_of(n).get("mode", "constant")
    value = (
        args_of(n)[2 if kind == "constant_pad_nd" else 3]
        if len(args_of(n)) > (2 if kind == "constant_pad_nd" else 3)
        else kwargs_of(n).get("value")
    )
    if any(importer.kind(u) == "stft" for v in (n, *n.users) for u in (v, *v.users)) and amounts[0] == amounts[-1] > 0:
        raise Refused(
            f"a centred stft: its frames lie {amounts[0]} samples ahead, and it has one frame more than a stream can have",
            spectrum.CENTRED,
        )
    if not any(amounts):
        return x
    if mode != "constant":
        return copies(importer, x, amounts, mode)
    if (value or 0) != 0:
        raise NoOp(f"pads with {value}", retrain("pad with zeros"))
    if time_of(importer, x) in padded_axes(x, amounts) and x.at.numel() and int(x.at.min()) >= 0:
        x = split(importer.graph, folded(importer.graph, x) or x)  # such as every second row, or each row twice
    return x.moved(F.pad(x.at, list(amounts), value=ZERO))


RULES = {"pad": pad, "constant_pad_nd": pad}
