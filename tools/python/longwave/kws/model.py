"""The keyword network: causal convolution stem to 20 ms frames, SGConv blocks, one 12-class decision per frame.

Inside, activations are laid out (channels, batch, frames), so that every pointwise layer is one matrix product.
The modules and parameter names are those of the official GConv; the network computes the same function as
calling the modules one after the other (see tests/test_kws_model.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..layers.blockconv import BLOCK, causal_depthwise
from ..layers.frontend import BANDS, LogMel
from ..layers.sgconv import GConv
from .labels import CLASSES

BN_EPS = 1e-5


@dataclass(frozen=True)
class KwsConfig:
    """Fixed before the seeds were trained."""

    width: int = 96
    layers: int = 6
    kernel_dim: int = 8
    n_scales: int = 4  # K = 64 frames of 20 ms
    stem1: int = 16
    stem2: int = 32
    dropout: float = 0.1
    auxiliary: int = 43  # training-only classes: bed, cat, happy, 40 Arabic words


class Stem(nn.Module):
    """(B, T, 40) features -> (channels, B, T/2).  Output m sees the features up to and including frame 2m+1.

    Convolution 1 -> 16, kernel (4, 5), stride (2, 2), time padding 2 on the left; ReLU; depthwise (3, 3), stride (1, 2),
    time padding 2 on the left; pointwise 16 -> 32; batch norm; ReLU; (frequency, channel) flattened; linear -> width;
    batch norm.  Frequency padding is symmetric with zeros.
    """

    def __init__(self, config: KwsConfig) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, config.stem1, (4, 5), stride=(2, 2), padding=(0, 2))
        self.depthwise = nn.Conv2d(
            config.stem1, config.stem1, 3, stride=(1, 2), padding=(0, 1), groups=config.stem1, bias=False
        )
        self.pointwise = nn.Conv2d(config.stem1, config.stem2, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(config.stem2, eps=BN_EPS)
        self.bands = BANDS // 4
        self.project = nn.Linear(self.bands * config.stem2, config.width, bias=False)
        self.norm2 = nn.BatchNorm1d(config.width, eps=BN_EPS)

    def forward(self, features: Tensor) -> Tensor:
        with torch.autocast("cpu", enabled=False):  # the small convolutions are slower in bfloat16
            patches = F.pad(features, (2, 2, 2, 0)).unfold(1, 4, 2).unfold(2, 5, 2)  # (B, T/2, 20, 4, 5)
            x = F.relu(F.linear(patches.flatten(3), self.conv1.weight.flatten(1), self.conv1.bias))
            x = self.depthwise(F.pad(x.permute(0, 3, 1, 2), (0, 0, 2, 0)))
            x = F.linear(x.permute(0, 2, 3, 1), self.pointwise.weight[:, :, 0, 0])
            x = F.relu(self.norm1(x.permute(0, 3, 1, 2))).permute(0, 2, 3, 1)
        x = self.project(x.flatten(2))  # (B, T/2, bands * channels), channel fastest
        return channel_norm(self.norm2, x.permute(2, 0, 1).to(self.norm2.weight.dtype))


def channel_norm(norm: nn.BatchNorm1d, x: Tensor) -> Tensor:
    """Batch norm of (channels, B, T) with the statistics of `norm`."""
    result: Tensor = norm(x.reshape(1, x.shape[0], -1)).view(x.shape)
    return result


class Block(nn.Module):
    """x + dropout(GConv(norm(x))) on (channels, B, T)."""

    def __init__(self, config: KwsConfig) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(config.width, eps=BN_EPS)
        self.layer = GConv(
            config.width,
            kernel_dim=config.kernel_dim,
            n_scales=config.n_scales,
            mode="cat_randn",
            decay_min=1.0,
            decay_max=2.0,
            postact="glu",
        )
        order = torch.randperm(config.width)
        self.layer.multiplier.copy_(self.layer.multiplier[:, order])
        self.layer.D.data.mul_(0.5)
        self.layer.freeze_norm()
        self.dropout = config.dropout

    def forward(self, x: Tensor) -> Tensor:
        layer = self.layer
        u = channel_norm(self.norm, x)
        kernel = (layer.raw_kernel() / layer.kernel_norm)[0]
        fast = torch.is_autocast_enabled("cpu")
        if (fast or self.training) and u.shape[2] % BLOCK == 0:
            dtype = torch.bfloat16 if fast else torch.float32
            y = causal_depthwise(u, kernel, dtype) + (layer.D[0][:, None, None] * u).to(dtype)
        else:
            n = u.shape[2] + kernel.shape[1]
            y = torch.fft.irfft(torch.fft.rfft(u, n=n) * torch.fft.rfft(kernel, n=n)[:, None], n=n)[..., : u.shape[2]]
            y = y + layer.D[0][:, None, None] * u
        linear: Any = cast(nn.Sequential, layer.output_linear)[0]
        z = linear.weight @ F.gelu(y).flatten(1) + linear.bias[:, None]
        y = F.glu(z, dim=0).view(u.shape)
        if self.training and self.dropout:
            keep = 1.0 - self.dropout
            y = y * (torch.rand(y.shape[0], y.shape[1], 1) < keep).to(y.dtype).div(keep)
        return x + y


class KwsNet(nn.Module):
    """Normalised log-mel features (B, T, 40) -> per-frame logits (B, T/2, 12 + auxiliary)."""

    def __init__(self, config: KwsConfig) -> None:
        super().__init__()
        self.config = config
        self.front_end = LogMel()
        self.stem = Stem(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.BatchNorm1d(config.width, eps=BN_EPS)
        self.head = nn.Linear(config.width, len(CLASSES))
        self.auxiliary = nn.Linear(config.width, config.auxiliary)

    def hidden(self, features: Tensor) -> Tensor:
        """(B, T, 40) -> (channels, B, T/2) after the final norm."""
        x = self.stem(features)
        for block in self.blocks:
            x = block(x)
        return channel_norm(self.norm, x)

    def forward(self, features: Tensor) -> Tensor:
        """Per-frame logits of the twelve classes, (B, T/2, 12)."""
        result: Tensor = self.head(self.hidden(features).permute(1, 2, 0))
        return result

    def from_samples(self, samples: Tensor) -> Tensor:
        """(B, n) samples -> (B, n // 320, 12)."""
        result: Tensor = self(self.front_end(samples))
        return result
