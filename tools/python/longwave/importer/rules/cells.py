"""Recurrences that a step held in its state (state/cells.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.fx.node import Node

from ..beginnings import begins
from ..nodes import args_of
from ..places import Placed, features, natural
from ..state.cell import cell_of
from .recurrent import Sequences, beginning, gru

if TYPE_CHECKING:
    from ..match import Importer
    from ..recovered import Recovered


def product(graph: Recovered, value: int, order: torch.Tensor, w: torch.Tensor, bias: torch.Tensor) -> int:
    """w x + bias. A matrix that only selects is no op of its own, and a matrix of a matrix is one."""
    made = graph.ops[value]
    if (
        made.kind == "linear"
        and len(w) * graph.ops[made.inputs[0]].width <= made.width * graph.ops[made.inputs[0]].width + w.numel()
    ):
        before = made.given("bias")
        bias = bias if before is None else bias + w @ before[order]
        return graph.linear(made.inputs[0], w @ made.constant("weight")[order], bias if bool(bias.any()) else None)
    ones = w.argmax(1) if w.shape[1] else None
    if (
        ones is not None
        and bool((w.sum(1) == 1).all())
        and bool((w.gather(1, ones[:, None]) == 1).all())
        and bool(((w != 0).sum(1) == 1).all())
    ):
        value = graph.take(graph.flat(value), order[ones])
        return graph.affine(value, torch.ones(len(w)), bias) if bool(bias.any()) else value
    full = torch.zeros(len(w), graph.ops[value].width, dtype=torch.float64).index_add(1, order, w)
    return graph.linear(value, full, bias if bool(bias.any()) else None)


def recurrence(importer: Importer, n: Node) -> Placed:
    graph, cell, x = importer.graph, cell_of(args_of(n)[1]), importer.settled(args_of(n)[0])
    order = features(graph, x, 1)
    value, units = graph.flat(product(graph, x.value, order, cell.w, cell.bias)), len(cell.units)
    if cell.kind == "scan":
        if bool(cell.first[0].any()):  # what is left of the state in the first row
            value = graph.emit("add", [value, begins(graph, value, (cell.decay * cell.first[0])[None])])
        made = graph.emit("exponential_scan", [value], [("lambda", cell.decay[:, None]), ("c", torch.ones(units, 1))])
    elif cell.kind == "lstm":
        made = graph.emit(
            "lstm", [value], [("weight", cell.u), ("initial", beginning(torch.stack(cell.first)))], {}, units
        )
    else:
        made = gru(Sequences(graph, 1, False), value, cell.u, cell.inside, cell.first[0][None], cell.resets_after)
    return natural(made, n.meta["val"].shape, 0)


RULES = {"recurrence": recurrence}
