"""What a user gets wrong: each has one clear line, and nothing is written. And wrappers that the importer takes off."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python"))
import importer_models as models  # noqa: E402
from longwave.importer import __main__ as command  # noqa: E402
from longwave.importer.api import import_module  # noqa: E402
from longwave.importer.build import build  # noqa: E402
from longwave.importer.checkpoint import load  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.example import inputs_of  # noqa: E402

torch.set_num_threads(1)
ROWS = torch.zeros(1, 64, 4)
SPEC = "x=1xTx4"


class Keeps(nn.Module):
    """Adds the last row of the call before."""

    last = None

    def forward(self, x: Tensor) -> Tensor:
        y = x if self.last is None else x + self.last
        self.last = x[:, -1:]
        return y


class KeepsBuffer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        self.mean = 0.5 * self.mean + x.mean((0, 1))
        return x - self.mean


class Norm(nn.Module):
    def __init__(self, **options: bool) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4, **options)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x.mT).mT


def function(f, **parts: nn.Module) -> nn.Module:
    module = models.Function(f)
    for name, part in parts.items():
        setattr(module, name, part)
    return module


def with_nan() -> nn.Module:
    module = nn.Linear(4, 2)
    module.weight.data[0, 1] = float("nan")
    return module


# name: (module, example or --input, the line)
BAD = {
    "branch on data": (
        models.Branching(),
        SPEC,
        r"torch.export: a branch on data: File .*importer_models.py.*; make the branch depend",
    ),
    "shape from data": (
        function(lambda x: x[x > 0][None, :, None]),
        SPEC,
        "index: index: its shape depends on the data; let shapes",
    ),
    "shape from a value": (function(lambda x: x[:, : int(x.sum()) % 5 + 1]), SPEC, "a branch on data: "),
    "state in an attribute": (
        Keeps(),
        SPEC,
        "last: keeps state between calls; take the state as an input and return it",
    ),
    "state in a buffer": (
        KeepsBuffer(),
        SPEC,
        "mean: keeps state between calls; take the state as an input and return it",
    ),
    "example too short": (
        nn.Linear(4, 2),
        torch.zeros(1, 3, 4),
        "example: has 3 rows, which is too short; give at least 16 rows",
    ),
    "example shorter than the kernel": (
        nn.Conv1d(4, 4, 70),
        torch.zeros(1, 4, 64),
        "example: the module does not run with it: .*Kernel size",
    ),
    "example without batch": (
        nn.Linear(4, 2),
        torch.zeros(64, 4),
        r"example input: has shape \(64, 4\); expected a batch of 1 in front; give x\[:1\]",
    ),
    "example of another width": (
        nn.Linear(4, 2),
        torch.zeros(1, 64, 5),
        "example: the module does not run with it: mat1 and mat2",
    ),
    "example with NaN": (nn.Linear(4, 2), ROWS * float("nan"), "example input: holds NaN or infinity"),
    "example of text": (nn.Linear(4, 2), ("abc",), "example input: is a str; give a NumPy array"),
    "example with a wrong name": (
        nn.Linear(4, 2),
        {"x": ROWS},
        "example: forward has no parameter x; name these: input",
    ),
    "time axis not clear": (
        nn.ReLU(),
        ROWS,
        r'could be time; say which with inputs=\[...\]: "input=1xTx4" or "input=1x64xT"',
    ),
    "ids without embedding": (
        function(lambda x: x * 2),
        torch.zeros(1, 64, dtype=torch.long),
        "holds integers that no nn.Embedding reads",
    ),
    "NaN weights": (with_nan(), ROWS, "weight: holds NaN or infinity; the training diverged"),
    "complex result": (function(lambda x: torch.fft.rfft(x, dim=2)), SPEC, "output: is complex; return real numbers"),
    "no result": (function(lambda x: None), SPEC, "output: the module returns no tensor"),
    "batch norm without statistics": (
        Norm(track_running_stats=False),
        SPEC,
        "norm: BatchNorm1d: uses the statistics of its input in eval mode too",
    ),
    "batch norm as a function": (
        function(lambda x: F.batch_norm(x.mT, None, None, training=True).mT),
        SPEC,
        "batch norm in train mode",
    ),
    "dropout that stays on": (
        function(lambda x: F.dropout(x, 0.3)),
        SPEC,
        r"native_dropout: dropout that stays on in eval mode; call F.dropout\(x",
    ),
    "dropout of channels": (function(lambda x: F.dropout1d(x, 0.3)), SPEC, "dropout that stays on in eval mode"),
    "random numbers": (function(lambda x: x + torch.randn(4)), SPEC, "randn: randn: draws random numbers in each call"),
    "TorchScript": (torch.jit.script(nn.Linear(4, 2)), ROWS, "is a TorchScript module; import the Python module"),
    "lazy": (nn.LazyLinear(2), ROWS, "LazyLinear: is lazy and has no weights yet; run the module once"),
    "exits": (
        function(lambda x: sys.exit(0)),
        ROWS,
        r"example: the module does not run with it: it calls sys.exit\(0\) \(test_bad_input.py:\d+\); give",
    ),
    "sparse example": (nn.Linear(4, 2), ROWS.to_sparse(), "example input: is stored as sparse_coo; store it whole"),
    "example on meta": (
        nn.Linear(4, 2),
        ROWS.to("meta"),
        "example input: is on the meta device: it has a shape and no numbers",
    ),
    "raises": (
        function(lambda x: x / [][0]),
        ROWS,
        "example: the module does not run with it: IndexError: list index out of range .*; give what",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_one_clear_line_and_nothing_written(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    module, example, line = BAD[name]
    with warnings.catch_warnings(), pytest.raises(ImportFailed) as failed:
        warnings.simplefilter("ignore")
        example, inputs = (None, [example]) if isinstance(example, str) else (example, [])
        build(
            module.eval(),
            example,
            inputs,
            [],
            0,
            tmp_path / "model",
            tmp_path / "model.lw",
            lambda: pytest.fail("compiled"),
        )
    text = str(failed.value)
    assert re.search(line, text), text
    assert len(text.splitlines()) == 1 and "; " in text, "one line with a way out"
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr().err == ""


def test_an_example_or_inputs_are_needed(tmp_path: Path) -> None:
    for example, inputs in ((None, []), (ROWS, ["x=1xTx4"])):
        with pytest.raises(ValueError, match="example"):
            build(nn.Linear(4, 2), example, inputs, [], 0, tmp_path, tmp_path, lambda: None)


# name: (module, example, inputs as --input names them)
EXAMPLES = {
    "features last": (nn.Linear(4, 2), ROWS, "input=1xTx4"),
    "features first": (nn.Conv1d(4, 2, 3), ROWS.mT, "input=1x4xT"),
    "batch of half precision": (nn.Linear(4, 2).half(), ROWS.half(), "input=1xTx4"),
    "NumPy, float64": (nn.Linear(4, 2), ROWS.double().numpy(), "input=1xTx4"),
    "wrapped": (nn.DataParallel(torch.compile(nn.Linear(4, 2))), ROWS, "input=1xTx4"),
    "two by name": (models.TwoInputs(), {"z": ROWS[..., :2], "x": ROWS}, "x=1xTx4 z=1xTx2"),
    "two in order": (models.TwoInputs(), (ROWS, ROWS[..., :2]), "x=1xTx4 z=1xTx2"),
    "ids": (nn.Sequential(nn.Embedding(11, 4), nn.Linear(4, 2)), torch.zeros(1, 64, dtype=torch.int32), "input=1xT:11"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_inputs_told_from_an_example(name: str) -> None:
    from longwave.importer.inputs import parse_input

    module, example, expected = EXAMPLES[name]
    inputs, rows = inputs_of(module, example)
    assert inputs == [parse_input(text) for text in expected.split()] and rows == 64


def test_audio_has_a_sample_rate() -> None:
    inputs, rows = inputs_of(nn.Conv1d(1, 4, 5), torch.zeros(1, 1, 800), 16000)
    assert (inputs[0].rate, inputs[0].shape, rows) == (16000, (1, 1, 0), 800)
    with pytest.raises(ImportFailed, match="sample_rate: no input has one sample per row"):
        inputs_of(nn.Linear(4, 2), ROWS, 16000)


class Linear(nn.Module):
    """For checkpoints and the command line."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 2)
        self.norm = nn.BatchNorm1d(2)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.a(x).mT).mT


WRAPPERS = {
    "weight norm": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 2)),
    "weight norm, old": lambda: nn.utils.weight_norm(nn.Linear(4, 2)),
    "spectral norm": lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 2)),
    "spectral norm, old": lambda: nn.utils.spectral_norm(nn.Linear(4, 2)),
    "torch.compile": lambda: torch.compile(nn.Sequential(nn.Linear(4, 2))),
    "torch.compile of a part": lambda: nn.Sequential(torch.compile(nn.Linear(4, 2))),
    "Module.compile": lambda: (lambda m: (m.compile(), m)[1])(nn.Linear(4, 2)),
    "DataParallel": lambda: nn.DataParallel(nn.Linear(4, 2)),
    "half precision": lambda: nn.Linear(4, 2).half(),
    "bfloat16": lambda: nn.Linear(4, 2).bfloat16(),
    "dropout in train mode": lambda: nn.Sequential(nn.Linear(4, 2), nn.Dropout(0.5)).train(),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRAPPERS)
def test_wrappers_come_off(name: str) -> None:
    module = WRAPPERS[name]()
    training = module.training
    made = import_module(module, ["x=1xTx4"], length=64)
    assert [node["op"] for node in made.model["graph"]] == ["linear"] and max(made.report["errors"].values()) <= 1e-10
    assert module.training == training, "the module itself stays as it is"


def test_batch_norm_in_train_mode_is_imported_in_eval_mode() -> None:
    made = import_module(Norm().train(), ["x=1xTx4"], length=64)
    assert [node["op"] for node in made.model["graph"]] == ["affine"]


def saved(path: Path, content: object) -> str:
    torch.save(content, path)
    return str(path)


def test_checkpoints_that_fit(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    source = Linear()
    state = source.state_dict()
    save_file(state, tmp_path / "a.safetensors")
    half = {key: value.half() if value.is_floating_point() else value for key, value in state.items()}
    files = [
        str(tmp_path / "a.safetensors"),
        saved(tmp_path / "b.pt", state),
        saved(tmp_path / "c.ckpt", {"state_dict": state, "epoch": 3}),
        saved(tmp_path / "d.pt", {f"module._orig_mod.{key}": value for key, value in state.items()}),
        saved(
            tmp_path / "e.pt",
            {
                "optimizer": {"lr": 0.1},
                "model": {**{f"net.{key}": value for key, value in state.items()}, "loss.w": torch.ones(1)},
            },
        ),
        saved(tmp_path / "f.pt", {key: value for key, value in state.items() if "num_batches" not in key}),
        saved(tmp_path / "g.pt", half),
    ]
    for path in files:
        module = Linear()
        load(module, path)
        assert torch.allclose(module.a.weight, source.a.weight, atol=1e-3) and torch.equal(
            module.a.weight, source.a.weight
        ) == ("g.pt" not in path), path


def test_checkpoints_that_do_not_fit(tmp_path: Path) -> None:
    state = Linear().state_dict()
    torch.jit.script(Linear()).save(str(tmp_path / "script.pt"))
    (tmp_path / "text.pt").write_text("no checkpoint")
    cases = [
        (
            {"a.weight": torch.zeros(3, 4)}
            | {k: v for k, v in state.items() if k not in ("a.weight", "a.bias")}
            | {"b": torch.ones(2)},
            [
                r"a.bias: is missing; ",
                r"a.weight: expected shape \[2, 4\], found \[3, 4\]; ",
                r"b: is not in the module; ",
            ],
        ),
        (
            Linear(),
            [r"holds Python objects \(\w+.Linear\), and loading them could run code; save model.state_dict\(\)"],
        ),
        ({"epoch": 3}, ["holds no tensors by name; "]),
        (str(tmp_path / "script.pt"), ["is a TorchScript archive; "]),
        (str(tmp_path / "text.pt"), ["; save model.state_dict()"]),
        (str(tmp_path / "none.pt"), ["no such file; "]),
    ]
    for content, lines in cases:
        path = content if isinstance(content, str) else saved(tmp_path / "x.pt", content)
        module = Linear()
        before = module.a.weight.clone()
        with warnings.catch_warnings(), pytest.raises(ImportFailed) as failed:
            warnings.simplefilter("ignore")
            load(module, path)
        found = str(failed.value).splitlines()
        assert len(found) == len(lines) and all(re.search(line, text) for line, text in zip(lines, found)), found
        assert torch.equal(module.a.weight, before)


@pytest.mark.parametrize(
    "factory, line",
    [
        ("none.pt", "none.pt: No such file or directory"),
        ("test_bad_input", "cannot be made: no function is named; name a function without arguments"),
        ("test_bad_input:none", "cannot be made: module 'test_bad_input' has no attribute 'none'"),
        ("test_bad_input:saved", "cannot be made: saved() missing 2 required positional arguments"),
        ("builtins:dict", "cannot be made: dict returns a dict, not a torch.nn.Module"),
    ],
)
def test_factories_that_make_no_module(
    factory: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([factory, "--input", "x=1xTx4", "-o", str(tmp_path / "m")]) == 3
    assert line in (err := capsys.readouterr().err) and len(err.splitlines()) == 2, err
    assert list(tmp_path.iterdir()) == []


def exported(path: Path) -> None:
    torch.export.save(torch.export.export(nn.Linear(4, 2), (torch.randn(3, 4),)), path)


# name of the file -> who writes it, its line, and the words of the lines that say how to go on
ALONE: dict[str, tuple[Callable[[Path], object], str, list[str]]] = {
    "script.pt": (
        lambda path: torch.jit.script(nn.Linear(4, 2)).save(path),
        "is TorchScript, a program and not a graph",
        ["as ONNX: torch.onnx.export(torch.jit.load(", "with torch.export: "],
    ),
    "traced.pth": (
        lambda path: torch.jit.trace(nn.Linear(4, 2), ROWS).save(path),
        "is TorchScript, a program and not a graph",
        ["as ONNX: torch.onnx.export(torch.jit.load(", "with torch.export: "],
    ),
    "weights.pt": (
        lambda path: torch.save(Linear().state_dict(), path),
        "holds tensors, not the module that computes; name the Python code: my_model:make --checkpoint FILE",
        [],
    ),
    "model.pt2": (exported, "is a program of torch.export, the graph of one length; name the Python code", []),
    "text.ckpt": (lambda path: path.write_text("no checkpoint"), "is a text; save model.state_dict()", []),
}


@pytest.mark.parametrize("name", ALONE)
def test_files_of_pytorch_without_a_graph(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write, line, ways = ALONE[name]
    write(tmp_path / name)
    assert command.main([str(tmp_path / name), "-o", str(tmp_path / "m")]) == 3
    first, *told, last = capsys.readouterr().err.splitlines()
    assert first.startswith(f"{tmp_path / name}: {line}") and "1 problem; nothing was written" in last
    assert len(told) == len(ways) and all(text.startswith(way) for text, way in zip(told, ways)), told
    assert not (tmp_path / "m").exists()
