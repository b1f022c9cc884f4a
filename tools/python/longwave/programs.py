"""The command line that comes with the package."""

import os
import pathlib
import shutil
import subprocess
from collections.abc import Sequence

from longwave import cleanup

DEMO = pathlib.Path(__file__).parent / "demo_data"  # of the wheel: the keyword model and a recording


def _candidates() -> "list[pathlib.Path]":
    clone = pathlib.Path(__file__).resolve().parents[3]
    return [
        pathlib.Path(__file__).parent / "bin/longwave",
        *([clone / "build/longwave"] if (clone / "tools/setup").is_file() else []),
    ]


def program() -> str:
    """Path of the `longwave` program: LONGWAVE_PROGRAM, the one in this package, that of the clone, or the one on PATH."""
    here = next((str(file) for file in _candidates() if file.is_file()), None)
    found = os.environ.get("LONGWAVE_PROGRAM") or here or shutil.which("longwave")
    if not found:
        raise FileNotFoundError(
            "the longwave program was not found: install the longwave wheel, run tools/setup in a clone, "
            "or set LONGWAVE_PROGRAM"
        )
    return found


def run(arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Runs a command and captures what it prints. An exception or a signal ends it: it then leaves no files."""
    command = [program(), *arguments]
    with (
        cleanup.watched(),
        cleanup.started(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        out, err = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, out, err)
