"""The command of the importer, and longwave.compile of a module."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import importer_models as models
import pytest
import torch
from importer_checks import LONGWAVE, PEAK, ROOT, import_command


def test_command_writes_a_folder_and_a_report(tmp_path: Path) -> None:
    torch.save({"state_dict": models.make_conv_stack().state_dict()}, tmp_path / "state.ckpt")
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    done = import_command(
        "importer_models:make_conv_stack",
        "--input",
        "x=1x5xT",
        "--checkpoint",
        tmp_path / "state.ckpt",
        "-o",
        tmp_path / "model",
        LONGWAVE_PROGRAM=str(LONGWAVE),
    )
    assert done.returncode == 0, done.stderr
    assert "equal to PyTorch in float64 within" in done.stdout
    assert "differs from PyTorch in float32 by" in done.stdout and "as a stream" in done.stdout
    report = json.loads((tmp_path / "model/import.json").read_text())
    assert report["modules"]["a"] == ["conv2d"] and report["artifact"]["kernels"]["a"]["run"]
    assert max(report["artifact"]["offline"], report["artifact"]["stream"]) <= PEAK
    assert json.loads((tmp_path / "model/model.json").read_text())["version"] == 2


def test_command_refuses_with_status_3_and_writes_nothing(tmp_path: Path) -> None:
    done = import_command("importer_models:make_both_ways", "--input", "x=1xTx4", "-o", tmp_path / "model")
    assert done.returncode == 3
    assert "lstm/lstm: lstm: is bidirectional" in done.stderr
    assert "nothing was written" in done.stderr
    assert not (tmp_path / "model").exists()


def test_command_takes_the_fewest_rows(tmp_path: Path) -> None:
    import_it = (
        "importer_models:make_another_below_50_rows",
        "--input",
        "x=1xTx4",
        "--no-compile",
        "-o",
        tmp_path / "model",
    )
    refused = import_command(*import_it)
    assert (
        refused.returncode == 3
        and "below 50 rows" in refused.stderr
        and "--min-rows 50" in refused.stderr
        and not (tmp_path / "model").exists()
    )
    done = import_command(*import_it, "--min-rows", 50)
    assert done.returncode == 0 and "warning: the module means something else below 50 rows" in done.stdout, done.stderr
    assert json.loads((tmp_path / "model/import.json").read_text())["min_rows"] == 50


def test_command_explains_a_node() -> None:
    done = import_command("importer_models:make_conv_stack", "--input", "x=1x5xT", "--explain", "a/conv1d")
    assert done.returncode == 0, done.stderr
    assert "became conv2d of 254 rows of 8" in done.stdout, done.stdout


def test_command_without_torch_says_so(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('none')\n")
    path = f"{tmp_path}:{ROOT}/tools/python"
    done = import_command("a:b", "--input", "x=1xTx4", "-o", tmp_path / "m", PYTHONPATH=path)
    assert done.returncode == 3
    assert (
        done.stderr.strip() == "longwave.importer: needs PyTorch, found none; install it: pip install torch safetensors"
    )


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
class Below(torch.nn.Module):
    def forward(self, x):
        return x.tanh() if x.shape[1] >= 50 else 2 * x
try:
    longwave.compile(Below(), inputs=["x=1xTx6"])
except longwave.CompileError as error:
    assert "min_rows=50" in str(error), error
else:
    sys.exit("another meaning was imported")
assert longwave.compile(Below(), inputs=["x=1xTx6"], min_rows=50).import_report["min_rows"] == 50
class Late(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.pad(x, (3, 0))[:, :-3] / 2
audio = np.random.default_rng(3).uniform(-0.5, 0.5, 4000).astype(np.float32)
late = longwave.compile(Late(), torch.zeros(1, 512), sample_rate=16000, outputs=["clean=audio@3"], stream=True)
assert np.abs(longwave.AudioStream(late).apply(audio) - audio / 2).max() <= 1e-7
try:
    longwave.compile(Late(), torch.zeros(1, 512), sample_rate=16000, outputs=["clean=wave"])
except longwave.CompileError as error:
    assert "expected NAME" in str(error), error
else:
    sys.exit("a kind that is none was taken")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"LONGWAVE_PROGRAM": str(LONGWAVE.resolve())},
    )
    assert done.returncode == 0, done.stderr
