"""Sums of a cosine and a sine of t theta, from their numbers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

STEPS = 12  # of Gauss-Newton
ALIKE = 1e-9  # rad per row: two rates are one


@dataclass(frozen=True)
class Waves:
    fits: Tensor  # of each column
    theta: Tensor  # [pairs]
    weight: Tensor  # [columns that fit, 2 pairs]: of the cosines, then of the sines


def waves(c: Tensor, limit: float) -> Waves:
    """`limit`: of the peak of a column."""
    found = [wave(c[:, k], limit) for k in range(c.shape[1])]
    fits = torch.tensor([w is not None for w in found], dtype=torch.bool)
    theta: list[float] = []
    rows = []
    for rate, cosine, sine in (w for w in found if w is not None):
        at = next((i for i, other in enumerate(theta) if abs(other - rate) <= ALIKE / len(c) ** (limit < 1e-9)), None)
        if at is None:
            at = len(theta)
            theta.append(rate)
        rows.append((at, cosine, sine))
    weight = torch.zeros(len(rows), 2 * len(theta), dtype=torch.float64)
    for row, (at, cosine, sine) in enumerate(rows):
        weight[row, at], weight[row, len(theta) + at] = cosine, sine
    return Waves(fits, torch.tensor(theta, dtype=torch.float64), weight)


def wave(y: Tensor, limit: float) -> tuple[float, float, float] | None:
    """theta, and the parts of cos(t theta) and sin(t theta)."""
    rows, peak = len(y), float(y.abs().max())
    if rows < 16 or peak == 0:
        return None
    rate, t = rate_of(y), torch.arange(rows, dtype=torch.float64)
    if rate is None:
        return None
    for _ in range(STEPS):
        cosine, sine = (t * rate).cos(), (t * rate).sin()
        a, b = torch.linalg.lstsq(torch.stack([cosine, sine], 1), y[:, None]).solution[:, 0].tolist()
        rest = y - a * cosine - b * sine
        slope = t * (b * cosine - a * sine)
        jacobian = torch.stack([cosine, sine, slope], 1)
        step = float(torch.linalg.lstsq(jacobian, rest[:, None]).solution[2, 0])
        if not abs(step) < 1:
            return None
        rate += step
        if abs(step) <= 1e-16:
            break
    cosine, sine = (t * rate).cos(), (t * rate).sin()
    a, b = torch.linalg.lstsq(torch.stack([cosine, sine], 1), y[:, None]).solution[:, 0].tolist()
    snapped = [next((whole for whole in (0.0, 1.0, -1.0) if abs(part - whole) <= limit), part) for part in (a, b)]
    worst = float((y - snapped[0] * cosine - snapped[1] * sine).abs().max())
    return (rate, snapped[0], snapped[1]) if worst <= limit * peak else None


def rate_of(y: Tensor) -> float | None:
    """From y[t + lag] + y[t - lag] = 2 cos(lag theta) y[t], at the first lag at which that differs from 2 y[t]."""
    lag, rows = 1, len(y)
    while 4 * lag < rows:
        middle, sum_ = y[lag:-lag], y[2 * lag :] + y[: -2 * lag]
        top = float((middle * middle).sum())
        half = float((middle * sum_).sum()) / (2 * top) if top else 1.0
        if abs(half) > 1 + 1e-3:
            return None
        if half < 1 - 1e-3 or 8 * lag >= rows:
            return float(torch.acos(torch.tensor(max(-1.0, min(1.0, half)), dtype=torch.float64))) / lag
        lag *= 2
    return None
