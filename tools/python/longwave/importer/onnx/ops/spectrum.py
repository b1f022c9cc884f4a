"""Fourier transforms and windows."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from ...errors import Refused
from ..call import Call, axis_of
from .constants import torch_type


def dft(c: Call) -> Tensor:
    """Real and imaginary parts are the last axis, of 2."""
    x, length = c.tensor(0), c.number(1, "length")
    axis = axis_of(c.number(2, "axis", -2) if c.opset >= 20 else c.integer("axis", 1), x.dim())
    real, inverse, half = x.shape[-1] == 1, bool(c.integer("inverse", 0)), bool(c.integer("onesided", 0))
    if inverse and half or half and not real:
        raise Refused("an inverse or complex transform of one side", "transform both sides")
    if real:
        x = x.squeeze(-1)
        made = (
            torch.fft.rfft(x, length, axis)
            if half
            else torch.fft.ifft(x, length, axis)
            if inverse
            else torch.fft.fft(x, length, axis)
        )
    else:
        x = torch.view_as_complex(x.contiguous())
        made = torch.fft.ifft(x, length, axis) if inverse else torch.fft.fft(x, length, axis)
    return torch.view_as_real(made)


def stft(c: Call) -> Tensor:
    x, step = c.tensor(0), c.number(1, "frame_step")
    window = c.tensor(2) if c.has(2) else None
    length = c.number(3, "frame_length", None if window is None else len(window))
    if length is None or step < 1 or length < 1 or x.dim() == 3 and x.shape[-1] != 1:
        raise Refused(
            f"frames of {length} in steps of {step} of shape {list(x.shape)}", "give real samples and a window"
        )
    frames = (x.squeeze(-1) if x.dim() == 3 else x).unfold(1, length, step)
    frames = frames if window is None else frames * window
    made = torch.fft.rfft(frames) if c.integer("onesided", 1) else torch.fft.fft(frames)
    return torch.view_as_real(made)


def window(*weights: float) -> Callable[[Call], Tensor]:
    def run(c: Call) -> Tensor:
        size, kind = c.number(0, "size"), torch_type(c.integer("output_datatype", 1))
        if not 0 < size <= 1 << 20:
            raise Refused(f"a window of {size}", "at most 1,048,576 samples")
        angle = torch.arange(size, dtype=torch.float64) * (
            2 * math.pi / (size if c.integer("periodic", 1) else max(size - 1, 1))
        )
        result: Tensor = sum((-1) ** k * w * torch.cos(k * angle) for k, w in enumerate(weights)).to(kind)
        return result

    return run


TABLE = {
    "DFT": dft,
    "STFT": stft,
    "HannWindow": window(0.5, 0.5),
    "HammingWindow": window(25 / 46, 21 / 46),
    "BlackmanWindow": window(0.42, 0.5, 0.08),
}
