"""Matrices, whatever their spelling, and what only selects or joins features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.fx.node import Node

from ..errors import NoOp, Refused, UnclearLength, retrain
from ..export import call
from ..nodes import args_of, kwargs_of
from ..places import ZERO, Placed, features, natural, settled
from ..probe import probe_matrix, time_axis
from .image import in_bands, pixels

if TYPE_CHECKING:
    from ..match import Importer


def linear(importer: Importer, n: Node) -> Placed:
    x = importer.settled(args_of(n)[0])
    weight, bias = importer.constant(args_of(n)[1]), importer.constant(args_of(n)[2]) if len(args_of(n)) > 2 else None
    try:
        order = features(importer.graph, x, x.at.dim() - 1)
    except Refused:
        try:
            return pixels(importer, n, x, weight, bias)
        except Refused:
            return in_bands(importer, n, x, weight, bias)
    full = torch.zeros(len(weight), importer.op(x).width, dtype=torch.float64).index_add(
        1, order, weight.to(torch.float64)
    )  # a feature may come twice
    axis = None if importer.op(x).timeless else time_of_product(importer, n, importer.op(x).rows)
    return natural(importer.graph.linear(x.value, full, bias), n.meta["val"].shape, axis)


def time_of_product(importer: Importer, n: Node, rows: int) -> int:
    """The time axis of a product of rows and constants."""
    shape = tuple(n.meta["val"].shape)
    axes = [d for d, extent in enumerate(shape) if extent == rows]
    constants = [tuple(c.shape) for a in n.all_input_nodes if (c := importer.constants.get(a)) is not None]
    if len(axes) > 1 and (of_rows := next((c for c in constants if rows in c), None)):
        # Or a length by chance: others are tried first.
        raise UnclearLength(
            f"multiplies each row by constants of all rows, {of_rows}: in its result {shape} the axes "
            f"{' and '.join(map(str, axes))} are time, as relative positions make it",
            retrain("use rotary positions, or none"),
        )
    return time_axis(shape, rows)


def only(importer: Importer, n: Node) -> Node:
    """The one operand that depends on an input."""
    sources = importer.variables(n)
    if len(sources) != 1:
        raise NoOp(
            "combines several values that depend on the input",
            "multiply rows by constants; `*` multiplies rows element by element",
        )
    return sources[0]


def matrix(importer: Importer, n: Node) -> Placed:
    """Any operation that multiplies each row by a constant matrix: matmul, einsum, sum over features."""
    source = only(importer, n)
    x = importer.settled(source)
    op = importer.op(x)
    if int(x.at.min()) < ZERO:
        raise Refused("reads rows after the end", "cut the rows first")
    axis = None if op.timeless else time_of_product(importer, n, op.rows)

    def run(rows: Tensor) -> Tensor:
        values: dict[Node, Tensor] = dict(importer.constants)
        values[source] = torch.where(x.at >= 0, rows.reshape(-1)[x.at.clamp(min=0)], 0.0)
        y: Tensor = call(n, values)
        return y.reshape(1, -1) if axis is None else y.movedim(axis, 0).reshape(op.rows, -1)

    if op.timeless:
        w = (
            torch.cat([run(e[None]) for e in torch.eye(op.width, dtype=torch.float64)]).T
            - run(torch.zeros(1, op.width, dtype=torch.float64)).T
        )
        bias = run(torch.zeros(1, op.width, dtype=torch.float64))[0]
    else:
        w, bias = probe_matrix(run, op.rows, op.width)
    return natural(importer.graph.linear(x.value, w, bias if bool(bias.any()) else None), n.meta["val"].shape, axis)


def rows_joined(importer: Importer, parts: Sequence[Node]) -> bool:
    """Whether the parts are rows of one value, such as a loop over time reads.

    The first and the last row alone are results of their own. So are rows that come later, behind zeros, but for samples: these
    may be windows.
    """
    places = [importer.placed(part) for part in parts]
    if (
        len({x.value for x in places}) > 1
        or len(places) > 1
        and importer.op(places[0]).width > 1
        and any(bool((x.at == ZERO).any()) for x in places)
    ):
        return False
    rows = torch.cat([x.at.flatten() for x in places]) // importer.op(places[0]).width
    if len(places) > 1 and importer.op(places[0]).width == 1:
        rows = rows[rows >= 0]
    return len(rows) > 0 and int(rows.min()) >= 0 and len(rows.unique()) > 2


def behind_constants(importer: Importer, parts: Sequence[Node], dim: int) -> Placed | None:
    """Rows that come later, behind others that are constants: what a state holds at first."""
    if len(parts) != 2 or importer.varies(parts[0]) or not importer.varies(parts[1]):
        return None
    graph, x, first = importer.graph, importer.placed(parts[1]), importer.constants[parts[0]]
    op, axis = importer.op(x), dim % first.dim()
    by, rows = first.shape[axis], first.shape[axis] + x.at.shape[axis]
    steps = op.rows // rows
    if op.timeless or op.rows != steps * rows or not x.at.shape[axis]:
        return None
    p = x.at.movedim(axis, 0).reshape(rows - by, -1)
    if (
        not torch.equal(p, torch.arange(rows - by)[:, None] * steps * op.width + p[0])
        or int(p[0].min()) < 0
        or int(p[0].max()) >= steps * op.width
    ):
        return None
    before = torch.zeros(by, steps * op.width, dtype=torch.float64)
    before[:, p[0]] = first.movedim(axis, 0).reshape(by, -1).to(torch.float64)
    value = graph.emit(
        "shift", [x.value], [("before", before.reshape(by * steps, op.width))], {"rows": by * steps}, dims=op.dims
    )
    rest = [e for d, e in enumerate(first.shape) if d != axis]
    made = Placed(value, (torch.arange(rows)[:, None] * steps * op.width + p[0]).reshape(rows, *rest).movedim(0, axis))
    return made if steps == 1 else settled(graph, made)


def beside(importer: Importer, parts: Sequence[Node], c: Tensor, dim: int) -> Placed:
    """A constant as features beside those of a sequence."""
    from .choice import constant_rows  # which reads this file

    x = importer.settled(next(part for part in parts if importer.varies(part)))
    axis = dim % c.dim()
    rows = x.at // importer.op(x).width
    if (
        x.at.shape[axis] == 0
        or importer.op(x).timeless
        or not torch.equal(rows, rows.narrow(axis, 0, 1).expand(rows.shape))
    ):
        raise Refused("joins a sequence with constants that are not zero", "add them to the features instead")
    return constant_rows(importer, c, x.moved(x.at.narrow(axis, 0, 1).expand(c.shape)), c.shape)


def in_every_row(importer: Importer, n: Node, part: Node, parts: Sequence[Node], dim: int) -> Placed:
    """A part without a time axis beside one that has it, such as a mean that was repeated: it is in all of its rows."""
    from .pointwise import repeated  # which reads this file

    x, others = importer.settled(part), [importer.settled(other) for other in parts if importer.varies(other)]
    rows = next((other for other in others if not importer.op(other).timeless and other.at.shape[dim]), None)
    if rows is None or not importer.op(x).timeless:
        return x
    return repeated(importer, n, x, rows.moved(rows.at.narrow(dim, 0, 1)))


def concatenate(importer: Importer, n: Node) -> Placed:
    """Features of several values side by side. Zeros are kept as places."""
    parts = [part for part in args_of(n)[0] if part.meta["val"].numel()]  # tensors without rows add nothing
    if not parts:
        return importer.placed(importer.variables(n)[0]).moved(torch.empty(n.meta["val"].shape, dtype=torch.long))
    dim = args_of(n)[1] if len(args_of(n)) > 1 else kwargs_of(n).get("dim", 0)
    graph, placed = importer.graph, []
    sources: list[int | None] = []
    rows_of_one = rows_joined(importer, [part for part in parts if importer.varies(part)])
    for part in parts:
        if not importer.varies(part):
            if bool(importer.constants[part].any()):
                if (late := behind_constants(importer, parts, dim)) is not None:
                    return late
                x = beside(importer, parts, importer.constants[part], dim)
                placed.append(x.at)
                sources.append(x.value)
                continue
            placed.append(torch.full(importer.constants[part].shape, ZERO))
            sources.append(None)
        else:
            x = importer.placed(part) if rows_of_one else in_every_row(importer, n, part, parts, dim)
            placed.append(x.at)
            sources.append(x.value)
    values = list(dict.fromkeys(v for v in sources if v is not None))
    at = torch.cat(placed, dim)
    if len(values) == 1:
        return Placed(values[0], at)
    number = torch.cat(
        [torch.full(p.shape, -1 if v is None else values.index(v)) for p, v in zip(placed, sources)], dim
    )
    if (
        bool((at < 0).any())
        or len({graph.ops[v].rows for v in values}) > 1
        or len({graph.ops[v].timeless for v in values}) > 1
    ):
        raise Refused("joins values of different rows", "join along the features")
    widths = torch.tensor([graph.ops[v].width for v in values])
    before = torch.cat([torch.zeros(1, dtype=torch.long), widths.cumsum(0)])
    t, code = at // widths[number], before[number] + at % widths[number]
    order = list(dict.fromkeys(code[t == t.min()].tolist()))
    table = torch.full((int(before[-1]),), -1)
    table[torch.tensor(order)] = torch.arange(len(order))
    index = table[code]
    if bool((index < 0).any()):
        raise Refused("joins values of different rows", "join along the features")
    return Placed(graph.take(graph.concat(values), torch.tensor(order)), t * len(order) + index)


def index_rule(importer: Importer, n: Node) -> Placed:
    """A selection by constant indices."""
    source = only(importer, n)
    x = importer.placed(source)
    return x.moved(call(n, {**importer.constants, source: x.at}))


RULES = {"linear": linear, "cat": concatenate, "index_select": index_rule, "index": index_rule, "gather": index_rule}
RULES |= dict.fromkeys(["matmul", "mm", "bmm", "mv", "einsum", "inner", "tensordot"], matrix)
