"""Pooling over time, (B, T, H) in."""

from __future__ import annotations

import torch
from torch import Tensor


def mean(x: Tensor, lengths: Tensor | None = None) -> Tensor:
    """(B, H): mean over all positions, or over the first `lengths` of each sequence."""
    if lengths is None:
        return x.mean(1)
    inside = torch.arange(x.shape[1], device=x.device)[None, :] < lengths[:, None]
    return (x * inside[..., None]).sum(1) / lengths[:, None]


def last(x: Tensor) -> Tensor:
    return x[:, -1]


def running_mean(x: Tensor) -> Tensor:
    """(B, T, H): at each position the mean of everything up to it."""
    return x.cumsum(1) / torch.arange(1, x.shape[1] + 1, dtype=x.dtype, device=x.device)[:, None]


def pair_features(u: Tensor, v: Tensor) -> Tensor:
    """(B, 4H): [u, v, u - v, u * v], the retrieval head's view of two documents."""
    return torch.cat([u, v, u - v, u * v], -1)
