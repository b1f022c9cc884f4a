"""A configuration at its published size: memory of the compiler, bytes of the file, the numbers of PyTorch, memory and
time of what runs from the mapped file, beside PyTorch in turns."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from longwave.model_json import layer

from . import exact
from .configurations import Row, fits
from .engine import Compiled, Engine, EngineError
from .families import build, write
from .model import Model
from .table import Cost, beside_torch
from .tensors import Tensors

LIMIT_COMPILE = 1.3  # peak memory of the compiler, less that of the program / stored weights
LIMIT_FILE = 1.05  # bytes of the file / stored weights
SKIPPED = 8  # tokens of a text before those that count
PROCESSOR = max(os.sched_getaffinity(0))  # which both sides stay on


@dataclass
class Settings:
    rounds: int
    tokens: int
    torch: bool
    keep: bool  # the package and the artifact


def stored_bytes(model: Model, weights: str) -> int:
    """Of every tensor once, as the artifact stores it: matrices in the bytes of `weights`, int8 with a float32
    scale of each row; everything else in float32.  Graph models have float32 alone."""
    total = 0
    for tensor in model.tensors.values():
        matrix = weights != "float32" and len(tensor.shape) == 2
        total += tensor.size * ({"bf16": 2, "int8": 1}[weights] if matrix else 4)
        total += 4 * tensor.shape[0] if matrix and weights == "int8" else 0
    return total


class Speaker:
    """A process that writes tokens, pinned to a CPU, and waits between its turns."""

    def __init__(self, engine: Engine, *command: str) -> None:
        built, bench = engine.program.resolve().parent / "python", Path(__file__).resolve().parents[1]
        pinned = ["taskset", "-c", str(PROCESSOR), sys.executable, "-m", *command]
        variables = os.environ | {"PYTHONPATH": f"{built}{os.pathsep}{bench}"}
        self.process = subprocess.Popen(pinned, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=variables)
        self.about = self._line()

    def __call__(self, tokens: int) -> tuple[float, dict[str, Any]]:
        """Median milliseconds of the CPU for a token, after some that do not count, and the process's memory."""
        assert self.process.stdin
        print(SKIPPED + tokens, file=self.process.stdin, flush=True)
        answer = self._line()
        return 1e3 * statistics.median(answer["seconds"][SKIPPED:]), answer

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout
        text = self.process.stdout.readline()
        if not text:
            raise EngineError(f"{' '.join(map(str, self.process.args[4:7]))}: exit {self.process.wait()}")
        result: dict[str, Any] = json.loads(text)
        return result

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def token_times(row: Row, engine: Engine, artifact: Path, package: Path, settings: Settings) -> dict[str, Any]:
    """Milliseconds of the CPU for a token, in turns, and what is in memory meanwhile."""
    ours = Speaker(engine, "zoo.tokens", str(artifact.resolve()))
    theirs = None
    if settings.torch:
        theirs = Speaker(engine, "zoo.step", str(package.resolve()), row.name, "--weights", row.weights)
    rounds, peer, mine, other = [], [], {}, {}
    for _ in range(settings.rounds):
        took, mine = ours(settings.tokens)
        rounds.append(took)
        if theirs:
            took, other = theirs(settings.tokens)
            peer.append(took)
    ours.close()
    found = {
        "token_ms": statistics.median(rounds),
        "resident_mb": mb(mine["resident_bytes"]),
        "own_mb": mb(mine["own_bytes"]),
    }
    if theirs:
        theirs.close()
        found |= {
            "pytorch_token_ms": statistics.median(peer),
            "pytorch_form": theirs.about["form"],
            "pytorch_resident_mb": mb(other["resident_bytes"]),
            "token_ratio": statistics.median(a / b for a, b in zip(rounds, peer)),
        }
    return found


def offline_times(
    row: Row, engine: Engine, artifact: Path, folder: Path, model: Model, parameters: int, settings: Settings
) -> dict[str, Any]:
    """Milliseconds of a whole sequence in turns, and the memory of `longwave run`."""
    inputs, output = exact.inputs_of(model, row.length, seed=3), model.outputs[0]["name"]
    done = engine.run_process(artifact, inputs, folder, output)
    found = {"resident_mb": mb(done.peak_bytes), "own_mb": mb(done.own_bytes)}
    if settings.torch:
        cost = Cost(row.name, parameters, row.length, 0, 0, 0, 0)
        values = np.load(folder / "output.npy")
        beside_torch(cost, row, engine, artifact, folder, inputs, values, settings.rounds, 3)
        found |= {"offline_ms": cost.whole_ms, "pytorch_ms": cost.torch_ms, "ratio": cost.ratio}
    return found


def mb(size: int) -> float:
    return round(size / 1e6, 1)


_PEAK = """import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)])
print(os.wait4(pid, 0)[2].ru_maxrss)"""


def program_bytes(engine: Engine, folder: Path) -> int:
    """Peak memory of the compiler for a model of a few kilobytes: the program itself.  A small process starts it,
    because the kernel counts the memory of the process that it was forked from, and it is too short to be watched.
    The second time, kernels come from the cache: their compilers would count as well."""
    tensors = Tensors()
    tensors.linear("y", 16, 16)
    inputs, layers = [{"name": "x", "kind": "features", "width": 16}], [layer("linear", "y", out_features=16)]
    model = Model(inputs, layers, [{"name": "y", "from": "y"}], tensors, streams=True)
    write(model, "small", folder / "small", tensors.random(seed=0))
    compiling = [engine.program, "compile", folder / "small", "-o", folder / "small.lw", "--target", "host", "--quiet"]
    command = [sys.executable, "-S", "-E", "-c", _PEAK, *map(str, compiling)]
    return 1024 * [int(subprocess.run(command, check=True, capture_output=True).stdout) for _ in range(2)][1]


def memory_of_compile(compiled: Compiled, stored: int, program: int) -> dict[str, Any]:
    """What the compiler held apart from the program, and the file, each as a part of the stored weights."""
    return {
        "compile_s": round(compiled.seconds, 1),
        "compile_peak_mb": mb(compiled.peak_bytes),
        "compile_own_mb": mb(compiled.own_bytes),
        "program_mb": mb(program),
        "compile_ratio": round((compiled.peak_bytes - program) / stored, 3),
        "file_mb": mb(compiled.artifact_bytes),
        "file_ratio": round(compiled.artifact_bytes / stored, 3),
    }


def measure(row: Row, weights: str, engine: Engine, folder: Path, settings: Settings) -> dict[str, Any]:
    """One line of the table; EngineError or ValueError: what does not hold."""
    row, model = replace(row, weights=weights), build(row)
    parameters = model.tensors.parameters
    if not fits(row, parameters):
        raise ValueError(f"{row.name}: {parameters:,} parameters, known: {row.recount or row.paper}")
    package, artifact = folder / "model", folder / f"{row.name}-{weights}.lw"
    if not (package / "model.json").exists():
        write(model, row.name, package, model.tensors.random(seed=0), row.stored)
    stored = stored_bytes(model, weights)
    block = "1,16" if model.streams else None
    # rows that are compared with float64 here need no second check by the compiler, which takes
    # hours for them
    compiled = engine.compile(package, artifact, row.length, model.streams, block, not row.exact, weights)
    line = {
        "name": row.name,
        "weights": weights,
        "parameters": parameters,
        "published": row.paper,
        "stored_mb": mb(stored),
    } | memory_of_compile(compiled, stored, program_bytes(engine, folder))
    print(f"compiled: {line}", file=sys.stderr, flush=True)
    found = exact.check(row, model, engine, artifact, folder)
    line |= {"difference": found.of_double, "rounding": found.rounding, "stream_difference": found.of_whole}
    print(f"from float64: {found}", file=sys.stderr, flush=True)
    pinned = Engine(engine.program, PROCESSOR)
    if model.streams:
        line |= token_times(row, pinned, artifact, package, settings)
    else:
        line |= offline_times(row, pinned, artifact, folder, model, parameters, settings)
    if not settings.keep:
        artifact.unlink()
    for what, limit in (("compile_ratio", LIMIT_COMPILE), ("file_ratio", LIMIT_FILE)):
        if line[what] > limit:
            print(f"{row.name}: {what} {line[what]} is above {limit}", file=sys.stderr, flush=True)
    return line
