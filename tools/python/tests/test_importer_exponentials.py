"""Kernels that are sums of few exponentials: which taps are found to be one, and what streams of the compiled recurrence give.

The taps here come from their definition in float64. The rule is that of the importer: within 1e-7 of the peak of each channel,
with the amplitudes in float32 as the folder holds them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy
import pytest
import torch
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parent))
import importer_models as models  # noqa: E402
from importer_checks import LONGWAVE, compiled_equals, imported, kinds, longwave  # noqa: E402
from longwave import package  # noqa: E402
from longwave.importer.exponentials import Exponentials, exponentials, powers  # noqa: E402
from longwave.importer.rules.state_space import taps as taps_of  # noqa: E402
from longwave.package import Package, layer  # noqa: E402

STATES = 16


def poles(kind: str, heads: int) -> Tensor:
    """Logarithms [heads, STATES] as S4D initialises them, for steps from 0.002 to 0.1."""
    n = torch.arange(STATES, dtype=torch.float64)
    imaginary = {"lin": torch.pi * n, "inv": 2 * STATES / torch.pi * (2 * STATES / (2 * n + 1) - 1), "real": 0 * n}[
        kind
    ]
    real = -(2.0 ** (n / 2)) if kind == "real" else torch.full_like(n, -0.5)
    return torch.complex(real, imaginary) * torch.logspace(-2, -1, heads, dtype=torch.float64)[:, None]


def kernel(kind: str, copies: int = 1, heads: int = 5, count: int = 6000) -> Tensor:
    generator = torch.Generator().manual_seed(copies)
    c = torch.randn(copies, heads, STATES, dtype=torch.complex128, generator=generator)
    return torch.stack([taps_of(poles(kind, heads), one, count, logarithms=True) for one in c])


def error(form: Exponentials, taps: Tensor) -> float:
    c = form.c.to(torch.complex64).to(torch.complex128)
    found = torch.stack([(c[:, h] @ powers(form.logarithms[h], taps.shape[2])).real for h in range(taps.shape[1])], 1)
    found[..., 0] += form.first
    return float(((found - taps).abs().amax(2) / taps.abs().amax((0, 2))).max())


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("kind", ["lin", "inv"])
def test_the_poles_of_s4d_are_found_and_predict_what_follows(kind: str, copies: int) -> None:
    taps = kernel(kind, copies)
    form = exponentials(taps[..., :3000], rows=3000)
    assert form is not None and form.endless and form.c.shape == (copies, 5, STATES)
    assert form.error <= 1e-7
    assert error(form, taps) <= 1e-7  # the second half was never seen


def test_decays_without_oscillation() -> None:
    """A memory over many scales: 16 decays close to each other, which fewer may stand for."""
    taps = kernel("real")
    form = exponentials(taps, rows=6000)
    assert form is not None and form.c.shape[2] <= STATES
    assert error(form, taps) <= 1e-7


def test_a_direct_term_is_no_obstacle() -> None:
    taps = kernel("lin")
    taps[..., 0] += 3
    form = exponentials(taps, rows=6000)
    assert form is not None and form.c.shape[2] == STATES and error(form, taps) <= 1e-7


def test_channels_of_different_scale_and_a_silent_one() -> None:
    taps = kernel("lin") * torch.tensor([1e-6, 1.0, 1e3, 0.0, 1.0])[:, None]
    form = exponentials(taps, rows=6000)
    assert form is not None and bool((form.c[:, 3] == 0).all())
    taps[:, 3, 0] = 1  # error() divides by the peak
    assert (
        error(
            Exponentials(form.logarithms, form.c, form.first + torch.tensor([0.0, 0, 0, 1, 0]), form.error, True), taps
        )
        <= 1e-7
    )


def test_other_taps_have_no_recurrence() -> None:
    generator = torch.Generator().manual_seed(1)
    noise = torch.randn(1, 3, 2000, dtype=torch.float64, generator=generator)
    assert exponentials(noise, rows=2000) is None
    assert exponentials(noise * torch.exp(-0.01 * torch.arange(2000)), rows=2000) is None
    taps = kernel("lin", count=1000)
    assert exponentials(taps, rows=4000) is None, "they end before they have decayed"
    assert exponentials(taps[..., :31], rows=31) is None, "a short table costs less"
    growing = torch.exp(1e-3 * torch.arange(2000, dtype=torch.float64)).expand(1, 1, 2000)
    assert exponentials(growing, rows=2000) is None, "no state may grow"
    wrong = kernel("lin")
    wrong[0, 3, 1234] += 1e-5 * float(wrong[0, 3].abs().max())
    assert exponentials(wrong, rows=6000) is None


class Slow(models.S4d):
    """The steps of trained S4D: it remembers far more than the example's rows."""

    def __init__(self) -> None:
        super().__init__(6, 4)
        self.log_dt.data.uniform_(-5.5, -4.5)


def test_an_imported_s4d_is_a_recurrence(tmp_path: Path) -> None:
    torch.manual_seed(5)
    module = Slow().eval()
    made = imported(module, "x=1x6xT", length=509, longest=509)
    assert kinds(made)[0] == "state_space" and "long_conv" not in kinds(made)
    (found,) = made.report["convolutions"]
    assert found["form"] == "recurrence of 4 complex states per channel" and found["cut"] and found["error"] <= 1e-7
    assert made.report["warnings"] == [], "the recurrence goes on after the example"
    assert made.model["length"] == 509
    compiled_equals(module, "x=1x6xT", made, tmp_path, stream=True)
    state = json.loads(longwave("inspect", tmp_path / "model.lw", "--json"))["report"]["state"]
    assert (
        sum(field["bytes"] for field in state if field["name"] in ("real", "imaginary")) == 2 * 4 * 4 * 16
    )  # 6 channels in 16 lanes


@torch.no_grad()
def test_a_stream_of_an_s4d_goes_on_after_the_example(tmp_path: Path) -> None:
    """Five times as many rows as the importer saw. PyTorch computes the kernel of the module in float64 here."""
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    torch.manual_seed(6)
    module = Slow().eval()
    imported(module, "x=1x6xT", length=509, longest=509).write(tmp_path / "model")
    x = torch.randn(1, 6, 2500)
    y = module.double()(x.double())[0].T.contiguous()
    numpy.save(tmp_path / "x.npy", x[0].T.contiguous().numpy())
    numpy.save(tmp_path / "y.npy", y.numpy().astype("<f4"))
    longwave("compile", tmp_path / "model", "-o", tmp_path / "m.lw", "--target", "host", "--stream", "--blocks", "7")
    longwave(
        "run",
        tmp_path / "m.lw",
        "--stream",
        "-i",
        f"x=@{tmp_path}/x.npy",
        "--expected",
        f"y=@{tmp_path}/y.npy",
        "--limit",
        2e-6,
    )


class Official(torch.nn.Module):
    """An S4D layer with the names of the published code: kernel, D, output_linear."""

    def __init__(self, width: int = 6, states: int = 5) -> None:
        super().__init__()
        self.kernel = torch.nn.Module()
        self.kernel.log_dt = torch.nn.Parameter(torch.rand(width) * 3 - 6)
        self.kernel.C = torch.nn.Parameter(torch.randn(width, states, 2))
        self.kernel.log_A_real = torch.nn.Parameter(torch.log(0.5 * torch.ones(width, states)))
        self.kernel.A_imag = torch.nn.Parameter(torch.pi * torch.arange(states).float().repeat(width, 1))
        self.D = torch.nn.Parameter(torch.randn(width))
        self.output_linear = torch.nn.Sequential(torch.nn.Conv1d(width, 2 * width, 1), torch.nn.GLU(dim=-2))

    def forward(self, x: Tensor) -> Tensor:  # (1, width, T)
        n, k = x.shape[-1], self.kernel
        a = -k.log_A_real.exp() + 1j * k.A_imag
        step = a * k.log_dt.exp()[:, None]
        c = torch.view_as_complex(k.C) * (step.exp() - 1) / a
        taps = 2 * (c[..., None] * (step[..., None] * torch.arange(n)).exp()).sum(1).real
        y = (
            torch.fft.irfft(torch.fft.rfft(x, 2 * n) * torch.fft.rfft(taps, 2 * n), 2 * n)[..., :n]
            + x * self.D[:, None]
        )
        return self.output_linear(torch.nn.functional.gelu(y))


@torch.no_grad()
def test_an_s4d_checkpoint_by_hand(tmp_path: Path) -> None:
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    torch.manual_seed(8)
    module, rows = Official().eval(), 700
    state = {
        f"s4d.{key}": value.squeeze(-1) if value.dim() == 3 and value.shape[-1] == 1 else value
        for key, value in module.state_dict().items()
    }
    layers = [
        layer("state_space", "space", "s4d", states=5, s4d=True),
        layer("gelu", "gelu"),
        layer("linear", "output", "s4d.output_linear.0", out_features=12),
        layer("glu", "glu"),
    ]
    package.write(
        Package(
            "s4d",
            [{"name": "x", "kind": "features", "width": 6}],
            layers,
            [{"name": "y", "from": "glu"}],
            weights=state,
        ),
        tmp_path / "model",
    )
    x = torch.randn(1, 6, rows)
    numpy.save(tmp_path / "x.npy", x[0].T.contiguous().numpy())
    numpy.save(tmp_path / "y.npy", module.double()(x.double())[0].T.contiguous().numpy().astype("<f4"))
    longwave(
        "compile",
        tmp_path / "model",
        "-o",
        tmp_path / "m.lw",
        "--target",
        "host",
        "--stream",
        "--blocks",
        "1,32",
        "--length",
        rows,
    )
    for mode in ([], ["--stream"]):
        longwave(
            "run",
            tmp_path / "m.lw",
            *mode,
            "-i",
            f"x=@{tmp_path}/x.npy",
            "--expected",
            f"y=@{tmp_path}/y.npy",
            "--limit",
            2e-6,
        )


def test_a_table_stays_where_no_stream_is_possible() -> None:
    torch.manual_seed(7)
    module = torch.nn.Sequential(models.S4d(), torch.nn.GroupNorm(1, 8))
    made = imported(module, "x=1x8xT", length=509, longest=1100)
    assert kinds(made)[0] == "long_conv" and made.report["convolutions"][0]["form"] == "table"
