"""Loops over the rows of a sequence. torch.export unrolls them: one node per row, which has no op here. Each module is told
once."""
from __future__ import annotations

from torch.fx.node import Node

from .errors import Problem
from .export import op_name
from .places import Placed

FEW = 8  # parts of a value that a module may well take one by one: heads, gates, layers
LOOP = ("a loop over the rows of the sequence has no op", "use LSTM, GRU, cumsum or a convolution, which run over all rows in one call")
WRITES = ("writes parts of a value one by one", "compute all rows in one call, or join the parts with torch.cat")
PARTS = {"select", "slice", "unbind", "split", "split_with_sizes", "chunk"}
WRITERS = {"select_scatter", "slice_scatter", "copy"}


def unrolled(importer, n: Node) -> bool:
    """Whether `n` is a part of such a loop. It gets no value then, and neither does what reads it alone."""
    kind = importer.kind(n)
    if kind in WRITERS:
        told(importer, n, WRITES)
    elif kind in PARTS and takes_rows(importer, n):
        told(importer, n, LOOP)
    else:
        return False
    return True


def told(importer, n: Node, why: tuple[str, str]) -> None:
    module = importer.module(n)
    if not any((problem.where.rpartition("/")[0], problem.reason) == (module, why[0]) for problem in importer.problems):
        importer.problems.append(Problem(importer.where(n), importer.kind(n), *why))


def takes_rows(importer, n: Node) -> bool:
    """Whether this and its like take most rows of one value, each on its own."""
    source = n.args[0]
    x = importer.values.get(source)
    if not isinstance(x, Placed) or importer.op(x).timeless:
        return False
    part = part_of(n)
    if part is None:
        return False
    axis, size = part[0], x.at.shape[part[0]]
    parts = len(n.meta["val"]) if isinstance(n.meta["val"], (list, tuple)) else len({p for u in source.users if (p := part_of(u)) and p[0] == axis})
    return parts > max(FEW, size // 2) and rows_along(x, axis, importer.op(x).width)


def part_of(n: Node) -> tuple[int, int] | None:
    """Axis and first index of a part of length 1."""
    kind = op_name(n)
    if kind not in PARTS or not isinstance(n.args[0], Node):
        return None
    shape, at = n.args[0].meta["val"].shape, {"select": 1, "slice": 1, "unbind": 1}.get(kind, 2)
    axis = (n.args[at] if len(n.args) > at else 0) % len(shape)
    if kind == "select":
        return axis, n.args[2] % shape[axis]
    if kind == "slice":
        return (axis, n.args[2] or 0) if n.meta["val"].shape[axis] == 1 else None
    return (axis, 0) if all(kind == "unbind" or part.shape[axis] == 1 for part in n.meta["val"]) else None


def rows_along(x: Placed, axis: int, width: int) -> bool:
    """Whether neighbours along `axis` lie in different rows."""
    first, second = (x.at.select(axis, i) // width for i in (0, 1))
    return bool((first != second).all())
