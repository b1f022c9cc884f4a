"""Modules for the tests of the importer: restatements of published layers, spellings of FFT convolutions, what must be refused."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fft import fft, ifft, irfft, rfft


class Sgconv(nn.Module):
    """Multi-scale kernel as in the SGConv paper, features first, norm set by the first run."""

    def __init__(self, width: int = 12, taps: int = 100, bidirectional: bool = False) -> None:
        super().__init__()
        self.bidirectional, self.taps = bidirectional, taps
        directions = 2 if bidirectional else 1
        self.scales = nn.ParameterList(nn.Parameter(torch.randn(directions, width, 8)) for _ in range(4))
        self.D = nn.Parameter(torch.randn(width))
        self.register_buffer("norm", torch.ones(directions, width, 1))
        self.register_buffer("initialised", torch.tensor(False))
        self.output = nn.Sequential(nn.Conv1d(width, 2 * width, 1), nn.GLU(dim=1))

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[-1]
        parts = [
            F.interpolate(s, scale_factor=2 ** max(0, i - 1), mode="linear") * 2.0 ** (len(self.scales) - i - 1)
            for i, s in enumerate(self.scales)
        ]
        k = torch.cat(parts, -1)
        if not self.initialised:
            self.norm = k.norm(dim=-1, keepdim=True).detach()
            self.initialised = torch.tensor(True)
        k = (k / self.norm)[..., : self.taps]
        k = F.pad(k, (0, max(0, n - k.shape[-1])))[..., :n]
        if self.bidirectional:
            k = F.pad(k[0], (0, n)) + F.pad(k[1].flip(-1), (n, 0))
        else:
            k = k[0]
        y = irfft(torch.einsum("bhl,hl->bhl", rfft(x, n=2 * n), rfft(k, n=2 * n)), n=2 * n)[..., :n]
        return self.output(F.gelu(y + self.D[:, None] * x))


class Interpolated(nn.Module):
    """A long kernel of pieces that are stretched by powers of two, with nothing of GConv but the taps."""

    def __init__(
        self,
        width: int = 5,
        dim: int = 8,
        count: int = 4,
        init: int = 0,
        taps: int = 0,
        nearest: bool = False,
        both: bool = False,
    ) -> None:
        super().__init__()
        self.mode, self.init, self.taps = "nearest" if nearest else "linear", init, taps or dim << (count - 1 + init)
        self.pieces = nn.ParameterList(nn.Parameter(torch.randn(2 if both else 1, width, dim)) for _ in range(count))
        self.D = nn.Parameter(torch.randn(width))

    def forward(self, x: Tensor) -> Tensor:  # (1, T, width)
        rows, u = x.shape[1], x.mT
        parts = [
            F.interpolate(p, scale_factor=2.0 ** (max(0, i - 1) + self.init), mode=self.mode)
            for i, p in enumerate(self.pieces)
        ]
        k = torch.cat(parts, -1)[..., : self.taps]
        n = 2 * max(rows, k.shape[-1])
        circle = F.pad(k[0], (0, n - k.shape[-1]))
        if len(k) > 1:
            circle = circle + F.pad(k[1].flip(-1), (n - k.shape[-1], 0))
        return (irfft(rfft(u, n) * rfft(circle, n), n)[..., :rows] + self.D[:, None] * u).mT


class S4d(nn.Module):
    def __init__(self, width: int = 8, states: int = 8) -> None:
        super().__init__()
        self.log_dt = nn.Parameter(torch.rand(width) * 1.5 - 2)
        self.C = nn.Parameter(torch.randn(width, states, 2))
        self.log_real = nn.Parameter(torch.log(0.5 * torch.ones(width, states)))
        self.imaginary = nn.Parameter(torch.pi * torch.arange(states).repeat(width, 1))
        self.D = nn.Parameter(torch.randn(width))
        self.output = nn.Sequential(nn.Conv1d(width, 2 * width, 1), nn.GLU(dim=-2))

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[-1]
        dt, a = self.log_dt.exp(), -self.log_real.exp() + 1j * self.imaginary
        step = a * dt[:, None]
        c = torch.view_as_complex(self.C) * (step.exp() - 1) / a
        k = 2 * torch.einsum("hn,hnl->hl", c, (step[..., None] * torch.arange(n)).exp()).real
        y = irfft(rfft(x, n=2 * n) * rfft(k, n=2 * n), n=2 * n)[..., :n] + x * self.D[:, None]
        return self.output(F.gelu(y))


class Hyena(nn.Module):
    """Order 2: projections, a short convolution, two gates, an implicit filter with decay."""

    def __init__(self, width: int = 6, features: int = 5) -> None:
        super().__init__()
        self.width = width
        self.project, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.short = nn.Conv1d(3 * width, 3 * width, 3, padding=2, groups=3 * width)
        self.filter = nn.Sequential(nn.Linear(features, 16), nn.SiLU(), nn.Linear(16, width))
        self.bias = nn.Parameter(torch.randn(width))
        self.register_buffer("bands", torch.linspace(0.01, 0.5, features))
        self.register_buffer("rates", torch.linspace(0.05, 0.3, width))

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[1]
        u = self.short(self.project(x).transpose(1, 2))[..., :n]
        x0, x1, v = u.split(self.width, dim=1)
        t = torch.arange(n, dtype=x.dtype)[:, None]
        k = (self.filter(torch.sin(t * self.bands)) * torch.exp(-t * self.rates)).T
        v = v * x1
        y = irfft(rfft(v, n=2 * n) * rfft(k, n=2 * n) / 1.0, n=2 * n)[..., :n] + v * self.bias[:, None]
        return self.out((y * x0).transpose(1, 2))


class LongConv(nn.Module):
    """A kernel of as many taps ahead as behind, of which small ones become zero."""

    def __init__(self, width: int = 6, taps: int = 60) -> None:
        super().__init__()
        self.kernel = nn.Parameter(torch.randn(2, width, taps))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 3)

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[1]
        k = F.relu(self.kernel.abs() - 0.1) * torch.sign(self.kernel)
        k = F.pad(k, (0, n))[..., :n]
        u = x.transpose(1, 2)
        both = F.pad(k[0], (0, n)) + torch.roll(F.pad(k[1], (0, n)).flip(-1), 0, -1)
        y = irfft(rfft(u, n=2 * n) * rfft(both, n=2 * n), n=2 * n)[..., :n]
        return self.head(self.norm(F.gelu(y).transpose(1, 2) + x).mean(1))


class ConvStack(nn.Module):
    """Short convolutions: strided, dilated, depthwise, grouped; gates, split and concatenation."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv1d(5, 8, 4, stride=2), nn.Conv1d(8, 8, 3, dilation=2, padding=4)
        self.c, self.d = nn.Conv1d(8, 8, 5, groups=8), nn.Conv1d(8, 12, 3, groups=4, padding=2)
        self.norm, self.head = nn.BatchNorm1d(8), nn.Linear(10, 4)
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x: Tensor) -> Tensor:  # (1, 5, T)
        x = F.relu(self.a(F.pad(x, (2, 0))))
        x = x + torch.tanh(self.norm(self.b(x)[..., : x.shape[-1]]))
        x = x * torch.sigmoid(self.c(F.pad(x, (4, 0))))
        x = self.d(x)[..., : x.shape[-1]]
        left, right = x.chunk(2, 1)
        gate = (left * right).sum(1, keepdim=True)
        x = torch.cat([F.silu(left[:, :4] * gate), right], 1)
        return torch.softmax(self.head(x.transpose(1, 2)), -1)


class ImageStack(nn.Module):
    """Images of (time, frequency), causal in time."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.depthwise = (
            nn.Conv2d(1, 6, (4, 5), stride=(2, 2), padding=(0, 2)),
            nn.Conv2d(6, 6, 3, padding=(0, 1), groups=6),
        )
        self.point, self.norm, self.head = nn.Conv2d(6, 4, 1, bias=False), nn.BatchNorm2d(4), nn.Linear(40, 3)
        self.norm.running_mean.uniform_(-1, 1)

    def forward(self, x: Tensor) -> Tensor:  # (1, T, 20)
        x = F.relu(self.first(F.pad(x[:, None], (0, 0, 2, 0))))
        x = self.norm(self.point(self.depthwise(F.pad(x, (0, 0, 2, 0)))))
        return self.head(F.relu(x).permute(0, 2, 3, 1).flatten(2))


class RmsNorms(nn.Module):
    """The module, and the norm written out in two ways."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.weight, self.middle = nn.RMSNorm(6), nn.Parameter(torch.randn(6)), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        x = self.middle(self.norm(x))
        x = self.middle(self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-3)))
        return x / torch.sqrt((x * x).mean(-1, keepdim=True) + 1e-2)


class Pointwise(nn.Module):
    """Every function of one value that has an op."""

    def forward(self, x: Tensor) -> Tensor:
        a = (
            F.hardswish(x)
            + F.leaky_relu(x, 0.2)
            + F.elu(x, 0.7)
            + F.gelu(x) * F.gelu(x, approximate="tanh")
            + F.softplus(x)
            - F.relu6(x)
        )
        b = torch.exp(-x.abs()) / (1 + x.square()) + 3 / (2 + x.sigmoid()) - x.pow(3) * 0.1
        c = (
            torch.sqrt(x.abs() + 1)
            + F.silu(x)
            + F.hardtanh(x) * torch.tanh(x)
            + torch.log1p(x * x)
            + torch.log(x.abs() + 0.5)
        )
        d = x.sin() + x.cos() * x.erf() + 0.1 * ((3 * x).floor() + (2 * x).round() + x.sign())
        return (
            d
            + a.clamp(min=-1)
            + b.relu()
            + c.clamp_max(3)
            + (x * x).sum(-1, keepdim=True).add(0.5).rsqrt()
            + (x + 9).reciprocal()
        )


class TimeLast(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.norm = (
            nn.Conv2d(1, 4, (3, 4), padding=(1, 0)),
            nn.Conv2d(4, 1, (3, 2), padding=(1, 0)),
            nn.BatchNorm2d(4),
        )
        self.norm.running_mean.uniform_(-1, 1)

    def forward(self, x: Tensor) -> Tensor:  # (1, 12, T)
        x = self.norm(F.relu(self.a(F.pad(x[:, None], (3, 0)))))
        return self.b(F.pad(x, (1, 0)))[:, 0]


class TwoInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(2, 3)

    def forward(self, x: Tensor, z: Tensor) -> dict[str, Tensor]:
        return {"sum": self.a(x) + self.b(z), "last": self.a(x)[:, -1]}


class Function(nn.Module):
    """A function of the input and one parameter `k`, or none."""

    def __init__(self, function, *shape: int) -> None:
        super().__init__()
        self.function = function
        if shape:
            self.k = nn.Parameter(torch.randn(*shape) * torch.exp(-0.1 * torch.arange(shape[-1])))

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, self.k) if hasattr(self, "k") else self.function(x)


def spellings() -> dict[str, nn.Module]:
    """The same kind of convolution, written in twelve ways: (1, T, 4) -> (1, T, 4)."""

    def features_first(function):
        return lambda x, k: function(x.mT, k, x.shape[1]).mT

    def split_parts(u, k, n):
        a, b = rfft(u, n=2 * n), rfft(k, n=2 * n)
        return irfft(torch.complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real), n=2 * n)[
            ..., :n
        ]

    ways = {
        "ortho": lambda u, k, n: irfft(rfft(u, n=2 * n, norm="ortho") * rfft(k, n=2 * n), n=2 * n, norm="ortho")[
            ..., :n
        ],
        "three times as long": lambda u, k, n: irfft(rfft(u, n=3 * n) * rfft(k, n=3 * n), n=3 * n)[..., :n],
        "rows and taps": lambda u, k, n: irfft(rfft(u, n=n + 29) * rfft(k, n=n + 29), n=n + 29)[..., :n],
        "complex": lambda u, k, n: ifft(fft(u, n=2 * n) * fft(k, n=2 * n), n=2 * n).real[..., :n],
        "kernel and mirror": lambda u, k, n: irfft(
            rfft(u, n=2 * n) * (rfft(k, n=2 * n) + rfft(k * 0.5, n=2 * n).conj()), n=2 * n
        )[..., :n],
        "rolled": lambda u, k, n: irfft(
            rfft(u, n=2 * n) * rfft(F.pad(k, (0, 2 * n - 30)).roll(3, -1), n=2 * n), n=2 * n
        )[..., :n],
        "flipped": lambda u, k, n: irfft(rfft(u, n=2 * n) * rfft(F.pad(k, (0, 2 * n - 30)).flip(-1), n=2 * n), n=2 * n)[
            ..., :n
        ],
        "delayed": lambda u, k, n: irfft(rfft(F.pad(u, (5, 0)), n=2 * n) * rfft(k, n=2 * n), n=2 * n)[..., :n],
        "einsum": lambda u, k, n: irfft(torch.einsum("bhl,hl->bhl", rfft(u, n=2 * n), rfft(k, n=2 * n)), n=2 * n)[
            ..., :n
        ],
        "summed": lambda u, k, n: (
            irfft(rfft(u, n=2 * n) * rfft(k, n=2 * n), n=2 * n)[..., :n]
            + irfft(rfft(u, n=2 * n) * rfft(k**2, n=2 * n), n=2 * n)[..., :n]
        ),
        "real and imaginary": split_parts,
        "flipped input": lambda u, k, n: irfft(rfft(u.flip(-1), n=2 * n) * rfft(k, n=2 * n), n=2 * n)[..., :n].flip(-1),
    }
    return {name: Function(features_first(way), 4, 30) for name, way in ways.items()}


class BothWays(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 4, batch_first=True, bidirectional=True), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0])


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


def make_conv_stack() -> nn.Module:
    """For the command line."""
    torch.manual_seed(3)
    return ConvStack()


def make_another_below_50_rows() -> nn.Module:
    return Function(lambda x: x.tanh() if x.shape[1] >= 50 else 2 * x)


def make_both_ways() -> nn.Module:
    return BothWays()
