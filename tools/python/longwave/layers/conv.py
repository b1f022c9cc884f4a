"""Causal convolutions with the engine's padding rules.

Output m reads the frames up to and including stride*m + stride - 1: kernel - stride zeros stand before the start.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn


class CausalConv2d(nn.Conv2d):
    """(B, channels, T, frequencies) -> (B, out, T / stride, ...); frequency padded with (kf - 1)/2 zeros on both sides."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel: tuple[int, int],
        stride: tuple[int, int] = (1, 1),
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel, stride, (0, (kernel[1] - 1) // 2), groups=groups, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(F.pad(x, (0, 0, self.kernel_size[0] - self.stride[0], 0)))


def flatten(x: Tensor) -> Tensor:
    """(B, channels, T, frequencies) -> (B, T, frequencies * channels), index f * channels + c."""
    return x.permute(0, 2, 3, 1).flatten(2)
