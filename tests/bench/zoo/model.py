"""A model as a list of layers and the tensors that they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from longwave.model_json import Layer, layer

from .tensors import Tensors


@dataclass
class Model:
    """What model.json says, and the shapes and initialisers of the weights.  `streams`: no layer looks
    ahead.  Either `layers` or, with the `length` of a whole sequence, `graph`."""

    inputs: list[dict[str, Any]]
    layers: list[Layer]
    outputs: list[dict[str, str]]
    tensors: Tensors
    streams: bool
    labels: list[str] = field(default_factory=list)
    graph: list[dict[str, Any]] = field(default_factory=list)
    length: int | None = None
    made_up: Callable[[np.random.Generator], dict[str, np.ndarray]] | None = None  # inputs that fit together


def sequence_input(name: str, vocabulary: int | None, sample_rate: int | None, width: int) -> dict[str, Any]:
    """An entry of "inputs": ids, samples, or rows of numbers."""
    if vocabulary is not None:
        return {"name": name, "kind": "tokens", "vocabulary": vocabulary}
    if sample_rate is not None:
        return {"name": name, "kind": "audio", "sample_rate": sample_rate}
    return {"name": name, "kind": "features", "width": width}


def side_by_side(names: Sequence[str], tower: Any) -> list[Layer]:
    """The same layers for each input: `tower(prefix)` gives the list with names that start with `prefix`; the
    first reads the input of that number."""
    layers: list[Layer] = []
    for number, name in enumerate(names):
        chain = tower("" if number == 0 else f"{name}.")
        if number:
            chain[0]["input"] = name
        layers += chain
    return layers


def pair_head(first: str, second: str, hidden: int, classes: int, prefix: str) -> list[Layer]:
    """[u, v, u - v, u * v] -> Linear -> GELU -> Linear, the retrieval head of s4 with `nli`."""
    return [
        layer("pair_features", "pair", inputs=[first, second]),
        layer("linear", "pair.hidden", f"{prefix}.0", out_features=hidden),
        layer("gelu", "pair.gelu"),
        layer("linear", "logits", f"{prefix}.2", out_features=classes),
    ]
