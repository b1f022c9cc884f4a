"""A small keyword network on log-mel features, as one writes it for training: depthwise-separable residual blocks."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def mel_filters(bands: int, bins: int, sample_rate: int) -> Tensor:
    """Triangles on the mel scale: (bins, bands)."""
    top = 2595 * math.log10(1 + sample_rate / 2 / 700)
    edges = 700 * (10 ** (torch.linspace(0, top, bands + 2) / 2595) - 1)
    frequency = torch.linspace(0, sample_rate / 2, bins)[:, None]
    up = (frequency - edges[:-2]) / (edges[1:-1] - edges[:-2])
    down = (edges[2:] - frequency) / (edges[2:] - edges[1:-1])
    return torch.minimum(up, down).clamp(min=0)


class LogMel(nn.Module):
    def __init__(self, sample_rate: int = 16000, n_fft: int = 512, hop: int = 160, bands: int = 40) -> None:
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        self.register_buffer("filters", mel_filters(bands, n_fft // 2 + 1, sample_rate))

    def forward(self, wave: Tensor) -> Tensor:  # (batch, samples) -> (batch, bands, frames)
        wave = F.pad(wave, (self.n_fft - self.hop, 0))
        spectrum = torch.stft(wave, self.n_fft, self.hop, window=self.window, center=False, return_complex=True)
        power = spectrum.abs() ** 2
        return torch.log(power.transpose(1, 2) @ self.filters + 1e-6).transpose(1, 2)


class Block(nn.Module):
    def __init__(self, channels: int, kernel: int, dilation: int) -> None:
        super().__init__()
        self.past = (kernel - 1) * dilation
        self.depthwise = nn.Conv1d(channels, channels, kernel, dilation=dilation, groups=channels, bias=False)
        self.pointwise = nn.Conv1d(channels, channels, 1, bias=False)
        self.norm = nn.BatchNorm1d(channels)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.pointwise(self.depthwise(F.pad(x, (self.past, 0))))
        return x + self.dropout(F.relu(self.norm(y)))


class KeywordNet(nn.Module):
    def __init__(self, classes: int = 12, channels: int = 48, blocks: int = 4) -> None:
        super().__init__()
        self.features = LogMel()
        self.stem = nn.Sequential(nn.Conv1d(40, channels, 1), nn.BatchNorm1d(channels), nn.ReLU())
        self.blocks = nn.Sequential(*(Block(channels, 9, 2 ** (i % 3)) for i in range(blocks)))
        self.head = nn.Linear(channels, classes)

    def forward(self, wave: Tensor) -> Tensor:  # (batch, samples) -> (batch, classes)
        x = self.blocks(self.stem(self.features(wave)))
        return self.head(x.mean(2))


def example() -> tuple[nn.Module, Tensor]:
    """The network with statistics of some noise, and one second of audio."""
    net = KeywordNet()
    with torch.no_grad():
        for _ in range(20):
            net(torch.randn(4, 8000) * 0.1)
    return net.eval(), torch.randn(1, 16000) * 0.1
