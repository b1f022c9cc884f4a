"""Values that a module writes piece by piece, against PyTorch: the pieces side by side, whatever was there before."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from importer_checks import compiled_equals, imported, refusal
from torch import Tensor, nn

ROWS = 67


class Of(nn.Module):
    """f(x, layer) of (1, rows, 6), with a layer of 6 features"""

    def __init__(self, f) -> None:
        super().__init__()
        self.f, self.layer = f, nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        return self.f(x, self.layer)


def in_order(x: Tensor, m) -> Tensor:
    z = torch.empty(1, x.shape[1], 12)
    for i in range(2):
        x = m(x).tanh()
        z[:, :, 6 * i : 6 * i + 6] = x
    return z


def out_of_order(x: Tensor, m) -> Tensor:
    z = torch.empty(1, x.shape[1], 14)
    z[..., 8:] = x
    z[..., 0:6] = m(x)
    z[..., -8:-5] = x[..., :3].exp()
    z[..., 3:6] = x[..., 3:].sin()
    return z


def over_constants(x: Tensor, m) -> Tensor:
    z = torch.arange(10.0).expand(1, x.shape[1], 10).clone()
    z[:, :, 2:8] = m(x)
    return z


def over_rows(x: Tensor, m) -> Tensor:
    z = torch.zeros_like(x)
    z[:, 3:] = m(x)[:, :-3]
    return z


def over_the_input(x: Tensor, m) -> Tensor:
    z = m(x) * 1.0
    z[:, :, 2:4] = 0.5
    z[:, :, 5] = x[:, :, 0]
    return z


def single_features(x: Tensor, m) -> Tensor:
    z = torch.empty(1, x.shape[1], 3, 2)
    y = m(x)
    z[..., 0] = x[..., :3] * y[..., :3]
    z[..., 0] -= x[..., 3:] * y[..., 3:]
    z[..., 1] = x[..., :3] * y[..., 3:]
    z[..., 1] += x[..., 3:] * y[..., :3]
    return z.flatten(2)


def over_everything(x: Tensor, m) -> Tensor:
    z = torch.zeros(x.shape)
    z[..., : x.shape[-1]] = m(x)
    return z


def with_caches(x: Tensor, m) -> Tensor:
    caches, x = torch.zeros(1, 6, 6), x.mT
    for i in range(2):
        longer = torch.cat((caches[..., 2 * i + i : 3 * i + 2 + i], x), -1)
        caches[..., 2 * i + i : 3 * i + 2 + i] = longer[..., -2 - i :]
        x = x + m(longer[..., : x.shape[2]].mT).mT
    return x.mT


def of_two_axes(x: Tensor, m) -> Tensor:
    z = torch.zeros(1, x.shape[1], 2, 6)
    z[:, :, 0] = m(x)
    z[..., 4:] = x[..., None, :2]
    return z.flatten(2)


FORMS = {
    f.__name__: f
    for f in (
        in_order,
        out_of_order,
        over_constants,
        over_rows,
        over_the_input,
        single_features,
        over_everything,
        with_caches,
        of_two_axes,
    )
}


@pytest.mark.parametrize("name", FORMS)
def test_pieces(name: str, tmp_path: Path) -> None:
    torch.manual_seed(4)
    module = Of(FORMS[name]).eval()
    made = imported(module, "x=1xTx6", length=ROWS)
    assert max(made.report["errors"].values()) <= 1e-10
    if name in ("single_features", "with_caches"):
        compiled_equals(module, "x=1xTx6", made, tmp_path, stream=True)


def test_a_value_that_is_not_written_in_pieces_is_refused() -> None:
    def each_second(x: Tensor, m) -> Tensor:
        z = torch.zeros_like(x)
        z[:, :, ::2] = m(x)[:, :, 3:]
        return z

    assert "writes parts of a value one by one" in refusal(Of(each_second), "x=1xTx6", length=ROWS)


def test_an_empty_value_with_a_gap_is_refused() -> None:
    def with_a_gap(x: Tensor, m) -> Tensor:
        z = torch.empty(8, x.shape[1]).T[None].clone()
        z[:, :, 1:7] = m(x)
        return z

    told = refusal(Of(with_a_gap), "x=1xTx6", length=ROWS)  # what is in the gap may differ between two runs
    assert "writes parts of a value one by one" in told or "keeps state between calls" in told


def test_rows_that_are_written_one_by_one_are_a_loop() -> None:
    def rows(x: Tensor, m) -> Tensor:
        z, state = torch.zeros_like(x), torch.zeros(1, 6)
        for t in range(x.shape[1]):
            state = m(x[:, t] + state).tanh()
            z[:, t] = state
        return z

    assert "a loop over the rows of the sequence has no op" in refusal(Of(rows), "x=1xTx6", length=ROWS)
