"""Values that a module writes piece by piece: z[:, a:b] = piece.

What is read back is what was written there, or what was there before. Behind the last write the value is its pieces side by
side, and what an empty tensor held does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.fx import Graph
from torch.fx.node import Node

from .mixing import emit, name
from .nodes import args_of, kwargs_of

aten = torch.ops.aten
FEW = 8  # pieces of length 1: more are a loop over rows, which has a reason of its own


@dataclass
class Part:
    """first <= index < last along an axis of `whole`."""

    whole: Node
    axis: int
    first: int
    last: int
    one: bool  # without the axis


def part_of(n: Node, at: int) -> Part | None:
    """What `n` reads of a value or writes into it. `at`: where its arguments name the axis. None: not one piece."""
    args = args_of(n)
    whole = args[0]
    shape = whole.meta["val"].shape
    if kwargs_of(n) or len(args) > at + 3 and args[at + 3] != 1:
        return None
    axis = (args[at] if len(args) > at else 0) % len(shape)
    size = shape[axis]
    given = [args[i] if len(args) > i else None for i in (at + 1, at + 2)]
    if not all(isinstance(i, int | None) for i in (size, *given)):
        return None
    if name(n).startswith("select"):
        first = given[0] % size
        return Part(whole, axis, first, first + 1, True)
    first, last = (
        min(max(i + size if i < 0 else i, 0), size) for i in (given[0] or 0, size if given[1] is None else given[1])
    )
    return Part(whole, axis, first, last, False) if first < last else None


def written(n: Node) -> tuple[Part, Node] | None:
    """What `n` overwrites, and with what."""
    if name(n) not in ("slice_scatter", "select_scatter"):
        return None
    part, piece = part_of(n, 2), args_of(n)[1]
    return (part, piece) if part and piece.meta["val"].dtype == n.meta["val"].dtype else None


def joined(graph: Graph) -> None:
    """Rewrites such values of the exported graph."""
    if not any(name(n) in ("slice_scatter", "select_scatter", "copy", "fill") for n in graph.nodes):
        return
    for n in list(graph.nodes):
        if name(n) in ("copy", "fill"):
            without_copy(graph, n)
        elif name(n) in ("slice", "select"):
            read_back(n)
    for n in reversed(list(graph.nodes)):
        if written(n) and not all(name(u) == name(n) and args_of(u)[0] is n for u in n.users):
            side_by_side(graph, n)
    graph.eliminate_dead_code()


def without_copy(graph: Graph, n: Node) -> None:
    """What is copied or filled in, as long as what it replaces."""
    piece, shape = args_of(n)[1], n.meta["val"].shape
    if not isinstance(piece, Node):
        with graph.inserting_before(n):
            piece = emit(graph, n, aten.full_like.default, (args_of(n)[0], piece), shape, n)
    if piece.meta["val"].dtype != n.meta["val"].dtype:
        return
    if piece.meta["val"].shape != shape:
        with graph.inserting_before(n):
            piece = emit(graph, n, aten.expand.default, (piece, list(shape)), shape, piece)
    n.replace_all_uses_with(piece)


def read_back(n: Node) -> None:
    while (part := part_of(n, 1)) and (found := written(part.whole)) and found[0].axis == part.axis:
        there, piece = found
        if part.last <= there.first or part.first >= there.last:
            n.update_arg(0, there.whole)
        elif there.one and part.one:
            n.replace_all_uses_with(piece)
            return
        elif not there.one and there.first <= part.first and part.last <= there.last:
            first, last = part.first - there.first, part.last - there.first
            n.args = (piece, part.axis, first) if part.one else (piece, part.axis, first, last)
        else:
            return


def side_by_side(graph: Graph, n: Node) -> None:
    """All writes up to `n` as one value."""
    part, _ = written(n) or (None, None)
    assert part is not None
    axis, at, gaps = part.axis, n, [(0, n.meta["val"].shape[part.axis])]
    pieces: list[tuple[int, int, Part | None, Node]] = []
    while gaps and (found := written(at)) and found[0].axis == axis:
        over, piece = found
        left = []
        for a, b in gaps:
            low, high = max(a, over.first), min(b, over.last)
            if low < high:
                pieces.append((low, high, over, piece))
                left += [(a, low)] * (a < low) + [(high, b)] * (high < b)
            else:
                left.append((a, b))
        gaps, at = left, over.whole
    if gaps and of_empty(at) or sum(b - a == 1 for a, b, *_ in pieces) > FEW:
        return
    pieces += [(a, b, None, at) for a, b in gaps]
    with graph.inserting_before(n):
        made = [piece_of(graph, n, axis, *piece) for piece in sorted(pieces, key=lambda piece: piece[0])]
        result = emit(graph, n, aten.cat.default, (made, axis), n.meta["val"].shape, n)
    n.replace_all_uses_with(result)


def of_empty(n: Node) -> bool:
    """Whether its numbers are those of an empty tensor, which are not known."""
    while not (empty := name(n).startswith(("empty", "new_empty"))) and len(n.all_input_nodes) == 1:
        n = n.all_input_nodes[0]
    return empty


def piece_of(graph: Graph, n: Node, axis: int, first: int, last: int, over: Part | None, piece: Node) -> Node:
    """Places `first` to `last` of the result, which a write over a part made, or which are those of a value before it."""
    shape = list(n.meta["val"].shape)
    shape[axis] = last - first
    if over is not None and over.one:
        return emit(graph, n, aten.unsqueeze.default, (piece, axis), shape, piece)
    if over is not None and (first, last) == (over.first, over.last):
        return piece
    before = over.first if over else 0
    return emit(graph, n, aten.slice.Tensor, (piece, axis, first - before, last - before), shape, piece)
