"""aTENNuate, a denoiser of samples by state spaces, from its package: a stream that its authors say it does not have.

    pip install --no-deps attenuate==0.1.1 einops==0.8.1 opt_einsum==3.4.0

Random weights and few channels. Skipped without the package. What it reads files and weights with is not needed here.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path

import pytest
import torch
from importer_checks import compiled_equals, imported, longwave
from torch import Tensor, nn

PACKAGES = ("attenuate", "einops", "opt_einsum")
missing = [name for name in PACKAGES if importlib.util.find_spec(name) is None]
pytestmark = pytest.mark.skipif(bool(missing), reason=f"needs the packages {', '.join(missing)}")
STRIDE = 8  # of the resampling factors below


def denoiser() -> nn.Module:
    for name in ("librosa", "torchaudio", "huggingface_hub"):
        if importlib.util.find_spec(name) is None and name not in sys.modules:
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].hf_hub_download = None
    from attenuate import Denoiser

    torch.manual_seed(9)
    model = Denoiser(channels=[4, 6], num_coeffs=4, repeat=2, resample_factors=[4, 2])
    for name, p in model.named_parameters():
        if name.endswith("log_dt"):  # states that fade within the example
            p.data = p.data.clamp(min=0.5)
    return model.eval()


class Samples(nn.Module):
    """(1, T) of whole strides, as its `denoise_single` pads them."""

    def __init__(self) -> None:
        super().__init__()
        self.model = denoiser()

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x[:, None])[:, 0]


def test_attenuate_as_a_stream(tmp_path: Path) -> None:
    module = Samples()
    made = imported(module, "wave=1xT@16000", length=62 * STRIDE)
    late = [text for text in made.report["warnings"] if "rows ahead" in text]
    assert late and not any("no stream" in text for text in made.report["warnings"])
    compiled_equals(module, "wave=1xT@16000", made, tmp_path, True, blocks="8,64", limit=2e-5)
    # A row of 4 samples, rounded up to whole rows of 8, two rows of 8, and a row of 4 again.
    assert ", delay 28:" in longwave("inspect", tmp_path / "model.lw")
