"""The importer: recovered taps and graphs in float64, and compiled models against PyTorch."""

from __future__ import annotations

from pathlib import Path

import importer_models as models
import pytest
import torch
from importer_checks import ROOT, compiled_equals, imported, kinds, refusal
from longwave.importer.api import import_module
from longwave.importer.inputs import parse_input
from longwave.importer.rules import unary
from longwave.layers.backbone import SgconvBackbone
from longwave.layers.sgconv import GConv
from torch import Tensor, nn
from torch.fft import irfft, rfft

LAYERS = {
    "sgconv": (lambda: models.Sgconv(), "x=1x12xT", True, ["long_conv", "gelu"]),
    "sgconv both ways": (lambda: models.Sgconv(bidirectional=True), "x=1x12xT", False, ["long_conv", "gelu"]),
    "s4d": (lambda: models.S4d(), "x=1x8xT", True, ["state_space", "gelu"]),
    "hyena": (lambda: models.Hyena(), "x=1xTx6", True, ["long_conv", "mul"]),
    "long conv": (lambda: models.LongConv(), "x=1xTx6", False, ["long_conv", "layer_norm", "mean"]),
    "convolutions": (lambda: models.ConvStack(), "x=1x5xT", True, ["conv2d", "softmax"]),
    "images": (lambda: models.ImageStack(), "x=1xTx20", True, ["conv2d", "relu"]),
    "pointwise": (
        lambda: models.Pointwise(),
        "x=1xTx4",
        True,
        sorted({line.op for lines in unary.TABLE.values() for line in lines}),
    ),
    "rms norms": (lambda: models.RmsNorms(), "x=1xTx6", True, ["rms_norm"]),
    "images, time last": (lambda: models.TimeLast(), "x=1x12xT", True, ["conv2d", "relu", "affine"]),
    "own backbone": (
        lambda: SgconvBackbone(8, 2, "batch", True, l_max=100, kernel_dim=8, postact="glu"),
        "x=1xTx8",
        True,
        ["sgconv", "add"],
    ),
    "embedding": (
        lambda: nn.Sequential(nn.Embedding(11, 8), nn.LayerNorm(8), nn.Linear(8, 11), nn.LogSoftmax(-1)),
        "ids=1xT:11",
        True,
        ["embedding", "layer_norm", "log_softmax"],
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer(name: str, tmp_path: Path) -> None:
    make, spec, stream, expected = LAYERS[name]
    torch.manual_seed(1)
    module = make().eval()
    with torch.no_grad():
        module(parse_input(spec).example(509, torch.float32))  # kernel norms
    made = imported(module, spec, length=509, longest=1100)
    assert set(expected) <= set(kinds(made)), kinds(made)
    assert max(made.report["errors"].values()) <= 1e-10
    assert len(made.report["errors"]) == 4
    compiled_equals(module, spec, made, tmp_path, stream)


@pytest.mark.parametrize("name", models.spellings())
def test_spelling_of_a_convolution(name: str, tmp_path: Path) -> None:
    torch.manual_seed(2)
    module = models.spellings()[name]
    made = imported(
        module, "x=1xTx4", length=211, min_rows=40
    )  # some have circles of twice the rows, and up to 40 taps
    assert kinds(made) == ["long_conv"]
    assert max(made.report["errors"].values()) <= 2e-14
    node = made.model["graph"][0]
    compiled_equals(module, "x=1xTx4", made, tmp_path, stream=not node["attributes"]["two_sided"])


@torch.no_grad()
def test_taps_are_those_of_the_kernel_code() -> None:
    torch.manual_seed(4)
    layer = GConv(6, l_max=64, kernel_dim=8).eval()
    layer(torch.randn(1, 509, 6) if not layer.transposed else torch.randn(1, 6, 509))
    made = imported(layer, "x=1x6xT" if layer.transposed else "x=1xTx6", length=509, known=False)
    wide = GConv(6, l_max=64, kernel_dim=8).double()
    wide.load_state_dict(layer.double().state_dict())
    kernel = wide.kernel(509)[0]
    taps = next(op for op in made.importer.graph.ops if op.kind == "long_conv").constant("taps")[0]
    kernel[:, 0] += wide.D[0]
    size = min(taps.shape[1], kernel.shape[1])
    assert float((taps[:, :size] - kernel[:, :size]).abs().max() / kernel.abs().max()) <= 1e-12
    assert not bool(kernel[:, size:].abs().max() > 1e-12) if kernel.shape[1] > size else True


class FromSamples(nn.Module):
    def __init__(self) -> None:
        from longwave.kws.model import KwsConfig, KwsNet

        super().__init__()
        self.net = KwsNet(KwsConfig(layers=2))

    def forward(self, samples: Tensor) -> Tensor:
        return self.net.from_samples(samples)


def test_keyword_model_from_samples(tmp_path: Path) -> None:
    torch.manual_seed(6)
    module = FromSamples().eval()
    made = imported(module, "audio=16000", length=32003)
    assert kinds(made)[:4] == ["frame", "power_spectrum", "linear", "log"]
    assert kinds(made).count("long_conv") == 2 and kinds(made).count("conv2d") == 3
    compiled_equals(module, "audio=16000", made, tmp_path, stream=True)


def test_several_inputs_and_results() -> None:
    torch.manual_seed(7)
    made = import_module(models.TwoInputs().eval(), ["x=1xTx4", "z=1xTx2"], outputs=["sum", "last"], length=131)
    assert [entry["name"] for entry in made.model["inputs"]] == ["x", "z"]
    assert [entry["name"] for entry in made.model["outputs"]] == ["sum", "last"]
    assert kinds(made).count("mean") == 1


def test_the_ops_of_the_table_are_ops_of_the_compiler() -> None:
    known = (ROOT / "compiler/ops/op_table.inc").read_text()
    assert {line.op for lines in unary.TABLE.values() for line in lines} == set(unary.FLOAT64)
    assert all(f"LW_OP({op})" in known for op in unary.FLOAT64)


def test_magnitude_of_frames() -> None:
    module = models.Function(
        lambda x: (
            torch.stft(
                nn.functional.pad(x, (48, 0)), 64, 16, window=torch.hann_window(64), center=False, return_complex=True
            )
            .abs()
            .mT
        )
    )
    assert kinds(imported(module, "audio=8000", length=1601)) == ["frame", "power_spectrum", "sqrt"]


def test_a_spectrum_that_views_move() -> None:
    """As libraries write it: batch axes folded before the transform and unfolded after it, then mel bands."""
    bands = torch.rand(33, 20)

    def mel(x: Tensor) -> Tensor:
        rows = nn.functional.pad(x, (48, 0)).reshape(-1, x.shape[-1] + 48)
        y = torch.stft(rows, 64, 16, window=torch.hann_window(64), center=False, return_complex=True)
        y = y.reshape(x.shape[:-1] + y.shape[-2:])[:, None].transpose(2, 3).squeeze(1)
        return torch.log(y.abs().pow(2.0) @ bands + 1e-6)

    assert kinds(imported(models.Function(mel), "audio=8000", length=1601)) == [
        "frame",
        "power_spectrum",
        "linear",
        "log",
    ]


def test_stft_without_centring() -> None:
    module = models.Function(
        lambda x: (
            torch.stft(
                nn.functional.pad(x, (48, 0)), 64, 16, window=torch.hann_window(64), center=False, return_complex=True
            )
            .abs()
            .square()
            .mT
        )
    )
    assert kinds(imported(module, "audio=8000", length=1601)) == ["frame", "power_spectrum"]


class LongestSequence(nn.Module):
    """Reads at most 100 rows, like a Hyena filter of that length."""

    def __init__(self):
        super().__init__()
        self.k = nn.Parameter(torch.randn(4, 100, generator=torch.Generator().manual_seed(3)))

    def forward(self, x: Tensor) -> Tensor:
        n = min(x.shape[-1], 100)
        return irfft(rfft(x[..., :n], 2 * n) * rfft(self.k[:, :n], 2 * n), 2 * n)[..., :n]


def test_a_module_with_a_longest_sequence_keeps_the_taps_of_the_example():
    made = imported(LongestSequence(), "x=1x4xT", length=61)
    assert kinds(made) == ["long_conv"] and made.model["length"] == 61
    refusal(LongestSequence(), "x=1x4xT", length=151)


class Counter(nn.Module):
    """A branch on a 0-d integer buffer, as in S4's l_kernel."""

    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x: Tensor) -> Tensor:
        if self.calls.item() == 0:
            return torch.relu(x)
        return x


def test_branches_on_counters_are_taken_once():
    assert kinds(imported(Counter(), "x=1xTx4")) == ["relu"]


def test_computed_weights_are_imported_and_the_module_stays_as_it_is() -> None:
    torch.manual_seed(5)
    module = nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(4, 6)), nn.utils.parametrizations.spectral_norm(nn.Linear(6, 4))
    ).eval()
    x = torch.randn(1, 20, 4)
    before = module(x)
    made = imported(module, "x=1xTx4")
    assert kinds(made) == ["linear", "linear"]
    assert all(nn.utils.parametrize.is_parametrized(part) for part in module)
    assert torch.equal(module(x), before)
