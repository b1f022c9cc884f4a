"""The residual stack that SGConv's authors put their layer in (s4's SequenceModel), under its state-dict names."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from .norms import make_norm
from .sgconv import GConv


class NamedNorm(nn.Module):
    """s4 wraps each norm once more: `norm.norm.weight`."""

    def __init__(self, kind: str, width: int) -> None:
        super().__init__()
        self.norm = make_norm(kind, width)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.norm(x)
        return result


class ResidualBlock(nn.Module):
    """x + layer(norm(x)) with `prenorm`, else norm(x + layer(x)); (B, T, H)."""

    def __init__(self, layer: nn.Module, norm: str, width: int, prenorm: bool) -> None:
        super().__init__()
        self.layer, self.norm, self.prenorm = layer, NamedNorm(norm, width), prenorm

    def forward(self, x: Tensor) -> Tensor:
        if self.prenorm:
            result: Tensor = x + self.layer(self.norm(x))
            return result
        result = self.norm(x + self.layer(x))
        return result


class SgconvBackbone(nn.Module):
    """`layers.{n}.{layer,norm}` and, with prenorm, a final `norm`; (B, T, H) -> (B, T, H)."""

    def __init__(self, width: int, depth: int, norm: str = "batch", prenorm: bool = True, **layer: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            ResidualBlock(GConv(width, transposed=False, **layer), norm, width, prenorm) for _ in range(depth)
        )
        self.norm = NamedNorm(norm, width) if prenorm else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        result: Tensor = self.norm(x)
        return result
