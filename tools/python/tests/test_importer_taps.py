"""Compact forms of taps: which tables have one, and what the compiler makes of it.

The expected numbers are those of torch.nn.functional.interpolate. A form may differ from the table by 1e-7 of the peak.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import importer_models as models  # noqa: E402
from importer_checks import compiled_equals, imported, kinds  # noqa: E402
from longwave.importer.taps import Pieces, dyadic  # noqa: E402

SHAPES = [  # dim, count, init, taps (0: all), nearest
    (8, 4, 0, 0, False),
    (8, 4, 0, 50, False),
    (3, 6, 0, 0, False),
    (1, 7, 0, 0, False),
    (5, 4, 1, 0, False),
    (4, 3, 2, 0, False),
    (8, 4, 0, 0, True),
    (6, 5, 0, 90, True),
    (4, 4, 1, 50, True),
]


def kernel(dim: int, count: int, init: int, taps: int, nearest: bool, rows: int = 7) -> torch.Tensor:
    generator = torch.Generator().manual_seed(dim * count + taps)
    numbers = torch.randn(count, rows, dim, dtype=torch.float64, generator=generator)
    parts = [
        F.interpolate(n[None], scale_factor=2.0 ** (max(0, i - 1) + init), mode="nearest" if nearest else "linear")[0]
        for i, n in enumerate(numbers)
    ]
    return torch.cat(parts, 1)[:, : taps or None]


@pytest.mark.parametrize("shape", SHAPES)
def test_pieces_are_found(shape) -> None:
    taps = kernel(*shape)
    form = dyadic(taps)
    assert form is not None and form.numbers.numel() <= shape[0] * shape[1] * len(taps)
    assert float((form.expanded() - taps).abs().max()) <= 1e-12 * float(taps.abs().max())


@pytest.mark.parametrize("shape", SHAPES)
def test_a_direct_term_is_no_obstacle(shape) -> None:
    taps = kernel(*shape)
    taps[:, 0] += 3
    form = dyadic(taps)
    assert form is not None
    assert float((form.expanded() - taps).abs().max()) <= 1e-12 * float(taps.abs().max())


def test_rounding_to_float32_is_no_obstacle() -> None:
    taps = kernel(8, 6, 0, 0, False).float().double()
    form = dyadic(taps)
    assert form is not None and form.pieces == Pieces(8, 6) and form.error <= 1e-7


def test_other_taps_have_no_pieces() -> None:
    generator = torch.Generator().manual_seed(1)
    noise = torch.randn(7, 200, dtype=torch.float64, generator=generator)
    assert dyadic(noise) is None
    assert dyadic(noise[:, :5]) is None
    wrong = kernel(8, 6, 0, 0, False)
    wrong[3, 100] += 1e-5 * float(wrong[3].abs().max())
    assert dyadic(wrong) is None
    wrong = kernel(8, 6, 0, 0, False)
    assert dyadic(wrong.flip(1)) is None


@pytest.mark.parametrize("options", [{}, {"taps": 50}, {"init": 1}, {"nearest": True}])
def test_an_imported_convolution_keeps_its_pieces(options, tmp_path: Path) -> None:
    torch.manual_seed(5)
    module = models.Interpolated(**options)
    made = imported(module, "x=1xTx5", length=211)
    assert kinds(made) == ["expand_scales", "long_conv"]
    assert sum(t.numel() for t in made.tensors.values()) == 5 * (4 * 8 + 1)
    assert "4 pieces of 8 numbers" in made.report["convolutions"][0]["form"]
    compiled_equals(module, "x=1xTx5", made, tmp_path, stream=True)


def test_a_convolution_with_two_sides_keeps_its_pieces(tmp_path: Path) -> None:
    torch.manual_seed(5)
    module = models.Interpolated(both=True)
    made = imported(module, "x=1xTx5", length=211)
    assert kinds(made) == ["expand_scales", "long_conv"]
    compiled_equals(module, "x=1xTx5", made, tmp_path, stream=False)
