"""A Hyena operator of order 2 (implicit filters, gates) and a small language model of bytes built on it."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Filter(nn.Module):
    """A filter as a function of time: a network of sines, under a decay."""

    def __init__(self, width: int, order: int = 32, bands: int = 8, longest: int = 1024) -> None:
        super().__init__()
        self.longest = longest
        self.bands = bands
        self.net = nn.Sequential(
            nn.Linear(2 * bands + 1, order),
            nn.SiLU(),
            nn.Linear(order, order),
            nn.SiLU(),
            nn.Linear(order, width, bias=False),
        )
        self.decay = nn.Parameter(torch.linspace(math.log(0.01), math.log(0.3), width), requires_grad=False)
        self.bias = nn.Parameter(torch.randn(width))

    def forward(self, rows: int) -> Tensor:  # -> (width, rows)
        t = torch.arange(rows) / self.longest
        angles = 2 * math.pi * t[:, None] * torch.arange(1, self.bands + 1)
        features = torch.cat([t[:, None], angles.cos(), angles.sin()], -1)
        return (self.net(features) * torch.exp(-self.decay.exp() * torch.arange(rows)[:, None])).T


def fft_conv(u: Tensor, k: Tensor, d: Tensor) -> Tensor:
    n = u.shape[-1]
    y = torch.fft.irfft(torch.fft.rfft(u, n=2 * n) * (torch.fft.rfft(k, n=2 * n) / (2 * n)), n=2 * n, norm="forward")[
        ..., :n
    ]
    return y + u * d[:, None]


class Hyena(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width
        self.in_proj, self.out_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.short_filter = nn.Conv1d(3 * width, 3 * width, 3, padding=2, groups=3 * width)
        self.filter = Filter(width)

    def forward(self, u: Tensor) -> Tensor:  # (batch, rows, width)
        n = u.shape[1]
        x = self.short_filter(self.in_proj(u).transpose(1, 2))[..., :n]
        gate, first, v = x.split(self.width, dim=1)
        v = fft_conv(v * first, self.filter(n), self.filter.bias)
        return self.out_proj((v * gate).transpose(1, 2))


class HyenaLM(nn.Module):
    def __init__(self, vocabulary: int = 256, width: int = 24, depth: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.mixers = nn.ModuleList(Hyena(width) for _ in range(depth))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(approximate="tanh"), nn.Linear(2 * width, width))
            for _ in range(depth)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * depth + 1))
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, ids: Tensor) -> Tensor:  # (batch, rows) -> (batch, rows, vocabulary)
        x = self.embedding(ids)
        for i, (mixer, mlp) in enumerate(zip(self.mixers, self.mlps)):
            x = x + mixer(self.norms[2 * i](x))
            x = x + mlp(self.norms[2 * i + 1](x))
        return F.log_softmax(self.head(self.norms[-1](x)), -1)


def example() -> tuple[nn.Module, Tensor]:
    return HyenaLM().eval(), torch.randint(0, 256, (1, 700))
