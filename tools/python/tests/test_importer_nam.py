"""Captures of Neural Amp Modeler with random weights (nam_files.py): the module against NeuralAmpModelerCore, the compiled file and
its streams, and what is refused.

NAM_CORE names a clone of https://github.com/sdatkinson/NeuralAmpModelerCore. Its example models are compared too, over 60 seconds
where NAM_SECONDS is 60. g++ and Eigen build it (libeigen3-dev).
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nam_files
import numpy
import pytest
import torch
from importer_checks import LONGWAVE, ROOT, longwave
from longwave.importer.errors import ImportFailed
from longwave.importer.nam.door import open_file

LIMIT = 1e-5  # of the peak: both programs compute in float32
SECONDS = int(os.environ.get("NAM_SECONDS", 1))
SIZES = (None, 0.0, 0.4, 0.7, 1.0)


def samples(count: int) -> numpy.ndarray:
    rng = numpy.random.default_rng(3)
    return (0.3 * rng.standard_normal(count)).astype(numpy.float32)


@pytest.fixture(scope="session")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of nam_reference.cpp."""
    if not (clone := os.environ.get("NAM_CORE")):
        pytest.skip("NAM_CORE names no clone of https://github.com/sdatkinson/NeuralAmpModelerCore")
    if not shutil.which("g++") or not Path("/usr/include/eigen3").is_dir():
        pytest.skip("g++ or Eigen is missing: apt install g++ libeigen3-dev")
    core, made = Path(clone), tmp_path_factory.mktemp("nam") / "reference"
    sources = [*core.glob("NAM/*.cpp"), *core.glob("NAM/wavenet/*.cpp"), Path(__file__).parent / "nam_reference.cpp"]
    folders = [core, core / "NAM", core / "Dependencies/nlohmann", "/usr/include/eigen3"]
    includes = [f"-I{folder}" for folder in folders]
    subprocess.run(["g++", "-std=c++20", "-O2", *includes, *map(str, sources), "-o", str(made)], check=True)
    return made


def expected(reference: Path, capture: Path, x: numpy.ndarray, size: float | None, folder: Path) -> numpy.ndarray:
    x.tofile(folder / "in")
    more = [] if size is None else [str(size)]
    subprocess.run([reference, capture, "64", folder / "in", folder / "out", *more], check=True)
    return numpy.fromfile(folder / "out", numpy.float32)


def module_output(capture: Path, size: float | None, x: numpy.ndarray) -> numpy.ndarray:
    opened = open_file(capture, size)
    before = torch.zeros(1, opened.rest, dtype=torch.float64)
    with torch.no_grad():
        made = opened.module.double()(torch.cat([before, torch.from_numpy(x)[None].double()], 1))
    return made[0, opened.rest :].numpy()


def command(*arguments: object, status: int = 0) -> str:
    """What `longwave import` prints, with its messages."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools/python"), "LONGWAVE_PROGRAM": str(LONGWAVE)}
    line = [sys.executable, "-m", "longwave.importer", *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, env=environment)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", nam_files.seeds())
def test_modules_equal_the_reference(reference: Path, name: str, tmp_path: Path) -> None:
    capture, x = nam_files.written(nam_files.seeds()[name], tmp_path / "x.nam"), samples(3000)
    several = len(open_file(capture).facts["sizes"]) > 1
    for size in SIZES if several else (None,):
        wanted = expected(reference, capture, x, size, tmp_path)
        assert abs(module_output(capture, size, x) - wanted).max() <= LIMIT * abs(wanted).max(), size


@pytest.mark.parametrize("channels", [(16, 8), (12, 6), (8, 4), (4, 2), (8,), (3,)])
def test_published_sizes_equal_the_reference(reference: Path, channels: tuple[int, ...], tmp_path: Path) -> None:
    made = nam_files.a1(*channels) if len(channels) == 2 else nam_files.a2(*channels)
    capture, x = nam_files.written(made, tmp_path / "x.nam"), samples(9000)
    wanted = expected(reference, capture, x, None, tmp_path)
    assert abs(module_output(capture, None, x) - wanted).max() <= LIMIT * abs(wanted).max()


def test_example_models_stream_as_the_reference(reference: Path, tmp_path: Path) -> None:
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    captures = sorted((Path(os.environ["NAM_CORE"]) / "example_models").glob("*.nam"))
    x = samples(SECONDS * 48000)
    numpy.save(tmp_path / "x.npy", x)
    for capture in captures:
        wanted = expected(reference, capture, x, None, tmp_path)
        folder = tmp_path / capture.stem
        command(capture, "-o", folder, "--no-compile")
        for block in (1, 64, 441):  # files of their own: other kernels, whose bits nobody promises
            longwave("compile", folder, "-o", tmp_path / "m.lw", "--stream", "--blocks", block)
            longwave(
                "run", tmp_path / "m.lw", "--stream", "-i", f"audio=@{tmp_path}/x.npy", "-o", f"out={tmp_path}/y.npy"
            )
            y = numpy.load(tmp_path / "y.npy").reshape(-1)
            assert abs(y - wanted[: len(y)]).max() <= LIMIT * abs(wanted).max(), (capture, block)


def by_hand(made: dict, x: list[float]) -> list[float]:
    """A capture of the first kind, sample by sample in plain numbers, from rest."""
    weights = iter(made["weights"])
    arrays = []
    for a in made["config"]["layers"]:
        take = lambda *shape: [take(*shape[1:]) for _ in range(shape[0])] if shape else next(weights)  # noqa: E731
        c, k = a["channels"], a["kernel_size"]
        rechannel = take(c, a["input_size"])
        layers = [(d, take(c, c, k), take(c), take(c, 1), take(c, c), take(c)) for d in a["dilations"]]
        arrays.append((rechannel, layers, take(a["head_size"], c), take(a["head_size"]) if a["head_bias"] else None))
    scale = next(weights)
    pasts: dict[tuple[int, int], list[list[float]]] = {}
    out = []
    for sample in x:
        y, head = [sample], None
        for i, (rechannel, layers, matrix, bias) in enumerate(arrays):
            y = product(rechannel, y)
            for j, (dilation, taps, shift, mixin, one, after) in enumerate(layers):
                past = pasts.setdefault((i, j), [])
                past.append(y)
                z = []
                for o in range(len(taps)):
                    total = shift[o] + mixin[o][0] * sample
                    for lag in range(3):
                        at = len(past) - 1 - lag * dilation
                        old = past[at] if at >= 0 else [0.0] * len(y)
                        total += sum(taps[o][c][2 - lag] * old[c] for c in range(len(y)))
                    z.append(math.tanh(total))
                head = z if head is None else [a + b for a, b in zip(head, z)]
                y = [a + b + c for a, b, c in zip(y, product(one, z), after)]
            head = [a + b for a, b in zip(product(matrix, head), bias or [0.0] * len(matrix))]
        out.append(scale * head[0])
    return out


def product(matrix: list[list[float]], x: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, x)) for row in matrix]


def test_weights_lie_as_the_format_has_them(tmp_path: Path) -> None:
    made = nam_files.a1(3, 2, [1, 2, 8])
    x = samples(200)
    opened = open_file(nam_files.written(made, tmp_path / "x.nam"))
    wanted = by_hand(made, [0.0] * opened.rest + x.tolist())[opened.rest :]
    assert numpy.abs(module_output(tmp_path / "x.nam", None, x) - wanted).max() < 1e-6


def test_command_makes_a_stream(tmp_path: Path) -> None:
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    made = nam_files.a1(3, 2, [1, 2, 8]) | {"metadata": {"loudness": -20.02, "gain": 0.5, "name": "Amp\x1b[31m"}}
    del made["sample_rate"]
    capture = nam_files.written(made, tmp_path / "x.nam")
    said = command(capture, "-o", tmp_path / "amp.lw")
    for text in ("loudness -20.0 dB, gain 0.50", "name Amp\\x1b[31m", "48000 Hz, as usual", "behind 45 rows of zeros"):
        assert text in said
    x = samples(1000)
    numpy.save(tmp_path / "x.npy", x)
    whole, parts = tmp_path / "a.npy", tmp_path / "b.npy"
    longwave("run", tmp_path / "amp.lw", "-i", f"audio=@{tmp_path}/x.npy", "-o", f"out={whole}")
    longwave("run", tmp_path / "amp.lw", "--stream", "-i", f"audio=@{tmp_path}/x.npy", "-o", f"out={parts}")
    wanted = module_output(capture, None, x)
    a, b = numpy.load(whole).reshape(-1), numpy.load(parts).reshape(-1)
    assert abs(a - wanted).max() <= LIMIT * abs(wanted).max()
    assert len(b) == 1000 and abs(b - wanted).max() <= LIMIT * abs(wanted).max()  # blocks of 1 take the last 40
    inspected = json.loads(longwave("inspect", tmp_path / "amp.lw", "--json"))
    assert inspected["inputs"][0]["sample_rate"] == 48000


def refused(made: dict, folder: Path, **options: object) -> list[str]:
    with pytest.raises(ImportFailed) as failed:
        open_file(nam_files.written(made, folder / "x.nam"), **options)
    return [str(problem) for problem in failed.value.problems]


def test_all_reasons_at_once(tmp_path: Path) -> None:
    made = nam_files.a1(3, 2, [1, 2])
    first, second = made["config"]["layers"]
    first |= {"activation": "Softsigmoid", "kernel_sizes": [3, 3], "channels": 0, "mixer": 1}
    second |= {"gating_mode": ["none", "halved"], "conv_pre_film": {"groups": 1.5}}
    made |= {"version": "0.8.0", "sample_rate": "fast"}
    found = refused(made, tmp_path)
    for text in (
        "config.layers[0].activation: expected an activation of Tanh",
        "config.layers[0].kernel_size: expected either kernel_size or kernel_sizes",
        "config.layers[0].channels: expected a whole number from 1 to 1,024, found 0",
        "config.layers[0].mixer: is not known",
        'config.layers[1].gating_mode[1]: expected one of none, gated, blended, found "halved"',
        "config.layers[1].conv_pre_film.groups: expected a whole number",
        "version: is 0.8.0; 0.5 to 0.7 are read",
        'sample_rate: expected a whole number from 1,000 to 768,000, found "fast"',
    ):
        assert any(line.startswith(text) for line in found), (text, found)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"weights": [0.5] * 7}, "weights: has 7 numbers, and the model 220"),
        ({"weights": [1e39]}, "weights[0]: 1e+39 is no number of float32"),
        ({"weights": [True]}, "weights[0]: expected a number, found true"),
        ({"architecture": "Sequential"}, "architecture: expected one of WaveNet, LSTM, ConvNet, Linear"),
        ({"version": "0.4.9"}, "version: is 0.4.9"),
        ({"weights": {}}, "weights: expected a list, found an object"),
    ],
)
def test_refused(change: dict, text: str, tmp_path: Path) -> None:
    assert any(line.startswith(text) for line in refused(nam_files.a1(3, 2, [1, 2, 8]) | change, tmp_path))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"[" * 100_000, "is nested too deep"),
        (b'{"weights": [NaN]}', "NaN is not a number of JSON"),
        (b'{"a": 1, "a": 2}', '"a" is there twice'),
        (b"1" * 5000, "a number has 5000 digits"),
        (b"\xff\xfe", "is not JSON that can be read"),
        (b"[]", "is JSON, but not an object"),
        (b" " * ((1 << 25) + 1), "has more than 33,554,432 bytes"),
    ],
)
def test_files_that_are_no_captures(content: bytes, text: str, tmp_path: Path) -> None:
    (tmp_path / "x.nam").write_bytes(content)
    with pytest.raises(ImportFailed, match=text):
        open_file(tmp_path / "x.nam")


def test_sizes_and_rates(tmp_path: Path) -> None:
    one = nam_files.lstm(1, 3)
    assert refused(one, tmp_path, size=0.5) == ["--size: the capture has one size; leave it out"]
    assert refused(one, tmp_path, rate=44100)[0].startswith("--rate 44100: the capture has 48000 Hz")
    assert refused(nam_files.container(one, one), tmp_path, size=1.5)[0].startswith("--size: 1.5 is not from 0 to 1")
    deep = one
    for _ in range(5):
        deep = nam_files.container(deep)
    assert any("more than 4 models within each other" in line for line in refused(deep, tmp_path))
    del one["sample_rate"]
    opened = open_file(nam_files.written(one, tmp_path / "x.nam"), rate=44100)
    assert (opened.inputs[0].rate, opened.rest) == (44100, 22050)
