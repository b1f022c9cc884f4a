"""One call of an ONNX operation: its values and attributes, as the functions in ops/ read them.

A value is a tensor of torch, or a NumPy array that is known before the graph runs on data: a constant, a shape, or what follows
from these. A constant with floating point numbers is both: `Held`.
"""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np
import onnx
import torch
from torch import Tensor

from ..errors import Refused


class Held(NamedTuple):
    tensor: Tensor
    array: np.ndarray


def axis_of(axis: int, rank: int) -> int:
    if not -rank <= axis < max(rank, 1):
        raise Refused(f"axis {axis} of a tensor with {rank} axes", "the file is damaged: export it again")
    return axis % rank if rank else 0


def text_value(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def attributes_of(node: onnx.NodeProto) -> dict[str, Any]:
    """Numbers, texts, tensors and subgraphs by name."""
    found = {}
    for a in node.attribute:
        try:
            value = onnx.helper.get_attribute_value(a)
        except ValueError as e:
            raise Refused(f"its attribute {a.name} has no value", "the file is damaged: export it again") from e
        found[a.name] = [text_value(v) for v in value] if isinstance(value, list) else text_value(value)
    return found


class Call:
    """`opset`: of the domain of ONNX. `outputs`: how many results the node names. `device`: "meta" tells shapes alone."""

    def __init__(
        self, attributes: dict[str, Any], opset: int, outputs: int, values: list[Any], device: str = "cpu"
    ) -> None:
        self.attributes, self.opset, self.outputs, self.values, self.device = attributes, opset, outputs, values, device

    def attr(self, name: str, default: Any = None) -> Any:
        return self.attributes.get(name, default)

    def has(self, i: int) -> bool:
        return i < len(self.values) and self.values[i] is not None

    def value(self, i: int) -> Any:
        if not self.has(i):
            raise Refused(f"its input {i} is missing", "the file is damaged: export it again")
        return self.values[i]

    def tensor(self, i: int) -> Tensor:
        value = self.value(i)
        return (
            value.tensor
            if isinstance(value, Held)
            else value
            if isinstance(value, Tensor)
            else torch.as_tensor(value, device=self.device)
        )

    def tensors(self) -> list[Tensor]:
        return [self.tensor(i) for i in range(len(self.values)) if self.has(i)]

    def is_known(self, i: int) -> bool:
        return self.has(i) and not isinstance(self.values[i], Tensor)

    def known(self, i: int, what: str) -> np.ndarray:
        value = self.value(i)
        if isinstance(value, Tensor):
            raise Refused(f"its {what} depends on the data", "compute it from constants and shapes only")
        return value.array if isinstance(value, Held) else value

    def ints(self, name: str, i: int = -1, default: Any = None) -> Any:
        """A list of integers: the attribute, or the input that took its place in later opsets."""
        if name in self.attributes:
            value = self.attributes[name]
            return [int(v) for v in value] if isinstance(value, list) else [int(value)]
        if i >= 0 and self.has(i):
            return [int(v) for v in self.known(i, name).reshape(-1)]
        return default

    def integer(self, name: str, default: int) -> int:
        return operator.index(self.attr(name, default))

    def number(self, i: int, what: str, default: Any = None) -> Any:
        """One number, as Python holds it."""
        if not self.has(i):
            return default
        array = self.known(i, what)
        if array.size != 1:
            raise Refused(
                f"its {what} has shape {list(array.shape)}, not one number", "the file is damaged: export it again"
            )
        return array.reshape(-1)[0].item()

    def operand(self, i: int, rank: int) -> Any:
        """A tensor, or a Python number where it is one number of at most `rank` axes."""
        value = self.value(i)
        if isinstance(value, Tensor):
            return value
        array = value.array if isinstance(value, Held) else value
        return array.reshape(-1)[0].item() if array.size == 1 and array.ndim <= rank else self.tensor(i)

    def only_outputs(self, most: int, what: str) -> None:
        if self.outputs > most:
            raise Refused(f"gives {what}", "leave that result out")
