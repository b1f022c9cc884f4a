"""The linker of compiled models: from PATH, from LONGWAVE_LINKER, from the package ziglang, or an error that says what to install."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python"))
from longwave import programs  # noqa: E402

LONGWAVE = Path(os.environ.get("LONGWAVE", ROOT / "build/longwave"))


def compiled(folder: Path, **variables: str) -> subprocess.CompletedProcess:
    """A small model, with no program on PATH."""
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    (folder / "empty").mkdir()
    environment = {key: value for key, value in os.environ.items() if key != "LONGWAVE_LINKER"} | {"PATH": str(folder / "empty"), **variables}
    return subprocess.run([LONGWAVE, "compile", ROOT / "examples/kws/model", "-o", folder / "kws.lw", "--no-stream", "--target", "host"],
                          capture_output=True, text=True, env=environment)


def zig(folder: Path) -> Path:
    """A program of the name zig that has a linker, as that of the package."""
    linker = shutil.which("ld.lld")
    if linker is None:
        pytest.skip("no ld.lld")
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "zig").write_text(f'#!/bin/sh\n[ "$1" = ld.lld ] || exit 9\nshift\nexec {linker} "$@"\n')
    (folder / "zig").chmod(0o755)
    return folder / "zig"


def test_without_a_linker_the_error_says_what_to_install(tmp_path: Path) -> None:
    done = compiled(tmp_path)
    assert done.returncode != 0
    for part in ("cannot run ld.lld", "Debian package lld", "pip install ziglang", "LONGWAVE_LINKER"):
        assert part in done.stderr
    assert not (tmp_path / "kws.lw").exists()


def test_the_linker_of_a_variable(tmp_path: Path) -> None:
    linker = shutil.which("ld.lld")
    if linker is None:
        pytest.skip("no ld.lld")
    done = compiled(tmp_path, LONGWAVE_LINKER=linker)
    assert done.returncode == 0, done.stderr


def test_the_linker_inside_zig(tmp_path: Path) -> None:
    done = compiled(tmp_path, LONGWAVE_LINKER=str(zig(tmp_path / "ziglang")))
    assert done.returncode == 0, done.stderr


def test_the_package_ziglang_is_found_when_path_has_no_linker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = zig(tmp_path / "ziglang")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("LONGWAVE_LINKER", raising=False)
    assert "LONGWAVE_LINKER" not in programs.environment()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert programs.environment()["LONGWAVE_LINKER"] == str(program)
    monkeypatch.setenv("LONGWAVE_LINKER", "mine")
    assert programs.environment()["LONGWAVE_LINKER"] == "mine"
