#!/usr/bin/env python3
"""What Python adds to 20 ms of a stream: push_speed.py [MODEL_FOLDER]. NumPy and the installed package only.

A block of 320 samples is pushed and its rows are read, in Python and by `longwave bench` in C, in turns. Prints the median of
each, and the median of the differences of the rounds, in microseconds.
"""
from __future__ import annotations

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import longwave
from longwave.programs import program

BLOCK, ROUNDS, BLOCKS = 320, 5, 3000


def in_python(model: longwave.Model, block: np.ndarray) -> float:
    times = []
    with model.stream() as stream:
        for _ in range(BLOCKS):
            begin = time.perf_counter_ns()
            stream.push(block)
            for _row in stream:
                pass
            times.append(time.perf_counter_ns() - begin)
    return statistics.median(times) / 1e3


def in_c(file: pathlib.Path) -> float:
    command = [program(), "bench", file, "--repeats", "1", "--ticks", str(BLOCK * BLOCKS), "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["stream"]["block_us"]["median"]


def main() -> None:
    folder = pathlib.Path(longwave.__file__).parent / "demo_data/model"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else folder
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "kws.lw"
        model = longwave.compile(folder, file, stream=True, blocks=[BLOCK], targets=["host"])
        block = (0.1 * np.random.default_rng(1).standard_normal(BLOCK)).astype(np.float32)
        rounds = [(in_python(model, block), in_c(file)) for _ in range(ROUNDS)]
    ours, theirs = (statistics.median(column) for column in zip(*rounds))
    over = statistics.median(a - b for a, b in rounds)
    print(f"20 ms: {ours:.1f} us in Python, {theirs:.1f} us in C, {over:.1f} us more")


if __name__ == "__main__":
    main()
