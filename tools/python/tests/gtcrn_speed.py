#!/usr/bin/env python3
"""usage: gtcrn_speed.py LONGWAVE CLONE FILE.lw

Time of a hop of GTCRN, 256 samples, on one thread each: the call of the repository's ONNX graph alone, without transforms and
overlap-add, and a block of the compiled file with all of them. Medians of 250 hops; the least of ten rounds each, in turn, because
other work disturbs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy
import onnxruntime

CACHES = {"conv_cache": (2, 1, 16, 16, 33), "tra_cache": (2, 3, 1, 1, 16), "inter_cache": (2, 1, 33, 16)}
HOPS, HOP, RATE = 250, 256, 16000


def graph_us(session: onnxruntime.InferenceSession) -> float:
    caches = {name: numpy.zeros(shape, numpy.float32) for name, shape in CACHES.items()}
    mix = numpy.random.default_rng(1).normal(0, 0.1, (1, 257, 1, 2)).astype(numpy.float32)
    times = []
    for _ in range(HOPS):
        begin = time.perf_counter()
        _, *after = session.run(None, {"mix": mix, **caches})
        times.append(time.perf_counter() - begin)
        caches = dict(zip(CACHES, after))
    return float(numpy.median(times)) * 1e6


def file_us(longwave: str, file: str) -> float:
    seconds = HOPS * HOP / RATE
    done = subprocess.run(
        [longwave, "bench", "--json", "--seconds", str(seconds), file], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)["stream"]["block_us"]["median"]


def main(longwave: str, clone: str, file: str) -> None:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        str(Path(clone) / "stream/onnx_models/gtcrn_simple.onnx"), options, providers=["CPUExecutionProvider"]
    )
    graph, own = (min(times) for times in zip(*((graph_us(session), file_us(longwave, file)) for _ in range(10))))
    print(f"onnxruntime {onnxruntime.__version__}, the graph alone: {graph:.1f} us a hop")
    print(f"{file}, audio to audio: {own:.1f} us a hop, ratio {own / graph:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
