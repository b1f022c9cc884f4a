"""LSTM, GRU and RNN: a matrix of each row, then a recurrence on state that begins with zeros or with constants."""
from __future__ import annotations

import torch

from ..errors import NoOp, Refused, retrain
from ..places import Placed, features, natural
from ..probe import time_axis
from ..state.cell import OPEN

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
    first = first_states(importer, start, layers)
    x = importer.settled(source)
    if importer.op(x).timeless:
        raise Refused("reads a value without a time axis", "run it over the rows of a sequence")
    order = features(importer.graph, x, x.at.dim() - 1)
    value, last = x.value, []
    parameters = [importer.constant(p).to(torch.float64) for p in parameters]
    for layer in range(layers):
        own = parameters[layer * len(parameters) // layers:(layer + 1) * len(parameters) // layers]
        value = ONE_LAYER[kind](importer.graph, value, order, first[layer], *own)
        order = torch.arange(importer.graph.ops[value].width)
        last.append(value)
    shape = list(x.at.shape[:-1]) + [len(order)]
    rows = natural(value, shape, time_axis(torch.Size(shape), importer.op(x).rows))
    return [rows, states(importer.graph, last, x.at.dim() - 2), None]


def first_states(importer, start, layers: int) -> torch.Tensor:
    """[layers, states, units]: h, and c of an LSTM."""
    given = list(start) if isinstance(start, (list, tuple)) else [start]
    if any(importer.varies(state) for state in given):
        raise Refused("its first state depends on the data", "begin with zeros or with constants; --state is for a module that takes its state")
    return torch.stack([importer.constant(state).to(torch.float64).reshape(layers, -1) for state in given], 1)


def beginning(first: torch.Tensor) -> torch.Tensor | None:
    """An operand, or None for zeros."""
    return first if bool(first.any()) else None


def gates(graph, value: int, order, w: torch.Tensor, bias) -> int:
    return graph.linear(value, torch.zeros(len(w), graph.ops[value].width, dtype=torch.float64).index_add(1, order, w), bias)


def lstm(graph, value: int, order, first, w, u, *biases) -> int:
    x = gates(graph, value, order, w, sum(biases) if biases else None)
    return graph.emit("lstm", [x], [("weight", u), ("initial", beginning(first))], {}, u.shape[1])


def gru(graph, x: int, u, inside, first, resets_after: bool = True) -> int:
    attributes = {} if resets_after else {"reset_after": 0}
    return graph.emit("gru", [x], [("weight", u), ("bias", inside), ("initial", beginning(first))], attributes, u.shape[1])


def gru_layer(graph, value: int, order, first, w, u, *biases) -> int:
    units = u.shape[1]
    inside = biases[1][2 * units:] if biases else torch.zeros(units)  # the reset gate multiplies it
    outside = biases[0] + torch.cat([biases[1][:2 * units], torch.zeros(units)]) if biases else None
    return gru(graph, gates(graph, value, order, w, outside), u, inside, first[0])


def reset_before(graph, value: int, order, first, w, u, *biases) -> int:
    x = gates(graph, value, order, w, sum(biases) if biases else None)
    return gru(graph, x, u, torch.zeros(u.shape[1]), first[0], resets_after=False)


def plain(graph, value: int, order, first, w, u, *biases) -> int:
    """tanh(W x + U h + b), as a GRU whose gates stay open: the old value has no weight, and the product all."""
    units, bias = u.shape[1], sum(biases) if biases else torch.zeros(len(w))
    open_gates = torch.tensor([OPEN, -OPEN], dtype=torch.float64).repeat_interleave(units)
    zeros = torch.zeros(2 * units, 1, dtype=torch.float64)
    x = gates(graph, value, order, torch.cat([zeros.expand(-1, w.shape[1]), w]), torch.cat([open_gates, bias]))
    return gru(graph, x, torch.cat([zeros.expand(-1, units), u]), torch.zeros(units), first[0])


ONE_LAYER = {"lstm": lstm, "gru": gru_layer, "gru_reset_before": reset_before, "rnn_tanh": plain}


def states(graph, values: list[int], batch_axes: int) -> Placed:
    """(layers, batch, units): the last row of each layer."""
    pooled = [graph.emit("mean", [v], [], {"mode": "last"}, timeless=True) for v in values]
    units = graph.ops[values[0]].width
    joined = pooled[0] if len(pooled) == 1 else graph.concat(pooled)
    return natural(joined, [len(values), *[1] * batch_axes, units], None)


def other_cell(importer, n):
    raise NoOp("a recurrence of relu has no op", retrain("use RNN with tanh, LSTM or GRU"))


RULES = {kind: recurrent for kind in ONE_LAYER} | {"rnn_relu": other_cell}
