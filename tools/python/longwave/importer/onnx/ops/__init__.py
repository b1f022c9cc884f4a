"""ONNX operations as PyTorch operations, by subject: `TABLE` has a function for each. It takes a Call and returns one tensor or
a list, or raises Refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constants, convolution, linear, norms, pointwise, pooling, recurrent, reduce, resize, shape, spectrum

TABLE: dict[str, Callable[..., Any]] = {
    **constants.TABLE,
    **convolution.TABLE,
    **linear.TABLE,
    **norms.TABLE,
    **pointwise.TABLE,
    **pooling.TABLE,
    **recurrent.TABLE,
    **reduce.TABLE,
    **resize.TABLE,
    **shape.TABLE,
    **spectrum.TABLE,
}
