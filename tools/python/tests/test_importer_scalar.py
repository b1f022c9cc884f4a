"""The importer: scalars of the host. A gain and a mix import, stream, and change by `longwave run --set`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
from importer_checks import compiled_equals, imported, kinds, longwave  # noqa: E402
from longwave.layers.scalar import Scalar  # noqa: E402

SPEC = "x=1xTx12"


class Mixer(nn.Module):
    """Wet and dry, times a gain."""

    def __init__(self) -> None:
        super().__init__()
        self.wet = nn.Linear(12, 12)
        self.mix = Scalar("mix", 0.25, 0, 1)
        self.gain = Scalar("gain", 1, -2, 2, smoothed=True, unit="times")

    def forward(self, x: Tensor) -> Tensor:
        mix = self.mix(x)
        return self.gain(x) * (x * (1 - mix) + self.wet(x).tanh() * mix)


def of(module: Mixer, x: Tensor, gain: float, mix: float) -> numpy.ndarray:
    with torch.no_grad():
        return (gain * (x * (1 - mix) + module.wet(x).tanh() * mix))[0].numpy()


def test_a_gain_and_a_mix(tmp_path: Path) -> None:
    torch.manual_seed(1)
    module = Mixer().eval()
    made = imported(module, SPEC)
    assert kinds(made).count("scalar") == 2
    compiled_equals(module, SPEC, made, tmp_path, stream=True)

    made.write(tmp_path / "mixer")
    longwave("compile", tmp_path / "mixer", "-o", tmp_path / "m.lw", "--stream", "--block", "16")
    x = torch.randn(1, 64, 12)
    numpy.save(tmp_path / "x.npy", x[0].numpy())
    run = ["run", tmp_path / "m.lw", "-i", f"@{tmp_path / 'x.npy'}", "-o", tmp_path / "y.npy", "--stream"]
    longwave(*run)
    assert numpy.abs(numpy.load(tmp_path / "y.npy") - of(module, x, 1, 0.25)).max() < 2e-6
    longwave(*run, "--set", "gain=-1.5", "--set", "mix=1")
    y, expected = numpy.load(tmp_path / "y.npy"), of(module, x, -1.5, 1)
    assert numpy.abs(y[16:] - expected[16:]).max() < 2e-6  # the first block goes there
    steps = (1 + (-2.5) * numpy.arange(1, 17) / 16)[:, None]
    assert numpy.abs(y[:16] - steps * of(module, x, 1, 1)[:16]).max() < 2e-6
    assert "gain" in longwave("inspect", tmp_path / "m.lw")
    for wrong, words in (
        ("gain=3", "not within"),
        ("gain=nan", "not within"),
        ("Gain=1", "gain, mix"),
        ("gain", "NAME=NUMBER"),
        ("gain=1x", "NAME=NUMBER"),
        ("=1", "NAME=NUMBER"),
    ):
        assert words in longwave(*run, "--set", wrong, fails=True)
    assert "add --stream" in longwave(*run[:-1], "--set", "gain=1", fails=True)


@pytest.mark.parametrize("numbers", [(2, 0, 1), (0.5, 1, 0), (float("nan"), 0, 1), (0, -float("inf"), 1)])
def test_numbers_that_are_no_range(numbers: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="low <= initial <= high"):
        Scalar("gain", *numbers)
