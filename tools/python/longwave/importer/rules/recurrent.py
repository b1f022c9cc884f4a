"""LSTM and GRU: a matrix of each row, then a recurrence on state that begins with zeros."""
from __future__ import annotations

import torch

from ..errors import NoOp, Refused, retrain
from ..places import Placed, features, natural
from ..probe import time_axis

PARTS = {"lstm": 4, "gru": 3}
ONE_WAY = retrain("use a forward layer, which streams; a bidirectional one has no op")


def recurrent(importer, n) -> list[Placed | None]:
    """The rows of the last layer, and the last row of each layer. The cell state of an LSTM is not a result."""
    kind = importer.kind(n)
    if isinstance(n.args[2], bool):  # lstm.data, gru.data
        raise NoOp("reads a packed sequence", "run it on one sequence, without pack_padded_sequence")
    source, start, parameters, biased, layers, _, _, both_ways, _ = n.args[:9]
    if both_ways:
        raise NoOp("is bidirectional: it reads the sequence backwards", ONE_WAY)
    if len(parameters) != layers * (4 if biased else 2):
        raise NoOp("has projections", retrain("use proj_size=0 and a linear layer"))
    for state in start if isinstance(start, (list, tuple)) else [start]:
        if importer.varies(state) or bool(importer.constant(state).any()):
            raise Refused("its state does not begin with zeros", "call it without a state")
    x = importer.settled(source)
    if importer.op(x).timeless:
        raise Refused("reads a value without a time axis", "run it over the rows of a sequence")
    order = features(importer.graph, x, x.at.dim() - 1)
    value, last = x.value, []
    parameters = [importer.constant(p).to(torch.float64) for p in parameters]
    for layer in range(layers):
        own = parameters[layer * len(parameters) // layers:(layer + 1) * len(parameters) // layers]
        value = ONE_LAYER[kind](importer.graph, value, order, *own)
        order = torch.arange(importer.graph.ops[value].width)
        last.append(value)
    shape = list(x.at.shape[:-1]) + [len(order)]
    rows = natural(value, shape, time_axis(torch.Size(shape), importer.op(x).rows))
    return [rows, states(importer.graph, last, x.at.dim() - 2), None]


def gates(graph, value: int, order, w: torch.Tensor, bias) -> int:
    return graph.linear(value, torch.zeros(len(w), graph.ops[value].width, dtype=torch.float64).index_add(1, order, w), bias)


def lstm(graph, value: int, order, w, u, *biases) -> int:
    x = gates(graph, value, order, w, sum(biases) if biases else None)
    return graph.emit("lstm", [x], [("weight", u)], {}, u.shape[1])


def gru(graph, value: int, order, w, u, *biases) -> int:
    units = u.shape[1]
    inside = biases[1][2 * units:] if biases else torch.zeros(units)  # the reset gate multiplies it
    outside = biases[0] + torch.cat([biases[1][:2 * units], torch.zeros(units)]) if biases else None
    x = gates(graph, value, order, w, outside)
    return graph.emit("gru", [x], [("weight", u), ("bias", inside)], {}, units)


ONE_LAYER = {"lstm": lstm, "gru": gru}


def states(graph, values: list[int], batch_axes: int) -> Placed:
    """(layers, batch, units): the last row of each layer."""
    pooled = [graph.emit("mean", [v], [], {"mode": "last"}, timeless=True) for v in values]
    units = graph.ops[values[0]].width
    joined = pooled[0] if len(pooled) == 1 else graph.concat(pooled)
    return natural(joined, [len(values), *[1] * batch_axes, units], None)


def other_cell(importer, n):
    raise NoOp("a recurrence without gates has no op", retrain("use LSTM or GRU"))


RULES = {"lstm": recurrent, "gru": recurrent, "rnn_tanh": other_cell, "rnn_relu": other_cell}
