"""The importer: recovered taps and graphs in float64, compiled models against PyTorch, and every refusal.

Compiled models need build/longwave; LONGWAVE names another one. Without it these tests are skipped.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.fft import irfft, rfft

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python"))
import importer_models as models  # noqa: E402
from longwave.importer.api import import_module  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.inputs import parse_input  # noqa: E402
from longwave.importer.prove import rows_of  # noqa: E402
from longwave.importer.rules import unary  # noqa: E402
from longwave.layers.backbone import SgconvBackbone  # noqa: E402
from longwave.layers.sgconv import GConv  # noqa: E402

LONGWAVE = Path(os.environ.get("LONGWAVE", ROOT / "build/longwave"))
PEAK = 2e-6  # float32 of the compiled model against float32 of torch, of the peak
torch.set_num_threads(1)


def imported(module: nn.Module, spec: str, **options):
    return import_module(module.eval(), [spec], **options)


def refusal(module: nn.Module, spec: str, **options) -> str:
    with pytest.raises(ImportFailed) as failed:
        imported(module, spec, **options)
    return str(failed.value)


def kinds(made) -> list[str]:
    return [node.get("op") or node["type"] for node in made.model["graph"]]


def longwave(*arguments) -> str:
    done = subprocess.run([LONGWAVE, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@torch.no_grad()
def compiled_equals(module: nn.Module, spec: str, made, folder: Path, stream: bool, length: int = 0) -> None:
    """Offline, and as a stream of blocks of 1 and 32, against the module in float32."""
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    entry = parse_input(spec)
    length = length or made.model["length"]
    x = entry.example(length, torch.float32, seed=5)
    output = made.importer.graph.outputs[0]
    y = rows_of(output, module(x))
    made.write(folder / "model")
    rows = entry.rows(x)
    numpy.save(folder / "x.npy", rows.contiguous().numpy().astype("<i4" if entry.vocabulary else "<f4"))
    numpy.save(folder / "y.npy", y.contiguous().numpy().astype("<f4"))
    longwave("compile", folder / "model", "-o", folder / "model.lw", "--target", "host",
             *(["--stream", "--blocks", "1,32"] if stream else ["--no-stream"]))
    expected = ["-i", f"{entry.name}=@{folder}/x.npy", "--expected", f"{output.name}=@{folder}/y.npy", "--limit", PEAK]
    longwave("run", folder / "model.lw", *expected)
    if stream and output.axis is not None:
        longwave("run", folder / "model.lw", "--stream", *expected)


LAYERS = {
    "sgconv": (lambda: models.Sgconv(), "x=1x12xT", True, ["long_conv", "gelu"]),
    "sgconv both ways": (lambda: models.Sgconv(bidirectional=True), "x=1x12xT", False, ["long_conv", "gelu"]),
    "s4d": (lambda: models.S4d(), "x=1x8xT", True, ["state_space", "gelu"]),
    "hyena": (lambda: models.Hyena(), "x=1xTx6", True, ["long_conv", "mul"]),
    "long conv": (lambda: models.LongConv(), "x=1xTx6", False, ["long_conv", "layer_norm", "mean"]),
    "convolutions": (lambda: models.ConvStack(), "x=1x5xT", True, ["conv2d", "softmax"]),
    "images": (lambda: models.ImageStack(), "x=1xTx20", True, ["conv2d", "relu"]),
    "pointwise": (lambda: models.Pointwise(), "x=1xTx4", True, sorted({line.op for lines in unary.TABLE.values() for line in lines})),
    "rms norms": (lambda: models.RmsNorms(), "x=1xTx6", True, ["rms_norm"]),
    "images, time last": (lambda: models.TimeLast(), "x=1x12xT", True, ["conv2d", "relu", "affine"]),
    "own backbone": (lambda: SgconvBackbone(8, 2, "batch", True, l_max=100, kernel_dim=8, postact="glu"), "x=1xTx8", True, ["sgconv", "add"]),
    "embedding": (lambda: nn.Sequential(nn.Embedding(11, 8), nn.LayerNorm(8), nn.Linear(8, 11), nn.LogSoftmax(-1)), "ids=1xT:11", True,
                  ["embedding", "layer_norm", "log_softmax"]),
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
    assert len(made.report["errors"]) == 3
    compiled_equals(module, spec, made, tmp_path, stream)


@pytest.mark.parametrize("name", models.spellings())
def test_spelling_of_a_convolution(name: str, tmp_path: Path) -> None:
    torch.manual_seed(2)
    module = models.spellings()[name]
    made = imported(module, "x=1xTx4", length=211)
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
    module = models.Function(lambda x: torch.stft(nn.functional.pad(x, (48, 0)), 64, 16, window=torch.hann_window(64), center=False,
                                                  return_complex=True).abs().mT)
    assert kinds(imported(module, "audio=8000", length=1601)) == ["frame", "power_spectrum", "sqrt"]


def test_stft_without_centring() -> None:
    module = models.Function(lambda x: torch.stft(nn.functional.pad(x, (48, 0)), 64, 16, window=torch.hann_window(64), center=False,
                                                  return_complex=True).abs().square().mT)
    assert kinds(imported(module, "audio=8000", length=1601)) == ["frame", "power_spectrum"]


def test_a_centred_depthwise_convolution_is_offline(tmp_path: Path) -> None:
    torch.manual_seed(8)
    module = nn.Conv1d(4, 4, 5, padding=2, groups=4)
    made = imported(module, "x=1x4xT")
    assert kinds(made) == ["centred_conv"]
    assert made.report["warnings"] == ["conv1d: looks ahead: no stream"]
    compiled_equals(module, "x=1x4xT", made, tmp_path, stream=False)


# ---- refusals
def circular(x: Tensor, k: Tensor) -> Tensor:
    return irfft(rfft(x.mT, n=x.shape[1]) * rfft(k, n=x.shape[1]), n=x.shape[1]).mT


def wrapping(x: Tensor, k: Tensor) -> Tensor:
    n = x.shape[1] + 25
    return irfft(rfft(x.mT, n=n) * rfft(k, n=n), n=n)[..., :x.shape[1]].mT


def from_input(x: Tensor, k: Tensor) -> Tensor:
    n = 2 * x.shape[1]
    return irfft(rfft(x.mT, n=n) * rfft(torch.tanh(x.mT) * k[:, :1], n=n), n=n)[..., :x.shape[1]].mT


def mixing(x: Tensor, k: Tensor) -> Tensor:
    n = 2 * x.shape[1]
    return irfft(torch.einsum("bhl,hgl->bgl", rfft(x.mT, n=n), rfft(k[:, None] + k[None], n=n)), n=n)[..., :x.shape[1]].mT


def complex_result(x: Tensor) -> Tensor:
    return torch.fft.rfft(x, dim=1)


REFUSED = {
    "circular": (lambda: models.Function(circular, 4, 30), "circular convolution: its taps change with the length"),
    "wrapping": (lambda: models.Function(wrapping, 4, 30), "circular convolution: its taps change with the length"),
    "kernel from the input": (lambda: models.Function(from_input, 4, 30), "fft_rfft: FFT that is neither a convolution with constant taps"),
    "mixing channels": (lambda: models.Function(mixing, 4, 30), "not a depthwise convolution"),
    "lstm both ways": (lambda: models.BothWays(), "lstm/lstm: lstm: is bidirectional: it reads the sequence backwards; a forward layer streams"),
    "branch on data": (lambda: models.Branching(), "torch.export: a branch on data: "),
    "complex result": (lambda: models.Function(complex_result), "output: is complex"),
    "looks ahead": (lambda: models.Function(lambda x: nn.functional.conv1d(x.mT, torch.ones(4, 4, 3), padding=1).mT), "conv1d: looks 1 rows ahead"),
    "length in the numbers": (lambda: models.Function(lambda x: x / x.shape[1]), "differs by"),
    "positions": (lambda: models.Function(lambda x: x + torch.arange(x.shape[1])[:, None]), "add: a constant that changes with time"),
    "option without an op": (lambda: models.Function(lambda x: nn.functional.softplus(x, beta=2)), "softplus: beta=2, threshold=20 has no op"),
    "stft that is centred": (lambda: models.Function(lambda x: torch.stft(x[..., 0], 64, 16, return_complex=True).abs().mT),
                              "pad: a centred stft: its frames lie 32 samples ahead"),
    "stft that is centred between zeros": (lambda: models.Function(lambda x: torch.stft(x[..., 0], 64, 16, pad_mode="constant", return_complex=True).abs().mT),
                                           "pad: a centred stft: its frames lie 32 samples ahead"),
    "softmax over time": (lambda: models.Function(lambda x: x.softmax(1)), "softmax: its rows are not one time step each"),
    "shifted": (lambda: models.Function(lambda x: x + x.roll(1, 1)), "its operands do not lie in step"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    torch.manual_seed(3)
    make, expected = REFUSED[name]
    found = refusal(make(), "x=1xTx4", length=211)
    assert expected in found, found
    assert all("; " in line for line in found.splitlines()), "each line has a way out"


def test_weights_that_are_not_finite_are_refused() -> None:
    module = nn.Linear(4, 2)
    module.weight.data[0, 1] = float("nan")
    assert refusal(module, "x=1xTx4") == "weight: holds NaN or infinity; the training diverged; take an earlier checkpoint"


def test_every_cause_is_reported_and_no_consequence() -> None:
    def two(x: Tensor) -> Tensor:
        return torch.erfinv(x) * 2 + torch.lgamma(x).relu()
    found = refusal(models.Function(two), "x=1xTx4").splitlines()
    assert [line.split(":")[1].strip() for line in found] == ["erfinv", "lgamma"], found


@pytest.mark.parametrize("text", ["x", "x=64", "x=2xTx4x", "x=1x64", "x=2xTx4", "x=1xTxT", "audio=1x2xT@16000", "=1xT"])
def test_malformed_inputs_are_refused(text: str) -> None:
    if text == "x=64":
        assert parse_input(text).rate == 64
        return
    with pytest.raises(ImportFailed):
        parse_input(text)


# ---- the command
def command(*arguments, **environment) -> subprocess.CompletedProcess:
    path = f"{ROOT}/tools/python:{ROOT}/tools/python/tests"
    return subprocess.run([sys.executable, "-m", "longwave.importer", *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", **environment})


def test_command_writes_a_folder_and_a_report(tmp_path: Path) -> None:
    torch.save({"state_dict": models.make_conv_stack().state_dict()}, tmp_path / "state.ckpt")
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    done = command("importer_models:make_conv_stack", "--input", "x=1x5xT", "--checkpoint", tmp_path / "state.ckpt", "-o", tmp_path / "model",
                   LONGWAVE_PROGRAM=str(LONGWAVE))
    assert done.returncode == 0, done.stderr
    assert "equal to PyTorch in float64 within" in done.stdout
    assert "differs from PyTorch in float32 by" in done.stdout and "as a stream" in done.stdout
    report = json.loads((tmp_path / "model/import.json").read_text())
    assert report["modules"]["a"] == ["conv2d"] and report["artifact"]["kernels"]["a"]["run"]
    assert max(report["artifact"]["offline"], report["artifact"]["stream"]) <= PEAK
    assert json.loads((tmp_path / "model/model.json").read_text())["version"] == 2


def test_command_refuses_with_status_3_and_writes_nothing(tmp_path: Path) -> None:
    done = command("importer_models:make_both_ways", "--input", "x=1xTx4", "-o", tmp_path / "model")
    assert done.returncode == 3
    assert "lstm/lstm: lstm: is bidirectional" in done.stderr
    assert "nothing was written" in done.stderr
    assert not (tmp_path / "model").exists()


def test_command_explains_a_node() -> None:
    done = command("importer_models:make_conv_stack", "--input", "x=1x5xT", "--explain", "a/conv1d")
    assert done.returncode == 0, done.stderr
    assert "became conv2d of 254 rows of 8" in done.stdout, done.stdout


def test_command_without_torch_says_so(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('none')\n")
    path = f"{tmp_path}:{ROOT}/tools/python"
    done = command("a:b", "--input", "x=1xTx4", "-o", tmp_path / "m", PYTHONPATH=path)
    assert done.returncode == 3
    assert done.stderr.strip() == "longwave.importer: needs PyTorch, found none; install it: pip install torch safetensors"


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


def test_compile_takes_a_module(tmp_path):
    """longwave.compile imports, compiles and opens in one call; what cannot be imported is one CompileError."""
    built = LONGWAVE.resolve().parent / "python" / "longwave"
    native = next(built.glob("_native*.so"), None)
    if native is None:
        pytest.skip(f"{built} has no _native module: configure with -DLONGWAVE_PYTHON=ON")
    code = f"""
import sys; sys.path.insert(0, {str(built.parent)!r})
import numpy as np, torch, longwave
torch.manual_seed(1)
module = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.GELU(), torch.nn.Linear(8, 3)).eval()
x = np.random.default_rng(2).standard_normal((70, 6)).astype(np.float32)
expected = module(torch.from_numpy(x)[None])[0].detach().numpy()
with longwave.compile(module, inputs=["x=1xTx6"], stream=True) as model:
    assert np.abs(model.run(x) - expected).max() <= 2e-6 * np.abs(expected).max()
    assert np.abs(model.stream().process(x, last=True) - expected).max() <= 2e-6 * np.abs(expected).max()
try:
    longwave.compile(torch.nn.LSTM(6, 8, batch_first=True), inputs=["x=1xTx6"])
except longwave.CompileError as error:
    print(error)
else:
    sys.exit("an LSTM was imported")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env=os.environ | {"LONGWAVE_PROGRAM": str(LONGWAVE.resolve())})
    assert done.returncode == 0, done.stderr
