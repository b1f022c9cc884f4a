"""aTENNuate, a denoiser of samples by state spaces, from its package: a stream that its authors say it does not have.

    pip install --no-deps attenuate==0.1.1 einops==0.8.1 opt_einsum==3.4.0

Random weights. Skipped without the package. What it reads files and weights with is not needed here. LONGWAVE_ATTENUATE=full also
imports and compiles it with the channels of its authors, which takes minutes.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
from pathlib import Path

import numpy
import pytest
import torch
from importer_checks import compiled_equals, error_of, imported, longwave
from torch import Tensor, nn

PACKAGES = ("attenuate", "einops", "opt_einsum")
missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"needs the packages {', '.join(missing)}")
STRIDE = 8  # of the resampling factors below
LIMIT = 5e-6  # of the published size, of the peak: float32 on both sides


def denoiser(**sizes) -> nn.Module:
    for name in ("librosa", "torchaudio", "huggingface_hub"):
        try:
            importlib.import_module(name)
        except (ImportError, OSError):  # also where its compiled part is for another torch
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].hf_hub_download = None
    from attenuate import Denoiser

    torch.manual_seed(9)
    return Denoiser(**sizes).eval()


def small() -> nn.Module:
    model = denoiser(channels=[4, 6], num_coeffs=4, repeat=2, resample_factors=[4, 2])
    for name, p in model.named_parameters():
        if name.endswith("log_dt"):  # states that fade within the example
            p.data = p.data.clamp(min=0.5)
    return model


class Samples(nn.Module):
    """(1, T) of whole strides, as its `denoise_single` pads them."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x[:, None])[:, 0]


def test_attenuate_as_a_stream(tmp_path: Path) -> None:
    module = Samples(small())
    made = imported(module, "wave=1xT@16000", length=62 * STRIDE)
    late = [text for text in made.report["warnings"] if "rows ahead" in text]
    assert late and not any("no stream" in text for text in made.report["warnings"])
    compiled_equals(module, "wave=1xT@16000", made, tmp_path, True, blocks="8,64", limit=2e-5)
    # A row of 4 samples, rounded up to whole rows of 8, two rows of 8, and a row of 4 again.
    assert ", delay 28:" in longwave("inspect", tmp_path / "model.lw")


@pytest.mark.skipif(os.environ.get("LONGWAVE_ATTENUATE") != "full", reason="takes minutes: LONGWAVE_ATTENUATE=full")
def test_the_published_size(tmp_path: Path) -> None:
    """844,864 parameters. The figures of docs/denoise.md."""
    module, hop = Samples(denoiser()), 256
    assert sum(p.numel() for p in module.parameters()) == 844_864
    made = imported(module, "wave=1xT@16000", length=13 * hop)
    cut = [text for text in made.report["warnings"] if "taps reach the example's length 9472" in text]
    assert len(cut) == 4 and made.model["graph"]
    compiled_equals(module, "wave=1xT@16000", made, tmp_path, True, blocks=str(hop), limit=LIMIT)
    with torch.no_grad():
        x = torch.randn(1, 37 * hop)
        y = module(x)
    numpy.save(tmp_path / "x.npy", x.T.numpy())
    numpy.save(tmp_path / "y.npy", y.T.numpy())
    compare = ["-i", f"wave=@{tmp_path}/x.npy", "--expected", f"y=@{tmp_path}/y.npy", "--limit", LIMIT]
    print(f"largest error {error_of('run', tmp_path / 'model.lw', '--stream', *compare):.1e} of the peak")
    assert ", delay 1012:" in longwave("inspect", tmp_path / "model.lw")
