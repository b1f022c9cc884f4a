"""Values that one operation combines: products of three, means that are written as shares, a mean beside the rows it is of, and tables
that a function of the module keeps. Each equals the module in float64, or is refused where it means something else.
"""

from __future__ import annotations

import functools

import torch
from importer_checks import imported, kinds, refusal
from torch import Tensor, nn

EQUAL = 1e-10  # of the peak, in float64: no more than the order of sums


class Of(nn.Module):
    def __init__(self, function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def equal(function, spec: str = "x=1xTx6"):
    made = imported(Of(function), spec, length=61)
    assert max(made.report["errors"].values()) <= EQUAL
    return made


def test_products_of_three_and_four_values() -> None:
    equal(lambda x: torch.einsum("btd,bte,bt->bde", x, x.tanh(), x[..., 0]).flatten(1))
    equal(lambda x: torch.einsum("bti,btj,bti->btj", x, x.exp(), x.sin()))
    equal(lambda x: torch.einsum("...i,...j,...j,...->...i", x[..., :2], x[..., 2:4], x[..., 4:], x[..., 0]))
    assert "combines several values that depend on the input with constants" in refusal(
        Of(lambda x: torch.einsum("bti,btj,ij->bt", x, x.exp(), torch.ones(6, 6))), "x=1xTx6", length=61
    )


def test_shares_of_the_number_of_rows_are_a_mean() -> None:
    def shares(x: Tensor) -> Tensor:
        mask = torch.ones(1, x.shape[1], 1)
        return x - ((mask / mask.sum()) * x).sum(1, keepdim=True)

    assert "mean" in kinds(equal(shares))
    # A share that only the example has: other lengths differ, and the proof says so.
    assert "at length" in refusal(Of(lambda x: x - (x * (1 / 61)).sum(1, keepdim=True)), "x=1xTx6", length=61)


def test_a_mean_is_beside_every_row() -> None:
    made = equal(lambda x: torch.cat([x, x.mean(1, keepdim=True).repeat(1, x.shape[1], 1)], -1).tanh())
    assert "repeat" in kinds(made)


@functools.lru_cache(maxsize=1)
def table(rows: int, dtype: torch.dtype) -> Tensor:
    at = torch.arange(rows, dtype=dtype)
    return 0.9 ** (at[:, None] - at).abs() * torch.ones(rows, rows, dtype=dtype).tril()


def test_a_table_that_a_function_keeps_is_computed_in_float64() -> None:
    made = equal(lambda x: (x @ x.mT * table(x.shape[1], x.dtype)) @ x)
    assert "decaying_attention" in kinds(made)
    assert type(table(61, torch.float32)) is Tensor  # nothing of the export is kept
