#!/usr/bin/env python3
"""What Python adds to 20 ms of a stream: push_speed.py [LIMIT]. NumPy and the package only.

A block of 320 samples is pushed and its rows are read, in Python and by `longwave bench` in C, in turns on one CPU. A block is
shorter than what other programs take the CPU for, so the least of the rounds is what a block takes when nothing interrupts it.
Of each round the time counts that 5 % of the blocks do not exceed. LIMIT: an overhead above this many microseconds is an error.
"""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import longwave
import numpy as np
from longwave.programs import DEMO, program

BLOCK, ROUNDS, BLOCKS = 320, 15, 1000
SHARE = 0.05  # a quantile that `longwave bench` prints


def in_python(model: longwave.Model, block: np.ndarray) -> float:
    times = []
    with model.stream() as stream:
        for _ in range(BLOCKS):
            begin = time.perf_counter_ns()
            stream.push(block)
            for _row in stream:
                pass
            times.append(time.perf_counter_ns() - begin)
    return sorted(times)[int(SHARE * BLOCKS)] / 1e3


def in_c(file: pathlib.Path) -> float:
    command = [program(), "bench", file, "--repeats", "1", "--ticks", str(BLOCK * BLOCKS), "--json"]
    bench = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return dict(bench["stream"]["block_us"]["quantiles"])[SHARE]


def main() -> None:
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else None
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    installed, tree = DEMO / "model", pathlib.Path(__file__).resolve().parents[3] / "examples/kws/model"
    folder = installed if installed.exists() else tree
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "kws.lw"
        model = longwave.compile(folder, file, stream=True, blocks=[BLOCK], targets=["host"])
        block = (0.1 * np.random.default_rng(1).standard_normal(BLOCK)).astype(np.float32)
        rounds = [(in_python(model, block), in_c(file)) for _ in range(ROUNDS)]
    ours, theirs = (min(column) for column in zip(*rounds))
    print(
        f"20 ms: {ours:.1f} us in Python, {theirs:.1f} us in C, {ours - theirs:.1f} us more (least of {ROUNDS} rounds)"
    )
    if limit is not None and ours - theirs > limit:
        sys.exit(f"push_speed: Python takes more than {limit} us over C")


if __name__ == "__main__":
    main()
