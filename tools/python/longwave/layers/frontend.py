"""Audio front end: causal log-mel spectrogram, the same arithmetic as the engine's front-end operator.

Frame i covers the samples [(i+1)*hop - window, (i+1)*hop); samples before the stream are zeros.  A periodic Hann
window is applied, the frame is zero-padded to `n_fft`, and the power spectrum (not divided by anything) goes through
a triangular mel matrix.  Output: (log(power @ mel + offset) - mean) * scale, per band.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

SAMPLE_RATE = 16000  # Hz
WINDOW = 400  # samples, 25 ms
HOP = 160  # samples, 10 ms
N_FFT = 512
BANDS = 40


def mel_matrix(
    low_hz: float = 60.0, high_hz: float = 7600.0, bands: int = BANDS, n_fft: int = N_FFT, rate: int = SAMPLE_RATE
) -> np.ndarray:
    """Triangular filters, peak 1, equally spaced on the mel scale of HTK: m = 1127 ln(1 + f/700).

    Returns float32 (n_fft/2 + 1, bands).
    """

    def to_mel(f: float) -> float:
        result: float = 1127.0 * np.log(1.0 + f / 700.0)
        return result

    points = 700.0 * (np.exp(np.linspace(to_mel(low_hz), to_mel(high_hz), bands + 2) / 1127.0) - 1.0)
    bins = np.arange(n_fft // 2 + 1) * rate / n_fft
    matrix = np.zeros((n_fft // 2 + 1, bands), np.float32)
    for band in range(bands):
        left, centre, right = points[band : band + 3]
        matrix[:, band] = np.clip(
            np.minimum((bins - left) / (centre - left), (right - bins) / (right - centre)), 0, None
        )
    return matrix


class LogMel(nn.Module):
    """Samples in [-1, 1], shape (..., n) -> features (..., n // hop, bands)."""

    window: Tensor
    mel: Tensor
    mean: Tensor
    scale: Tensor

    def __init__(self, bands: int = BANDS, offset: float = 1e-5) -> None:
        super().__init__()
        self.offset = offset
        self.register_buffer("window", torch.hann_window(WINDOW, periodic=True))
        self.register_buffer("mel", torch.from_numpy(mel_matrix(bands=bands)))
        self.register_buffer("mean", torch.zeros(bands))
        self.register_buffer("scale", torch.ones(bands))

    def power(self, samples: Tensor) -> Tensor:
        """Mel power before the logarithm, (..., frames, bands)."""
        frames = samples.shape[-1] // HOP
        padded = torch.nn.functional.pad(samples, (WINDOW - HOP, 0))
        framed = padded.unfold(-1, WINDOW, HOP)[..., :frames, :]
        spectrum = torch.fft.rfft(framed * self.window, n=N_FFT)
        result: Tensor = (spectrum.real.square() + spectrum.imag.square()) @ self.mel
        return result

    def log_power(self, samples: Tensor) -> Tensor:
        """Logarithm without normalisation: what the feature cache stores."""
        return torch.log(self.power(samples) + self.offset)

    def normalise(self, log_power: Tensor) -> Tensor:
        return (log_power - self.mean) * self.scale

    def forward(self, samples: Tensor) -> Tensor:
        return self.normalise(self.log_power(samples))
