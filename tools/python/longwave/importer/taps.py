"""Compact forms of the taps of long convolutions.

Probed taps are tables. A table that comes from a few numbers is stored as these: pieces that are stretched by powers of two
(SGConv's scales). A form is used where it gives the taps within EXACT of the peak of each row, and has fewer numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

EXACT = 1e-7  # of the peak of a row: rounding of kernels that a module computes in float32
MOST_DIM, MOST_INIT, MOST_SCALES = 512, 4, 24
SAMPLED = 16  # rows that a candidate is tried on before all are fitted


@dataclass(frozen=True)
class Pieces:
    """Taps of the op expand_scales: piece i has `dim` numbers, stretched by `stretch(i)` from lag `offset(i)` on."""

    dim: int
    count: int
    init: int = 0
    nearest: bool = False

    def stretch(self, i: int) -> int:
        return 1 << (self.init + max(i - 1, 0))

    def offset(self, i: int) -> int:
        return 0 if i == 0 else self.dim << (i - 1 + self.init)

    @property
    def taps(self) -> int:
        return self.dim << (self.count - 1 + self.init)

    def matrix(self, i: int, taps: int) -> Tensor:
        """[taps, dim]: the taps of piece i that lie before `taps`, as sums of its numbers. Half-pixel centres, ends held."""
        stretch = self.stretch(i)
        position = torch.arange(max(0, min(self.dim * stretch, taps - self.offset(i))), dtype=torch.float64)
        matrix = torch.zeros(len(position), self.dim, dtype=torch.float64)
        if self.nearest:
            return matrix.scatter(1, (position // stretch).long()[:, None], 1.0)
        at = ((position + 0.5) / stretch - 0.5).clamp(min=0)
        low = at.long().clamp(max=self.dim - 1)
        high = (low + 1).clamp(max=self.dim - 1)
        part = (at - low)[:, None]
        return matrix.scatter_add(1, low[:, None], 1 - part).scatter_add(1, high[:, None], part)

    def smooth(self, taps: int) -> Tensor:
        """[taps - 2]: True where three taps in a row lie on one line of a piece (on one step, if nearest)."""
        of = torch.full((taps,), -1, dtype=torch.int64)
        for i in range(self.count):
            stretch, offset = self.stretch(i), self.offset(i)
            position = torch.arange(max(0, min(self.dim * stretch, taps - offset)))
            segment = position // stretch if self.nearest else (position + (stretch + 1) // 2) // stretch
            of[offset : offset + len(position)] = segment + i * (self.dim + 2)
        return (of[:-2] == of[2:]) & (of[:-2] >= 0)


@dataclass(frozen=True)
class Dyadic:
    """[pieces, rows, dim] numbers of `pieces`, cut after `taps` taps, and what lag 0 has besides; `error`: of the peak."""

    pieces: Pieces
    numbers: Tensor
    first: Tensor  # [rows]
    taps: int
    error: float

    def expanded(self) -> Tensor:
        taps = torch.cat([n @ self.pieces.matrix(i, self.taps).T for i, n in enumerate(self.numbers)], 1)
        taps[:, 0] += self.first
        return taps

    def __str__(self) -> str:
        p = self.pieces
        way = "steps" if p.nearest else "lines"
        return f"{p.count} pieces of {p.dim} numbers, {way} stretched by {p.stretch(0)} to {p.stretch(p.count - 1)}"


def candidates(taps: int) -> Iterator[Pieces]:
    """Every form with fewer numbers than taps and no piece beyond them, fewest numbers first."""
    found = []
    for dim in range(1, min(MOST_DIM, taps // 2) + 1):
        most = max(0, math.ceil(math.log2(taps / dim)))
        for init in range(min(MOST_INIT, most) + 1):
            count = most - init + 1
            if count <= MOST_SCALES and count * dim < taps:
                found += [Pieces(dim, count, init, nearest) for nearest in (False, True)]
    return iter(sorted(found, key=lambda p: p.count * p.dim))


def peaks(rows: Tensor) -> Tensor:
    return rows.abs().amax(1).clamp(min=1e-300)


def fitted(pieces: Pieces, rows: Tensor, taps: int) -> Dyadic:
    """By least squares. Numbers that no tap shows hold the one before. Lag 0 counts only where its piece is not stretched:
    elsewhere it may have a direct term besides."""
    alone, numbers = pieces.init > 0, []
    for i in range(pieces.count):
        skipped = int(alone and i == 0)
        matrix, offset = pieces.matrix(i, rows.shape[1])[skipped:], pieces.offset(i) + skipped
        shown = matrix.any(0)
        out = torch.zeros(len(rows), pieces.dim, dtype=torch.float64)
        if bool(shown.any()):
            out[:, shown] = torch.linalg.lstsq(matrix[:, shown], rows[:, offset : offset + len(matrix)].T).solution.T
            last = int(shown.nonzero()[-1])
            out[:, last + 1 :] = out[:, last : last + 1]
        numbers.append(out)
    form = Dyadic(pieces, torch.stack(numbers), torch.zeros(len(rows), dtype=torch.float64), taps, 0.0)
    first = rows[:, 0] - form.expanded()[:, 0] if alone else form.first
    if float((first.abs() / peaks(rows)).max()) <= EXACT:
        first = torch.zeros_like(first)
    form = replace(form, first=first)
    return replace(form, error=float(((form.expanded()[:, : rows.shape[1]] - rows).abs().amax(1) / peaks(rows)).max()))


def dyadic(rows: Tensor, taps: int | None = None) -> Dyadic | None:
    """The pieces of `rows` [rows, K], or None. `taps`: how many to expand, where the last of them are not known."""
    taps = taps or rows.shape[1]
    if rows.shape[1] < 8:
        return None
    sampled = (rows / peaks(rows)[:, None])[torch.linspace(0, len(rows) - 1, min(SAMPLED, len(rows))).long()]
    step = sampled.diff().abs()
    bends, steps = (
        sampled.diff(n=2).abs().amax(0) > 4 * EXACT,
        torch.maximum(step[:, 1:], step[:, :-1]).amax(0) > 2 * EXACT,
    )
    for pieces in candidates(taps):
        smooth = pieces.smooth(rows.shape[1])
        smooth[0] &= pieces.init == 0
        if not bool(smooth.any()) or bool((smooth & (steps if pieces.nearest else bends)).any()):
            continue
        if fitted(pieces, sampled, taps).error <= EXACT and (form := fitted(pieces, rows, taps)).error <= EXACT:
            return form
    return None
