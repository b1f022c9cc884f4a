"""Models as a graph of ops, for hosts that no list of layers says: nodes of a model folder of version 2 and
their tensors."""

from __future__ import annotations

from typing import Any

from .tensors import Shape, Tensors, Values, constant, normal, uniform


class Graph:
    """Nodes in order.  Every method adds nodes under `name`, tensors under that name, and returns the name of
    the result, of which the next nodes take their inputs."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.tensors = Tensors()

    def node(self, name: str, op: str, *inputs: str | dict[str, str], **attributes: Any) -> str:
        node = {"name": name, "op": op, "inputs": list(inputs)}
        self.nodes.append(node | ({"attributes": attributes} if attributes else {}))
        return name

    def tensor(self, key: str, shape: Shape, values: Values, trained: bool = True) -> dict[str, str]:
        if key not in self.tensors:
            self.tensors.add(key, shape, values, trained)
        return {"tensor": key}

    def linear(self, name: str, x: str, outputs: int, inputs: int, bias: bool = True) -> str:
        bound = uniform(-(inputs**-0.5), inputs**-0.5)
        operands = [self.tensor(f"{name}.weight", (outputs, inputs), bound)]
        if bias:
            operands.append(self.tensor(f"{name}.bias", (outputs,), bound))
        return self.node(name, "linear", x, *operands, bias=int(bias))

    def layer_norm(self, name: str, x: str, width: int, eps: float, affine: bool = True) -> str:
        scale = self.tensor(f"{name}.weight", (width,), normal(0.1, 1.0) if affine else constant(1.0), affine)
        shift = self.tensor(f"{name}.bias", (width,), normal(0.1) if affine else constant(0.0), affine)
        return self.node(name, "layer_norm", x, scale, shift, eps=eps)

    def rms_norm(self, name: str, x: str, width: int, eps: float) -> str:
        return self.node(name, "rms_norm", x, self.tensor(f"{name}.weight", (width,), normal(0.1, 1.0)), eps=eps)
