"""`longwave import gtcrn` with a clone of its repository, against its own ONNX graph, which ONNX Runtime computes frame by frame as the
repository's stream script does. Skipped where GTCRN names no clone, or ONNX Runtime is not installed.

Both programs compute in float32. The limit of 1e-4 of the peak is that of DTLN (test_importer_dtln.py).
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy
import pytest
import soundfile
from importer_checks import LONGWAVE, ROOT, import_command, longwave
from test_importer_silero import voices

sys.path.insert(0, str(ROOT / "tests/speech"))
import hour  # noqa: E402

RATE, WINDOW, HOP, LAG = 16000, 512, 256, 256
SECONDS, LIMIT = 60, 1e-4
USUAL, OF_GRAPH = "checkpoints/model_trained_on_dns3.tar", "stream/onnx_models/model_trained_on_dns3.tar"
CACHES = {"conv_cache": (2, 1, 16, 16, 33), "tra_cache": (2, 3, 1, 1, 16), "inter_cache": (2, 1, 33, 16)}


def clone() -> Path:
    if not (given := os.environ.get("GTCRN")):
        pytest.skip("GTCRN names no clone of https://github.com/Xiaobin-Rong/gtcrn")
    return Path(given)


def command(*arguments, status: int = 0) -> str:
    """What `longwave import` prints, with its messages."""
    done = import_command(*arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def speech_in_noise() -> numpy.ndarray:
    data = Path(os.environ.get("LONGWAVE_SHARED", ROOT.parent / "shared")) / "data"
    if files := hour.folders(data):
        return (hour.make(files, SECONDS, 1)[0] / 32768).astype(numpy.float32)
    print(f"computed voices, because {data} has no recordings")
    return voices(SECONDS * RATE // 512)


def session(folder: Path):
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime")
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return ort.InferenceSession(
        str(folder / "stream/onnx_models/gtcrn_simple.onnx"), options, providers=["CPUExecutionProvider"]
    )


def repository_stream(folder: Path, audio: numpy.ndarray) -> numpy.ndarray:
    """Frame by frame, with the caches of the script, between a transform with zeros in front and overlap-add."""
    graph, caches = session(folder), {name: numpy.zeros(shape, numpy.float32) for name, shape in CACHES.items()}
    window = numpy.sqrt(0.5 - 0.5 * numpy.cos(2 * numpy.pi * numpy.arange(WINDOW) / WINDOW))
    heard, sums, rows = numpy.zeros(WINDOW), numpy.zeros(WINDOW), []
    for hop in audio.reshape(-1, HOP):
        heard = numpy.concatenate([heard[HOP:], hop])
        bins = numpy.fft.rfft(heard * window)
        mix = numpy.stack([bins.real, bins.imag], 1).astype(numpy.float32)[None, :, None]
        enhanced, *after = graph.run(None, {"mix": mix, **caches})
        caches = dict(zip(CACHES, after))
        sums = numpy.concatenate([sums[HOP:], numpy.zeros(HOP)])
        sums += numpy.fft.irfft(enhanced[0, :, 0, 0] + 1j * enhanced[0, :, 0, 1]) * window
        rows.append(sums[:HOP].copy())
    return numpy.concatenate(rows)


def test_sixty_seconds_equal_the_stream_of_the_repository(tmp_path: Path) -> None:
    folder = clone()
    session(folder)
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    said = command("gtcrn", "--from", folder / OF_GRAPH, "-o", tmp_path / "gtcrn.lw")
    assert (
        "trained on DNS3, as its ONNX files" in said and "licence of https://github.com/Xiaobin-Rong/gtcrn: MIT" in said
    )
    assert "delay: 256 samples (16 ms)" in said
    audio = speech_in_noise()[:-37]  # no whole number of hops
    soundfile.write(tmp_path / "noisy.wav", audio, RATE, subtype="FLOAT")
    heard = numpy.concatenate([audio, numpy.zeros(WINDOW, numpy.float32)])
    wanted = repository_stream(folder, heard[: len(heard) // HOP * HOP])[LAG:][: len(audio)]
    told = json.loads(
        longwave("denoise", tmp_path / "gtcrn.lw", tmp_path / "noisy.wav", tmp_path / "clean.wav", "--json")
    )
    clean, rate = soundfile.read(tmp_path / "clean.wav", dtype="float32")
    assert rate == RATE and len(clean) == len(audio)
    error = numpy.abs(clean - wanted).max() / numpy.abs(wanted).max()
    print(f"largest difference: {error:.1e} of the peak; {told}")
    assert error <= LIMIT


def test_a_clone_means_its_usual_checkpoint(tmp_path: Path) -> None:
    said = command("gtcrn", "--from", clone(), "--no-compile", "-o", tmp_path / "folder")
    assert f"trained on DNS3, from {clone() / USUAL}" in said
    outputs = json.loads((tmp_path / "folder/model.json").read_text())["outputs"]
    assert [(o["kind"], o["lag"]) for o in outputs] == [("audio", LAG)]


def test_what_is_no_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.tar").write_bytes(b"something else")
    for arguments, reason in (
        ((), "0 paths are named"),
        (("--from", tmp_path), "is not a file"),
        (("--from", tmp_path / "other.tar"), "its SHA-256 is"),
        (("--from", tmp_path, "--rate", "8000"), "has a model for 16000"),
    ):
        said = command("gtcrn", *arguments, "-o", tmp_path / "made.lw", status=3)
        assert reason in said and "Traceback" not in said
        assert not (tmp_path / "made.lw").exists()
