"""ConvNeXt with SGConv in PyTorch: images as images, convolutions as convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from longwave.layers.sgconv import GConv
from torch import Tensor, nn

from . import convnext as rows


class Block(nn.Module):
    def __init__(self, width: int, pixels: int) -> None:
        super().__init__()
        self.dwconv = GConv(
            width, l_max=pixels, kernel_dim=rows.kernel_dim(pixels), n_scales=rows.SCALES, postact=None, linear=True
        )
        self.norm = nn.LayerNorm(width, eps=rows.NORM_EPS)
        self.pwconv1, self.pwconv2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.gamma = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> the same."""
        y = self.dwconv(x.flatten(2)).unflatten(2, x.shape[2:]).permute(0, 2, 3, 1)
        y = self.gamma * self.pwconv2(F.gelu(self.pwconv1(self.norm(y))))
        result: Tensor = x + y.permute(0, 3, 1, 2)
        return result


class Norm(nn.LayerNorm):
    """Over the channels of (B, C, H, W)."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNext(nn.Module):
    """(B, patches, 3 * 4 * 4) -> logits: the patches are put together to an image first."""

    def __init__(self, length: int, widths: Sequence[int], depths: Sequence[int], classes: int, **_: Any) -> None:
        super().__init__()
        lines = rows.sizes(length, len(widths))
        self.line = lines[0]
        eps, patch = rows.NORM_EPS, rows.PATCH
        self.downsample_layers = nn.ModuleList(
            [nn.Sequential(nn.Conv2d(3, widths[0], patch, patch), Norm(widths[0], eps))]
        )
        for before, width in zip(widths, widths[1:]):
            self.downsample_layers.append(nn.Sequential(Norm(before, eps), nn.Conv2d(before, width, 2, 2)))
        self.stages = nn.ModuleList(
            nn.Sequential(*(Block(width, line * line) for _ in range(depth)))
            for line, width, depth in zip(lines, widths, depths)
        )
        self.norm, self.head = nn.LayerNorm(widths[-1], eps=eps), nn.Linear(widths[-1], classes)

    def forward(self, patches: Tensor) -> Tensor:
        patch, line = rows.PATCH, self.line
        pixels = patches.unflatten(2, (3, patch, patch)).unflatten(1, (line, line))
        x = pixels.permute(0, 3, 1, 4, 2, 5).flatten(4, 5).flatten(2, 3)  # (B, 3, lines * 4, line * 4)
        for halve, stage in zip(self.downsample_layers, self.stages):
            x = stage(halve(x))
        result: Tensor = self.head(self.norm(x.mean((2, 3))))
        return result


def state_of(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a package in the shapes of the modules; buffers that only the graph needs are left out."""
    own = {}
    for key, value in state.items():
        if key.endswith((".zero", ".decay")):
            continue
        if key == "downsample_layers.0.0.weight":
            value = value.unflatten(1, (3, rows.PATCH, rows.PATCH))
        elif key.startswith("downsample_layers.") and value.dim() == 2:
            value = value.unflatten(1, (2, 2, -1)).permute(0, 3, 1, 2)
        elif key.endswith(".kernel_norm"):
            value = value[..., None]
            own[key + "_initialized"] = torch.tensor(True)
        elif key.endswith(".multiplier"):
            value = value.view(1, -1, 1)
        own[key] = value
    return own
