"""A small depthwise-separable CNN (after Zhang et al. 2017, "Hello Edge") as an honest neighbour of the same data.

It sees one whole second at a time and does not stream: its figure is always that of clips cut out exactly.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from ..layers.frontend import LogMel
from .labels import CLASSES


class DsCnn(nn.Module):
    """Normalised log-mel features of one second (B, 100, 40) -> hidden (B, channels)."""

    def __init__(self, channels: int = 96, auxiliary: int = 43, dropout: float = 0.2) -> None:
        super().__init__()

        def unit(convolution: nn.Conv2d) -> list[nn.Module]:
            return [convolution, nn.BatchNorm2d(channels), nn.ReLU()]

        self.front_end = LogMel()
        parts = unit(nn.Conv2d(1, channels, (10, 4), stride=(4, 4), padding=(4, 0), bias=False))
        for _ in range(4):
            parts += unit(nn.Conv2d(channels, channels, 3, padding=1, groups=channels, bias=False))
            parts += unit(nn.Conv2d(channels, channels, 1, bias=False))
        self.features = nn.Sequential(*parts)
        self.dropout = dropout
        self.head = nn.Linear(channels, len(CLASSES))
        self.auxiliary = nn.Linear(channels, auxiliary)

    def hidden(self, features: Tensor) -> Tensor:
        return F.dropout(self.features(features[:, None]).mean((2, 3)), self.dropout, self.training)

    def forward(self, features: Tensor) -> Tensor:
        result: Tensor = self.head(self.hidden(features))
        return result
