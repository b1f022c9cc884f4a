"""Constants that change with time: counts of the rows, waves of them, decays, and tables of learned positions.

The importer sees the numbers and not how a module makes them. So the spelling does not matter: 1 / count, rotary angles as sines
or as complex numbers, and masks are all columns of numbers. Each column becomes what goes on after the example where it can.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..beginnings import begins, first_row, ones
from ..errors import Refused
from ..places import NONE, Placed, paired, split
from .pointwise import affine
from .waves import Waves, waves

if TYPE_CHECKING:
    from ..match import Importer
    from ..recovered import Recovered

EXACT = 1e-12  # of the peak, of numbers in float64
STORED = 3e-7  # of the peak, of tables that a module keeps in float32
FEW = 16  # rows: fewer tell no rule


@dataclass(frozen=True)
class Table:
    """Positions that are known for the rows of the example only."""

    where: str
    rows: int
    warning: str


def changing(importer: Importer, x: Placed, given: Tensor | float) -> Placed | None:
    """A constant as rows in step with a value. None: it is the same in every row."""
    c = torch.as_tensor(given, dtype=torch.float64)
    x = split(importer.graph, x)
    op, shape = importer.op(x), torch.broadcast_shapes(x.at.shape, c.shape)
    at, c = x.at.expand(shape), c.expand(shape)
    if op.timeless or op.rows < 2:
        return None
    for axis in range(len(shape)):
        p, rows = (
            c.movedim(axis, 0).reshape(shape[axis], -1),
            (at // op.width).movedim(axis, 0).reshape(shape[axis], -1),
        )
        if shape[axis] < op.rows or int(rows.max()) != op.rows - 1 or bool((rows != rows[:, :1]).any()):
            continue
        there = at.movedim(axis, 0).reshape(shape[axis], -1)[:, 0] >= 0
        if int(there.sum()) != op.rows or not torch.equal(rows[there, 0], torch.arange(op.rows)):
            raise Refused("a constant that changes with time, added to zeros that a pad added", "pad after it")
        p = p[there]
        if bool((p == p[:1]).all()):
            return None
        columns, which = p.unique(dim=1, return_inverse=True)
        value = columns_of(importer, x.value, columns)
        made = torch.full((shape[axis], which.numel()), NONE)
        made[there] = torch.arange(op.rows)[:, None] * columns.shape[1] + which
        return Placed(value, made.reshape(shape[axis], *(e for d, e in enumerate(shape) if d != axis)).movedim(0, axis))
    return None


def scaled(importer: Importer, x: Placed, c: Tensor | float) -> Placed:
    """x times a constant, which may change with time."""
    t = changing(importer, x, c)
    return affine(importer, x, c, 0.0) if t is None else paired(importer.graph, "mul", x, t)


def columns_of(importer: Importer, like: int, c: Tensor) -> int:
    """A value whose rows are those of c [rows, columns], as many as `like` has."""
    graph = importer.graph
    if not bool(torch.isfinite(c).all()):
        raise Refused("a constant that changes with time and is not finite", "mask with numbers that are finite")
    waiting, parts, order = torch.arange(c.shape[1]), [], []
    for rule in (lines, decays, exact_waves, table):
        if len(waiting) == 0:
            break
        value, taken = rule(importer, like, c[:, waiting])
        if value is not None:
            parts.append(value)
            order.append(waiting[taken])
            waiting = waiting[~taken]
    joined = graph.concat(parts)
    return graph.take(joined, torch.cat(order).argsort())


def count(graph: Recovered, like: int) -> int:
    """1, 2, 3 ... in the rows."""
    one = torch.ones(1, 1, dtype=torch.float64)
    return graph.emit("exponential_scan", [ones(graph, like)], [("lambda", one), ("c", one)])


# ops that make a column of a line, and the line of a column
LINES: list[tuple[tuple[str, ...], Callable[[Tensor], Tensor]]] = [
    ((), lambda c: c),
    (("reciprocal",), lambda c: 1 / c),
    (("sqrt",), lambda c: c.square()),
    (("sqrt", "reciprocal"), lambda c: 1 / c.square()),
    (("log",), lambda c: c.exp()),
]


def lines(importer: Importer, like: int, c: Tensor) -> tuple[int | None, Tensor]:
    """Columns a t + b, and functions of them."""
    graph, taken, parts, order = importer.graph, torch.zeros(c.shape[1], dtype=torch.bool), [], []
    for ops, inverse in LINES if len(c) >= FEW else []:
        y = inverse(c)
        step = (y[-1] - y[0]) / (len(y) - 1)
        off = (y - y[0] - torch.arange(len(y), dtype=torch.float64)[:, None] * step).abs().amax(0)
        fits = (off <= EXACT * y.abs().amax(0)) & torch.isfinite(y).all(0) & ~taken
        fits &= (c > 0).all(0) if {"sqrt", "log"} & set(ops) else ~taken
        if not bool(fits.any()):
            continue
        made = graph.linear(count(graph, like), step[fits, None], (y[0] - step)[fits])
        for op in ops:
            made = graph.emit(op, [made], [], {"offset": 0.0} if op == "log" else {})
        parts.append(made)
        order.append(fits.nonzero()[:, 0])
        taken |= fits
    return joined(graph, parts, order), taken


def joined(graph: Recovered, parts: list[int], order: list[Tensor]) -> int | None:
    """Parts side by side, their features in order."""
    return graph.take(graph.concat(parts), torch.cat(order).argsort()) if parts else None


def decays(importer: Importer, like: int, c: Tensor) -> tuple[int | None, Tensor]:
    """Columns a r^t that do not grow."""
    graph, ratio = importer.graph, c[1] / c[0]
    expected = c[0] * ratio ** torch.arange(len(c), dtype=torch.float64)[:, None]
    fits = (len(c) >= FEW) & (ratio.abs() < 1) & ((c - expected).abs() <= EXACT * c.abs().amax(0)).all(0)
    if not bool(fits.any()):
        return None, fits
    first = graph.linear(first_row(graph, like), c[0, fits, None])
    factor = ratio[fits, None]
    return graph.emit("exponential_scan", [first], [("lambda", factor), ("c", torch.ones_like(factor))]), fits


def exact_waves(importer: Importer, like: int, c: Tensor) -> tuple[int | None, Tensor]:
    found = waves(c, EXACT)
    fits = found.fits
    return (rotated(importer.graph, like, found) if bool(fits.any()) else None), fits


def rotated(graph: Recovered, like: int, found: Waves) -> int:
    """Sums of cosines and sines of t theta."""
    pairs = len(found.theta)
    start = torch.cat([torch.ones(pairs), torch.zeros(pairs)]).to(torch.float64)
    base = graph.linear(ones(graph, like), torch.zeros(2 * pairs, 1), start)
    value = graph.emit("rotary", [base], [("theta", found.theta)], {"heads": 1, "interleaved": 0})
    single = (found.weight != 0).sum(1) == 1
    if bool(single.all()) and bool((found.weight.sum(1) == 1).all()):
        return graph.select(value, found.weight.argmax(1))
    return graph.linear(value, found.weight)


def table(importer: Importer, like: int, c: Tensor) -> tuple[int, Tensor]:
    """Rows of numbers; zeros after the example. Waves that a module keeps in float32 go on after it."""
    graph, found = importer.graph, waves(c, STORED)
    every = torch.ones(c.shape[1], dtype=torch.bool)
    if not bool(found.fits.all()):
        where = "/".join(part for part in graph.here if part)
        warning = f"{where}: positions end with the example, at row {len(c)}: longer sequences differ"
        importer.tables.append(Table(where, len(c), warning))
        importer.warnings.append(warning)
    return graph.emit("positions", [like], [("table", c)], {}, c.shape[1]), every


def lowered(graph: Recovered, v: int) -> int:
    """The ops that stand for the op `positions`, which files do not have."""
    op = graph.ops[v]
    c, like = op.constant("table"), op.inputs[0]
    found = waves(c, STORED)
    return rotated(graph, like, found) if bool(found.fits.all()) else begins(graph, like, c)
