"""Element-wise functions, choices and products in rows, compiled: offline and as streams, against PyTorch in float32."""

from __future__ import annotations

from pathlib import Path

import importer_models as models
import pytest
import torch
from importer_checks import compiled_equals, imported, kinds
from torch import Tensor


def functions(x: Tensor) -> Tensor:
    return (
        torch.sin(3 * x) + torch.cos(x) * torch.erf(x) + torch.maximum(x, x.flip(-1)) * torch.minimum(x, torch.tanh(x))
    )


def steps(x: Tensor) -> Tensor:
    """Of whole numbers: rounding cannot move a value across a step."""
    whole = (8 * torch.sigmoid(x)).floor() / 2
    return torch.where((whole >= 2) & ~(whole == 3), whole.round(), torch.sign(x) * 0.25) + 0 * x


def snake(x: Tensor) -> Tensor:
    a = torch.linspace(0.5, 2, x.shape[-1], dtype=x.dtype)
    return x + torch.sin(a * x) ** 2 / a


def powers(x: Tensor) -> Tensor:
    return (x.abs() + 0.5) ** 0.3 + x**4 / 50 + (1 + x * x) ** -1.5 + torch.where(x > 0, x.abs().sqrt(), 0.0)


def filled_softmax(x: Tensor) -> Tensor:
    return x.masked_fill((x > 1.5) & (torch.arange(x.shape[-1]) > 0), float("-inf")).softmax(-1)


@pytest.mark.parametrize("width", [1, 2, 3, 48])
@pytest.mark.parametrize("function", [functions, steps, snake, powers, filled_softmax])
def test_functions(function, width: int, tmp_path: Path) -> None:
    module, spec = models.Function(function), f"x=1xTx{width}"
    compiled_equals(module, spec, imported(module, spec, length=61), tmp_path, stream=True, blocks="1,32")


def attention(x: Tensor, width: int) -> Tensor:
    q, k, v = (f(x).reshape(1, -1, 2, width // 2) for f in (torch.sigmoid, torch.sigmoid, torch.tanh))
    sums, weights = torch.einsum("bthd,bthe->bthde", k, v).cumsum(1), k.cumsum(1)
    return (torch.einsum("bthd,bthde->bthe", q, sums) / torch.einsum("bthd,bthd->bth", q, weights)[..., None]).flatten(
        2
    )


@pytest.mark.parametrize("width", [2, 6, 32])
def test_linear_attention_in_products(width: int, tmp_path: Path) -> None:
    module, spec = models.Function(lambda x: attention(x, width)), f"x=1xTx{width}"
    made = imported(module, spec, length=61)
    assert "exponential_scan" in kinds(made)
    compiled_equals(module, spec, made, tmp_path, stream=True, blocks="1,32")


def test_wide_rows(tmp_path: Path) -> None:
    module, spec = (
        models.Function(lambda x: (x.reshape(1, -1, 4, 512) @ x.tanh().reshape(1, -1, 4, 512).mT).flatten(2) / 64),
        "x=1xTx2048",
    )
    made = imported(module, spec, length=31)
    assert "row_product" in kinds(made)
    compiled_equals(module, spec, made, tmp_path, stream=True, blocks="1,32")
