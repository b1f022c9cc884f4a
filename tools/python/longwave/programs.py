"""The command line that comes with the package."""
import os
import pathlib
import shutil
import subprocess
from typing import Sequence

DEMO = pathlib.Path(__file__).parent / "demo_data"  # of the wheel: the keyword model and a recording


def program() -> str:
    """Path of the `longwave` program: LONGWAVE_PROGRAM, the one in this package, or the one on PATH."""
    here = pathlib.Path(__file__).parent / "bin" / "longwave"
    found = os.environ.get("LONGWAVE_PROGRAM") or (str(here) if here.is_file() else shutil.which("longwave"))
    if not found:
        raise FileNotFoundError("the longwave program was not found: install the longwave wheel, or set LONGWAVE_PROGRAM")
    return found


def run(arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Runs a command and captures what it prints."""
    return subprocess.run([program(), *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
