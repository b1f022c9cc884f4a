"""FFT convolutions that mix channels by an einsum of several constants, compiled, against PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from importer_checks import compiled_equals, imported, kinds
from torch import Tensor, nn
from torch.fft import irfft, rfft


class Mixed(nn.Module):
    """(1, T, 4): an einsum of the spectra of rows and of taps, and of matrices."""

    def __init__(self, equation: str, taps: tuple[int, ...], *matrices: tuple[int, int]) -> None:
        super().__init__()
        self.equation = equation
        self.k = nn.Parameter(torch.randn(*taps, 30) * torch.exp(-0.2 * torch.arange(30)))
        self.matrices = nn.ParameterList(torch.randn(shape) for shape in matrices)

    def forward(self, x: Tensor) -> Tensor:
        n = 2 * (x.shape[1] + 15)
        made = torch.einsum(self.equation, rfft(x.mT, n), rfft(self.k, n), *(m.cfloat() for m in self.matrices))
        return irfft(made, n)[..., : x.shape[1]].mT


FORMS = {
    "every pair of channels": Mixed("bcl,dcl->bdl", (3, 4)),
    "a matrix before": Mixed("bcl,nl,nc->bnl", (6,), (6, 4)),
    "a matrix behind": Mixed("bcl,cl,dc->bdl", (4,), (2, 4)),
    "both, as a state space has them": Mixed("bcl,nl,nc,dn->bdl", (6,), (6, 4), (3, 6)),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_convolution_that_mixes_channels(name: str, tmp_path: Path) -> None:
    module = FORMS[name]
    made = imported(module, "x=1xTx4", length=67)
    assert {"long_conv", "conv2d"} & set(kinds(made)) and not made.report["warnings"]
    compiled_equals(module, "x=1xTx4", made, tmp_path, True)
