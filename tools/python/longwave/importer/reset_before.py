"""A GRU whose reset gate multiplies the state in front of its matrix, which PyTorch lacks: linear_before_reset=0 of ONNX.

n = tanh(W x + b + U (r * h)), as first published: Cho et al. 2014, https://arxiv.org/abs/1406.1078.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def gru_reset_before(
    x: Tensor,
    start: Tensor,
    parameters: Sequence[Tensor],
    biased: bool,
    layers: int,
    dropout: float,
    train: bool,
    both_ways: bool,
    batch_first: bool,
) -> tuple[Tensor, Tensor]:
    """Arguments and results of torch.gru. Rows [rows, batch, inputs], state [directions, batch, units]; one layer."""
    of_one = 4 if biased else 2
    made = [
        one_way(x, start[d], parameters[d * of_one : (d + 1) * of_one], d == 1) for d in range(2 if both_ways else 1)
    ]
    return torch.cat([rows for rows, _ in made], 2), torch.stack([last for _, last in made])


def one_way(x: Tensor, h: Tensor, parameters: Sequence[Tensor], backwards: bool) -> tuple[Tensor, Tensor]:
    w, u, *biases = parameters
    ur, uz, un = u.chunk(3)
    bias = functools.reduce(torch.add, biases) if biases else None
    rows = []
    for row in (x.flip(0) if backwards else x).unbind(0):
        xr, xz, xn = F.linear(row, w, bias).chunk(3, 1)
        r, z = (xr + F.linear(h, ur)).sigmoid(), (xz + F.linear(h, uz)).sigmoid()
        h = (1 - z) * (xn + F.linear(r * h, un)).tanh() + z * h
        rows.append(h)
    return torch.stack(rows[::-1] if backwards else rows), h


torch.library.define(
    "longwave::gru_reset_before",
    "(Tensor x, Tensor start, Tensor[] parameters, bool biased, int layers, float dropout, bool train, "
    "bool both_ways, bool batch_first) -> (Tensor, Tensor)",
)
torch.library.impl("longwave::gru_reset_before", "CPU", gru_reset_before)


def shapes(x: Tensor, start: Tensor, *_: object) -> tuple[Tensor, Tensor]:
    return x.new_empty(x.shape[0], x.shape[1], start.shape[0] * start.shape[2]), torch.empty_like(start)


torch.library.register_fake("longwave::gru_reset_before", shapes)
CALL = torch.ops.longwave.gru_reset_before.default
