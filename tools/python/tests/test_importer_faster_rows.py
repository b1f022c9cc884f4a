"""Rows above one for each tick, overlap-add and complex spectra, against PyTorch. The proof of each import compares in float64."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from importer_checks import compiled_equals, imported, kinds, refusal
from longwave.importer.export import export_problem
from torch import Tensor, nn


class Of(nn.Module):
    """f(x, part, ...)"""

    def __init__(self, f, *parts: nn.Module) -> None:
        super().__init__()
        self.f, self.parts = f, nn.ModuleList(parts)

    def forward(self, x: Tensor) -> Tensor:
        return self.f(x, *self.parts)


def after(x: Tensor, conv: nn.Module) -> Tensor:
    """Some layers over the rows of (1, channels, steps)."""
    return torch.tanh(conv(F.pad(x, (conv.kernel_size[0] - 1, 0)))).mT


def up(taps: int, stride: int, start: int = 0, **options) -> nn.Module:
    def f(x: Tensor, t: nn.Module, c: nn.Module) -> Tensor:
        return after(t(x.mT)[..., start : start + stride * x.shape[1]], c)

    return Of(f, nn.ConvTranspose1d(6, 4, taps, stride, **options), nn.Conv1d(4, 3, 3))


def upsampled(f) -> nn.Module:
    return Of(
        lambda x, c, n, r: r(n(after(f(x.mT), c)))[0],
        nn.Conv1d(6, 5, 3),
        nn.LayerNorm(5),
        nn.GRU(5, 4, batch_first=True),
    )


UP = {
    "transposed": (up(8, 4), 4),
    "transposed, taps that do not divide": (up(7, 3), 3),
    "transposed, groups": (up(8, 4, groups=2), 4),
    "transposed, dilated": (up(3, 2, dilation=2), 2),
    "transposed, two steps cut at the start": (up(8, 4, 2), 4),
    "transposed, four steps cut": (up(8, 4, 4), 4),
    "transposed, padding": (up(8, 4, padding=2), 4),
    "nearest": (upsampled(lambda x: F.interpolate(x, scale_factor=3)), 3),
    "repeated": (upsampled(lambda x: x.repeat_interleave(3, 2)), 3),
    "shuffled": (upsampled(lambda x: x.reshape(1, 2, 3, -1).permute(0, 2, 3, 1).reshape(1, 3, -1).repeat(1, 2, 1)), 2),
    "twice": (
        Of(
            lambda x, s, t, c: after(t(torch.relu(s(x.mT)[..., : 2 * x.shape[1]]))[..., : 6 * x.shape[1]], c),
            nn.ConvTranspose1d(6, 4, 4, 2),
            nn.ConvTranspose1d(4, 4, 5, 3),
            nn.Conv1d(4, 3, 3),
        ),
        3,
    ),
}


@pytest.mark.parametrize("name", UP)
def test_ops_after_an_upsampling(name: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    module, parts = UP[name]
    made = imported(module.eval(), "x=1xTx6", length=62)
    assert {"parts": parts} in [node.get("attributes") for node in made.model["graph"] if node["op"] == "split_rows"]
    compiled_equals(module, "x=1xTx6", made, tmp_path, True, blocks="1,7,441")


class Denoiser(nn.Module):
    """Causal, on samples: strided convolutions, a layer at the slowest clock, transposed convolutions, skips."""

    def __init__(self, ahead: bool) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv1d(1, 6, 8, 4), nn.Conv1d(6, 10, 4, 2)])
        self.up = nn.ModuleList([nn.ConvTranspose1d(10, 6, 4, 2), nn.ConvTranspose1d(6, 1, 8, 4)])
        self.slow, self.ahead = nn.LSTM(10, 10, batch_first=True), ahead

    def forward(self, x: Tensor) -> Tensor:
        x = x[:, None]
        a = torch.relu(self.down[0](F.pad(x, (4, 0))))
        b = torch.relu(self.down[1](F.pad(a, (2, 0))))
        h = self.slow(b.mT)[0].mT + b
        u = torch.relu(self.up[0](h)[..., : 2 * h.shape[2]] + a)
        y = self.up[1](u)
        y = y[..., 4:] if self.ahead else y[..., : 4 * u.shape[2]]
        return (y + x)[:, 0]


@pytest.mark.parametrize("ahead", [False, True])
def test_a_denoiser_of_samples(ahead: bool, tmp_path: Path) -> None:
    torch.manual_seed(2)
    module = Denoiser(ahead).eval()
    made = imported(module, "wave=1xT@8000", length=240)
    assert ["split_rows"] * 2 == [kind for kind in kinds(made) if kind == "split_rows"]
    compiled_equals(module, "wave=1xT@8000", made, tmp_path, True, blocks="8,64")


class Spectral(nn.Module):
    """Frames, DFT, a mask, inverse DFT, overlap-add, window sums divided out."""

    def __init__(self, window: int, hop: int, forward: str, mask: str, back: str) -> None:
        super().__init__()
        self.window, self.hop, self.way, self.mask, self.back = window, hop, forward, mask, back
        self.register_buffer("shape", torch.hann_window(window).sqrt())
        self.register_buffer("eye", torch.eye(window)[:, None])
        sums = self.eye.new_zeros(-(-window // hop) * hop)
        sums[:window] = torch.hann_window(window)
        self.register_buffer("sums", sums.reshape(-1, hop).sum(0).clamp(min=1e-3))
        self.net = nn.Linear(window // 2 + 1, window // 2 + 1)

    def spectrum(self, x: Tensor) -> Tensor:
        x = F.pad(x, (self.window - self.hop, 0))
        if self.way == "stft":
            return torch.stft(x, self.window, self.hop, window=self.shape, center=False, return_complex=True).mT
        return torch.fft.rfft(x.unfold(1, self.window, self.hop) * self.shape)

    def masked(self, x: Tensor) -> Tensor:
        if self.mask == "real":
            return torch.sigmoid(self.net(x.abs())) * x
        if self.mask == "complex":
            return x * torch.complex(torch.tanh(x.real), torch.sigmoid(x.imag))
        if self.mask == "pairs":
            return torch.view_as_complex(torch.view_as_real(x) * torch.sigmoid(self.net(x.abs()))[..., None])
        if self.mask == "polar":
            return torch.polar(x.abs() * torch.sigmoid(self.net(x.abs())), x.angle())
        return x * 1.0

    def forward(self, x: Tensor) -> Tensor:
        rows = x.shape[1] // self.hop
        y, samples = self.masked(self.spectrum(x)), rows * self.hop
        if self.back == "istft":
            return torch.istft(y.mT, self.window, self.hop, window=self.shape, length=samples)
        frames = torch.fft.irfft(y, n=self.window) * self.shape
        whole = (rows - 1) * self.hop + self.window
        if self.back == "fold":
            y = F.fold(frames.mT, (1, whole), (1, self.window), stride=(1, self.hop))[:, 0, 0]
        else:
            y = F.conv_transpose1d(frames.mT, self.eye, stride=self.hop)[:, 0]
        return (y[:, :samples].reshape(1, rows, self.hop) / self.sums).reshape(1, samples)


SPECTRAL = {
    "real mask, unfold, transposed convolution": (Spectral(16, 4, "unfold", "real", "transposed"), 0),
    "complex mask, stft, fold": (Spectral(16, 4, "stft", "complex", "fold"), 0),
    "pairs": (Spectral(16, 8, "stft", "pairs", "fold"), 0),
    "polar": (Spectral(16, 8, "unfold", "polar", "fold"), 0),
    "istft": (Spectral(16, 4, "stft", "real", "istft"), 2),
    "istft, another size": (Spectral(20, 8, "stft", "complex", "istft"), 2),
}


@pytest.mark.parametrize("name", SPECTRAL)
def test_a_mask_of_a_complex_spectrum(name: str, tmp_path: Path) -> None:
    torch.manual_seed(3)
    module, ahead = SPECTRAL[name]
    made = imported(module.eval(), "wave=1xT@8000", length=101)
    assert {"window", "hop", "ahead"} in [
        set(node.get("attributes", {})) for node in made.model["graph"] if node["op"] == "unframe"
    ]
    assert any(f"looks {ahead} rows ahead" in text for text in made.report["warnings"]) == (ahead > 0)
    compiled_equals(module, "wave=1xT@8000", made, tmp_path, True, blocks=f"{module.hop},{8 * module.hop}", limit=1e-5)


@pytest.mark.parametrize("window, hop", [(400, 160), (512, 128), (1024, 256)])
def test_samples_come_back_from_their_frames(window: int, hop: int, tmp_path: Path) -> None:
    """Against PyTorch at these sizes, 1e-6 of the peak. Without a mask the module gives its input, `window - hop` samples later."""
    module = Spectral(window, hop, "unfold", "none", "transposed").eval()
    if window % hop == 0:
        x, later = torch.randn(1, hop * 12), window - hop
        torch.testing.assert_close(module(x)[:, later:], x[:, :-later], atol=1e-5, rtol=0)
    module = Spectral(window, hop, "unfold", "real", "transposed").eval()
    made = imported(module, "wave=1xT@16000", length=hop * 13)
    compiled_equals(module, "wave=1xT@16000", made, tmp_path, True, blocks=f"{hop},{4 * hop}", limit=1e-6)


def test_a_magnitude_is_a_result() -> None:
    assert "power_spectrum" in kinds(
        imported(
            Of(
                lambda x: (
                    torch.stft(
                        F.pad(x, (48, 0)), 64, 16, window=torch.hann_window(64), center=False, return_complex=True
                    )
                    .abs()
                    .mT
                )
            ),
            "wave=1xT@8000",
            length=801,
        )
    )


REFUSED = {
    "an angle by itself": (lambda x: torch.fft.rfft(x.unfold(1, 16, 16)).angle().sum(-1), "uses an angle by itself"),
    "a factor of its own for each row": (
        lambda x: x.repeat_interleave(torch.arange(x.shape[1]) % 2 + 1, dim=1),
        "repeats each element a number of times of its own, and does not say how many elements that makes; give their number: "
        "repeat_interleave(x, counts, dim, output_size=N)",
    ),
    "a factor from the data": (
        lambda x: x.repeat_interleave((x[0] > 0).long(), dim=1),
        "repeats each element a number of times that depends on the data",
    ),
    "a spectrum as a result": (lambda x: torch.fft.rfft(x.unfold(1, 16, 16)), "return real numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    f, expected = REFUSED[name]
    assert expected in refusal(Of(f), "wave=1xT@8000", length=64)


def test_a_size_that_torch_does_not_know() -> None:
    """What torch.export raises where a step behind such a repeat compares sizes."""
    found = export_problem(
        RuntimeError(
            "Could not guard on data-dependent expression Eq(u0, 2) (unhinted: Eq(u0, 2)).  (Size-like symbols: u0)"
        )
    )
    assert found.reason == "a shape depends on the data" and "output_size" in found.way_out
