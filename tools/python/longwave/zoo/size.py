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

from ..model_json import layer
from . import exact
from .configurations import Row, fits
from .engine import Compiled, Done, Engine, EngineError
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


def byte_tokenizer(vocabulary: int) -> str:
    """A tokenizer.json that splits text into bytes; the other ids of the vocabulary occur in no text."""
    own = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in own]
    letters = [chr(byte) if byte in own else chr(256 + others.index(byte)) for byte in range(256)]
    vocab = dict(zip(letters, range(256))) | {f"unused {n}": n for n in range(256, vocabulary)}
    return json.dumps({"model": {"type": "BPE", "vocab": vocab, "merges": []},
                       "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
                       "decoder": {"type": "ByteLevel"}})


class TorchStep:
    """The step of PyTorch in a process of its own, which waits between its turns."""

    def __init__(self, row: Row, package: Path) -> None:
        command = [sys.executable, "-m", "longwave.zoo.step", str(package), row.name, "--weights", row.weights]
        pinned = ["taskset", "-c", str(PROCESSOR), *command]
        self.process = subprocess.Popen(
            pinned, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).resolve().parents[2]
        )
        self.about = self._line()

    def __call__(self, tokens: int) -> tuple[list[float], int]:
        """Seconds of each token, resident bytes."""
        assert self.process.stdin
        print(tokens, file=self.process.stdin, flush=True)
        answer = self._line()
        return answer["seconds"], answer["resident_bytes"]

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout
        text = self.process.stdout.readline()
        if not text:
            raise EngineError(f"PyTorch's step ended: exit {self.process.wait()}")
        return json.loads(text)

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def generated(engine: Engine, artifact: Path, tokens: int) -> tuple[float, Done]:
    """CPU seconds of a token of `longwave generate`: those of a run, less those of a run with no more than the first
    tokens, which opens the file as well. And the process of the longer run."""
    runs = [
        engine("generate", artifact, "-p", "It was", "-n", n, "--memory", "64G", "--json")
        for n in (SKIPPED, SKIPPED + tokens)
    ]
    written = [sum(json.loads(line)["type"] == "token" for line in run.out.splitlines()) for run in runs]
    if written != [SKIPPED, SKIPPED + tokens]:
        raise EngineError(f"{artifact}: expected {SKIPPED} and {SKIPPED + tokens} tokens, found {written}")
    return (runs[1].cpu_seconds - runs[0].cpu_seconds) / tokens, runs[1]


def token_times(row: Row, engine: Engine, artifact: Path, package: Path, settings: Settings) -> dict[str, Any]:
    """Milliseconds of the CPU for a token, in turns, and what is in memory meanwhile."""
    vocabulary = row.options["vocabulary"]
    artifact.with_suffix(".tokenizer.json").write_text(byte_tokenizer(vocabulary), encoding="utf-8")
    step = TorchStep(row, package) if settings.torch else None
    ours, theirs, resident, done = [], [], 0, None
    for _ in range(settings.rounds):
        took, done = generated(engine, artifact, settings.tokens)
        ours.append(1e3 * took)
        if step:
            times, resident = step(SKIPPED + settings.tokens)
            theirs.append(1e3 * statistics.median(times[SKIPPED:]))
    assert done
    found = {"token_ms": statistics.median(ours), "resident_mb": mb(done.peak_bytes), "own_mb": mb(done.own_bytes)}
    if step:
        step.close()
        ratios = [a / b for a, b in zip(ours, theirs)]
        found |= {"pytorch_token_ms": statistics.median(theirs), "pytorch_form": step.about["form"],
                  "pytorch_resident_mb": mb(resident), "token_ratio": statistics.median(ratios)}
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


def program_bytes(engine: Engine, folder: Path) -> int:
    """Peak memory of the compiler for a model of a few kilobytes: the program itself."""
    tensors = Tensors()
    tensors.linear("y", 16, 16)
    inputs, layers = [{"name": "x", "kind": "features", "width": 16}], [layer("linear", "y", out_features=16)]
    model = Model(inputs, layers, [{"name": "y", "from": "y"}], tensors, streams=True)
    write(model, "small", folder / "small", tensors.random(seed=0))
    return engine.compile(folder / "small", folder / "small.lw", 16, model.streams).peak_bytes


def memory_of_compile(compiled: Compiled, stored: int, program: int) -> dict[str, Any]:
    """What the compiler held apart from the program, and the file, each as a part of the stored weights."""
    return {
        "compile_s": round(compiled.seconds, 1), "compile_peak_mb": mb(compiled.peak_bytes),
        "compile_own_mb": mb(compiled.own_bytes), "program_mb": mb(program),
        "compile_ratio": round((compiled.peak_bytes - program) / stored, 3),
        "file_mb": mb(compiled.artifact_bytes), "file_ratio": round(compiled.artifact_bytes / stored, 3),
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
    # rows that are compared with float64 here need no second check by the compiler, which takes hours for them
    compiled = engine.compile(package, artifact, row.length, model.streams, block, not row.exact, weights)
    line = {"name": row.name, "weights": weights, "parameters": parameters, "published": row.paper,
            "stored_mb": mb(stored)} | memory_of_compile(compiled, stored, program_bytes(engine, folder))
    print(f"compiled: {line}", file=sys.stderr, flush=True)
    of_double, of_whole = exact.check(row, model, engine, artifact, folder)
    line |= {"difference": of_double, "stream_difference": of_whole}
    print(f"from float64: {of_double:.1e}, stream from offline: {of_whole}", file=sys.stderr, flush=True)
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
