"""Operations on each number, and on pairs of numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import Refused
from ..call import Call


def one(function: Callable[[Tensor], Tensor]) -> Callable[[Call], Tensor]:
    return lambda c: function(c.tensor(0))


def pair(
    function: Callable[[Any, Any], Any], neutral: int | None = None, either: bool = False
) -> Callable[[Call], Any]:
    """With numbers as Python numbers: PyTorch then keeps the type of the other operand. `neutral`: as the second operand it changes
    nothing, and as the first one neither if `either`. A state that a graph returns plus zero is then that state."""

    def run(c: Call) -> Any:
        ranks = [c.tensor(i).dim() for i in (0, 1)]
        a, b = c.operand(0, ranks[1]), c.operand(1, ranks[0])
        if isinstance(a, Tensor) and not isinstance(b, Tensor) and b == neutral:
            return a
        if either and isinstance(b, Tensor) and not isinstance(a, Tensor) and a == neutral:
            return b
        if not isinstance(a, Tensor) and not isinstance(b, Tensor):
            a = c.tensor(0)
        return function(a, b)

    return run


def compare(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Call], Tensor]:
    return lambda c: function(c.tensor(0), c.tensor(1))


def divided(a: Tensor | float, b: Tensor | float) -> Tensor | float:
    whole = all(isinstance(x, int) or isinstance(x, Tensor) and not x.is_floating_point() for x in (a, b))
    return torch.div(a, b, rounding_mode="trunc") if whole else a / b


def power(a: Any, b: Any) -> Tensor:
    if not isinstance(b, Tensor) and isinstance(b, float) and b == int(b) and abs(b) < 1 << 31:
        b = int(b)  # powers of negative numbers
    return torch.pow(a, b)


def mod(c: Call) -> Tensor:
    a, b = c.tensor(0), c.tensor(1)
    return torch.fmod(a, b) if c.integer("fmod", 0) else torch.remainder(a, b)


def many(function: Callable[[Tensor, Tensor], Tensor], mean: bool = False) -> Callable[[Call], Tensor]:
    def run(c: Call) -> Tensor:
        tensors = c.tensors()
        if not tensors:
            raise Refused("has no inputs", "the file is damaged: export it again")
        made = functools.reduce(function, tensors)
        return made / len(tensors) if mean else made

    return run


def clip(c: Call) -> Tensor:
    low = c.attr("min") if c.opset < 11 else c.number(1, "min")
    high = c.attr("max") if c.opset < 11 else c.number(2, "max")
    return c.tensor(0) if low is None and high is None else torch.clamp(c.tensor(0), low, high)


def prelu(c: Call) -> Tensor:
    x, slope = c.tensor(0), c.operand(1, c.tensor(0).dim())
    return F.leaky_relu(x, slope) if not isinstance(slope, Tensor) else x.relu() - slope * (-x).relu()


def gelu(c: Call) -> Tensor:
    return F.gelu(c.tensor(0), approximate=c.attr("approximate", "none"))


def selu(c: Call) -> Tensor:
    alpha, gamma = c.attr("alpha", 1.67326319217681884765625), c.attr("gamma", 1.05070102214813232421875)
    result: Tensor = gamma * F.elu(c.tensor(0), alpha)
    return result


def hard_sigmoid(c: Call) -> Tensor:
    return torch.clamp(c.tensor(0) * c.attr("alpha", 0.2) + c.attr("beta", 0.5), 0, 1)


def thresholded(c: Call) -> Tensor:
    x = c.tensor(0)
    return torch.where(x > c.attr("alpha", 1.0), x, torch.zeros_like(x))


def where(c: Call) -> Tensor:
    if c.is_known(0) and (condition := c.known(0, "condition")).size and condition.all() == condition.any():
        shape = torch.broadcast_shapes(c.tensor(0).shape, c.tensor(1).shape, c.tensor(2).shape)
        return c.tensor(1 if condition.all() else 2).expand(shape)
    return torch.where(c.tensor(0), c.tensor(1), c.tensor(2))


def dropout(c: Call) -> Any:
    if c.opset >= 12 and c.has(2) and bool(c.known(2, "training_mode").any()):
        raise Refused("runs in training mode: it draws random numbers", "export the model in eval mode")
    c.only_outputs(1, "its mask")
    return c.tensor(0)


def shrink(c: Call) -> Tensor:
    x, limit, bias = c.tensor(0), c.attr("lambd", 0.5), c.attr("bias", 0.0)
    zero = torch.zeros_like(x)
    return torch.where(x < -limit, x + bias, torch.where(x > limit, x - bias, zero))


TABLE = {
    "Abs": one(torch.abs),
    "Neg": one(torch.neg),
    "Sqrt": one(torch.sqrt),
    "Exp": one(torch.exp),
    "Log": one(torch.log),
    "Reciprocal": one(torch.reciprocal),
    "Floor": one(torch.floor),
    "Ceil": one(torch.ceil),
    "Round": one(torch.round),
    "Sign": one(torch.sign),
    "Erf": one(torch.erf),
    "Sin": one(torch.sin),
    "Cos": one(torch.cos),
    "Tan": one(torch.tan),
    "Asin": one(torch.asin),
    "Acos": one(torch.acos),
    "Atan": one(torch.atan),
    "Sinh": one(torch.sinh),
    "Cosh": one(torch.cosh),
    "Asinh": one(torch.asinh),
    "Acosh": one(torch.acosh),
    "Atanh": one(torch.atanh),
    "Relu": one(torch.relu),
    "Sigmoid": one(torch.sigmoid),
    "Tanh": one(torch.tanh),
    "Softplus": one(F.softplus),
    "Softsign": one(lambda x: x / (1 + x.abs())),
    "HardSwish": one(F.hardswish),
    "Mish": one(lambda x: x * F.softplus(x).tanh()),
    "Identity": one(lambda x: x),
    "Not": one(torch.logical_not),
    "IsNaN": one(torch.isnan),
    "IsInf": one(torch.isinf),
    "Elu": lambda c: F.elu(c.tensor(0), c.attr("alpha", 1.0)),
    "Celu": lambda c: F.celu(c.tensor(0), c.attr("alpha", 1.0)),
    "LeakyRelu": lambda c: F.leaky_relu(c.tensor(0), c.attr("alpha", 0.01)),
    "PRelu": prelu,
    "Gelu": gelu,
    "Selu": selu,
    "HardSigmoid": hard_sigmoid,
    "ThresholdedRelu": thresholded,
    "Shrink": shrink,
    "Clip": clip,
    "Add": pair(lambda a, b: a + b, 0, True),
    "Sub": pair(lambda a, b: a - b, 0),
    "Mul": pair(lambda a, b: a * b, 1, True),
    "Div": pair(divided, 1),
    "Pow": pair(power),
    "Mod": mod,
    "Max": many(torch.maximum),
    "Min": many(torch.minimum),
    "Sum": many(torch.add),
    "Mean": many(torch.add, mean=True),
    "Equal": compare(torch.eq),
    "Greater": compare(torch.gt),
    "GreaterOrEqual": compare(torch.ge),
    "Less": compare(torch.lt),
    "LessOrEqual": compare(torch.le),
    "And": compare(torch.logical_and),
    "Or": compare(torch.logical_or),
    "Xor": compare(torch.logical_xor),
    "Where": where,
    "Dropout": dropout,
}
