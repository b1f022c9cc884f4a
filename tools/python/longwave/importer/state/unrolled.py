"""Recurrent layers as their gates: a step calls them for one row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ..reset_before import CALL, gru_reset_before

aten = torch.ops.aten


def lstm_cell(
    x: Tensor, hx: Sequence[Tensor], w: Tensor, u: Tensor, w_bias: Tensor | None = None, u_bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    i, f, g, o = (F.linear(x, w, w_bias) + F.linear(hx[0], u, u_bias)).chunk(4, -1)
    c = f.sigmoid() * hx[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_cell(
    x: Tensor, h: Tensor, w: Tensor, u: Tensor, w_bias: Tensor | None = None, u_bias: Tensor | None = None
) -> Tensor:
    (xr, xz, xn), (hr, hz, hn) = F.linear(x, w, w_bias).chunk(3, -1), F.linear(h, u, u_bias).chunk(3, -1)
    n, z = (xn + (xr + hr).sigmoid() * hn).tanh(), (xz + hz).sigmoid()
    return n + z * (h - n)


def plain_cell(function: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    return lambda x, h, w, u, w_bias=None, u_bias=None: function(F.linear(x, w, w_bias) + F.linear(h, u, u_bias))


CELLS = {
    aten.lstm_cell.default: lstm_cell,
    aten.gru_cell.default: gru_cell,
    aten.rnn_tanh_cell.default: plain_cell(torch.tanh),
    aten.rnn_relu_cell.default: plain_cell(torch.relu),
}


def unrolled() -> dict[Any, Callable[..., Any]]:
    """Operation -> what writes it out."""
    from torch._decomp import decomposition_table

    layers = [getattr(aten, name).input for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")]
    return (
        CELLS | {CALL: gru_reset_before} | {op: decomposition_table[op] for op in layers if op in decomposition_table}
    )
