#!/usr/bin/env python3
"""examples/corpus with real Ray: corpus_test.py BUILD, from the root of the source tree. Without Ray: exit status 77.

The same rows come from one worker, from two, from two of which one is killed, and from a run that was killed and started
again. Each file has one row, and a file that cannot be read has its reason. Keywords are those of `longwave listen`.
"""

import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import wave

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES, SECONDS = 40, 40


def missing():
    return [name for name in ("ray", "pyarrow", "soundfile", "numpy", "psutil") if not importlib.util.find_spec(name)]


def make_corpus(folder):
    """Parts of the recording, each from another place; one damaged file, one with another sample rate, one with two channels,
    and one whose name says that it is something else."""
    import numpy as np

    with wave.open(str(ROOT / "examples/kws/demo.wav")) as file:
        audio = np.frombuffer(file.readframes(file.getnframes()), np.int16)
    for i in range(FILES):
        part = folder / f"speaker{i % 3}" / f"{i:03}.wav"
        part.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(part), "wb") as out:
            out.setnchannels(1), out.setsampwidth(2), out.setframerate(8000 if i == 7 else 16000)
            out.writeframes(np.roll(np.resize(audio, SECONDS * 16000), 4001 * i).tobytes())
    (folder / "speaker0/damaged.wav").write_bytes(b"RIFF no sound")
    with wave.open(str(folder / "speaker0/stereo.wav"), "wb") as out:
        out.setnchannels(2), out.setsampwidth(2), out.setframerate(16000)
        out.writeframes(np.repeat(audio, 2).tobytes())
    (folder / "speaker0/notes.md").write_text("takes 3 and 4 are bad")
    return FILES + 2


def command(model, corpus, rows, workers):
    return [
        sys.executable,
        str(ROOT / "examples/corpus/score.py"),
        str(model),
        str(corpus),
        str(rows),
        "--workers",
        str(workers),
        "--part",
        "2",
    ]


def started(*arguments, build):
    environment = os.environ | {
        "PYTHONPATH": str(build / "python"),
        "LONGWAVE_PROGRAM": str(build / "longwave"),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
    }
    return subprocess.Popen(
        command(*arguments),
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(process):
    out, err = process.communicate(timeout=900)
    assert process.returncode == 0, out + err
    return out


def rows_of(folder):
    import pyarrow.parquet as parquet

    rows = [row for path in folder.glob("*.parquet") for row in parquet.read_table(path).to_pylist()]
    assert not list(folder.glob(".*")), "temporary files stay"
    return sorted(rows, key=lambda row: row["path"])


def same(found, expected, what):
    different = [(a, b) for a, b in zip(found, expected) if a != b]
    assert found == expected, (
        f"{what}: {len(found)} rows, expected {len(expected)}; the first that differ: {different[:1]}"
    )


def parts(folder):
    return len(list(folder.glob("*.parquet")))


def wait_for(what, process):
    end = time.monotonic() + 600
    while not (found := what()):
        assert time.monotonic() < end and process.poll() is None, "the run ended first: make the corpus larger"
        time.sleep(0.02)
    return found


def killed_worker(process, rows):
    """Kills one worker after the first part is written. Returns the parts that were there."""
    import psutil

    wait_for(lambda: parts(rows), process)

    def workers():
        return [
            p
            for p in psutil.Process(process.pid).children(recursive=True)
            if "Scorer" in "".join(p.cmdline()) and p.status() != "zombie"
        ]

    before = parts(rows)
    wait_for(workers, process)[0].kill()
    return before


def main(build):
    build = build.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        corpus, model = folder / "corpus", folder / "kws.lw"
        files = make_corpus(corpus)
        subprocess.run(
            [build / "longwave", "compile", ROOT / "examples/kws/model", "-o", model, "--stream", "--target", "host"],
            check=True,
            capture_output=True,
        )

        said = finished(started(model, corpus, folder / "one", 1, build=build)).splitlines()
        assert said[0] == "1 other files left out: speaker0/notes.md", said
        print(said[-1])
        one = rows_of(folder / "one")
        assert [row["path"] for row in one] == sorted(
            str(path.relative_to(corpus)) for path in corpus.rglob("*.wav")
        ) and len(one) == files
        errors = {row["path"]: row["error"] for row in one if row["error"]}
        assert (
            set(errors) == {"speaker0/damaged.wav", "speaker0/stereo.wav", "speaker1/007.wav"}
            and "2 channels" in errors["speaker0/stereo.wav"]
            and "8000 Hz, the model needs 16000 Hz" in errors["speaker1/007.wav"]
        ), errors
        listened = subprocess.run(
            [build / "longwave", "listen", model, corpus / "speaker2/005.wav"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        heard = [event["word"] for event in map(json.loads, listened.splitlines()) if event["type"] == "keyword"]
        row = next(row for row in one if row["path"] == "speaker2/005.wav")
        assert row["words"] == heard and len(heard) >= 8, (row, heard)

        finished(started(model, corpus, folder / "two", 2, build=build))
        same(rows_of(folder / "two"), one, "two workers")

        (folder / "killed").mkdir()
        process = started(model, corpus, folder / "killed", 2, build=build)
        before = killed_worker(process, folder / "killed")
        finished(process)
        assert before < parts(folder / "killed"), "the worker was killed too late"
        same(rows_of(folder / "killed"), one, "one worker killed")

        (folder / "again").mkdir()
        process = started(model, corpus, folder / "again", 1, build=build)
        wait_for(lambda: parts(folder / "again"), process)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        first = parts(folder / "again")
        assert 0 < first < parts(folder / "one"), first
        out = finished(started(model, corpus, folder / "again", 2, build=build))
        assert f"{files} files, " in out and f"{files} files, 0 done before" not in out, out
        same(rows_of(folder / "again"), one, "a run that was killed and started again")
        print(
            f"{files} files: the same rows from 1 worker, 2 workers, 2 with one killed after {before} parts, and a restart after {first} parts"
        )
        text(build, folder)


def text(build, folder):
    """Bits per byte against the log probabilities of one offline run."""
    import numpy as np

    sys.path.insert(0, str(build / "python"))
    import longwave

    (folder / "text").mkdir()
    samples = {"a.txt": (ROOT / "README.md").read_bytes()[:9000], "b.txt": b"x", "c.txt": b"The cat. " * 40}
    for name, data in samples.items():
        (folder / "text" / name).write_bytes(data)
    os.environ["LONGWAVE_PROGRAM"] = str(build / "longwave")
    with longwave.compile(ROOT / "examples/text/lightnet/model", folder / "text.lw", stream=True, length=9000) as model:
        finished(started(folder / "text.lw", folder / "text", folder / "bits", 2, build=build))
        for row in rows_of(folder / "bits"):
            ids = np.frombuffer(samples[row["path"]], np.uint8).astype(np.int32)
            assert row["bytes"] == len(ids) and row["error"] is None, row
            logits = model.run(ids).astype(np.float64)[:-1]
            lost = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(ids) - 1), ids[1:]]
            expected = lost.sum() / np.log(2) / max(len(ids) - 1, 1)
            assert abs(row["bits_per_byte"] - expected) <= 1e-4 * max(expected, 1), (
                row,
                expected,
            )  # float32 of stream and run
            print(f"{row['path']}: {row['bits_per_byte']:.4f} bits per byte")


if __name__ == "__main__":
    if names := missing():
        print(f"SKIPPED: needs {', '.join(names)}")
        sys.exit(77)
    main(pathlib.Path(sys.argv[1]))
