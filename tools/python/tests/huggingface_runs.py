"""A folder compiled and run, offline and in streams, against logits in float64."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pytest
from importer_checks import ROOT, longwave

LIMIT = 1e-5  # of the peak: float32 against float64
TOKENS = 300
BLOCKS = (1, 7, 64)

MOVED = 98  # tokens before the state goes to another stream

# In a process of its own: here `longwave` are the sources of the importer, which have no native part.
STREAM = """
import sys, numpy, longwave
path, ids, out, moved = sys.argv[1], numpy.load(sys.argv[2]), sys.argv[3], int(sys.argv[4])
model = longwave.open(path)
def rows(stream, ids, block):
    return [numpy.array(row.data) for at in range(0, len(ids), block) for row in stream.process(ids[at : at + block])]
for block in map(int, sys.argv[5:]):
    with model.stream() as stream:
        numpy.save(f"{out}/{block}.npy", numpy.stack(rows(stream, ids, block)))
with model.stream() as stream:
    first, state = rows(stream, ids[:moved], 7), stream.save()
with model.stream() as stream:
    stream.load(state)
    numpy.save(f"{out}/moved.npy", numpy.stack(first + rows(stream, ids[moved:], 64)))
"""


def streamed(path: Path) -> dict[str, numpy.ndarray]:
    """Logits in blocks of each size, and with a state that moves from blocks of 7 to those of 64."""
    if not list((ROOT / "build/python/longwave").glob("_native*")):
        pytest.skip("longwave_native is not built")
    command = [sys.executable, "-c", STREAM, path, path.parent / "ids.npy", path.parent, MOVED, *BLOCKS]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/build/python"}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return {name: numpy.load(path.parent / f"{name}.npy") for name in (*map(str, BLOCKS), "moved")}


def errors_of(folder: Path, ids: numpy.ndarray, logits: numpy.ndarray, work: Path, *flags: object) -> list[float]:
    """Of the peak: offline, in blocks, and with a state that moved. One file for all blocks: a stream takes the entry of the block that it is given."""
    numpy.save(work / "ids.npy", ids.astype(numpy.int32))

    def error(found: numpy.ndarray) -> float:
        assert found.shape == logits.shape
        return float(numpy.abs(found - logits).max() / numpy.abs(logits).max())

    path, blocks = work / "m.lw", ",".join(map(str, BLOCKS))
    sizes = ("--length", len(ids), "--blocks", blocks, "--target", "host")
    longwave("compile", folder, "-o", path, *sizes, "--quiet", *flags)
    longwave("run", path, "--input", f"@{work}/ids.npy", "--output", f"{work}/logits.npy")
    return [error(numpy.load(work / "logits.npy")), *map(error, streamed(path).values())]
