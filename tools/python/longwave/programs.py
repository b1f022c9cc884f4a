"""The command line that comes with the package."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
from typing import Dict, Sequence

DEMO = pathlib.Path(__file__).parent / "demo_data"  # of the wheel: the keyword model and a recording


def program() -> str:
    """Path of the `longwave` program: LONGWAVE_PROGRAM, the one in this package, or the one on PATH."""
    here = pathlib.Path(__file__).parent / "bin" / "longwave"
    found = os.environ.get("LONGWAVE_PROGRAM") or (str(here) if here.is_file() else shutil.which("longwave"))
    if not found:
        raise FileNotFoundError("the longwave program was not found: install the longwave wheel, or set LONGWAVE_PROGRAM")
    return found


def environment() -> Dict[str, str]:
    """Variables of the program. Without an ld.lld on PATH, the package ziglang has one."""
    variables = dict(os.environ)
    if "LONGWAVE_LINKER" in variables or shutil.which("ld.lld"):
        return variables
    found = importlib.util.find_spec("ziglang")
    if found and found.submodule_search_locations:
        variables["LONGWAVE_LINKER"] = str(pathlib.Path(next(iter(found.submodule_search_locations))) / "zig")
    return variables


def run(arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Runs a command and captures what it prints."""
    return subprocess.run([program(), *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=environment())
