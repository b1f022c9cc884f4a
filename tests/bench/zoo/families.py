"""From a row to its layers and tensors.  A family is one function here; hosts of other layers are added
beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from longwave import output_files
from longwave.model_json import document, pretty

from . import chela, convnext, dit, hybrid, lightnet, orchid, sgconv
from .configurations import Row
from .model import Model

FAMILIES: dict[str, Callable[..., Model]] = {
    "sgconv": sgconv.model,
    "chela": chela.model,
    "orchid": orchid.model,
    "lightnet": lightnet.model,
    "hybrid": hybrid.model,
    "convnext": convnext.model,
    "dit": dit.model,
}


def build(row: Row, **changes: Any) -> Model:
    """The model of a row; `changes`: options that differ, for small ones of the same kind ("length": that of
    its sequences)."""
    length = changes.pop("length", row.length)
    return FAMILIES[row.family](length=length, **(dict(row.options) | changes))


def write(model: Model, name: str, folder: Path, values: Iterator[tuple[str, np.ndarray]], stored: str = "F32") -> None:
    """Both files of a model package; `stored`: the element type of the tensors."""
    folder.mkdir(parents=True, exist_ok=True)
    model.tensors.write(folder / "weights.safetensors", values, stored)
    whole = document(name, model.inputs, model.layers, model.outputs, model.labels)
    if model.graph:
        del whole["layers"]
        whole |= {"version": 2, "length": model.length, "graph": model.graph}
    text = pretty(whole)
    output_files.write_text(folder / "model.json", text + "\n")
