"""An ONNX graph as a module of PyTorch: one part for each node, with its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import ImportFailed
from .block import Block, Values
from .build import Builder
from .call import Held
from .judge import judged
from .reader import Model


class OnnxGraph(Block):
    """`inputs`: names of the values that `forward` reads, in order. Constants of floating point numbers are parameters."""

    def __init__(
        self, model: Model, inputs: Sequence[str], outputs: Sequence[str], fixed: dict[str, np.ndarray]
    ) -> None:
        builder = Builder(model, fixed)
        built = builder.block(model.graph, list(outputs), set(inputs), True)
        super().__init__(list(outputs))
        self.inputs, self.held = list(inputs), Values(builder.known)
        self.weights: dict[str, str] = {}
        for key in built.plan:
            self.add(key, built.get_submodule(key))
        for name in sorted({n for part in self.modules() for n in getattr(part, "reads", [])} | set(outputs)):
            array = self.held.get(name)
            if array is not None and array.dtype.kind == "f":
                self.weights[name] = f"constant{len(self.weights)}"
                self.register_parameter(self.weights[name], nn.Parameter(torch.from_numpy(array), requires_grad=False))
        self.eval()

    def constants(self, device: str) -> dict[str, Any]:
        found: dict[str, Any] = dict(self.held)
        for name, key in self.weights.items():
            found[name] = Held(self.get_parameter(key).to(device), self.held[name])
        return found

    def forward(self, *inputs: Tensor) -> Any:  # type: ignore[override]  # a module of tensors, not a block of values
        made = super().forward({**self.constants("cpu"), **dict(zip(self.inputs, inputs, strict=True))})
        tensors = [v.tensor if isinstance(v, Held) else torch.as_tensor(v) for v in made]
        return tensors[0] if len(tensors) == 1 else tuple(tensors)

    def judge(self, examples: Sequence[Tensor]) -> None:
        """Raises ImportFailed with every node that is refused. `examples`: inputs whose shapes and types count."""
        values = {
            **self.constants("meta"),
            **{name: x.to("meta") for name, x in zip(self.inputs, examples, strict=True)},
        }
        if found := judged(self, values):
            raise ImportFailed(found)
