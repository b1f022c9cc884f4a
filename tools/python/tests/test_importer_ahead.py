"""Convolutions that look ahead: offline and as streams, which come late, against PyTorch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from importer_checks import LONGWAVE, compiled_equals, imported, kinds, longwave
from torch import Tensor, nn


class Stack(nn.Module):
    """Dense, depthwise, dilated, strided and grouped ones, with batch norm, activations and residuals."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.norm = nn.Conv1d(6, 8, 5, padding="same"), nn.BatchNorm1d(8)
        self.b = nn.Conv1d(8, 8, 7, padding=3, groups=8)
        self.c = nn.Conv1d(8, 8, 3, padding="same", dilation=2)
        self.d = nn.Conv1d(8, 4, 4, stride=2, padding=1)
        self.e = nn.Conv1d(4, 4, 9, padding=4, groups=2)
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(0.5, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.norm(self.a(x.mT)))
        x = x + F.silu(self.c(torch.relu(self.b(x)) + 0.5))
        x = torch.sigmoid(self.d(x))
        return (x + self.e(x)).mT


class ThenCausal(nn.Module):
    """Ops that keep older rows behind one that looks ahead: they must begin with zeros."""

    def __init__(self) -> None:
        super().__init__()
        self.ahead, self.causal, self.last = nn.Conv1d(5, 6, 4, padding="same"), nn.Conv1d(6, 6, 4), nn.Linear(6, 3)
        self.taps = nn.Parameter(torch.randn(6, 40))

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[1]
        y = torch.sigmoid(self.ahead(x.mT))
        y = y + torch.fft.irfft(torch.fft.rfft(y, 2 * n) * torch.fft.rfft(self.taps[:, :n], 2 * n), 2 * n)[..., :n]
        return self.last(torch.sigmoid(self.causal(F.pad(y, (3, 0)))).mT)


class Long(nn.Module):
    """A convolution by transforms with `padding="same"`, whose taps go one fourth of the way ahead, beside a short one that looks ahead too; then a causal one."""

    def __init__(self, ahead: int = 10) -> None:
        super().__init__()
        self.taps, self.ahead, self.norm = nn.Parameter(torch.randn(5, 4 * ahead)), ahead, nn.LayerNorm(5)
        self.short = nn.Conv1d(5, 5, 7, padding=3, groups=5)

    def forward(self, x: Tensor) -> Tensor:
        def convolved(x: Tensor, ahead: int) -> Tensor:
            n = 2 * x.shape[1] + self.taps.shape[1]
            return torch.fft.irfft(torch.fft.rfft(x.mT, n) * torch.fft.rfft(self.taps, n), n)[
                ..., ahead : ahead + x.shape[1]
            ].mT

        return convolved(self.norm(self.short(x.mT).mT + convolved(x, self.ahead)), 0)


MODULES = {
    "depthwise": (lambda: nn.Conv1d(4, 4, 5, padding=2, groups=4), "x=1x4xT", ["centred_conv"], 2),
    "dense": (lambda: nn.Conv1d(4, 6, 5, padding="same"), "x=1x4xT", ["conv2d"], 2),
    "even length": (lambda: nn.Conv1d(4, 6, 6, padding="same"), "x=1x4xT", ["conv2d"], 3),
    "stride": (lambda: nn.Conv1d(4, 6, 4, stride=2, padding=1), "x=1x4xT", ["conv2d"], 2),
    "three in a row": (
        lambda: nn.Sequential(*(part for _ in range(3) for part in (nn.Conv1d(4, 4, 7, padding=3), nn.Sigmoid()))),
        "x=1x4xT",
        ["conv2d", "sigmoid"] * 3,
        9,
    ),
    "stack": (Stack, "x=1xTx6", ["conv2d", "relu", "centred_conv", "add"], 16),
    "then causal": (ThenCausal, "x=1xTx5", ["conv2d", "long_conv"], 2),
    "long": (Long, "x=1xTx5", ["long_conv", "centred_conv", "add", "layer_norm", "long_conv"], 10),
    "images": (lambda: nn.Conv2d(1, 3, (5, 3), padding=(2, 1)), "x=1x1xTx8", ["conv2d"], 2),
}


@pytest.mark.parametrize("name", MODULES)
def test_streams_come_late_and_equal_pytorch(name: str, tmp_path: Path) -> None:
    make, spec, expected, delay = MODULES[name]
    torch.manual_seed(8)
    module = make().eval()
    made = imported(module, spec, length=256)
    assert set(expected) <= set(kinds(made)), kinds(made)
    assert any("its stream comes so many rows late" in text for text in made.report["warnings"])
    compiled_equals(module, spec, made, tmp_path, stream=True, blocks="2,32")
    streams = [
        entry
        for entry in json.loads(longwave("inspect", tmp_path / "model.lw", "--json"))["entries"]
        if entry["kind"] == "stream"
    ]
    assert {entry["outputs"][0]["delay"] for entry in streams} == {delay}
    compiled_equals(module, spec, made, tmp_path, stream=True, blocks="2,32", length=38)  # ends within a block
    compiled_equals(module, spec, made, tmp_path, stream=True, blocks="2,32", length=2)


@pytest.mark.parametrize("length", [133, 256, 901])
def test_rows_behind_the_longest_run_are_zeros(length: int, tmp_path: Path) -> None:
    """133 and 901 rows do not fill their last tile of rows. Each convolution reads one row behind the last."""
    torch.manual_seed(10)
    convolutions = [nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)]
    for conv in convolutions:
        nn.init.uniform_(conv.bias, 1, 2)
    module = nn.Sequential(*(part for conv in convolutions for part in (conv, nn.ReLU())), nn.MaxPool2d((2, 1)))
    made = imported(module, "x=1x1xTx8", length=length)
    compiled_equals(module, "x=1x1xTx8", made, tmp_path, stream=False)


def test_a_state_that_cannot_begin_late_is_named(tmp_path: Path) -> None:
    class Late(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.lstm = nn.Conv1d(4, 4, 3, padding=1), nn.LSTM(4, 4, batch_first=True)

        def forward(self, x: Tensor) -> Tensor:
            return self.lstm(self.conv(x.mT).mT)[0]

    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    torch.manual_seed(9)
    module = Late().eval()
    made = imported(module, "x=1xTx4", length=128)
    compiled_equals(module, "x=1xTx4", made, tmp_path, stream=False)
    said = longwave(
        "compile", tmp_path / "model", "-o", tmp_path / "late.lw", "--target", "host", "--stream", fails=True
    )
    assert "come 1 input ticks late" in said and "op lstm cannot begin late in a stream" in said
