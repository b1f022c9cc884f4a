"""LSTM, GRU and RNN: a matrix of each row, then a recurrence on state that begins with zeros or with constants.

A batch may be bands that lie side by side in each row: each has a sequence over time, with a state of its own. Or the batch is
time, and each row holds a sequence of bands, which may go both ways.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.node import Node

from ..beginnings import ones
from ..errors import NoOp, Refused, retrain
from ..nodes import args_of
from ..places import Placed, other_rows
from ..state.cell import OPEN
from .image import pixelwise

if TYPE_CHECKING:
    from ..match import Importer
    from ..recovered import Recovered

ONE_WAY = retrain("use a forward layer, which streams; both ways go over bands inside each row")
MERGED = 16  # units: as wide as one pass of the kernel, whatever lies in it


def recurrent(importer: Importer, n: Node) -> list[Placed | None]:
    """The rows of the last layer, and the last state of each layer and direction. The cell state of an LSTM is not a result."""
    kind = importer.kind(n)
    if isinstance(args_of(n)[2], bool):  # lstm.data, gru.data
        raise NoOp("reads a packed sequence", "run it on one sequence, without pack_padded_sequence")
    source, start, parameters, biased, layers, _, _, both_ways, batch_first = args_of(n)[:9]
    ways, each = 1 + both_ways, 4 if biased else 2
    if len(parameters) != layers * ways * each:
        raise NoOp("has projections", retrain("use proj_size=0 and a linear layer"))
    x = importer.settled(source)
    if importer.op(x).timeless:
        raise Refused("reads a value without a time axis", "run it over the rows of a sequence")
    sequences, order = found(importer.graph, x, batch_first)
    if both_ways and not sequences.over_bands:
        raise NoOp("is bidirectional: it reads the sequence backwards", ONE_WAY)
    first = first_states(importer, start, layers * ways, sequences)
    parameters = [importer.constant(p).to(torch.float64) for p in parameters]
    parts = [parameters[i : i + each] for i in range(0, len(parameters), each)]
    value, last = x.value, []
    for layer in range(layers):
        own = range(layer * ways, (layer + 1) * ways)
        value, order = one_layer(sequences, kind, value, order, [(first[i], parts[i]) for i in own])
        last.append((value, order))
    return [
        rows(importer.graph, value, order, n, sequences, batch_first),
        states(importer.graph, last, x.at.dim() - 2, sequences, ways),
        None,
    ]


@dataclass(frozen=True)
class Sequences:
    graph: Recovered
    bands: int
    over_bands: bool

    def emit(
        self, kind: str, x: int, constants: Sequence[tuple[str, Tensor | None]], attributes: dict[str, Any], units: int
    ) -> int:
        attributes = attributes | ({"over_bands": 1} if self.over_bands else {})
        dims = (self.bands, units) if self.bands > 1 else (units,)
        return self.graph.emit(kind, [x], constants, attributes, self.bands * units, dims=dims)

    def gates(self, value: int, order: Tensor, w: Tensor, bias: Tensor | None) -> int:
        if self.bands > 1:
            return pixelwise(self.graph, self.graph.arranged(value, order), w, bias, self.bands)
        full = torch.zeros(len(w), self.graph.ops[value].width, dtype=torch.float64)
        return self.graph.linear(value, full.index_add(1, order[0], w), bias)


def found(graph: Recovered, x: Placed, batch_first: bool) -> tuple[Sequences, Tensor]:
    """What is the batch, and the features [bands, features] of each row."""
    op, at = graph.ops[x.value], x.at
    at = at[None] if at.dim() == 2 else at if batch_first else at.transpose(0, 1)  # [batch, steps, features]
    for over_bands in (False, True):
        p = at if over_bands else at.transpose(0, 1)  # [rows, bands, features]
        if (
            len(p) == op.rows
            and bool((p[0] >= 0).all())
            and torch.equal(p, torch.arange(len(p))[:, None, None] * op.width + p[0] % op.width)
        ):
            return Sequences(graph, p.shape[1], over_bands), p[0] % op.width
    other_rows(op.rows, x.at)
    if int(x.at.min()) < 0:
        raise Refused(
            "reads zeros before the start or after the end as rows", retrain("pad only in front of a convolution")
        )
    raise Refused("its rows are not one time step each", "keep one axis of time, and one of bands or a batch of 1")


def first_states(importer: Importer, start: Any, count: int, sequences: Sequences) -> Tensor:
    """[layers and directions, states, batch, units]: h, and c of an LSTM."""
    given = list(start) if isinstance(start, (list, tuple)) else [start]
    if any(importer.varies(state) for state in given):
        raise Refused(
            "its first state depends on the data",
            "begin with zeros or with constants; --state is for a module that takes its state",
        )
    first = torch.stack([importer.constant(state).to(torch.float64) for state in given], 1)
    first = first.reshape(count, len(given), -1, first.shape[-1])
    if not sequences.over_bands:
        return first
    if not torch.equal(first, first[:, :, :1].expand(first.shape)):
        raise Refused("begins its rows with different states", retrain("begin each row with the same state"))
    if len(given) > 1 and bool(first.any()):
        raise NoOp(
            "begins the bands of each row with a state that is not zero", retrain("begin with zeros, or use a GRU")
        )
    if bool((first.abs() >= 1).any()):
        largest = float(first.abs().max())
        raise NoOp(
            f"begins the bands of each row with a state of {largest:.3g}, which no row before them leaves",
            retrain("begin with numbers between -1 and 1, such as the tanh of a parameter"),
        )
    return first[:, :, :1]


def beginning(first: Tensor) -> Tensor | None:
    """An operand, or None for zeros."""
    return first if bool(first.any()) else None


def one_layer(
    sequences: Sequences, kind: str, value: int, order: Tensor, parts: Sequence[tuple[Tensor, list[Tensor]]]
) -> tuple[int, Tensor]:
    """A value, and where in a row it has the units of each band, of both directions one after the other."""
    if len(parts) == 2:
        return both_ways(sequences, kind, value, order, parts)
    first, own = parts[0]
    units = own[1].shape[1]
    if sequences.bands > 1 and units == 1:  # the kernel computes at least two of each band
        first, own = F.pad(first, (0, 1)), [widened(t, i == 1) for i, t in enumerate(own)]
    made = ONE_LAYER[kind](sequences, value, order, first, *own)
    wide = own[1].shape[1]
    return made, torch.arange(sequences.bands)[:, None] * wide + torch.arange(units)


def widened(t: Tensor, of_state: bool) -> Tensor:
    """A matrix or a bias of one unit as one of two. The second unit stays 0 and adds nothing."""
    more = torch.zeros(2 * len(t), *t.shape[1:], dtype=t.dtype)
    more[::2] = t
    return F.pad(more, (0, 1)) if of_state else more


def both_ways(
    sequences: Sequences, kind: str, value: int, order: Tensor, parts: Sequence[tuple[Tensor, list[Tensor]]]
) -> tuple[int, Tensor]:
    """The backward direction reads the bands from the last one on. Small ones share one recurrence, of block matrices."""
    graph, (one, two) = sequences.graph, parts
    units, bands = one[1][1].shape[1], sequences.bands
    backwards = order.flip(0)
    if 2 * units <= MERGED and kind != "rnn_tanh":
        joined = [blocks(a, b, len(a) // units) for a, b in zip(one[1], two[1])]
        made = ONE_LAYER[kind](
            sequences, value, torch.cat([order, backwards], 1), torch.cat([one[0], two[0]], 2), *joined
        )
        at = torch.arange(bands)[:, None] * 2 * units + torch.arange(units)
        return made, torch.cat([at, at.flip(0) + units], 1)
    values, places, width = [], [], 0
    for way, (part, o) in enumerate(((one, order), (two, backwards))):
        made, at = one_layer(sequences, kind, value, o, [part])
        values.append(made)
        places.append((at.flip(0) if way else at) + width)
        width += graph.ops[made].width
    return graph.concat(values), torch.cat(places, 1)


def blocks(a: Tensor, b: Tensor, gates: int) -> Tensor:
    """Two matrices or biases, gate by gate, as one with zeros beside them."""
    if a.dim() == 1:
        return torch.cat([a.reshape(gates, -1), b.reshape(gates, -1)], 1).flatten()
    pairs = zip(a.chunk(gates), b.chunk(gates))
    return torch.cat([torch.block_diag(*pair) for pair in pairs])


def rows(graph: Recovered, value: int, order: Tensor, n: Node, sequences: Sequences, batch_first: bool) -> Placed:
    width = graph.ops[value].width
    at = torch.arange(graph.ops[value].rows)[:, None, None] * width + order  # [rows, bands, units]
    return Placed(
        value, (at if sequences.over_bands == batch_first else at.transpose(0, 1)).reshape(n.meta["val"][0].shape)
    )


def states(
    graph: Recovered, last: Sequence[tuple[int, Tensor]], batch_axes: int, sequences: Sequences, ways: int
) -> Placed:
    """(layers and directions, batch, units): of the last row, or of the last band of each row that the direction reads."""
    joined = graph.concat([value for value, _ in last])
    width, before, places = graph.ops[joined].width, 0, []
    for value, order in last:
        for way, units in enumerate(order.chunk(ways, 1)):
            places.append(
                before + (units[-1 if way == 0 else 0][None] if sequences.over_bands else units)
            )  # [batch, units]
        before += graph.ops[value].width
    at = torch.stack(places)
    if sequences.over_bands:
        return Placed(joined, at + torch.arange(graph.ops[joined].rows)[:, None] * width)
    pooled = graph.emit("mean", [joined], [], {"mode": "last"}, timeless=True)
    return Placed(pooled, at if batch_axes else at.squeeze(1))


def sum_of(biases: Sequence[Tensor]) -> Tensor | None:
    return functools.reduce(torch.add, biases) if biases else None


def lstm(s: Sequences, value: int, order: Tensor, first: Tensor, w: Tensor, u: Tensor, *biases: Tensor) -> int:
    x = s.gates(value, order, w, sum_of(biases))
    first = first[:, 0] if s.bands == 1 else first
    return s.emit("lstm", x, [("weight", u), ("initial", beginning(first))], {}, u.shape[1])


def gru(s: Sequences, x: int, u: Tensor, inside: Tensor, first: Tensor, resets_after: bool = True) -> int:
    attributes = {} if resets_after else {"reset_after": 0}
    if s.over_bands and bool(first.any()):
        return behind_a_band(s, x, u, inside, first, resets_after)
    first = first[0] if s.bands == 1 else first
    return s.emit("gru", x, [("weight", u), ("bias", inside), ("initial", beginning(first))], attributes, u.shape[1])


def behind_a_band(s: Sequences, x: int, u: Tensor, inside: Tensor, first: Tensor, resets_after: bool) -> int:
    """A state before the bands of a row is what one band more leaves: both gates are shut, and its new value is that state."""
    graph, gates, units = s.graph, len(u), u.shape[1]
    before = torch.cat([torch.full((2 * units,), -OPEN, dtype=torch.float64), first.reshape(-1).atanh()])
    row = graph.concat([graph.linear(ones(graph, x), before[:, None]), graph.flat(x)])
    longer = Sequences(graph, s.bands + 1, True)
    x = graph.arranged(row, torch.arange((s.bands + 1) * gates).reshape(-1, gates))
    made = gru(longer, x, u, inside, torch.zeros_like(first), resets_after)
    return graph.select(made, torch.arange(units, (s.bands + 1) * units))


def gru_layer(s: Sequences, value: int, order: Tensor, first: Tensor, w: Tensor, u: Tensor, *biases: Tensor) -> int:
    units = u.shape[1]
    inside = biases[1][2 * units :] if biases else torch.zeros(units)  # the reset gate multiplies it
    outside = biases[0] + torch.cat([biases[1][: 2 * units], torch.zeros(units)]) if biases else None
    return gru(s, s.gates(value, order, w, outside), u, inside, first[0])


def reset_before(s: Sequences, value: int, order: Tensor, first: Tensor, w: Tensor, u: Tensor, *biases: Tensor) -> int:
    x = s.gates(value, order, w, sum_of(biases))
    return gru(s, x, u, torch.zeros(u.shape[1]), first[0], resets_after=False)


def plain(s: Sequences, value: int, order: Tensor, first: Tensor, w: Tensor, u: Tensor, *biases: Tensor) -> int:
    """tanh(W x + U h + b), as a GRU whose gates stay open: the old value has no weight, and the product all."""
    units, bias = u.shape[1], sum_of(biases)
    bias = torch.zeros(len(w)) if bias is None else bias
    open_gates = torch.tensor([OPEN, -OPEN], dtype=torch.float64).repeat_interleave(units)
    zeros = torch.zeros(2 * units, 1, dtype=torch.float64)
    x = s.gates(value, order, torch.cat([zeros.expand(-1, w.shape[1]), w]), torch.cat([open_gates, bias]))
    return gru(s, x, torch.cat([zeros.expand(-1, units), u]), torch.zeros(units), first[0])


ONE_LAYER = {"lstm": lstm, "gru": gru_layer, "gru_reset_before": reset_before, "rnn_tanh": plain}


def other_cell(importer: Importer, n: Node) -> NoReturn:
    raise NoOp("a recurrence of relu has no op", retrain("use RNN with tanh, LSTM or GRU"))


RULES = dict.fromkeys(ONE_LAYER, recurrent) | {"rnn_relu": other_cell}
