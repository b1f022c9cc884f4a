"""Samples through frames, transforms and overlap-add: a stream has the same bits for any cuts of its input.

The expected rows are those of one push of everything. Their values are compared with PyTorch in test_importer_faster_rows.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest
import torch

BUILT = Path(__file__).resolve().parents[3] / "build/python"
if any((BUILT / "longwave").glob("_native*.so")):
    sys.path.insert(0, str(BUILT))  # the same sources, with the native module
import longwave as package  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
from importer_checks import LONGWAVE, longwave  # noqa: E402
from longwave.importer.api import import_module  # noqa: E402
from test_importer_faster_rows import Spectral  # noqa: E402

NATIVE = any((BUILT / "longwave").glob("_native*.so"))
pytestmark = pytest.mark.skipif(
    not (NATIVE and LONGWAVE.exists()), reason=f"{LONGWAVE} or the native module of {BUILT} is not built"
)
ROWS = 40


@pytest.mark.parametrize("back", ["transposed", "istft"])
@pytest.mark.parametrize("window, hop", [(400, 160), (512, 128), (1024, 256)])
def test_any_cut_has_the_same_bits(window: int, hop: int, back: str, tmp_path: Path) -> None:
    torch.manual_seed(window)
    module = Spectral(window, hop, "stft", "real", back).eval()
    import_module(module, ["wave=1xT@16000"], length=hop * 13).write(tmp_path / "model")
    model = tmp_path / "model.lw"
    longwave("compile", tmp_path / "model", "-o", model, "--target", "host", "--stream", "--block", hop)
    choice = numpy.random.default_rng(hop)
    x = choice.standard_normal((hop * ROWS + hop // 3, 1)).astype(numpy.float32)
    stream = package.open(model).stream(queue=len(x))
    whole = through(stream, x, [len(x)])
    assert whole.any() and hop * (ROWS - 4) <= len(whole) <= hop * ROWS  # the rows of istft come late
    cuts = [[1], [hop - 1, 2], [441], [hop]]
    cuts += [list(choice.integers(1, 3 * hop, 16)) for _ in range(8)]
    for sizes in cuts:
        stream.reset()
        assert numpy.array_equal(through(stream, x, sizes), whole), sizes


def through(stream, x: numpy.ndarray, sizes: list[int]) -> numpy.ndarray:
    """The rows of x in pieces of these sizes, in turn."""
    rows, at, turn = [], 0, 0
    while at < len(x):
        piece = x[at : at + sizes[turn % len(sizes)]]
        stream.push(piece)
        rows += [row.data.copy() for row in stream]
        at, turn = at + len(piece), turn + 1
    return numpy.stack(rows)
