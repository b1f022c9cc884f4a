"""What the importer, longwave.compile and `words` write: full disks, links and signals at every step. The old file or the new
file, nothing else, and nothing left over."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from importer_checks import LONGWAVE
from longwave import cleanup, package
from longwave.importer import __main__ as command, api

STEPS = ("open", "os.", "subprocess.Popen", "shutil.")  # audit events of what touches files and programs
SIGNALS = [
    number for number in cleanup.ENDING if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler)
]
MOST = 40  # steps that are tried of one command


class Place:
    """A folder for the output and one for temporary files."""

    def __init__(self, folder: Path) -> None:
        self.out, self.temporary = folder / "out", folder / "tmp"
        for made in (self.out, self.temporary):
            made.mkdir()

    def child(
        self, action: Callable[[], object], step: int = 0, number: int = 0, limit: int = 0, mark: Path | None = None
    ) -> int:
        """Runs `action` in a process of its own, with a signal before the step-th event. Returns its exit status, or minus the
        signal that ended it. `mark`: gets the number of events. `errors`: what it prints, through a pipe, which has no limit."""
        reads, writes = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 99
            try:
                os.dup2(writes, 2)
                sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
                os.environ["TMPDIR"] = tempfile.tempdir = str(self.temporary)
                for each in SIGNALS:
                    signal.signal(each, signal.SIG_DFL)
                resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
                if limit:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
                seen = [0]

                def hook(event: str, arguments: tuple) -> None:
                    if event.startswith(STEPS):
                        seen[0] += 1
                        if seen[0] == step:
                            signal.raise_signal(number)

                sys.addaudithook(hook)
                done = action()
                if mark:
                    mark.write_text(str(seen[0]))
                code = done if isinstance(done, int) else 0
            finally:
                os._exit(code)
        os.close(writes)
        with os.fdopen(reads, errors="replace") as pipe:
            self.errors = pipe.read()
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    def left(self) -> list[str]:
        """Temporary files, and programs that still run."""
        mine = f"TMPDIR={self.temporary}".encode()
        running = []
        for process in Path("/proc").iterdir():
            try:
                if process.name.isdigit() and mine in (process / "environ").read_bytes().split(b"\0"):
                    running.append((process / "cmdline").read_text())
            except (OSError, UnicodeDecodeError):
                continue
        return running + [str(path) for path in self.temporary.iterdir()]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory):
    """Runs the command of the importer without the import itself, which writes nothing and takes a while."""
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    patch = pytest.MonkeyPatch()
    folder = tmp_path_factory.mktemp("factory")
    (folder / "written_model.py").write_text("")
    patch.syspath_prepend(str(folder))
    patch.setenv("LONGWAVE_PROGRAM", str(LONGWAVE))
    patch.setenv("OMP_NUM_THREADS", "1")
    module = torch.nn.Linear(4, 3).eval()
    made = api.import_module(module, ["x=1xTx4"])
    patch.setattr(api, "import_module", lambda *a, **k: made)
    import written_model

    patch.setattr(written_model, "make", lambda: module, raising=False)

    def run(target: Path, *more: str) -> int:
        return command.main(["written_model:make", "--input", "x=1xTx4", "-o", str(target), *more])

    assert run(folder / "warm.lw") == 0 and run(folder / "warm") == 0
    yield run
    patch.undo()


def tried(count: int) -> list[int]:
    return (
        sorted({1 + i * (count - 1) // (MOST - 1) for i in range(MOST)}) if count > MOST else list(range(1, count + 1))
    )


def states(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def check_signals(
    place: Place, tmp_path: Path, action: Callable[[], object], old: dict[str, bytes], new: dict[str, bytes]
) -> None:
    def restore() -> None:
        for name in states(place.out):
            (place.out / name).unlink()
        for name, content in old.items():
            (place.out / name).write_bytes(content)

    restore()
    assert place.child(action, mark=tmp_path / "count") == 0
    count = int((tmp_path / "count").read_text())
    for at, step in enumerate(tried(count)):
        restore()
        number = SIGNALS[at % len(SIGNALS)]
        ended = place.child(action, step, number)
        where = (signal.Signals(number).name, step, count)
        assert ended == -number, (where, place.errors)
        found = states(place.out)
        assert set(found) <= set(old) | set(new), where
        assert all(content in (old.get(name), new.get(name)) for name, content in found.items()), where
        assert set(old) <= set(found), where
        assert not place.left(), where


def test_signals_at_every_step_of_the_importer(ready, place: Place, tmp_path: Path) -> None:
    target = place.out / "m.lw"
    assert ready(target) == 0
    check_signals(place, tmp_path, lambda: ready(target), {"m.lw": b"old"}, states(place.out))
    folder = place.out / "model"
    assert ready(folder, "--no-compile") == 0
    target.unlink()
    new = states(place.out)
    check_signals(place, tmp_path, lambda: ready(folder, "--no-compile"), dict.fromkeys(new, b"old"), new)


def test_full_disks_and_the_importer(ready, place: Place) -> None:
    for target in (place.out / "m.lw", place.out / "model"):
        for old in (
            {},
            {"m.lw": b"old"}
            if target.suffix
            else {f"model/{name}": b"old" for name in ("model.json", "weights.safetensors", "import.json")},
        ):
            shutil.rmtree(place.out)
            place.out.mkdir()
            for name, content in old.items():
                (place.out / name).parent.mkdir(exist_ok=True)
                (place.out / name).write_bytes(content)
            for limit in (1, 150, 1000):
                assert place.child(lambda: ready(target), limit=limit) == 3, place.errors
                assert "too large" in place.errors or limit == 1000  # there the kernel compiler fails
                assert states(place.out) == old and not place.left()
                assert bool(old) or not any(place.out.iterdir())


def test_links_and_the_importer(ready, place: Place, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"old")
    folder = place.out / "model"
    folder.mkdir()
    for name in ("model.json", "weights.safetensors", "import.json"):
        (folder / name).symlink_to(precious)
    assert ready(folder, "--no-compile") == 0
    assert precious.read_bytes() == b"old" and not any(file.is_symlink() for file in folder.iterdir())
    assert json.loads((folder / "model.json").read_text())["version"] == 2
    (place.out / "m.lw").symlink_to(precious)
    assert ready(place.out / "m.lw") == 0
    assert (place.out / "m.lw").is_symlink() and precious.stat().st_size > 1000


def test_an_output_that_cannot_be_written_is_refused_before_the_work(
    ready, place: Place, capfd: pytest.CaptureFixture
) -> None:
    (place.out / "file").write_bytes(b"")
    for target, why in (
        (place.out / "no/m.lw", "no such folder"),
        (place.out / "file/model", "is not a folder"),
        (place.out / "file", "is not a folder"),
    ):
        assert ready(target) == 3
        assert why in capfd.readouterr().err


def test_writing_a_package_is_all_or_nothing(place: Place, tmp_path: Path) -> None:
    def made(width: int) -> package.Package:
        layers = [package.layer("linear", "linear", out_features=width)]
        weights = {"linear.weight": torch.ones(width, 4), "linear.bias": torch.ones(width)}
        return package.Package(
            "p", [{"name": "x", "kind": "features", "width": 4}], layers, [{"name": "y", "from": "linear"}], weights
        )

    package.write(made(3), place.out)
    new = states(place.out)
    check_signals(place, tmp_path, lambda: package.write(made(3), place.out), dict.fromkeys(new, b"old"), new)

    def full() -> int:
        try:
            package.write(made(3), place.out)
        except OSError as error:
            return error.errno if error.filename == str(place.out / "weights.safetensors") else 98
        return 0

    for name in new:
        (place.out / name).write_bytes(b"old")
    assert place.child(full, limit=100) == errno.EFBIG
    assert states(place.out) == dict.fromkeys(new, b"old")


def test_compile_of_a_module(ready, tmp_path: Path) -> None:
    """longwave.compile(module, output): in a process of its own, because only the build folder has the native module."""
    built = LONGWAVE.resolve().parent / "python"
    if not list((built / "longwave").glob("_native*.so")):
        pytest.skip(f"{built} has no _native module: configure with -DLONGWAVE_PYTHON=ON")
    code = f"""
import sys; sys.path[:0] = [{str(built)!r}, {str(Path(__file__).parent)!r}]
import mmap, os, resource, signal, tempfile
from pathlib import Path
import torch, longwave
from longwave.importer import build
from test_writes import Place, check_signals, states
place, scratch = Place(Path({str(tmp_path / "inner")!r})), Path({str(tmp_path)!r})
module = torch.nn.Linear(4, 3).eval()
imported = build.import_module(module, ["x=1xTx4"])
build.import_module = lambda *a, **k: imported
output = place.out / "m.lw"
compile = lambda: longwave.compile(module, inputs=["x=1xTx4"], output=output).close()
compile()
new = states(place.out)
with open(output, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
    compile()
    assert mapped[:] == new["m.lw"]
check_signals(place, scratch, compile, {{"m.lw": b"old"}}, new)
output.write_bytes(b"old")
def full():
    try:
        compile()
    except longwave.CompileError as error:
        assert "too large" in str(error) or resource.getrlimit(resource.RLIMIT_FSIZE)[0] == 1000, error
        return 7
for limit in (1, 150, 1000):
    assert place.child(full, limit=limit) == 7, place.errors
    assert states(place.out) == {{"m.lw": b"old"}} and not place.left()
def interrupted():
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        compile()
    except KeyboardInterrupt:
        return 8
assert place.child(interrupted, 10, signal.SIGINT) == 8 and not place.left()
print("ok")
"""
    (tmp_path / "inner").mkdir()
    done = command_of(code)
    assert done.stdout == "ok\n", done.stderr


def command_of(code: str):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)


def test_a_score_file_that_was_cut_or_changed_is_computed_again(tmp_path: Path, place: Place) -> None:
    from longwave.kws import engine

    class Counted(engine.Engine):
        runs = 0

        def _run(self, heard: np.ndarray, output: str) -> np.ndarray:
            self.runs += 1
            return np.outer(heard[::320][: len(heard) // 320], [1, 2]).astype(np.float32) / 2**15

    (tmp_path / "model").write_bytes(b"model")
    made = Counted(Path("no-program"), tmp_path / "model", place.out)
    samples = np.random.default_rng(0).uniform(-1, 1, 32000).astype(np.float32)
    expected = made.scores(samples)
    np.testing.assert_array_equal(made.scores(samples), expected)
    assert made.runs == 1
    file = next(place.out.iterdir())
    whole = file.read_bytes()
    for damaged in (
        b"",
        whole[:10],
        whole[:-1],
        whole[:200],
        whole + b"\0",
        *(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in (0, 40, len(whole) // 2, len(whole) - 1)),
    ):
        file.write_bytes(damaged)
        before = made.runs
        np.testing.assert_array_equal(made.scores(samples), expected)
        assert made.runs == before + 1 and file.read_bytes() == whole
    check_signals(
        place, tmp_path, lambda: (file.unlink(missing_ok=True), made.scores(samples)) and None, {}, {file.name: whole}
    )


def test_words_say_is_all_or_nothing(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from longwave.words import voices
    from longwave.words.__main__ import main

    monkeypatch.setattr(voices, "need_programs", lambda: None)
    monkeypatch.setattr(voices, "say", lambda text, voice: np.zeros(8000, np.float32))
    action = lambda: main(["say", "--word", "kalumba", "--count", "3", "-o", str(place.out)])  # noqa: E731
    assert action() == 0
    new = states(place.out)
    assert len(new) == 3
    check_signals(place, tmp_path, action, dict.fromkeys(new, b"old"), new)
    for name in new:
        (place.out / name).write_bytes(b"old")
    assert place.child(action, limit=1000) == 1
    assert "too large" in place.errors and states(place.out) == dict.fromkeys(new, b"old") and not place.left()


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q"]))
