"""Convolutions inside a row, pads that copy features, windows of samples and late strided convolutions, against PyTorch.

Tolerances: 1e-10 of the peak in float64, and importer_checks.PEAK in float32 after compilation.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from importer_checks import compiled_equals, imported, kinds, refusal
from torch import Tensor, nn


class Inside(nn.Module):
    """A convolution over the positions of a row of (channels, positions)."""

    def __init__(
        self,
        channels: int,
        out: int,
        kernel: int,
        stride: int,
        dilation: int,
        groups: int,
        positions: int,
        pad,
        mode: str,
    ) -> None:
        super().__init__()
        self.shape, self.pad, self.mode = (-1, channels, positions), pad, mode
        self.conv = nn.Conv1d(channels, out, kernel, stride, 0, dilation, groups)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(F.pad(x[0].reshape(self.shape), self.pad, self.mode))[None]


# channels, outputs, kernel, stride, dilation, groups, positions, pad, mode
INSIDE = {
    "one channel": (1, 1, 3, 1, 1, 1, 5, (1, 1), "constant"),
    "one tap": (2, 3, 1, 1, 1, 1, 4, (0, 0), "constant"),
    "few outputs": (1, 3, 4, 3, 1, 1, 17, (2, 0), "constant"),
    "many outputs": (1, 9, 5, 2, 1, 1, 13, (0, 3), "constant"),
    "as the op pads": (3, 8, 3, 2, 1, 1, 6, (1, 1), "constant"),
    "many channels": (40, 9, 3, 1, 1, 1, 4, (1, 1), "constant"),
    "one position": (3, 8, 7, 1, 1, 1, 4, (1, 2), "constant"),
    "one position of many": (1, 8, 2, 9, 1, 1, 9, (0, 0), "constant"),
    "only zeros are read": (2, 3, 1, 9, 1, 1, 3, (1, 2), "constant"),
    "dilated": (2, 9, 3, 2, 3, 1, 11, (3, 1), "constant"),
    "groups": (4, 6, 3, 1, 2, 2, 7, (2, 1), "constant"),
    "a filter per channel": (3, 3, 4, 2, 1, 3, 9, (3, 0), "constant"),
    "a filter per channel, one position": (3, 3, 5, 1, 1, 3, 5, (0, 0), "constant"),
    "reflected": (1, 16, 4, 2, 1, 1, 9, (0, 8), "reflect"),
    "reflected at both ends": (3, 9, 5, 3, 1, 1, 7, (6, 6), "reflect"),
    "replicated": (2, 9, 6, 1, 1, 1, 5, (4, 7), "replicate"),
    "circular": (2, 3, 7, 2, 1, 1, 5, (5, 3), "circular"),
}
COMPILED = {
    "few outputs",
    "many outputs",
    "as the op pads",
    "many channels",
    "groups",
    "a filter per channel",
    "reflected at both ends",
    "only zeros are read",
}


@pytest.mark.parametrize("name", INSIDE)
def test_a_convolution_inside_a_row(name: str, tmp_path: Path) -> None:
    torch.manual_seed(3)
    module = Inside(*INSIDE[name]).eval()
    spec = f"x=1xTx{INSIDE[name][0] * INSIDE[name][6]}"
    made = imported(module, spec, length=67)
    assert set(kinds(made)) <= {"take", "conv2d", "linear"} and max(made.report["errors"].values()) <= 1e-10
    if name in COMPILED:
        compiled_equals(module, spec, made, tmp_path, stream=True)


class OfMagnitudes(nn.Module):
    """A convolution of magnitudes whose real parts are the first half of a row. Its channels are not the newest dimension."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(40, 9, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        real, imaginary = x[0].reshape(-1, 2, 40, 4).unbind(1)
        return self.conv((real**2 + imaginary**2).sqrt())[None]


def test_values_that_takes_made_are_taken_once() -> None:
    torch.manual_seed(3)
    made = imported(OfMagnitudes().eval(), "x=1xTx320", length=67)
    before, _, after = " ".join(kinds(made)).partition(" conv2d ")  # behind it, channels and positions change places
    assert (before, after) == ("take square take square add sqrt", "take")
    assert max(made.report["errors"].values()) <= 1e-10


@pytest.mark.parametrize("kernel, format", [(3, "float32"), (1, None)])
def test_a_convolution_at_one_position_stays_float32_with_int8_weights(kernel: int, format: str | None) -> None:
    torch.manual_seed(3)
    made = imported(Inside(3, 8, kernel, 1, 1, 1, kernel, (0, 0), "constant").eval(), f"x=1xTx{3 * kernel}", length=67)
    node = next(node for node in made.model["graph"] if node["op"] == "linear")
    assert node["attributes"].get("weights") == format


class Of(nn.Module):
    def __init__(self, f, *parts: nn.Module) -> None:
        super().__init__()
        self.f, self.parts = f, nn.ModuleList(parts)

    def forward(self, x: Tensor) -> Tensor:
        return self.f(x, *self.parts)


def windows(x: Tensor, size: int, hop: int, front: int) -> Tensor:
    return F.pad(x, (front, 0)).unfold(1, size, hop)


WINDOWS = {  # of samples: the module, and the kinds of its ops
    "linear": (lambda: Of(lambda x, m: m(windows(x, 9, 4, 5)), nn.Linear(9, 3)), ["frame", "linear"]),
    "later by 3 samples": (
        lambda: Of(lambda x, m: m(windows(x, 9, 4, 8)), nn.Linear(9, 3)),
        ["shift", "frame", "linear"],
    ),
    "conv1d of one tap": (
        lambda: Of(lambda x, m: m(windows(x, 7, 5, 2).mT).mT, nn.Conv1d(7, 3, 1)),
        ["frame", "conv2d"],
    ),
    "conv1d inside": (
        lambda: Of(
            lambda x, m: m(F.pad(windows(x, 9, 4, 5)[0][:, None], (0, 8), "reflect"))[None], nn.Conv1d(1, 9, 4, 2)
        ),
        ["frame", "take", "conv2d", "take"],
    ),
    "side by side": (lambda: Of(lambda x, m: m(x.reshape(1, -1, 4)), nn.Linear(4, 3)), ["frame", "linear"]),
    "backwards": (
        lambda: Of(lambda x, m: m(x.reshape(1, -1, 4).flip(2)).relu(), nn.Linear(4, 3)),
        ["frame", "linear", "relu"],
    ),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_samples(name: str, tmp_path: Path) -> None:
    torch.manual_seed(4)
    make, expected = WINDOWS[name]
    module = make().eval()
    made = imported(module, "audio=16000", length=400)
    assert kinds(made) == expected and max(made.report["errors"].values()) <= 1e-10
    if name in ("linear", "later by 3 samples", "conv1d inside"):
        compiled_equals(module, "audio=16000", made, tmp_path, stream=True, blocks="1,160")


class Strided(nn.Module):
    """Taps that lie `late` samples before the end of their stride, and `unused` zeros before them."""

    def __init__(self, taps: int, stride: int, late: int, unused: int) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 40, taps, stride)
        self.front, self.unused = taps + unused - stride + late, unused

    def forward(self, x: Tensor) -> Tensor:
        w = F.pad(self.conv.weight, (self.unused, 0))
        return F.conv1d(F.pad(x, (self.front, 0))[:, None], w, self.conv.bias, self.conv.stride)[
            ..., : x.shape[1] // self.conv.stride[0]
        ].mT


@pytest.mark.parametrize(
    "taps, stride, late, unused, taps_left",
    [(8, 32, 0, 24, 8), (8, 32, 24, 0, 8), (8, 32, 5, 19, 13), (40, 32, 16, 0, 40), (3, 4, 1, 0, 4)],
)
def test_a_late_convolution_has_no_taps_of_zero(
    taps: int, stride: int, late: int, unused: int, taps_left: int, tmp_path: Path
) -> None:
    """Unless they take less time than a shift of all samples."""
    torch.manual_seed(5)
    module = Strided(taps, stride, late, unused).eval()
    made = imported(module, "audio=16000", length=400)
    assert kinds(made) == (["shift"] if late and taps_left == taps else []) + ["conv2d"]
    assert next(op for op in made.importer.graph.ops if op.kind == "conv2d").constant("weight").shape[2] == taps_left
    if late == 24:
        compiled_equals(module, "audio=16000", made, tmp_path, stream=True, blocks="1,64")


REFUSED = {
    "time reflected": (
        lambda x, c: c(F.pad(x.mT, (2, 0), "reflect")),
        "pads time with reflect: rows at the ends of a sequence would be copies of other rows",
    ),
    "time replicated": (lambda x, c: c(F.pad(x.mT, (2, 0), "replicate")), "pads time with replicate"),
    "half of the rows": (
        lambda x, c: c(x[0, ::2].reshape(-1, 6, 1).expand(-1, 6, 3)),
        "not a sequence with a batch of 1",
    ),
    "rows in another order": (
        lambda x, c: c(x[0].flip(0)[:, :, None].expand(-1, 6, 3)),
        "its batch is not one time step each",
    ),
    "two axes": (
        lambda x, c: F.conv2d(x[0].reshape(-1, 1, 2, 3), c.weight[:1, :1, None]),
        "convolves along two axes inside each row",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_has_its_reason(name: str) -> None:
    f, reason = REFUSED[name]
    found = refusal(Of(f, nn.Conv1d(6, 2, 3)), "x=1xTx6", length=67)
    assert reason in found and "; " in found, found


def test_windows_that_reach_ahead_are_refused() -> None:
    found = refusal(Of(lambda x, m: m(x.unfold(1, 9, 4)), nn.Linear(9, 3)), "audio=16000", length=400)
    assert "its windows reach 5 samples ahead" in found or "rows" in found, found
