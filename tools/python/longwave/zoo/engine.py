"""The command line of the engine from Python: compile, run, measure, each in a process of its own whose memory is watched."""
from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .model import Model

MEMORY = "64G"  # limit of what an artifact may take; the machine's own is what counts here


@dataclass(frozen=True)
class Done:
    """A finished process: what it printed, seconds by the clock, and the most memory that it had at once (bytes)."""
    out: str
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class Compiled:
    seconds: float
    peak_bytes: int
    artifact_bytes: int
    stream_proved: bool  # there is a stream, and it equalled the whole on random input, cut in random ways
    report: Mapping[str, Any]


class EngineError(RuntimeError):
    """A command that failed, with what it said."""


class Engine:
    def __init__(self, program: Path) -> None:
        if not program.exists():
            raise EngineError(f"{program}: there is no such program: build the engine, or name it with --longwave")
        self.program = program

    def __call__(self, *arguments: object) -> Done:
        command = [str(self.program), *map(str, arguments)]
        begin = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            out, err = _read(process)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise EngineError(f"{' '.join(command[:3])}: {err.strip() or process.returncode}")
        return Done(out, time.perf_counter() - begin, 1024 * usage.ru_maxrss)

    def compile(self, package: Path, artifact: Path, length: int, streams: bool) -> Compiled:
        """For this machine, whole sequences of `length`, and a stream where no layer looks ahead."""
        done = self("compile", package, "-o", artifact, "--target", "host", "--length", length, "--stream" if streams else "--no-stream", "--quiet", "--json")
        report = json.loads(done.out)
        proofs = report["proof"]["variants"]
        return Compiled(done.seconds, done.peak_bytes, artifact.stat().st_size, bool(proofs) and report["proof"]["holds"], report)

    def run(self, artifact: Path, model: Model, inputs: Mapping[str, np.ndarray], scratch: Path) -> np.ndarray:
        """The first output of a whole sequence."""
        output = model.outputs[0]["name"]
        self.run_process(artifact, inputs, scratch, output)
        return np.load(scratch / "output.npy")

    def run_process(self, artifact: Path, inputs: Mapping[str, np.ndarray], scratch: Path, output: str) -> Done:
        given: list[str] = []
        for name, values in inputs.items():
            np.save(scratch / f"{name}.npy", values)
            given += ["-i", f"{name}=@{scratch / name}.npy"]
        return self("run", artifact, "--memory", MEMORY, *given, "-o", f"{output}={scratch / 'output.npy'}")

    def bench(self, artifact: Path, repeats: int, ticks: int) -> dict[str, Any]:
        return json.loads(self("bench", artifact, "--memory", MEMORY, "--repeats", repeats, "--ticks", ticks, "--json").out)


def _read(process: subprocess.Popen[str]) -> tuple[str, str]:
    """Both pipes to their ends, without waiting for the process: its memory is known to whoever waits for it."""
    assert process.stdout and process.stderr
    errors: list[str] = []
    reader = threading.Thread(target=lambda: errors.append(process.stderr.read()))
    reader.start()
    out = process.stdout.read()
    reader.join()
    return out, "".join(errors)


def made_up(model: Model, length: int, seed: int) -> dict[str, np.ndarray]:
    """Random values for each input of a model: ids, samples of a quiet noise, or rows of numbers."""
    random, inputs = np.random.default_rng(seed), {}
    for entry in model.inputs:
        if entry["kind"] == "tokens":
            inputs[entry["name"]] = random.integers(0, entry["vocabulary"], length)
        else:
            scale = 0.1 if entry["kind"] == "audio" else 1.0
            inputs[entry["name"]] = (scale * random.standard_normal((length, entry.get("width", 1)))).astype(np.float32)
    return inputs
