"""The hints of the package: mypy finds nothing in it, and a user's program is checked against them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
BUILT = Path(os.environ.get("LONGWAVE", ROOT / "build/longwave")).resolve().parent / "python"

PROGRAM = """
import numpy as np
import longwave

with longwave.open("m.lw") as model:
    y = model.run(np.zeros((10, 4), np.float32), threads=2)
    print(y.shape, model.labels[0].upper(), model.verify() + 1.0, model.report["name"], model.info["blocks"])
    with model.stream(block=4) as stream:
        taken: int = stream.push(np.zeros(4))
        for row in stream:
            print(row.number + taken, row.data.argmax())
        state: bytes = stream.save()
try:
    longwave.compile("folder", "x.lw", stream=True)
    longwave.compile(object(), np.zeros((1, 64, 4)), "x.lw", stream=True, sample_rate=16000)
except longwave.CompileError as error:
    print(error)
except longwave.TooLongError as other:
    raise ValueError(str(other)) from other
for event in longwave.Spotter(model, threshold=0.8).push(np.zeros(320, np.int16)):
    print(event.word.upper(), event.score * 2)
with longwave.SpeechDetector(model, threshold=0.6, negative_threshold=None) as detector:
    for found in detector.push(np.zeros(512, np.int16)) + detector.finish():
        print(found.kind.upper(), found.start + 1, (found.end or 0) + 1, found.start_seconds * 2, (found.end_seconds or 0) * 2)
    print([start + end for start, end in detector.segments(np.zeros(512, np.int16))], detector.hop + 1)
with longwave.AudioStream(model, live=True, rate_in=48000, rate_out=48000, output=None) as cleaner:
    print(cleaner.process(np.zeros(441, np.float32)).sum(), cleaner.latency + cleaner.rate_out, cleaner.apply([0.0, 1.0]).dtype)
print([token.id + 1 for token in longwave.Generator(model, stops=[[1, 2]])])
"""


def mypy(cache: Path, *arguments: object) -> str:
    """What mypy says, over the package as it is built: with the stub of its native module."""
    if not importlib.util.find_spec("mypy"):
        pytest.skip("needs mypy")
    if not (BUILT / "longwave/_native.pyi").exists():
        pytest.skip(f"{BUILT} has no stub: build the target longwave_native_stub")
    command = [sys.executable, "-m", "mypy", f"--cache-dir={cache}", *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=BUILT, env=os.environ | {"MYPYPATH": str(BUILT)}
    ).stdout


def test_package(tmp_path: Path) -> None:
    if not importlib.util.find_spec("torch"):
        pytest.skip("needs torch")
    said = mypy(tmp_path, f"--config-file={ROOT / 'pyproject.toml'}")
    assert said.startswith("Success"), said


def test_strict(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(PROGRAM)
    (tmp_path / "bad.py").write_text(
        "import longwave\nx: str = longwave.open(3).verify()\nlongwave.open('m').stream(format=1)\n"
    )
    strict = ["--strict", "--follow-imports=silent", "--config-file="]
    assert mypy(tmp_path / "cache", *strict, tmp_path / "good.py").startswith("Success")
    assert mypy(tmp_path / "cache", *strict, tmp_path / "bad.py").count("error: ") == 3
