"""Element-wise ops of one input, as data. A new op of docs/ops.md is one line of TABLE and one of FLOAT64."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
import torch.nn.functional as F

MOST = 1e30  # the largest number that a kernel takes: no limit at all for features


class Argument(NamedTuple):
    """An argument of the torch operation: its place, name, and value if it is missing or None."""

    place: int
    name: str
    default: object


class Unary(NamedTuple):
    op: str
    attributes: Mapping[str, float | Argument] = {}  # of the op: numbers, or arguments of the torch operation
    when: Mapping[Argument, object] = {}  # argument -> the only value with which the line holds


# torch operation -> lines that it may mean
TABLE = {
    "abs": [Unary("abs")],
    "clamp": [Unary("clamp", {"low": Argument(1, "min", -MOST), "high": Argument(2, "max", MOST)})],
    "clamp_max": [Unary("clamp", {"low": -MOST, "high": Argument(1, "max", MOST)})],
    "clamp_min": [Unary("clamp", {"low": Argument(1, "min", -MOST), "high": MOST})],
    "cos": [Unary("cos")],
    "elu": [
        Unary(
            "elu", {"alpha": Argument(1, "alpha", 1.0)}, {Argument(2, "scale", 1): 1, Argument(3, "input_scale", 1): 1}
        )
    ],
    "erf": [Unary("erf")],
    "exp": [Unary("exp")],
    "floor": [Unary("floor")],
    "gelu": [
        Unary("gelu", {}, {Argument(1, "approximate", "none"): "none"}),
        Unary("gelu_tanh", {}, {Argument(1, "approximate", "none"): "tanh"}),
    ],
    "hardswish": [Unary("hardswish")],
    "hardtanh": [Unary("clamp", {"low": Argument(1, "min_val", -1.0), "high": Argument(2, "max_val", 1.0)})],
    "leaky_relu": [Unary("leaky_relu", {"slope": Argument(1, "negative_slope", 0.01)})],
    "log": [Unary("log", {"offset": 0.0})],
    "log1p": [Unary("log", {"offset": 1.0})],
    "reciprocal": [Unary("reciprocal")],
    "relu": [Unary("relu")],
    "relu6": [Unary("clamp", {"low": 0.0, "high": 6.0})],
    "round": [Unary("round", {}, {Argument(1, "decimals", 0): 0})],
    "sigmoid": [Unary("sigmoid")],
    "sign": [Unary("sign")],
    "silu": [Unary("silu")],
    "sin": [Unary("sin")],
    "softplus": [Unary("softplus", {}, {Argument(1, "beta", 1): 1, Argument(2, "threshold", 20): 20})],
    "sqrt": [Unary("sqrt")],
    "square": [Unary("square")],
    "tanh": [Unary("tanh")],
}

# op -> its definition in float64
FLOAT64: dict[str, Callable[..., torch.Tensor]] = {
    "abs": torch.abs,
    "clamp": lambda x, low, high: x.clamp(low, high),
    "cos": torch.cos,
    "elu": lambda x, alpha: F.elu(x, alpha),
    "erf": torch.erf,
    "exp": torch.exp,
    "floor": torch.floor,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "hardswish": F.hardswish,
    "leaky_relu": lambda x, slope: F.leaky_relu(x, slope),
    "log": lambda x, offset: torch.log(x + offset),
    "reciprocal": torch.reciprocal,
    "relu": F.relu,
    "round": torch.round,
    "sigmoid": torch.sigmoid,
    "sign": torch.sign,
    "silu": F.silu,
    "sin": torch.sin,
    "softplus": F.softplus,
    "sqrt": torch.sqrt,
    "square": torch.square,
    "tanh": torch.tanh,
}
