"""Whose an exception is: one line for each, with its place."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

import torch

from .errors import Problem

TORCH, PYTHON, OURS = str(Path(torch.__file__).parent), sysconfig.get_path("stdlib"), str(Path(__file__).parent)


def of_library(file: str) -> bool:
    """Of PyTorch or Python itself, or code that PyTorch has generated."""
    return file.startswith((TORCH, "<")) or file.startswith(PYTHON) and "-packages" not in file


def first_line(e: BaseException) -> str:
    """The first line of what it says, with its type where that says more."""
    lines = [line.strip() for line in str(e).splitlines() if line.strip()]
    if isinstance(e, SystemExit):
        return f"it calls sys.exit({e.code if isinstance(e.code, int) else repr(e.code) if e.code else ''})"
    if isinstance(e, MemoryError):
        return lines[0] if lines else "not enough memory"
    return (
        (f"{type(e).__name__}: {lines[0]}" if isinstance(e, (KeyError, IndexError)) else lines[0])
        if lines
        else type(e).__name__
    )


def place(e: BaseException) -> tuple[str, bool]:
    """The last line of Python code outside the libraries, and whether it is the importer's."""
    frames = [f for f in traceback.extract_tb(e.__traceback__) if not of_library(f.filename)]
    if not frames:
        return "", False
    at = frames[-1]
    return f"{Path(at.filename).name}:{at.lineno}", at.filename.startswith(OURS)


def of_module(e: BaseException) -> str:
    """What the module raises, with the place in its own code where there is one."""
    at, ours = place(e)
    return first_line(e) + (f" ({at})" if at and not ours else "")


def unexpected(e: BaseException) -> Problem:
    """An exception that nothing has caught: of the module where its code raised it, and else a defect of the importer."""
    at, ours = place(e)
    if at and not ours:
        return Problem(at, "", f"the module fails: {first_line(e)}", "let it run at every length, in eval mode")
    return Problem(
        at or "longwave.importer", type(e).__name__, first_line(e), "a defect of the importer: please report it"
    )
