"""A graph that sees 64 samples of the call before, from the ONNX file to events: `longwave vad` of a recording and of a pipe, and a program in C.

Expected are the probabilities of onnxruntime, which gets the samples before from this file. Tolerance: 2e-5, the difference of
float32 that docs/vad.md states for one hour of Silero VAD.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import wave
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
import onnx
from importer_checks import LONGWAVE, ROOT, import_command
from onnx_graphs import ints, model, node, random

BEFORE, NEW, WINDOW, HOP, BANDS, UNITS = 64, 512, 128, 64, 16, 4
RECORDING = ROOT / "examples/kws/demo.wav"
LIMIT = 2e-5

PROGRAM = r"""
#include <longwave/speech_detector.h>
#include <stdio.h>

int main(int argc, char **argv) {
    lw_open_options open = LW_OPEN_OPTIONS_INIT;
    open.allow_unsigned_code = 1;
    lw_speech_detector_options how = LW_SPEECH_DETECTOR_OPTIONS_INIT;
    how.format = LW_S16;
    how.rows = 1;
    lw_model *model;
    lw_speech_detector *detector;
    if (argc != 2 || lw_model_open(argv[1], &open, &model) || lw_speech_detector_create(model, &how, &detector))
        return fprintf(stderr, "%s\n", lw_last_error()), 1;
    short samples[300]; /* no divisor of a call */
    for (size_t n; (n = fread(samples, sizeof *samples, 300, stdin)) > 0;)
        for (size_t at = 0, taken = 0; at < n; at += taken) {
            if (lw_speech_detector_push(detector, samples + at, n - at, &taken)) return 1;
            lw_speech_event event = LW_SPEECH_EVENT_INIT;
            while (lw_speech_detector_pull(detector, &event) == LW_OK) {
                if (event.kind == LW_SPEECH_ROW) printf("row %.9g\n", event.probability);
                if (event.kind == LW_SPEECH_END) printf("segment %lld %lld\n", (long long)event.start, (long long)event.end);
            }
        }
    lw_speech_detector_destroy(detector);
    lw_model_close(model);
    return 0;
}
"""


def detector() -> onnx.ModelProto:
    """The level in 16 bands over windows of 128 samples, 64 apart, and a GRU that follows it: high where it is loud."""
    t, f = np.arange(WINDOW), np.arange(1, BANDS + 1)[:, None]
    basis = (np.hanning(WINDOW) * np.cos(2 * np.pi * f * t * 2 / WINDOW)).astype(np.float32)[:, None]
    w, r, b = (
        random(1, 1, 3 * UNITS, BANDS, scale=0.01),
        random(2, 1, 3 * UNITS, UNITS, scale=0.1),
        random(3, 1, 6 * UNITS),
    )
    w[0, 2 * UNITS :] += 0.06  # the new content grows with the level
    b[0, 2 * UNITS : 3 * UNITS], b[0, 3 * UNITS :] = 4, 0  # and is low in silence
    return model(
        [
            node("Unsqueeze", "audio one", "image", "/Unsqueeze"),
            node("Conv", "image basis", "windows", "/Conv", kernel_shape=[WINDOW], strides=[HOP]),
            node("Abs", "windows", "size", "/Abs"),
            node("Add", "size least", "positive", "/Add"),
            node("Log", "positive", "level", "/Log"),
            node("ReduceMean", "level", "mean", "/ReduceMean", axes=[2]),
            node("Transpose", "mean", "rows", "/Transpose", perm=[2, 0, 1]),
            node("GRU", "rows w r b _ h", "all hn", "/GRU", hidden_size=UNITS, linear_before_reset=1),
            node("Squeeze", "hn zero", "unit", "/Squeeze"),
            node("MatMul", "unit out", "logit", "/MatMul"),
            node("Sigmoid", "logit", "speech", "/Sigmoid"),
        ],
        {"audio": [1, BEFORE + NEW], "h": [1, 1, UNITS]},
        {"speech": [1, 1], "hn": [1, 1, UNITS]},
        {
            "one": ints(1),
            "zero": ints(0),
            "basis": basis,
            "least": np.array(1e-3, np.float32),
            "w": w,
            "r": r,
            "b": b,
            "out": np.full((UNITS, 1), 3, np.float32),
        },
    )


def expected(path: Path, samples: np.ndarray) -> np.ndarray:
    """The probability of each call, by onnxruntime."""
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    audio = np.concatenate([np.zeros(BEFORE, np.float32), samples.astype(np.float32) / 32768])
    h, found = np.zeros((1, 1, UNITS), np.float32), []
    for at in range(0, len(samples) - NEW + 1, NEW):
        speech, h = session.run(["speech", "hn"], {"audio": audio[None, at : at + BEFORE + NEW], "h": h})
        found.append(float(speech[0, 0]))
    return np.array(found)


def heard(*arguments: object, data: bytes | None = None) -> list[dict[str, object]]:
    done = subprocess.run([LONGWAVE, "vad", *map(str, arguments), "--json"], input=data, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def segments(lines: list[dict[str, object]]) -> list[tuple[object, object]]:
    return [(line["start_sample"], line["end_sample"]) for line in lines if line["type"] == "segment"]


def program(folder: Path) -> Path:
    library = LONGWAVE.resolve().parent / "liblongwave.so"
    if not (compiler := shutil.which("cc")) or not library.exists():
        pytest.skip("needs a C compiler and liblongwave.so")
    (folder / "rows.c").write_text(PROGRAM)
    flags = ["-Wall", "-Wextra", "-Werror", "-I", ROOT / "runtime/include", library, f"-Wl,-rpath,{library.parent}"]
    subprocess.run([compiler, folder / "rows.c", *flags, "-o", folder / "rows"], check=True)
    return folder / "rows"


def test_samples_of_the_call_before_reach_vad_and_c(tmp_path: Path) -> None:
    graph, file = tmp_path / "model.onnx", tmp_path / "speech.lw"
    onnx.save(detector(), graph)
    with wave.open(str(RECORDING)) as recording:
        assert recording.getframerate() == 16000
        raw = recording.readframes(recording.getnframes())
    wanted = expected(graph, np.frombuffer(raw, "<i2"))
    assert wanted.min() < 0.1 and wanted.max() > 0.9

    done = import_command(graph, "--input", f"audio=1x{BEFORE}+{NEW}@16000", "-o", file)
    assert done.returncode == 0, done.stderr

    of_file = heard(file, RECORDING, "--probabilities", tmp_path / "file.npy")
    of_pipe = heard(file, "--format", "s16le", "--probabilities", tmp_path / "pipe.npy", data=raw)
    assert len(segments(of_file)) >= 3 and segments(of_pipe) == segments(of_file)
    for name in ("file.npy", "pipe.npy"):
        rows = np.load(tmp_path / name).ravel()[: len(wanted)]  # the end of the recording may fill one row more
        assert len(rows) == len(wanted) and np.abs(rows - wanted).max() <= LIMIT

    said = subprocess.run([program(tmp_path), file], input=raw, capture_output=True, text=False, check=True)
    lines = [line.split() for line in said.stdout.decode().splitlines()]
    rows = np.array([float(line[1]) for line in lines if line[0] == "row"])
    assert len(rows) == len(wanted) and np.abs(rows - wanted).max() <= LIMIT
    ended = [(int(line[1]), int(line[2])) for line in lines if line[0] == "segment"]
    assert ended == segments(of_file)[: len(ended)] and len(ended) >= 3
