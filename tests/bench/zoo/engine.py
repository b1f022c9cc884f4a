"""The command line of the engine from Python: compile, run, measure, each in a process of its own whose
memory is watched."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .memory import status_bytes
from .model import Model

MEMORY = "64G"  # limit of what an artifact may take; the machine's own is what counts here


@dataclass(frozen=True)
class Done:
    """A finished process: what it printed, seconds by the clock and of the CPU, and the most memory that it had
    at once (bytes): all of it, and `own_bytes`, the part that is not a mapped file."""

    out: str
    seconds: float
    peak_bytes: int
    own_bytes: int
    cpu_seconds: float


@dataclass(frozen=True)
class Compiled:
    seconds: float
    peak_bytes: int
    artifact_bytes: int
    own_bytes: int
    stream_proved: bool  # there is a stream, and it equalled the whole on random input, cut in random ways
    report: Mapping[str, Any]


class EngineError(RuntimeError):
    """A command that failed, with what it said."""


class Engine:
    """`processor`: the CPU that every command stays on; None: any."""

    def __init__(self, program: Path, processor: int | None = None) -> None:
        if not program.exists():
            raise EngineError(f"{program}: there is no such program: build the engine, or name it with --longwave")
        self.program, self.processor = program, processor

    def __call__(self, *arguments: object) -> Done:
        command = [str(self.program), *map(str, arguments)]
        begin, peak, own = time.perf_counter(), 0, 0
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with (
            tempfile.TemporaryFile("w+") as out,
            tempfile.TemporaryFile("w+") as err,
            subprocess.Popen(self._pinned(command), stdout=out, stderr=err) as process,
        ):
            while process.poll() is None:
                most, anonymous = self._memory(process.pid)
                peak, own = max(peak, most), max(own, anonymous)
                time.sleep(0.002 if time.perf_counter() - begin < 1 else 0.02)
            seconds = time.perf_counter() - begin
            out.seek(0), err.seek(0)
            if process.returncode:
                raise EngineError(f"{' '.join(command[:3])}: {err.read().strip() or process.returncode}")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            return Done(out.read(), seconds, peak, own, cpu)

    def _pinned(self, command: list[str]) -> list[str]:
        return command if self.processor is None else ["taskset", "-c", str(self.processor), *command]

    def _memory(self, process: int) -> tuple[int, int]:
        """The high-water mark of its memory so far (what wait4 tells includes that of this process, which it
        was forked from), and the part that is its own now."""
        try:
            if not os.path.samefile(f"/proc/{process}/exe", self.program):
                return 0, 0  # not yet
            most, own = status_bytes(process, "VmHWM", "RssAnon")
            return most, own
        except OSError:
            return 0, 0  # gone

    def compile(
        self,
        package: Path,
        artifact: Path,
        length: int,
        streams: bool,
        block: int | str | None = None,
        proof: bool = True,
        weights: str = "float32",
    ) -> Compiled:
        """For this machine, whole sequences of `length`, and a stream where no layer looks ahead; `block`: its
        ticks at a time, or a list such as "1,16"."""
        way = ["--stream", *(["--blocks", block] if block else [])] if streams else ["--no-stream"]
        done = self(
            "compile",
            package,
            "-o",
            artifact,
            "--target",
            "host",
            "--length",
            length,
            *way,
            *([] if proof else ["--no-proof"]),
            *([] if weights == "float32" else ["--weights", weights]),
            "--quiet",
            "--json",
        )
        report = json.loads(done.out)
        proofs = report["proof"]["variants"]
        return Compiled(
            done.seconds,
            done.peak_bytes,
            artifact.stat().st_size,
            done.own_bytes,
            bool(proofs) and report["proof"]["holds"],
            report,
        )

    def run(self, artifact: Path, model: Model, inputs: Mapping[str, np.ndarray], scratch: Path) -> np.ndarray:
        """The first output of a whole sequence."""
        output = model.outputs[0]["name"]
        self.run_process(artifact, inputs, scratch, output)
        result: np.ndarray = np.load(scratch / "output.npy")
        return result

    def run_process(self, artifact: Path, inputs: Mapping[str, np.ndarray], scratch: Path, output: str) -> Done:
        given: list[str] = []
        for name, values in inputs.items():
            np.save(scratch / f"{name}.npy", values)
            given += ["-i", f"{name}=@{scratch / name}.npy"]
        return self("run", artifact, "--memory", MEMORY, *given, "-o", f"{output}={scratch / 'output.npy'}")

    def bench(self, artifact: Path, repeats: int, ticks: int) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(
            self("bench", artifact, "--memory", MEMORY, "--repeats", repeats, "--ticks", ticks, "--json").out
        )
        return result


def made_up(model: Model, length: int, seed: int) -> dict[str, np.ndarray]:
    """Random values for each input of a model: ids, samples of a quiet noise, or rows of numbers."""
    random, inputs = np.random.default_rng(seed), {}
    if model.made_up is not None:
        return model.made_up(random)
    for entry in model.inputs:
        if entry["kind"] == "tokens":
            inputs[entry["name"]] = random.integers(0, entry["vocabulary"], length)
        else:
            scale = 0.1 if entry["kind"] == "audio" else 1.0
            inputs[entry["name"]] = (scale * random.standard_normal((length, entry.get("width", 1)))).astype(np.float32)
    return inputs
