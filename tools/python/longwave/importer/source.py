"""A model that is read from its files, and not from Python code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import nn

from .inputs import Input, mark_audio

if TYPE_CHECKING:
    from .onnx.door import Opened


@dataclass
class Source:
    """`opened`: the graph inside `module`. `options`: of longwave compile. `exact`: parts of names of linear layers that keep float32
    weights, whatever `longwave compile --weights` says. `lags`: outputs whose rows are samples, and by how many these are late.
    `length`: rows of the example, where the file says them. `warnings`: notes that a caller must see."""

    module: nn.Module
    inputs: list[Input]
    outputs: list[str]
    notes: list[str]
    states: dict[str, str] = field(default_factory=dict)
    opened: Opened | None = None
    options: list[str] = field(default_factory=list)
    exact: tuple[str, ...] = ()
    lags: dict[str, int] = field(default_factory=dict)
    length: int | None = None
    warnings: list[str] = field(default_factory=list)

    def mark(self, model: dict[str, Any]) -> None:
        """What the module does not tell, in the content of model.json."""
        for node in model["graph"]:
            if node["op"] == "linear" and any(part in node["name"] for part in self.exact):
                node.setdefault("attributes", {})["weights"] = "float32"
        mark_audio(model, self.lags)
