"""Regions of linear operations, told by what they do.

A region around an inverse FFT runs on an impulse in the first row (taps for lags 0 and above) and in the last row (taps for
lags below 0). Amplitudes tell which input channel each output reads. Noise confirms the taps. So the spelling of an FFT
convolution does not matter. Other linear operations on rows run on one unit vector per row: their results are the matrix.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .errors import Refused, UnclearLength

EXACT = 1e-10  # of the peak: rounding of float64 transforms, far below any other meaning
NOTHING = 1e-12  # taps below are rounding of the transforms
GROUP = 8  # channels that are convolved at a time


@dataclass
class Taps:
    lags: Tensor  # [outputs, K]: weight of the row j steps back
    ahead: Tensor  # [outputs, K1]: weight of the row 1 + j steps ahead
    channel: Tensor  # input channel of each output
    cut: bool  # the taps reach the example's length


def noise(rows: int, width: int) -> Tensor:
    return torch.randn(rows, width, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def close(a: Tensor, b: Tensor) -> bool:
    return float((a - b).abs().max()) <= EXACT * max(float(b.abs().max()), 1e-300)


def time_axis(shape: Sequence[int], rows: int) -> int:
    if list(shape).count(rows) != 1:
        raise UnclearLength(
            f"time axis of {tuple(shape)} is not clear at length {rows}", "choose another example --length"
        )
    return list(shape).index(rows)


def circle_size(n: int) -> int:
    """At least n, without large prime factors: transforms of it are fast."""
    return min(odd << max(0, (-(-n // odd) - 1).bit_length()) for odd in (1, 3, 5, 9, 15, 25, 27, 45, 75, 125))


def convolved(x: Tensor, lags: Tensor, ahead: Tensor) -> Tensor:
    """[outputs, rows]: rows with the taps of each, zeros outside. In groups of channels, whose transforms stay in caches."""
    rows = x.shape[1]
    lags, ahead = lags[:, :rows], ahead[:, : rows - 1]
    n = circle_size(rows + max(lags.shape[1], ahead.shape[1]))
    y = torch.empty(len(x), rows, dtype=torch.float64)
    for at in range(0, len(x), GROUP):
        group = slice(at, at + GROUP)
        circle = torch.zeros(len(x[group]), n, dtype=torch.float64)
        circle[:, : lags.shape[1]] = lags[group]
        if ahead.shape[1]:
            circle[:, n - ahead.shape[1] :] = ahead[group].flip(1)
        y[group] = torch.fft.irfft(torch.fft.rfft(x[group], n) * torch.fft.rfft(circle, n), n)[:, :rows]
    return y


def probe_convolution(run: Callable[[Tensor], Tensor], rows: int, width: int) -> Taps:
    """`run`: rows [T, width] -> rows [T, outputs] in float64."""
    impulse = torch.zeros(rows, width, dtype=torch.float64)
    amplitude = 1 + torch.arange(width, dtype=torch.float64) / width
    results = []
    for row in (0, rows - 1):
        for size in (torch.ones(width, dtype=torch.float64), amplitude):
            impulse[row] = size
            results.append(run(impulse))
            impulse[row] = 0
    forward, marked, backward, marked_backward = results
    both, marked = torch.cat([forward, backward]), torch.cat([marked, marked_backward])
    peak = both.abs().max(0)
    gain = marked.gather(0, peak.indices[None])[0] / both.gather(0, peak.indices[None])[0]
    channel = ((gain.nan_to_num(1) - 1) * width).round().long().clamp(0, width - 1)
    lags, ahead = forward.T, backward.flip(0).T[:, 1:]
    x = noise(rows, width)
    if not close(convolved(x.T[channel], lags, ahead), run(x).T):
        raise Refused(
            "not a depthwise convolution", "each output may read one channel with taps that do not depend on the input"
        )
    top = float(peak.values.max())
    if float(ahead.abs().max()) > NOTHING * top and float((ahead - lags[:, 1:].flip(1)).abs().max()) <= NOTHING * top:
        raise Refused(
            "circular convolution: its taps change with the length",
            "transform at least the rows plus the taps, and cut",
        )

    def last(k: Tensor) -> int:
        return int(((k.abs() > NOTHING * top).any(0) * torch.arange(1, k.shape[1] + 1)).max())

    n0, n1 = max(last(lags), 1), last(ahead) if ahead.shape[1] else 0
    return Taps(lags[:, :n0], ahead[:, :n1], channel, n0 == rows or n1 == rows - 1)


def probe_matrix(run: Callable[[Tensor], Tensor], rows: int, width: int) -> tuple[Tensor, Tensor]:
    """Matrix [outputs, width] and bias of an operation that treats each row alike."""
    bias = run(torch.zeros(rows, width, dtype=torch.float64))[0]
    columns = []
    for first in range(0, width, rows):
        x = torch.zeros(rows, width, dtype=torch.float64)
        n = min(rows, width - first)
        x[torch.arange(n), first + torch.arange(n)] = 1
        columns.append(run(x)[:n] - bias)
    matrix = torch.cat(columns).T
    x = noise(rows, width)
    if not close(x @ matrix.T + bias, run(x)):
        raise Refused("mixes rows, or treats them differently", "keep each row on its own, or write a convolution")
    return matrix, bias
