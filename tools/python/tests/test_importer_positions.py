"""Constants that change with time: they go on after the example where they have a rule. Compiled, against PyTorch in float32."""

from __future__ import annotations

import math
from pathlib import Path

import importer_models as models
import pytest
import torch
from importer_checks import compiled_equals, imported, kinds
from torch import Tensor, nn

LENGTH = 61


def count(x: Tensor) -> Tensor:
    return torch.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]


def cumulative_norm(x: Tensor) -> Tensor:
    """Conv-TasNet's cLN: over the channels and all rows so far."""
    n = count(x) * x.shape[-1]
    mean, square = x.sum(-1, keepdim=True).cumsum(1) / n, x.square().sum(-1, keepdim=True).cumsum(1) / n
    return (x - mean) / (square - mean.square() + 1e-3).sqrt()


def waves(x: Tensor) -> Tensor:
    rates = torch.exp(-torch.arange(0, 6, 2, dtype=x.dtype) * math.log(10000.0) / 6)
    phase = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * rates
    return x + torch.stack([phase.sin(), phase.cos()], -1).flatten(1)


class Stored(nn.Module):
    """The waves of a table in float32, as PyTorch's tutorial has them."""

    def __init__(self) -> None:
        super().__init__()
        phase = torch.arange(500)[:, None] * torch.exp(torch.arange(0, 6, 2) * (-math.log(10000.0) / 6))
        table = torch.zeros(1, 500, 6)
        table[0, :, 0::2], table[0, :, 1::2] = phase.sin(), phase.cos()
        self.register_buffer("table", table)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[:, : x.shape[1]]


GOES_ON = {
    "running mean": models.Function(lambda x: x.cumsum(1) / count(x)),
    "cumulative norm": models.Function(cumulative_norm),
    "waves": models.Function(waves),
    "stored waves": Stored(),
    "a line": models.Function(lambda x: x * count(x) * 0.01),
    "a root": models.Function(lambda x: x / count(x).sqrt()),
    "a decay": models.Function(lambda x: x + 0.8 ** count(x)),
    "two kinds": models.Function(
        lambda x: x * torch.cat([1 / count(x), 0.5 ** count(x), torch.ones_like(count(x)).expand(-1, 4)], 1)
    ),
    "a choice": models.Function(lambda x: torch.where(x > 0, x / count(x), -x)),
}


@pytest.mark.parametrize("name", GOES_ON)
def test_goes_on_after_the_example(name: str, tmp_path: Path) -> None:
    """Compared at three times its length. Running means of float32 differ by a few units in the last place."""
    module = GOES_ON[name]
    made = imported(module, "x=1xTx6", length=LENGTH)
    assert not made.report["warnings"], made.report["warnings"]
    made.model["length"] = 3 * LENGTH
    compiled_equals(module, "x=1xTx6", made, tmp_path, True, length=3 * LENGTH, limit=1e-5)


def test_learned_positions_end_with_the_example(tmp_path: Path) -> None:
    torch.manual_seed(7)
    module = models.Function(lambda x, p: x + p[: x.shape[1]], 300, 6)
    made = imported(module, "x=1xTx6", length=LENGTH)
    assert "conv2d" in kinds(made) or "long_conv" in kinds(made)
    assert any("positions end with the example, at row" in text for text in made.report["warnings"])
    compiled_equals(module, "x=1xTx6", made, tmp_path, True)
