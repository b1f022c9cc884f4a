"""What the tests of the importer share: imports, refusals, and compiled models against PyTorch.

Compiled models need build/longwave; LONGWAVE names another one. Without it these tests are skipped.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
import torch
from torch import nn

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python"))
from longwave.importer.api import import_module  # noqa: E402
from longwave.importer.as_it_is import rows_of  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.inputs import parse_input  # noqa: E402

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


def longwave(*arguments, fails: bool = False) -> str:
    done = subprocess.run([LONGWAVE, *map(str, arguments)], capture_output=True, text=True)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stderr if fails else done.stdout


def import_command(*arguments, cwd: Path | None = None, **environment) -> subprocess.CompletedProcess:
    """`longwave import`, of the sources. A factory may be in this folder."""
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    path = f"{ROOT}/tools/python:{ROOT}/tools/python/tests"
    known = {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "LONGWAVE_PROGRAM": str(LONGWAVE.resolve())}
    return subprocess.run(
        [sys.executable, "-m", "longwave.importer", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **known, **environment},
    )


def error_of(*arguments) -> float:
    """What `longwave run --expected` prints, of the peak."""
    done = subprocess.run([LONGWAVE, *map(str, arguments)], capture_output=True, text=True)
    found = re.search(r"largest error (\S+) of the peak", done.stderr)
    assert done.returncode == 0 and found, done.stdout + done.stderr
    return float(found[1])


@torch.no_grad()
def compiled_equals(
    module: nn.Module,
    spec: str,
    made,
    folder: Path,
    stream: bool,
    length: int = 0,
    blocks: str = "1,32",
    limit: float = PEAK,
) -> float:
    """Offline, and as a stream of blocks of 1 and 32 rows or of others, against the module in float32: the largest error, of the peak."""
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    entry = parse_input(spec)
    length = length or made.model["length"]
    x = entry.example(length, torch.float32, seed=5)
    output = made.importer.graph.outputs[0]
    y = rows_of(output, module(x))
    assert y.any() and not any("no comparison tells" in text for text in made.report["warnings"]), (
        "compares zeros only: give other weights"
    )
    made.write(folder / "model")
    rows = entry.rows(x)
    numpy.save(folder / "x.npy", rows.contiguous().numpy().astype("<i4" if entry.vocabulary else "<f4"))
    numpy.save(folder / "y.npy", y.contiguous().numpy().astype("<f4"))
    longwave(
        "compile",
        folder / "model",
        "-o",
        folder / "model.lw",
        "--target",
        "host",
        *(["--stream", "--blocks", blocks] if stream else ["--no-stream"]),
    )
    expected = ["-i", f"{entry.name}=@{folder}/x.npy", "--expected", f"{output.name}=@{folder}/y.npy", "--limit", limit]
    ways = [[], ["--stream"]] if stream and output.axis is not None else [[]]
    return max(error_of("run", folder / "model.lw", *way, *expected) for way in ways)
