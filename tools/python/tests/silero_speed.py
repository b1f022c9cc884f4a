#!/usr/bin/env python3
"""usage: silero_speed.py LIBLONGWAVE FILE.lw...

Time of a chunk of one of 200 streams of Silero VAD: lw_batch_push of compiled files, and ONNX Runtime with one batch of 200, in turn,
on one thread each. The times are CPU times. The least and the median of the rounds, and the ratio of each. FILE.lw comes from
`longwave import silero-vad --no-compile` and `longwave compile --streams`. Every probability is compared.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
import time
from pathlib import Path

import numpy
import onnxruntime

STREAMS, CHUNK, CONTEXT, ROUNDS = 200, 512, 64, 60


class OpenOptions(ctypes.Structure):
    """The first fields of lw_open_options; struct_size says that the others are not there."""

    _fields_ = (("struct_size", ctypes.c_size_t), ("allow_unsigned_code", ctypes.c_int), ("variant", ctypes.c_char_p))


class StreamOptions(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("format", ctypes.c_int),
        ("queue", ctypes.c_uint32),
        ("block", ctypes.c_uint32),
    )


class Row(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("index", ctypes.c_uint32),
        ("width", ctypes.c_uint32),
        ("data", ctypes.POINTER(ctypes.c_float)),
        ("row", ctypes.c_uint64),
        ("end", ctypes.c_uint64),
    )


class Batch:
    """200 streams of a file."""

    FLOATS = 1

    def __init__(self, library: ctypes.CDLL, file: str) -> None:
        self.library, self.model, self.batch = library, ctypes.c_void_p(), ctypes.c_void_p()
        library.lw_last_error.restype = ctypes.c_char_p
        options = OpenOptions(ctypes.sizeof(OpenOptions), 1)
        self.check(library.lw_model_open(file.encode(), ctypes.byref(options), ctypes.byref(self.model)))
        self.check(library.lw_batch_create(self.model, ctypes.byref(self.batch)))
        self.streams = (ctypes.c_void_p * STREAMS)()
        how = StreamOptions(ctypes.sizeof(StreamOptions), self.FLOATS)
        for i in range(STREAMS):
            stream = ctypes.c_void_p()
            self.check(library.lw_stream_create(self.model, ctypes.byref(how), ctypes.byref(stream)))
            self.streams[i] = stream.value
        self.counts, self.taken = (ctypes.c_size_t * STREAMS)(*[CHUNK] * STREAMS), (ctypes.c_size_t * STREAMS)()

    def check(self, status: int) -> None:
        if status:
            raise SystemExit(self.library.lw_last_error().decode())

    def push(self, samples: numpy.ndarray) -> tuple[float, numpy.ndarray]:
        """CPU time of all streams, and the probabilities."""
        first = samples.ctypes.data
        places = (ctypes.c_void_p * STREAMS)(*[first + 4 * CHUNK * i for i in range(STREAMS)])
        begun = time.process_time()
        self.check(
            self.library.lw_batch_push(
                self.batch, self.streams, ctypes.c_size_t(STREAMS), places, self.counts, self.taken
            )
        )
        spent, found = time.process_time() - begun, []
        for stream in self.streams:
            row = Row(ctypes.sizeof(Row))
            self.check(self.library.lw_stream_pull(ctypes.c_void_p(stream), ctypes.byref(row)))
            found.append(row.data[0])
        return spent, numpy.array(found)


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


def main(library: str, *files: str) -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    loaded = ctypes.CDLL(str(Path(library).resolve()))
    contestants = {"onnxruntime": Peer(), **{file: Batch(loaded, file) for file in files}}
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
