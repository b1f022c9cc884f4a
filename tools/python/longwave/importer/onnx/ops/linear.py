"""Products of matrices."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import Refused
from ..call import Call


def matmul(c: Call) -> Tensor:
    return torch.matmul(c.tensor(0), c.tensor(1))


def gemm(c: Call) -> Tensor:
    """alpha * A B + beta * C, with A or B transposed."""
    a, b = c.tensor(0), c.tensor(1)
    if a.dim() != 2 or b.dim() != 2:
        raise Refused(f"multiplies shapes {list(a.shape)} and {list(b.shape)}", "give two matrices")
    a = a.T if c.integer("transA", 0) else a
    b = b if c.integer("transB", 0) else b.T  # as a linear layer holds it
    alpha, beta = c.attr("alpha", 1.0), c.attr("beta", 1.0)
    y = F.linear(a, b if alpha == 1 else b * alpha)
    if not c.has(2) or beta == 0:
        return y
    bias = c.tensor(2)
    return y + (bias if beta == 1 else bias * beta)


def einsum(c: Call) -> Tensor:
    return torch.einsum(c.attr("equation", ""), *c.tensors())


TABLE = {"MatMul": matmul, "Gemm": gemm, "Einsum": einsum}
