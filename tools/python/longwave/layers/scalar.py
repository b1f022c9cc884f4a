"""A number that the host may change while the stream of the compiled model runs: a gain, a mix, a condition."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


class Scalar(nn.Module):
    """The number in every element of a tensor with the shape of x. In PyTorch and in offline runs it is `initial`.

    `smoothed`: the rows of a block go to a new number in equal steps. Scalars of one name are one scalar.
    """

    def __init__(
        self, name: str, initial: float, low: float, high: float, *, smoothed: bool = False, unit: str = ""
    ) -> None:
        super().__init__()
        if not (-math.inf < low <= initial <= high < math.inf):
            raise ValueError(f"{name}: expected finite low <= initial <= high, found {low}, {initial}, {high}")
        self.name, self.unit, self.smoothed = name, unit, smoothed
        self.initial, self.low, self.high = float(initial), float(low), float(high)

    def forward(self, x: Tensor) -> Tensor:
        made: Tensor = torch.ops.longwave.scalar(
            x, self.name, self.unit, self.initial, self.low, self.high, self.smoothed
        )
        return made


def scalar(x: Tensor, name: str, unit: str, initial: float, low: float, high: float, smoothed: bool) -> Tensor:
    return torch.full_like(x, initial)


torch.library.define(
    "longwave::scalar", "(Tensor x, str name, str unit, float initial, float low, float high, bool smoothed) -> Tensor"
)
torch.library.impl("longwave::scalar", "CPU", scalar)
torch.library.register_fake("longwave::scalar", scalar)
