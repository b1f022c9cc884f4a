"""Your own words: errors of the material, labels of scenes, the loss, and head and body as one compiled model."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python"))
from longwave.kws.decision import decision  # noqa: E402
from longwave.kws.engine import evaluate  # noqa: E402
from longwave.words import body, fit, head, phrases, scenes, sounds, voices  # noqa: E402
from longwave.words.__main__ import main  # noqa: E402
from longwave.words.errors import WordsError  # noqa: E402
from longwave.words.measured import Measured  # noqa: E402

LONGWAVE = Path(os.environ.get("LONGWAVE_PROGRAM", ROOT / "build/longwave"))
RATE = 16000


def tone(seconds: float, rate: int = RATE) -> np.ndarray:
    """A burst between two silences of 0.3 s."""
    t = np.arange(int(seconds * rate)) / rate
    return np.pad(0.2 * np.sin(2 * np.pi * 440 * t), int(0.3 * rate)).astype(np.float32)


def write(folder: Path, count: int, samples: np.ndarray, rate: int = RATE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(count):
        soundfile.write(folder / f"s{i}_0.wav", samples, rate)
    return folder


def refused(capsys: pytest.CaptureFixture, tmp_path: Path, recordings: Path, negatives: Path, *more: str) -> str:
    status = main(
        [
            "train",
            "--word",
            "hey robot",
            "--recordings",
            str(recordings),
            "--negatives",
            str(negatives),
            "-o",
            str(tmp_path / "my.lw"),
            *more,
        ]
    )
    assert status == 1 and not (tmp_path / "my.lw").exists()
    return capsys.readouterr().err


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(voices, "need_programs", lambda: None)  # the errors of files come without them too


def test_errors_say_what_is_wrong_and_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture, programs: None) -> None:
    good = write(tmp_path / "good", 5, tone(0.6))
    silence = write(tmp_path / "long", 6, np.tile(tone(0.6), 100))
    assert 'no recordings of "hey robot"' in refused(capsys, tmp_path, write(tmp_path / "empty", 0, tone(1)), silence)
    assert "no such folder" in refused(capsys, tmp_path, tmp_path / "nowhere", silence)
    short = write(tmp_path / "short", 5, tone(0.1))
    assert "too short" in refused(capsys, tmp_path, short, silence)
    other = write(tmp_path / "other", 5, tone(0.6, 44100), 44100)
    assert "44100 Hz, but 16000 Hz are needed" in refused(capsys, tmp_path, other, silence)
    stereo = write(tmp_path / "stereo", 5, np.stack([tone(0.6)] * 2, 1))
    assert "2 channels" in refused(capsys, tmp_path, stereo, silence)
    assert "silent" in refused(capsys, tmp_path, write(tmp_path / "silent", 5, np.zeros(RATE, np.float32)), silence)
    assert "too few" in refused(capsys, tmp_path, good, good)
    assert "44100 Hz" in refused(capsys, tmp_path, good, other)
    assert 'no folder "kalumba"' in refused(
        capsys, tmp_path, write(tmp_path / "two" / "hey_robot", 5, tone(0.6)).parent, silence, "--word", "kalumba"
    )
    assert "words must differ" in refused(capsys, tmp_path, good, silence, "--word", "hey robot")
    for bad in (np.nan, np.inf, -np.inf):
        broken = tone(0.6)
        broken[5000] = bad
        soundfile.write(write(tmp_path / "broken", 5, tone(0.6)) / "s9_0.wav", broken, RATE, subtype="FLOAT")
        assert f"s9_0.wav: sample 5000 is {bad}" in refused(capsys, tmp_path, tmp_path / "broken", silence)
        with pytest.raises(WordsError, match="sample 5000"):
            sounds.read(tmp_path / "broken/s9_0.wav")  # as the negatives are read
    (good / "s9_0.wav").write_bytes(b"RIFF, but no audio")
    assert "no audio file that can be read" in refused(capsys, tmp_path, good, silence)
    assert "no such folder" in refused(capsys, tmp_path, good, silence, "--output", str(tmp_path / "missing/my.lw"))
    assert "is not a folder" in refused(capsys, tmp_path, good, silence, "--work", str(good / "s0_0.wav"))
    for flag, value in (("--steps", "0"), ("--rate", "0"), ("--rate", "nan")):
        with pytest.raises(SystemExit):
            refused(capsys, tmp_path, good, silence, flag, value)


def test_missing_programs_and_packages_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = write(tmp_path / "good", 5, tone(0.6))
    monkeypatch.setenv("PATH", "")
    assert "espeak-ng was not found" in refused(capsys, tmp_path, good, good)
    code = (
        "import sys; sys.modules['torch'] = None; import longwave.words.__main__ as m; m.importlib.util.find_spec = "
        "lambda name, find=m.importlib.util.find_spec: None if name == 'torch' else find(name); sys.exit(m.main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            "train",
            "--word",
            "a",
            "--recordings",
            str(good),
            "--negatives",
            str(good),
            "-o",
            "my.lw",
        ],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools/python")},
    )
    assert done.returncode == 1 and "pip install torch" in done.stderr


def without_torch(folder: Path, code: str, *arguments: object) -> subprocess.CompletedProcess:
    for name in ("torch", "safetensors"):
        (folder / f"{name}.py").write_text("raise ImportError('none')\n")
    code = (
        "import sys; import numpy as np; import longwave.words.__main__ as m; from longwave.words import voices; "
        f"voices.need_programs = lambda: None; {code}; sys.exit(m.main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": f"{folder}:{ROOT / 'tools/python'}"},
    )


def test_say_needs_no_pytorch(tmp_path: Path) -> None:
    done = without_torch(
        tmp_path,
        "voices.say = lambda text, voice: np.zeros(8000, np.float32)",
        "say",
        "--word",
        "kalumba",
        "--count",
        3,
        "-o",
        tmp_path / "out",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 recordings in ") and len(list((tmp_path / "out").glob("*.wav"))) == 3


def test_the_material_is_checked_before_pytorch_is_loaded(tmp_path: Path) -> None:
    good, silence = write(tmp_path / "good", 5, tone(0.6)), write(tmp_path / "long", 6, np.tile(tone(0.6), 100))
    done = without_torch(
        tmp_path, "pass", "train", "--word", "a", "--recordings", good, "--negatives", silence, "-o", tmp_path / "a.lw"
    )
    lines = done.stderr.splitlines()
    assert (
        "read the recordings" in lines[0] and "5 recordings of 'a'" in lines[1] and lines[2].endswith("load PyTorch")
    ), done.stderr


class Card:
    def __init__(self, text: str) -> None:
        self.text, self.figures = lambda: text, lambda: {"text": text}


def interrupted_train(tmp_path: Path, step: int, number: int) -> int:
    """`words train` in a process of its own, whose training only writes its results. The signal comes just before the step-th
    event that touches a file, from the training on."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 3
    try:
        signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        from longwave.words import train

        seen = [-1]

        def made(options: train.Options, *_: object) -> Card:
            seen[0] = 0
            (options.work / "model").mkdir()
            (options.work / "model" / "model.json").write_bytes(b"new")
            (options.work / "model.lw").write_bytes(b"new")
            return Card("new")

        def hook(event: str, _: object) -> None:
            if seen[0] >= 0 and event.startswith(("open", "os.", "shutil.")):
                seen[0] += 1
                if seen[0] == step:
                    signal.raise_signal(number)

        train.train = made
        sys.addaudithook(hook)
        code = main(
            [
                "train",
                "--word",
                "hey robot",
                "--recordings",
                str(tmp_path / "good"),
                "--negatives",
                str(tmp_path / "long"),
                "--model",
                str(tmp_path / "out/package"),
                "-o",
                str(tmp_path / "out/my.lw"),
            ]
        )
    finally:
        os._exit(code)


@pytest.mark.parametrize("number", [signal.SIGTERM])
def test_a_signal_leaves_model_and_card_that_belong_together(
    tmp_path: Path, programs: None, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    write(tmp_path / "good", 5, tone(0.6))
    write(tmp_path / "long", 6, np.tile(tone(0.6), 100))
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    step, ended = 0, -number
    while ended == -number:
        step += 1
        shutil.rmtree(out, ignore_errors=True)
        (out / "package").mkdir(parents=True)
        for file in (out / "my.lw", out / "my.card.md", out / "package/model.json"):
            file.write_bytes(b"old")
        ended = interrupted_train(tmp_path, step, number)
        files = {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file()}
        assert set(files) == {"my.lw", "my.card.md", "package/model.json"}, (step, files)
        assert files["my.lw"] == files["my.card.md"] and set(files.values()) <= {b"old", b"new"}, (step, files)
        assert not any(scratch.iterdir()), step
    assert ended == 0 and set(files.values()) == {b"new"} and step > 10, (ended, files, step)


def test_training_voices_are_not_those_kept_back() -> None:
    used, kept = voices.draw(300, False, 1), voices.draw(100, True, 1)
    assert not {v.name for v in used} & {v.name for v in kept}
    assert len(set(used)) == 300 and {v.program for v in used} == {"espeak-ng", "flite"}
    assert voices.draw(300, False, 1) == used != voices.draw(300, False, 2)


def test_near_misses_are_never_the_words() -> None:
    words = ["hey robot", "kalumba"]
    found = phrases.near_misses(words, 500, np.random.default_rng(0))
    assert len(found) == 500 and not set(found) & set(words)
    assert {"hey", "robot"} <= set(found) and any(f.startswith("robot ") for f in found)


def test_a_scene_knows_where_its_words_end() -> None:
    clip = sounds.trimmed(tone(0.6), "tone", "me")
    assert clip.begin == 1600 and abs(clip.end - clip.begin - 0.6 * RATE) <= 320
    rng = np.random.default_rng(0)
    scene = scenes.compose([(clip, 0)] * 6 + [(clip, 1)] * 6 + [(clip, 2)] * 8, [], 2, rng)
    assert sorted(word for _, _, word in scene.ends) == [0] * 6 + [1] * 6
    power = np.array([np.mean(scene.samples[i : i + 320] ** 2) for i in range(0, len(scene.samples) - 320, 320)])
    inside = np.concatenate([power[first + 2 : last - 2] for first, last, _ in scene.ends])
    after = np.concatenate([power[last + 2 : last + 6] for _, last, _ in scene.ends])
    assert np.median(inside) > 4 * np.median(after)


def test_the_loss_wants_the_word_at_its_end_alone() -> None:
    ends = [[(60, 90, 0)]]

    def value(begin: int, end: int, word: int) -> float:
        logits = torch.zeros(1, 256, 3)
        logits[..., 2] = 6
        logits[0, begin:end] = torch.nn.functional.one_hot(torch.tensor(word), 3) * 6.0
        return float(head.loss(logits, ends))

    good = value(84, 106, 0)
    assert good < value(84, 106, 1) and good < value(180, 202, 0) and good < value(0, 0, 0)


def test_the_threshold_of_a_compiled_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few negatives show nothing; hours of silence show it. What eval says with the threshold in the file is the same."""
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    monkeypatch.setenv("LONGWAVE_PROGRAM", str(LONGWAVE))
    torch.manual_seed(1)
    made, clip = head.Head(1).eval(), sounds.trimmed(tone(0.6), "tone", "me")
    soundfile.write(tmp_path / "short.wav", np.zeros(RATE, np.float32), RATE)
    soundfile.write(tmp_path / "long.flac", np.zeros(RATE * 1900, np.float32), RATE)
    measure = Measured(["word"], [tmp_path / "short.wav"], 1.0, tmp_path)
    found = measure(made, [(clip, 0), (clip, 0)])
    assert not found.shown and found.hours == pytest.approx(1 / 3600) and len(found.latency) == 2
    assert found.bound == pytest.approx(2.9957 / found.hours, rel=1e-4) and found.events == 0
    found = Measured(["word"], [tmp_path / "long.flac"] * 6, 1.0, tmp_path)(made)
    assert found.shown and found.bound <= 1 and found.latency == []
    measure.write(made, found.threshold)
    said = evaluate(LONGWAVE, tmp_path / "model.lw", "--negatives", tmp_path / "long.flac")
    assert said["decision"]["thresholds"]["word"] == found.threshold


def test_head_and_body_in_one_file_give_what_training_saw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    monkeypatch.setenv("LONGWAVE_PROGRAM", str(LONGWAVE))
    from longwave.kws.engine import Engine

    body.write_body(tmp_path / "body")
    body.compile_model(tmp_path / "body", tmp_path / "body.lw")
    samples = soundfile.read(ROOT / "examples/kws/demo.wav", dtype="float32")[0]
    rows = Engine(LONGWAVE, tmp_path / "body.lw", tmp_path / "cache").scores(samples, "hidden")
    part = fit.Part(np.concatenate([rows, rows]), [(100, 140, 0), (300, 340, 1)])
    made = fit.fit([part], [1.0], 2, 3, 0)
    labels = ["one", "two", "_other_"]
    body.write_model(made, labels, decision(labels, {"default": 0.5}, 300), "words", tmp_path / "model")
    body.compile_model(tmp_path / "model", tmp_path / "model.lw")
    stream = Engine(LONGWAVE, tmp_path / "model.lw", tmp_path / "cache").scores(samples)
    # Rows and scores are kept as float16: half a unit in the last place of the rows is 2^-11 of
    # each.
    assert np.abs(stream - fit.scores(made, rows)).max() < 5e-3
    assert json.loads((tmp_path / "model/model.json").read_text())["decision"]["ignore"] == ["_other_"]


def test_say_speaks_with_voices_that_are_kept_back(tmp_path: Path) -> None:
    if not shutil.which("espeak-ng") or not shutil.which("flite"):
        pytest.skip("espeak-ng or flite is not installed")
    assert main(["say", "--word", "kalumba", "--count", "5", "-o", str(tmp_path)]) == 0
    files = sorted(tmp_path.glob("*.wav"))
    assert len(files) == 5 and all(len(sounds.trimmed(sounds.read(f), f.name, "x").samples) > 0.3 * RATE for f in files)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q"]))
