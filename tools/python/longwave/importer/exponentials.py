"""Taps that are sums of few complex exponentials: the kernels of S4, S4D and S5.

Samples h[s + t] of the taps form a matrix whose rank is the number of exponentials, and the same samples one row later form
a second one. The eigenvalues between both are the poles (the matrix pencil method, Hua and Sarkar 1990). Least squares gives
the amplitudes. The fit sees a prefix of the taps and must predict the rest. So it holds beyond the last tap too.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .probe import NOTHING
from .taps import EXACT, peaks

MOST_POLES = 64
TAPS_PER_POLE = 32  # fewer: the table streams faster
RANKS = (1e-6, 1e-7, 1e-8, 1e-10, 1e-12, 1e-13)  # singular values below this part of the first are noise
SURE = 1e-10  # of the peak: more poles would only follow the rounding of the transforms
SEEN = (0.5, 0.75, 0.9, 1.0)  # of the taps: the prefixes that are tried
TRIED = 3  # channels, before all are fitted
BESIDES = 64.0  # the amplitudes of a channel add up to less, of its peak: float32 states keep seven digits of each


@dataclass(frozen=True)
class Exponentials:
    """taps[c, h, j] = Re sum_n c[c, h, n] e^(logarithms[h, n] j), and `first` more at lag 0; `error`: of the peak, as stored.
    `endless`: the taps after a prefix were predicted from it, so the kernel goes on after them."""

    logarithms: Tensor  # complex [H, N]
    c: Tensor  # complex [copies, H, N], rounded to float32 as the folder holds them
    first: Tensor  # [copies, H]
    error: float
    endless: bool

    def __str__(self) -> str:
        return f"recurrence of {self.c.shape[2]} complex states per channel"


def powers(logarithms: Tensor, count: int) -> Tensor:
    """[N, count]: e^(logarithms j), from two short tables."""
    step = max(1, int(count**0.5))
    fine, coarse = (
        torch.exp(logarithms[:, None] * torch.arange(0, end, by)) for end, by in ((step, 1), (count + step, step))
    )
    return (coarse[:, :, None] * fine[:, None]).flatten(1)[:, :count]


def samples(count: int, limit: int) -> Tensor:
    """Positions below `limit`: half of them the first ones, for poles that decay at once, the others ever further apart."""
    if count >= limit:
        return torch.arange(limit)
    near = count // 2
    far = torch.logspace(0, 1, count - near, limit / near).mul(near).long().clamp(max=limit - 1)
    result: Tensor = torch.cat([torch.arange(near), far]).unique()
    return result


def pencil(taps: Tensor, size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """SVD of the samples of `taps` [copies, K], lag 1 first, and the samples one row later."""
    at = samples(size, (taps.shape[1] - 1) // 2)
    at = at[:, None] + at
    return *torch.linalg.svd(taps[:, at].flatten(0, 1), full_matrices=False), taps[:, at + 1].flatten(0, 1)


def poles_of(svd: tuple[Tensor, Tensor, Tensor, Tensor], rank: int) -> Tensor:
    """Logarithms of the poles with a phase of 0 to pi: one of each pair. None of them grows."""
    u, s, vh, later = svd
    pole = torch.linalg.eigvals((u[:, :rank].T @ later @ vh[:rank].T) / s[:rank, None])
    pole = pole[(pole.imag >= 0) & (pole.abs() > 1e-12)]
    logarithms = torch.log(pole)
    return torch.complex(logarithms.real.clamp(max=0.0), logarithms.imag)


def amplitudes(taps: Tensor, logarithms: Tensor, seen: int) -> Tensor:
    """Complex [copies, N], by least squares on samples of the first `seen` taps."""
    at = samples(16 * len(logarithms) + 64, seen)
    wave = torch.exp(logarithms * (at[:, None] + 1))
    found = torch.linalg.lstsq(torch.cat([wave.real, -wave.imag], 1), taps[:, at].T, driver="gelsd").solution.T
    return torch.complex(*found.chunk(2, 1))


@dataclass(frozen=True)
class Fit:
    logarithms: Tensor  # [N]
    c: Tensor  # [copies, N]
    error: float  # as stored
    miss: float  # in float64


def fit_of(taps: Tensor, logarithms: Tensor, seen: int) -> Fit:
    c = amplitudes(taps, logarithms, seen)
    waves = powers(logarithms, taps.shape[1] + 1)[:, 1:]
    miss, error = (
        float(((kept @ waves).real - taps).abs().max()) for kept in (c, c.to(torch.complex64).to(torch.complex128))
    )
    return Fit(logarithms, c, error, miss)


def fitted(taps: Tensor, part: float, most: int) -> Fit | None:
    """One channel, taps [copies, K] of peak 1 to 2 from lag 1 on. The fewest poles that are exact, else those that miss least."""
    there = taps.abs().amax(0) > NOTHING
    seen = max(min(int(taps.shape[1] * part), 2 * int(there.nonzero()[-1]) + 2), 16)
    svd, tried, best = pencil(taps[:, :seen], min(4 * most, seen // 2)), 0, None
    for limit in RANKS:
        rank = int((svd[1] > limit * svd[1][0]).sum())
        if not tried < rank <= min(2 * most, 0.9 * len(svd[1])):
            continue
        tried, logarithms = rank, poles_of(svd, rank)
        if not 0 < len(logarithms) <= most:
            continue
        fit = fit_of(taps, logarithms, seen)
        if fit.error <= EXACT and float(fit.c.abs().sum(1).max()) <= BESIDES and (best is None or fit.miss < best.miss):
            best = fit
        if best is not None and best.miss <= SURE:
            break
    return best


def exponentials(taps: Tensor, rows: int) -> Exponentials | None:
    """The form of `taps` [copies, H, K], or None. Zeros follow up to the example's `rows`; taps that reach them are cut there."""
    copies, heads, count = taps.shape
    most = min(MOST_POLES, count // TAPS_PER_POLE)
    if most == 0:
        return None
    taps = torch.nn.functional.pad(taps, (0, rows - count))
    peak = peaks(taps.flatten(0, 1)).reshape(copies, heads)
    scale = torch.exp2(torch.log2(peak.amax(0)).floor())  # c rounds alike before and after it
    scaled, part = taps[..., 1:] / scale[:, None], 0
    found: dict[int, Fit] = {}
    heard = [h for h in range(heads) if bool((scaled[:, h] != 0).any())]
    if not heard:
        return None
    for h in dict.fromkeys([*heard[:: max(1, len(heard) // TRIED)], *heard]):
        while part < len(SEEN) and (fit := fitted(scaled[:, h], SEEN[part], most)) is None:
            part += 1
        if part == len(SEEN) or fit is None:
            return None
        found[h] = fit
    poles = max(len(fit.logarithms) for fit in found.values())
    logarithms = torch.full((heads, poles), -1.0, dtype=torch.complex128)
    c = torch.zeros(copies, heads, poles, dtype=torch.complex128)
    for h, fit in found.items():
        logarithms[h, : len(fit.logarithms)], c[:, h, : len(fit.logarithms)] = (
            fit.logarithms,
            (fit.c * scale[h]).to(torch.complex64),
        )
    if count < rows and bool(((c.abs() * torch.exp(logarithms.real * rows)).sum(2) > EXACT * peak).any()):
        return None  # it would go on where the taps end
    error = max(fit.error for fit in found.values())
    return Exponentials(logarithms, c, taps[..., 0] - c.sum(2).real, error, count == rows and SEEN[part] < 1)
