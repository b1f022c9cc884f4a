"""Random modules of accepted operations, one for each seed. Every seventh reads samples and begins with a transform of frames."""

from __future__ import annotations

import random

import torch
import torch.nn.functional as F
from random_spellings import SPELLINGS
from torch import Tensor, nn
from torch.fft import irfft, rfft

KINDS = [
    "linear",
    "conv",
    "depthwise",
    "long",
    "long",
    "two sided",
    "norm",
    "batch norm",
    "activation",
    "glu",
    "split",
    "cat",
    "gate",
    "constant",
    "permute",
    "softmax",
    "broadcast",
    "strided",
    "circular",
    "shift",
    "arithmetic",
    "pool",
    "lstm",
    "gru",
    "group norm",
    "sums",
    "take",
    "join",
    "delay",
    "state space",
    "state space",
    "centred",
    "rms norm",
    "power",
    *SPELLINGS,
]
REFUSED = {"circular", "shift"}


class Step(nn.Module):
    """One random operation on (1, T, H); most have an own choice of layout."""

    def __init__(self, choice: random.Random, width: int) -> None:
        super().__init__()
        self.kind = choice.choice(KINDS)
        self.first, self.width, self.number = choice.random() < 0.5, width, choice.randint(1, 6)
        k = self.number
        self.extra = choice.choice(
            ["relu", "gelu", "silu", "sigmoid", "tanh", "log", "square", "elu", "hardswish", "softplus", "clamp", "exp"]
        )
        self.out = {
            "linear": width + k,
            "split": width // 2 or 1,
            "cat": 2 * width,
            "conv": width + 1,
            "lstm": k + 1,
            "gru": k + 1,
            "take": k,
            "join": 2 * width + 1,
        }.get(self.kind, width)
        if self.kind in SPELLINGS:
            self.m = SPELLINGS[self.kind](choice, width)
            self.out = self.m.out
        if self.kind == "linear":
            self.m = nn.Linear(width, self.out, bias=self.first)
        elif self.kind == "conv":
            self.m = nn.Conv1d(
                width, self.out, k, dilation=2 if self.first else 1, padding=(k - 1) * (2 if self.first else 1)
            )
        elif self.kind in ("depthwise", "strided"):
            self.m = nn.Conv1d(width, width, k + 1, groups=width, stride=2 if self.kind == "strided" else 1)
        elif self.kind == "centred":
            self.m = nn.Conv1d(width, width, 2 * k + 1, groups=width, padding=k, bias=self.first)
        elif self.kind == "norm":
            self.m = nn.LayerNorm(width)
        elif self.kind == "rms norm":
            self.m = nn.RMSNorm(width, eps=1e-6)  # the default depends on the type
        elif self.kind == "group norm":
            self.m = nn.GroupNorm(width if self.first else 1, width)
        elif self.kind == "batch norm":
            self.m = nn.BatchNorm1d(width)
            self.m.running_mean.uniform_(-1, 1)
        elif self.kind == "glu":
            self.m = nn.Linear(width, 2 * width)
        elif self.kind in ("lstm", "gru"):
            self.m = {"lstm": nn.LSTM, "gru": nn.GRU}[self.kind](
                width, self.out, 1 + k // 4, batch_first=True, bias=self.first
            )
        self.k = nn.Parameter(torch.randn(2, width, 5 * k))
        self.order = torch.randperm(width)
        self.index = torch.randint(width, (self.out,))
        self.poles = 1 + k // 3

    def kernel(self, rows: int) -> Tensor:
        """Taps of a state space, (H, rows)."""
        n = torch.arange(self.poles, dtype=self.k.dtype)
        real, turn = -0.1 * (1 + self.k[0, :, :1].abs()), 0.5 * (1 + n)
        return (
            (
                self.k[1, :, :1, None]
                * torch.exp(
                    torch.complex(real.expand(-1, self.poles), turn.expand(self.width, -1))[..., None]
                    * torch.arange(rows)
                )
            )
            .sum(1)
            .real
        )

    def convolved(self, x: Tensor) -> Tensor:
        rows = x.shape[1]
        n = rows if self.kind == "circular" else 2 * rows + 40
        if self.kind == "state space":
            k = self.kernel(rows)
        else:
            k = F.pad(self.k[0], (0, n - self.k.shape[-1])) if self.kind != "circular" else self.k[0]
        if self.kind == "two sided":
            k = k + F.pad(self.k[1], (n - self.k.shape[-1], 0))
        return irfft(rfft(x.mT, n=n) * rfft(k, n=n), n=n)[..., :rows].mT

    def activation(self, x: Tensor) -> Tensor:
        own = {
            "log": lambda: torch.log(x.square() + 1),
            "square": x.square,
            "clamp": lambda: x.clamp(-0.5, 1),
            "exp": lambda: torch.exp(-x.abs()),
        }
        return own.get(self.extra, lambda: getattr(F, self.extra)(x))()

    def forward(self, x: Tensor) -> Tensor:
        kind, k = self.kind, self.number
        if kind in ("linear", "norm", "rms norm", *SPELLINGS):
            return self.m(x)
        if kind in ("lstm", "gru"):
            return self.m(x)[0] if self.first else self.m(x.transpose(0, 1).transpose(0, 1))[0]
        if kind == "conv":
            return self.m(x.mT)[..., : x.shape[1]].mT
        if kind in ("depthwise", "strided"):
            return self.m(F.pad(x.mT, (self.m.kernel_size[0] - self.m.stride[0], 0))).mT
        if kind in ("centred", "group norm", "batch norm"):
            return self.m(x.mT).mT
        if kind in ("long", "two sided", "circular", "state space"):
            return self.convolved(x) + (x * self.k[0, :, 0] if self.first else 0)
        if kind == "activation":
            return self.activation(x)
        if kind == "pool":
            size = 1 + k // 2
            return (F.max_pool1d if self.first else F.avg_pool1d)(x.mT, size).mT
        if kind == "sums":
            return x.cumsum(1) / 8 if self.first else torch.logcumsumexp(x, 1)
        if kind == "take":
            return x[..., self.index]
        if kind == "join":
            return torch.cat([x.tanh(), x[..., :1], x * 0.5], 2)
        if kind == "delay":
            return (
                F.pad(x, (0, 0, k, 0))[:, :-k] if self.first else torch.cat([torch.zeros_like(x[:, :k]), x[:, :-k]], 1)
            )
        if kind == "power":
            return (x.abs() + 0.5).rsqrt() if self.first else x.pow(3) / (1 + x * x)
        if kind == "glu":
            return F.glu(self.m(x), -1)
        if kind == "split":
            return x[..., : self.out] if self.first else x[..., -self.out :]
        if kind == "cat":
            return torch.cat([x, x.relu()], -1) if self.first else torch.cat([x.mT, -x.mT], 1).mT
        if kind == "gate":
            return x * torch.sigmoid(x.flip(-1))
        if kind == "constant":
            return (x - self.k[0, :, 0]) / (2 + self.k[1, :, 0].abs())
        if kind == "permute":
            return x[..., self.order]
        if kind == "softmax":
            return x.softmax(-1)
        if kind == "broadcast":
            return x * x.sum(-1, keepdim=True) if self.first else x + x.mean(-1, keepdim=True)
        if kind == "shift":
            return x + x.roll(1, 1)
        return 1 - 2 * x + 0.5 * x


class Frames(nn.Module):
    """Samples (1, T) to rows of magnitudes or powers."""

    kind, first = "frames", False

    def __init__(self, choice: random.Random) -> None:
        super().__init__()
        self.size, self.squared, self.width = choice.choice([8, 16]), choice.random() < 0.5, 1
        self.hop = self.size // choice.choice([1, 2, 4])
        self.out = self.size // 2 + 1
        self.register_buffer("window", torch.hann_window(self.size))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.stft(
            F.pad(x, (self.size - self.hop, 0)),
            self.size,
            self.hop,
            window=self.window,
            center=False,
            return_complex=True,
        ).abs()
        return (y.square() if self.squared else y).mT


class RandomModule(nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        choice, width, steps = random.Random(seed), random.Random(seed + 1).randint(2, 7), []
        if seed % 7 == 6:
            steps.append(Frames(choice))
            width = steps[-1].out
        for _ in range(choice.randint(1, 5)):
            steps.append(Step(choice, width))
            width = steps[-1].out
        self.steps, self.end = (
            nn.ModuleList(steps),
            choice.choice(["rows", "rows", "mean", "last", "sum", "largest", "first", "transposed"]),
        )
        if self.end == "transposed":
            self.up = nn.ConvTranspose1d(width, 2, 5, 3)

    def forward(self, x: Tensor) -> Tensor:
        for step in self.steps:
            y = step(x)
            x = x + y if y.shape == x.shape and step.first else y
        if self.end == "transposed":
            return self.up(x.mT)[..., : 3 * x.shape[1]].tanh()
        return {
            "rows": lambda: x,
            "mean": lambda: x.mean(1),
            "last": lambda: x[:, -1],
            "sum": lambda: x.sum(1),
            "largest": lambda: x.amax(1),
            "first": lambda: x[:, 0],
        }[self.end]()
