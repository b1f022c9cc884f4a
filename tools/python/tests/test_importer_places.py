"""Where elements come from: features that are read twice, zeros that depend on a shape alone, delayed rows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
import importer_models as models  # noqa: E402
from importer_checks import imported, kinds  # noqa: E402

TWICE = [1, 3, 1, 0, 0]  # features of the input
READS_TWICE = {
    "linear": lambda: nn.Linear(5, 3),
    "constants": lambda: models.Function(lambda x: x * torch.tensor([1.0, 2, 3, 4, 5]) + torch.arange(5.0)),
    "convolution": lambda: nn.Sequential(
        models.Function(lambda x: F.pad(x.mT, (2, 0))), nn.Conv1d(5, 4, 3), models.Function(lambda x: x.mT)
    ),
    "lstm": lambda: nn.Sequential(nn.LSTM(5, 3, batch_first=True), models.Function(lambda y: y[0])),
    "group norm": lambda: models.Function(lambda x, k: F.group_norm(x.mT, 5, k[0], k[1]).mT, 2, 5),
    "instance norm": lambda: models.Function(lambda x, k: F.instance_norm(x.mT, weight=k[0], bias=k[1]).mT, 2, 5),
    "batch norm": lambda: models.Function(
        lambda x, k: F.batch_norm(x.mT, k[0], k[1].square() + 1, k[0], k[1]).mT, 2, 5
    ),
    "layer norm": lambda: models.Function(lambda x, k: F.layer_norm(x, (5,), k[0], k[1]), 2, 5),
    "pool": lambda: models.Function(lambda x: F.max_pool1d(x.mT, 3, 3).mT),
}


@pytest.mark.parametrize("name", READS_TWICE)
def test_a_feature_that_is_read_twice_counts_twice(name: str) -> None:
    torch.manual_seed(9)
    made = imported(nn.Sequential(models.Function(lambda x: x[..., TWICE]), READS_TWICE[name]()), "x=1xTx4", length=61)
    assert max(made.report["errors"].values()) <= 1e-10


def test_zeros_of_a_shape_are_a_constant() -> None:
    made = imported(
        models.Function(lambda x: torch.cat([torch.zeros_like(x[:, :3]), x[:, :-3]], 1)), "x=1xTx4", length=61
    )
    assert kinds(made) == ["shift"]


def test_a_convolution_of_delayed_rows() -> None:
    torch.manual_seed(9)
    conv = nn.Conv1d(4, 4, 3, groups=4, padding=2)
    made = imported(models.Function(lambda x: conv(F.pad(x.mT, (5, 0))[..., :-5])[..., :-2]), "x=1xTx4", length=61)
    assert kinds(made) == ["shift", "conv2d"]


def test_zeros_among_selected_features_stay_zeros() -> None:
    """A selection of features, then one that adds zeros between them."""

    def selected(x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x[..., 2:], x[..., :2].relu()], -1)

    torch.manual_seed(9)
    conv = nn.Conv1d(8, 3, 1)
    with_zeros = models.Function(lambda x: torch.stack([selected(x), torch.zeros_like(x)], -1).flatten(2))
    made = imported(nn.Sequential(with_zeros, models.Function(lambda x: conv(x.mT).mT)), "x=1xTx4", length=61)
    assert max(made.report["errors"].values()) <= 1e-10
