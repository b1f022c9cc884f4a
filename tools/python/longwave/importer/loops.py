"""Loops over the rows of a sequence. torch.export unrolls them: nodes for each row, of which nearly all are
rejected. One line per module reports the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.fx.node import Node

from .errors import Problem, retrain
from .export import op_name
from .nodes import args_of
from .places import Placed

if TYPE_CHECKING:
    from .match import Importer

FEW = 8  # parts of a value that a module may well take one by one: heads, gates, layers
LOOP = (
    "a loop over the rows of the sequence has no op",
    retrain("use LSTM, GRU, cumsum or a convolution, which run over all rows in one call"),
)
WRITES = ("writes parts of a value one by one", "compute all rows in one call, or join the parts with torch.cat")
ROW_BY_ROW = LOOP[0], WRITES[0]
PARTS = {"select", "slice", "unbind", "split", "split_with_sizes", "chunk"}
WRITERS = {"select_scatter", "slice_scatter", "copy"}


def explained(importer: Importer, n: Node) -> bool:
    """Whether `n` is rejected because of such a loop, which is reported instead."""
    if importer.kind(n) in WRITERS:
        told(importer, n, WRITES)
        return True
    for a in importer.variables(n):
        if one_row(importer, a) and ((part := part_behind(importer, a)) or known(importer, n, LOOP)):
            told(importer, part or n, LOOP)
            return True
    return False


def part_behind(importer: Importer, n: Node) -> Node | None:
    """The part that `n` is, or that operations on one value made it of."""
    while True:
        part = args_of(n)[0] if importer.kind(n) == "getitem" else n
        if one_of_most(part):
            return part
        sources = importer.variables(n)
        if len(sources) != 1 or sources[0].op == "placeholder":
            return None
        n = sources[0]


def known(importer: Importer, n: Node, why: tuple[str, str]) -> bool:
    module = importer.module(n)
    return any((problem.where.rpartition("/")[0], problem.reason) == (module, why[0]) for problem in importer.problems)


def told(importer: Importer, n: Node, why: tuple[str, str]) -> None:
    if not known(importer, n, why):
        importer.problems.append(Problem(importer.where(n), importer.kind(n), *why))


def one_row(importer: Importer, n: Node) -> bool:
    x = importer.values.get(n)
    if not isinstance(x, Placed) or importer.op(x).timeless or x.at.numel() == 0:
        return False
    rows = x.at // importer.op(x).width
    return importer.op(x).rows > 1 and bool((rows == rows.flatten()[0]).all())


def one_of_most(part: Node) -> bool:
    """Whether most of a value is read in parts of length 1."""
    found = part_of(part)
    if found is None:
        return False
    size = args_of(part)[0].meta["val"].shape[found[0]]
    alike = (
        size
        if op_name(part) not in ("select", "slice")
        else len({p for u in args_of(part)[0].users if (p := part_of(u)) and p[0] == found[0]})
    )
    return bool(alike > max(FEW, size // 2))


def part_of(n: Node) -> tuple[int, int] | None:
    """Axis and first index of a part of length 1."""
    kind = op_name(n)
    if kind not in PARTS or not isinstance(args_of(n)[0], Node):
        return None
    shape, at = args_of(n)[0].meta["val"].shape, {"select": 1, "slice": 1, "unbind": 1}.get(kind, 2)
    axis = (args_of(n)[at] if len(args_of(n)) > at else 0) % len(shape)
    if kind == "select":
        return axis, args_of(n)[2] % shape[axis]
    if kind == "slice":
        return (axis, args_of(n)[2] or 0) if n.meta["val"].shape[axis] == 1 else None
    return (axis, 0) if all(kind == "unbind" or part.shape[axis] == 1 for part in n.meta["val"]) else None
