"""The modules that every importer gets: published layers written anew, and the keyword network of the repository.

Each is seeded, has run once (modules that set buffers in their first run have done so), and keeps flags as Python
values instead of 0-d buffers: a branch on a buffer stops every exporter of PyTorch.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fft import irfft, rfft

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools/python"), str(ROOT / "tools/python/tests")]


@dataclass(frozen=True)
class Model:
    """`input`: as `python -m longwave.importer --input` says it; `rows`: of one second; `block`: rows of a streamed
    block, about 10 ms."""

    make: Callable[[], nn.Module]
    input: str
    rows: int
    block: int

    def shape(self, rows: int | None = None) -> tuple[int, ...]:
        """Of the tensor for so many rows (default: a second)."""
        if self.input.startswith("audio="):
            return (1, rows or self.rows)
        sizes = self.input.partition("=")[2].split("x")
        return tuple((rows or self.rows) if size == "T" else int(size) for size in sizes)

    def time(self) -> int:
        """The axis of the rows."""
        return 1 if self.input.startswith("audio=") else self.input.partition("=")[2].split("x").index("T")

    def example(self, seed: int = 7) -> Tensor:
        scale = 0.1 if self.input.startswith("audio=") else 1.0
        return scale * torch.randn(self.shape(), generator=torch.Generator().manual_seed(seed))


class LightNetLike(nn.Module):
    """Keys weigh values by their softmax over the past; queries read the mean; one feature of keys and values."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.q, self.k, self.v, self.gate, self.out = (nn.Linear(width, width) for _ in range(5))
        self.norm = nn.RMSNorm(width)

    def forward(self, x: Tensor) -> Tensor:  # (1, T, width)
        q, k, v = F.silu(self.q(x)), self.k(x), self.v(x)
        mean = (k.exp() * v).cumsum(1) * torch.exp(-torch.logcumsumexp(k, 1))
        return x + self.out(self.norm(q * mean) * torch.sigmoid(self.gate(x)))


class ChelaLike(nn.Module):
    """A short and a long convolution in a row, then linear attention of one feature with their result, gated."""

    def __init__(self, width: int = 64, taps: int = 64) -> None:
        super().__init__()
        self.short = nn.Conv1d(width, width, 3, groups=width)
        self.long = nn.Parameter(torch.randn(width, taps) * torch.exp(-0.1 * torch.arange(taps)))
        self.q, self.k, self.v, self.gate, self.out = (nn.Linear(width, width) for _ in range(5))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:  # (1, T, width)
        rows = x.shape[1]
        y = F.silu(self.short(F.pad(x.mT, (2, 0))))
        y = irfft(rfft(y, n=2 * rows) * rfft(self.long[:, :rows], n=2 * rows), n=2 * rows)[..., :rows].mT
        q, k, v = self.q(y), torch.sigmoid(self.k(y)), self.v(x)
        read = self.norm(q * (k * v).cumsum(1))
        return x + self.out(read * F.silu(self.gate(y)))


def keyword() -> nn.Module:
    """From samples to logits, with the trained weights."""
    from longwave.kws.model import KwsConfig, KwsNet
    from longwave.package import read

    class FromSamples(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = KwsNet(KwsConfig())
            self.net.load_state_dict(read(ROOT / "examples/kws/model")[1], strict=False)

        def forward(self, samples: Tensor) -> Tensor:
            return self.net.from_samples(samples)

    return FromSamples()


def own(name: str, *arguments: int) -> Callable[[], nn.Module]:
    def make() -> nn.Module:
        import importer_models

        return getattr(importer_models, name)(*arguments)

    return make


# 16,000 rows of 16 channels are a second of sound; 100 rows of 64 features a second of frames.
MODELS = {
    "sgconv": Model(own("Sgconv", 16, 100), "x=1x16xT", 16_000, 160),
    "s4d": Model(own("S4d", 16), "x=1x16xT", 16_000, 160),
    "hyena": Model(own("Hyena", 16), "x=1xTx16", 16_000, 160),
    "chela-like": Model(ChelaLike, "x=1xTx64", 100, 1),
    "lightnet-like": Model(LightNetLike, "x=1xTx64", 100, 1),
    "keyword": Model(keyword, "audio=16000", 16_000, 320),
}


def made(name: str) -> nn.Module:
    model = MODELS[name]
    torch.manual_seed(3)
    module = model.make().eval()
    with torch.no_grad():
        module(model.example())
    module = copy.deepcopy(module)
    for part in module.modules():
        for key, buffer in list(part._buffers.items()):
            if buffer is not None and buffer.dim() == 0 and buffer.dtype == torch.bool:
                del part._buffers[key]
                setattr(part, key, bool(buffer))
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    return module


def wanted(name: str, module: nn.Module) -> Tensor:
    """What the module gives in float64."""
    with torch.no_grad():
        return copy.deepcopy(module).double()(MODELS[name].example().double())
