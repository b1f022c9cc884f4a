"""examples/pytorch: each model is compiled from its module, runs offline and as a stream, and equals PyTorch. Needs the Python module."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LONGWAVE = Path(os.environ.get("LONGWAVE", ROOT / "build/longwave")).resolve()
BUILT = LONGWAVE.parent / "python"
# Float32 against float32, of the peak, as in importer_checks.py. PyTorch computes the kernel of S4D
# in float32, the importer in float64, so PyTorch's rounding is a part there: docs/import.md
# measures 5.5e-6.
LIMITS = {"keyword_net": 2e-6, "s4d": 1e-5, "hyena": 2e-6}
ENVIRONMENT = os.environ | {
    "LONGWAVE_PROGRAM": str(LONGWAVE),
    "PYTHONPATH": f"{BUILT}:{ROOT}/examples/pytorch",
    "OMP_NUM_THREADS": "1",
}

CODE = """
import sys
import numpy as np, torch, longwave
import {name} as module
torch.manual_seed(3)
net, example = module.example()
torch.manual_seed(4)
x = torch.randint(0, 256, example.shape) if example.dtype == torch.int64 else torch.randn(example.shape) * 0.3
with torch.no_grad():
    expected = net(x)[0].numpy()
rows = x[0].numpy()
options = dict(sample_rate=16000) if {name!r} == "keyword_net" else dict()
with longwave.compile(net, example, stream=True, **options) as model:
    offline = model.run(rows)
    with model.stream() as stream:
        parts, at = [], 0
        while at < len(rows):
            parts.append(stream.process(rows[at:at + 77], last=at + 77 >= len(rows)))
            at += 77
        streamed = np.concatenate(parts)
    streamed = streamed[-1] if expected.ndim == 1 else streamed
    offline = offline[-1] if expected.ndim == 1 else offline
    peak = np.abs(expected).max()
    print("errors", np.abs(offline - expected).max() / peak, np.abs(streamed - expected).max() / peak, model.import_report["artifact"]["offline"])
"""


@pytest.fixture(autouse=True)
def needs_the_module() -> None:
    if not any((BUILT / "longwave").glob("_native*.so")):
        pytest.skip(f"{BUILT} has no _native module: configure with -DLONGWAVE_PYTHON=ON")


@pytest.mark.parametrize("name", LIMITS)
def test_model(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE.format(name=name)], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert done.returncode == 0, done.stderr
    errors = [float(word) for word in done.stdout.split("errors")[1].split()]
    print(name, errors)
    assert max(errors) <= LIMITS[name], errors


def test_train_export_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples/pytorch/train_export_run.py", "60"],
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    lines = {line.partition(":")[0]: line.split() for line in done.stdout.splitlines()}
    right = [float(lines[name][1].rstrip("%")) for name in ("PyTorch", "offline", "stream")]
    assert right[0] == right[1] == right[2] >= 50, done.stdout  # 25 by chance
    assert max(float(lines[name][-4]) for name in ("offline", "stream")) <= 2e-5, done.stdout
    assert (tmp_path / "tones.lw").stat().st_size > 1000
