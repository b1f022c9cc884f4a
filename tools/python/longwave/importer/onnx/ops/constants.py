"""Operations that give constants, shapes and other types."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...errors import Refused
from ..call import Call, axis_of
from ..limits import NUMBERS
from ..tensors import numpy_type

DAMAGED = "the file is damaged: export it again"


def torch_type(code: int) -> torch.dtype:
    return torch.from_numpy(np.zeros(0, numpy_type(code))).dtype


def extents(shape: list[int]) -> list[int]:
    if any(n < 0 for n in shape) or math.prod(shape) > NUMBERS:
        raise Refused(f"makes a tensor of shape {shape[:9]}", f"at most {NUMBERS:,} numbers")
    return shape


def constant(c: Call) -> Any:
    """Its tensor is an array already (graph.py)."""
    for name, kind in (
        ("value_float", np.float32),
        ("value_int", np.int64),
        ("value_floats", np.float32),
        ("value_ints", np.int64),
    ):
        if name in c.attributes:
            return np.asarray(c.attributes[name], kind)
    if not isinstance(c.attr("value"), np.ndarray):
        raise Refused("a constant of texts or a sparse tensor", "give dense numbers")
    return c.attr("value")


def constant_of_shape(c: Call) -> Tensor:
    shape, value = extents(c.ints("shape", 0)), c.attr("value")
    if value is None:
        return torch.zeros(shape, dtype=torch.float32)
    if not isinstance(value, np.ndarray) or value.size != 1:
        raise Refused("its value is not one number", DAMAGED)
    return torch.full(shape, value.reshape(-1)[0].item(), dtype=torch.from_numpy(value).dtype)


def shape_of(c: Call) -> np.ndarray:
    shape = list(c.tensor(0).shape)
    return np.array(shape[slice(c.attr("start", 0), c.attr("end"))], np.int64)


def size_of(c: Call) -> np.ndarray:
    return np.array(math.prod(c.tensor(0).shape), np.int64)


def in_range(c: Call) -> Tensor:
    start, limit, step = (c.number(i, what) for i, what in enumerate(("start", "limit", "delta")))
    if step == 0 or not all(math.isfinite(v) for v in (start, limit, step)):
        raise Refused(f"a range from {start} to {limit} in steps of {step}", DAMAGED)
    count = extents([max(math.ceil((limit - start) / step), 0)])[0]
    kind = c.known(0, "start").dtype
    return torch.from_numpy((start + np.arange(count) * step).astype(kind))


def cast(c: Call) -> Tensor:
    return c.tensor(0).to(torch_type(c.integer("to", 1)))


def cast_like(c: Call) -> Tensor:
    return c.tensor(0).to(c.tensor(1).dtype)


def dequantized(c: Call) -> Tensor:
    """Of constants: (x - zero point) * scale in float32 is the definition."""
    x = c.known(0, "integers")
    scale, zero = c.known(1, "scale"), c.known(2, "zero point") if c.has(2) else np.zeros(1, np.int64)
    if c.integer("block_size", 0):
        raise Refused("has one scale for each block", "dequantise the model first")
    if scale.ndim == 1 and scale.size > 1:
        axis = axis_of(c.integer("axis", 1), x.ndim)
        spread = [-1 if d == axis else 1 for d in range(x.ndim)]
        scale, zero = scale.reshape(spread), zero.reshape(spread) if zero.size > 1 else zero
    elif scale.size == 1:
        scale, zero = scale.reshape(()), zero.reshape(()) if zero.size == 1 else zero
    return torch.from_numpy((x.astype(np.int64) - zero.astype(np.int64)).astype(np.float32) * scale.astype(np.float32))


def eye_like(c: Call) -> Tensor:
    rows, columns = extents(list(c.tensor(0).shape))
    kind = torch_type(c.integer("dtype", 0)) if "dtype" in c.attributes else c.tensor(0).dtype
    return (
        torch.diag(torch.ones(max(rows, columns)), 0)[:rows, :columns].to(kind)
        if not c.integer("k", 0)
        else shifted_eye(rows, columns, c.integer("k", 0)).to(kind)
    )


def shifted_eye(rows: int, columns: int, k: int) -> Tensor:
    return torch.from_numpy(np.eye(rows, columns, k, dtype=np.float32))


TABLE = {
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Shape": shape_of,
    "Size": size_of,
    "Range": in_range,
    "Cast": cast,
    "CastLike": cast_like,
    "DequantizeLinear": dequantized,
    "EyeLike": eye_like,
}
