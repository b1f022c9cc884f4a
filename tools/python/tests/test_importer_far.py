"""Convolutions that reach further back than the example: every tap is compared, and offline runs are long enough for it."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
from importer_checks import PEAK, compiled_equals, imported  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.inputs import parse_input  # noqa: E402
from longwave.importer.prove import prove  # noqa: E402

TAPS = 3000


class Reverb(nn.Module):
    """A causal filter per channel, as rooms and loudspeakers are modelled."""

    def __init__(self, channels: int, taps: int = TAPS, longest: int = 1 << 20):
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.longest = nn.Conv1d(channels, channels, taps, groups=channels), longest
        with torch.no_grad():
            self.conv.weight.mul_(torch.exp(-torch.arange(taps).flip(0) / (taps / 3)))

    def forward(self, x):
        torch._check(x.shape[1] <= self.longest)
        return torch.tanh(self.conv(F.pad(x.transpose(1, 2), (self.conv.kernel_size[0] - 1, 0))).transpose(1, 2))


def test_every_tap_is_compared_in_float64_and_float32(tmp_path) -> None:
    module = Reverb(2)
    made = imported(module, "x=1xTx2")
    assert made.model["length"] > TAPS and made.report["errors"][str(made.model["length"])] < 1e-10
    compiled_equals(module, "x=1xTx2", made, tmp_path, stream=True, blocks="1,32,256")


def test_a_wrong_tap_that_the_example_never_reaches_is_found() -> None:
    made = imported(module := Reverb(1), "x=1xTx1")
    weight = next(op for op in made.importer.graph.ops if op.kind == "conv2d").constant("weight")
    prove(made.importer, module.double(), [parse_input("x=1xTx1")])
    weight[0, 0, 1] += 1e-3  # lag 2998; the example has 509 rows
    with pytest.raises(ImportFailed):
        prove(made.importer, module.double(), [parse_input("x=1xTx1")])


def test_a_module_that_takes_no_longer_sequence_is_compared_as_far_as_it_goes() -> None:
    made = imported(Reverb(1, longest=600), "x=1xTx1")
    assert made.model["length"] == 509 and set(made.report["errors"]) == {"509", "423", "310", "17"}


def test_a_short_filter_needs_no_longer_proof() -> None:
    made = imported(Reverb(2, taps=64), "x=1xTx2")
    assert made.model["length"] == 509 and len(made.report["errors"]) == 4


class ByTransforms(nn.Module):
    """The same written with torch.fft, as papers do."""

    def __init__(self, taps: int):
        super().__init__()
        torch.manual_seed(1)
        self.kernel = nn.Parameter(torch.randn(2, taps) * torch.exp(-torch.arange(taps) / (taps / 3)))

    def forward(self, x):
        rows = x.shape[1]
        size = 2 * max(rows, self.kernel.shape[1])
        return torch.fft.irfft(
            torch.fft.rfft(x, n=size, dim=1) * torch.fft.rfft(self.kernel, n=size).t(), n=size, dim=1
        )[:, :rows]


def test_a_filter_by_transforms_is_compared_to_its_end(tmp_path) -> None:
    made = imported(module := ByTransforms(TAPS), "x=1xTx2")
    assert made.model["length"] > TAPS and max(map(int, made.report["errors"])) > TAPS
    compiled_equals(module, "x=1xTx2", made, tmp_path, stream=True, blocks="32")


class LongFilters(nn.Module):
    """Two filters per channel with a norm and an activation, of random size, dilation and padding. `mixes`: the first of
    them per pair of an input and an output."""

    def __init__(self, seed: int, mixes: bool = False):
        super().__init__()
        torch.manual_seed(seed)
        choice = random.Random(seed)
        self.channels, self.copies = choice.choice([1, 2, 3, 5, 16, 17, 33]), 1
        if self.channels == 1:
            self.copies = choice.choice([1, 2, 7])
        taps, self.dilation = choice.choice([63, 64, 65, 200, 501, 1030]), choice.choice([1, 1, 1, 7])
        self.ahead = choice.choice([0, 0, 1, taps // 2 * self.dilation])
        reach = (taps - 1) * self.dilation
        self.pad = (reach - self.ahead, self.ahead)
        width, groups = self.channels * self.copies, self.channels
        if mixes:
            width, groups = choice.choice([1, 2, 5]), 1
        self.first = nn.Conv1d(
            self.channels, width, taps, dilation=self.dilation, groups=groups, bias=choice.random() < 0.7
        )
        self.norm = nn.BatchNorm1d(width) if choice.random() < 0.5 else nn.Identity()
        self.act = choice.choice([nn.ReLU(), nn.Sigmoid(), nn.GELU(), nn.Identity()])
        self.second = nn.Conv1d(width, width, 3, groups=width, padding=1)
        with torch.no_grad():
            for p in [*self.norm.parameters(), *self.norm.buffers()]:
                if p.is_floating_point():
                    p.copy_(torch.rand_like(p) + 0.5)

    def forward(self, x):
        return self.second(self.act(self.norm(self.first(F.pad(x.transpose(1, 2), self.pad))))).transpose(1, 2)


@pytest.mark.parametrize("mixes", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_random_filters_of_many_taps(seed: int, mixes: bool, tmp_path) -> None:
    module = LongFilters(seed, mixes)
    spec = f"x=1xTx{module.channels}"
    made = imported(module, spec)
    # Of 6,600 products PyTorch's float32 sum is 2.0e-6 from the one in float64, Longwave's 1.8e-7.
    compiled_equals(module, spec, made, tmp_path, stream=True, blocks="1,48", limit="5e-6" if mixes else PEAK)
