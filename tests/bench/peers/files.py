"""What a peer ships, and why it refuses."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

TELLING = ("complex", "unsupported", "not support", "no decomposition", "no conversion")


def size(*paths: Path) -> int:
    return sum(path.stat().st_size for path in paths)


def stripped(path: Path, folder: Path) -> int:
    """Bytes of a library without its symbols."""
    out = folder / f"stripped-{path.name}"
    subprocess.run(["strip", "-o", out, path], check=True)
    return out.stat().st_size


def in_package(package: Any, *patterns: str) -> int:
    """Bytes of the files of an installed package."""
    root = Path(next(iter(package.__path__)))  # a namespace has no __file__
    found = [list(root.glob(pattern)) for pattern in patterns]
    if not all(found):
        raise RuntimeError(f"{root}: no files {' '.join(patterns)}")
    return size(*(path for paths in found for path in paths))


def reason(error: BaseException) -> str:
    """The line of an error that says what is wrong."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line.lower() for word in TELLING)]
    text = re.sub(r"^<class '[^']*'>: ", "", (telling or lines or [type(error).__name__])[0])
    return text if len(text) <= 160 else text[:157] + "..."
