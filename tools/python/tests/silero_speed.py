#!/usr/bin/env python3
"""usage: silero_speed.py FILE.lw...

Time of a chunk of one of 200 streams of Silero VAD: longwave.StreamBatch of compiled files, and ONNX Runtime with one batch of 200, in turn,
on one thread each. The times are CPU times. The least and the median of the rounds, and the ratio of each. FILE.lw comes from
`longwave import silero-vad --no-compile` and `longwave compile --streams`. Every probability is compared.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import time
from pathlib import Path

import longwave
import numpy
import onnxruntime

STREAMS, CHUNK, CONTEXT, ROUNDS = 200, 512, 64, 60


class Batch:
    """200 streams of a file."""

    def __init__(self, file: str) -> None:
        model = longwave.open(file)
        self.batch = longwave.StreamBatch(model)
        self.streams = [model.stream(format="float32") for _ in range(STREAMS)]

    def push(self, samples: numpy.ndarray) -> tuple[float, numpy.ndarray]:
        """CPU time of all streams, and the probabilities."""
        begun = time.process_time()
        self.batch.push(self.streams, list(samples))
        spent = time.process_time() - begun
        return spent, numpy.array([stream.pull().data[0] for stream in self.streams])


class Peer:
    """ONNX Runtime with a batch of 200."""

    def __init__(self) -> None:
        data = Path(importlib.util.find_spec("silero_vad").origin).parent / "data"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(
            str(data / "silero_vad_16k_op15.onnx"), options, providers=["CPUExecutionProvider"]
        )
        self.state = numpy.zeros((2, STREAMS, 128), numpy.float32)
        self.context = numpy.zeros((STREAMS, CONTEXT), numpy.float32)

    def push(self, samples: numpy.ndarray) -> tuple[float, numpy.ndarray]:
        feeds = {
            "input": numpy.concatenate([self.context, samples], 1),
            "state": self.state,
            "sr": numpy.array(16000, numpy.int64),
        }
        begun = time.process_time()
        found, self.state = self.session.run(None, feeds)
        spent = time.process_time() - begun
        self.context = samples[:, -CONTEXT:]
        return spent, found[:, 0]


def main(*files: str) -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    contestants = {"onnxruntime": Peer(), **{file: Batch(file) for file in files}}
    random = numpy.random.default_rng(1)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for n in range(ROUNDS + 2):
        loud = 10 ** random.uniform(-3, 0, (STREAMS, 1))
        samples = (loud * random.standard_normal((STREAMS, CHUNK))).astype(numpy.float32)
        expected = None
        for name, one in contestants.items():
            spent, found = one.push(samples)
            expected = found if expected is None else expected
            if abs(found - expected).max() > 1e-4:
                raise SystemExit(f"{name}: probabilities differ by {abs(found - expected).max():.1e}")
            if n > 1:  # two rounds warm up
                times[name].append(1e6 * spent / STREAMS)
    peer = times["onnxruntime"]
    for name, own in times.items():
        least, median = min(own), float(numpy.median(own))
        print(
            f"{name}: least {least:.2f} us a chunk, ratio {least / min(peer):.3f}; "
            f"median {median:.2f} us, ratio {median / numpy.median(peer):.3f}"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
