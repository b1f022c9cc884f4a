"""Norms over (B, T, H): those of the s4 models (Gu et al. 2022), which SGConv's configurations use, and RMSNorm."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class BatchNorm(nn.BatchNorm1d):
    """Running statistics per feature."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.transpose(1, 2)).transpose(1, 2)


class TransposedLayerNorm(nn.Module):
    """s4's layer norm with two scalars: (s / std)(x - mean + m), population std over the features, no eps."""

    def __init__(self) -> None:
        super().__init__()
        self.m = nn.Parameter(torch.zeros(1))
        self.s = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        std, mean = torch.std_mean(x, dim=-1, unbiased=False, keepdim=True)
        return (self.s / std) * (x - mean + self.m)


class RmsNorm(nn.Module):
    """weight * x / sqrt(mean(x^2) + eps) (Zhang and Sennrich 2019)."""

    def __init__(self, width: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)


def make_norm(kind: str, width: int) -> nn.Module:
    """ "batch", "layer", "transposed_layer" or "rms"."""
    kinds = {
        "batch": lambda: BatchNorm(width),
        "layer": lambda: nn.LayerNorm(width),
        "rms": lambda: RmsNorm(width),
        "transposed_layer": TransposedLayerNorm,
    }
    return kinds[kind]()
