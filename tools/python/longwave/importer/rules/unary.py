"""Element-wise ops of one input, as data. A new op of docs/ops.md is one line of TABLE and one of FLOAT64."""
from __future__ import annotations

import torch
import torch.nn.functional as F

# torch operation -> (options under which it holds, op, attributes)
TABLE = {
    "relu": ({}, "relu", {}),
    "gelu": ({"approximate": "none"}, "gelu", {}),
    "silu": ({}, "silu", {}),
    "sigmoid": ({}, "sigmoid", {}),
    "tanh": ({}, "tanh", {}),
    "log": ({}, "log", {"offset": 0.0}),
    "log1p": ({}, "log", {"offset": 1.0}),
}

# op -> its definition in float64
FLOAT64 = {
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "log": lambda x, offset: torch.log(x + offset),
}
