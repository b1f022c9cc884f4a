"""LSTM, GRU and RNN over a sequence, in all directions. Their gates go into PyTorch's order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ...errors import Refused, retrain
from ...reset_before import CALL
from ..call import Call

ORDER = {
    "LSTM": (0, 2, 3, 1),
    "GRU": (1, 0, 2),
    "RNN": (0,),
}  # of ONNX's gates (i o f c; z r h) in PyTorch's (i f g o; r z n)
ACTIVATIONS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


def gates(w: Tensor, units: int, order: tuple[int, ...]) -> Tensor:
    return w if order == (0,) else torch.cat([w[k * units : (k + 1) * units] for k in order])


def weights(c: Call, kind: str, units: int, direction: int) -> list[Tensor]:
    """W, R and both biases of a direction, as torch holds them."""
    order = ORDER[kind]
    found = [gates(c.tensor(i)[direction], units, order) for i in (1, 2)]
    if c.has(3):
        b = c.tensor(3)[direction]
        found += [gates(half, units, order) for half in b.split(len(order) * units)]
    return found


def refuse(c: Call, kind: str, directions: int) -> None:
    """What PyTorch's layers cannot say."""
    found = [name.lower().capitalize() for name in c.attr("activations", ACTIVATIONS[kind] * directions)]
    allowed = [ACTIVATIONS[kind] * directions] + ([["Relu"] * directions] if kind == "RNN" else [])
    if found not in allowed:
        raise Refused(f"activations={', '.join(found)}", retrain(f"use {', '.join(ACTIVATIONS[kind])}"))
    if "clip" in c.attributes:
        raise Refused(f"clip={c.attr('clip')}", retrain("leave the clip out"))
    if c.integer("input_forget", 0):
        raise Refused("input_forget=1", retrain("use a forget gate of its own"))
    if kind == "LSTM" and c.has(7) and bool(c.known(7, "peephole weights").any()):
        raise Refused("has peephole weights", retrain("leave them out"))


def check(c: Call, kind: str, directions: int, units: int, x: Tensor) -> None:
    if x.dim() != 3:
        raise Refused(
            f"reads shape {list(x.shape)}",
            "give it rows, a batch of 1 and features; of a graph that takes N samples in each call: --input NAME=1xN@RATE",
        )
    rows = len(ORDER[kind]) * units
    wanted = {1: [directions, rows, x.shape[-1]], 2: [directions, rows, units], 3: [directions, 2 * rows]}
    for i, shape in wanted.items():
        if c.has(i) and list(c.tensor(i).shape) != shape:
            raise Refused(
                f"its input {i} has shape {list(c.tensor(i).shape)}, not {shape}",
                "the file is damaged: export it again",
            )
    for i in (1, 2, 3, 5, 6):
        if c.has(i) and (c.tensor(i).dtype != x.dtype or not x.is_floating_point()):
            raise Refused(
                f"its input {i} holds {c.tensor(i).dtype}, and the rows {x.dtype}".replace("torch.", ""),
                "the file is damaged: export it again",
            )
    for i in (5, 6):
        if c.has(i) and c.tensor(i).dim() != 3:
            raise Refused(f"its input {i} has shape {list(c.tensor(i).shape)}", "the file is damaged: export it again")


def start(c: Call, i: int, batch_first: bool, shape: list[int], x: Tensor) -> Tensor:
    if not c.has(i):
        return x.new_zeros(shape)
    state = c.tensor(i).transpose(0, 1) if batch_first else c.tensor(i)
    if list(state.shape) != shape:
        raise Refused(
            f"its first state has shape {list(state.shape)}, not {shape}", "give states of its units and a batch of 1"
        )
    return state


def function(c: Call, kind: str) -> Callable[..., Any]:
    """What computes all rows."""
    if kind == "GRU":
        return torch.gru if c.integer("linear_before_reset", 0) else CALL
    if kind == "RNN":
        return torch.rnn_relu if c.attr("activations", ["Tanh"])[0].lower() == "relu" else torch.rnn_tanh
    return torch.lstm


def recurrent(kind: str) -> Callable[[Call], list[Tensor]]:
    def run(c: Call) -> list[Tensor]:
        units, direction = c.integer("hidden_size", c.tensor(2).shape[-1]), c.attr("direction", "forward")
        directions = 2 if direction == "bidirectional" else 1
        batch_first = bool(c.integer("layout", 0))
        refuse(c, kind, directions)
        check(c, kind, directions, units, c.tensor(0))
        x = c.tensor(0).transpose(0, 1) if batch_first else c.tensor(0)
        rows, batch = x.shape[:2]
        if c.has(4) and any(int(n) != rows for n in c.known(4, "sequence lengths").reshape(-1)):
            raise Refused("sequence_lens differ from the rows", "run one whole sequence")
        h = start(c, 5, batch_first, [directions, batch, units], x)
        state = (h, start(c, 6, batch_first, [directions, batch, units], x)) if kind == "LSTM" else h
        flipped = direction == "reverse"
        parameters = [w for d in range(directions) for w in weights(c, kind, units, d)]
        if x.is_meta:  # shapes alone
            y, last = x.new_empty(rows, batch, directions * units), [h, h]
        else:
            y, *last = function(c, kind)(
                x.flip(0) if flipped else x, state, parameters, c.has(3), 1, 0.0, False, directions == 2, False
            )
        y = y.flip(0) if flipped else y
        y = (
            y.unsqueeze(1) if directions == 1 else y.unflatten(2, (2, units)).transpose(1, 2)
        )  # [rows, directions, batch, units]
        if batch_first:
            return [y.permute(2, 0, 1, 3), *(t.transpose(0, 1) for t in last)]
        return [y, *last]

    return run


TABLE = {kind: recurrent(kind) for kind in ORDER}
