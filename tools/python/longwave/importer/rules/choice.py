"""Comparisons, choices, and the larger or the smaller of values. A truth is a value of 1 or 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.fx.node import Node

from ..errors import Refused
from ..nodes import args_of
from ..places import Placed, paired
from .pointwise import affine, applied, argument, changing, in_step, negated, unary
from .unary import MOST, Argument

if TYPE_CHECKING:
    from ..match import Importer


def constant_rows(importer: Importer, given: Tensor | float, like: Placed, shape: Sequence[int]) -> Placed:
    """A constant in every row of a value, spread over `shape`. Infinities are numbers beyond all others."""
    c = torch.as_tensor(given, dtype=torch.float64).clamp(-MOST, MOST)
    if (t := changing(importer, like, c)) is not None:
        return t.moved(t.at.expand(shape))
    return affine(importer, like.moved(like.at.expand(shape)), 0.0, c)


def side_by_side(importer: Importer, n: Node, *operands: Any) -> list[Placed]:
    """Nodes, numbers and constants as values in step. At least one depends on an input."""
    values = [importer.settled(a) if importer.varies(a) else importer.constant(a) for a in operands]
    placed = [v for v in values if isinstance(v, Placed)]
    if any(not isinstance(v, Placed) for v in values):
        shape = torch.broadcast_shapes(
            *(v.at.shape if isinstance(v, Placed) else torch.as_tensor(v).shape for v in values)
        )
        values = [v if isinstance(v, Placed) else constant_rows(importer, v, placed[0], shape) for v in values]
    return in_step(importer, n, *values)


def difference(importer: Importer, n: Node, a: Any, b: Any) -> Placed:
    """a - b."""
    if not importer.varies(b):
        return affine(importer, importer.settled(a), 1.0, -torch.as_tensor(importer.constant(b), dtype=torch.float64))
    if not importer.varies(a):
        return affine(importer, importer.settled(b), -1.0, torch.as_tensor(importer.constant(a), dtype=torch.float64))
    x, y = in_step(importer, n, importer.settled(a), importer.settled(b))
    return paired(importer.graph, "add", x, negated(importer, y))


def inverted(importer: Importer, x: Placed) -> Placed:
    return affine(importer, x, -1.0, 1.0)


def compare(importer: Importer, n: Node) -> Placed:
    kind, (a, b) = importer.kind(n), args_of(n)[:2]
    for side in (a, b):
        if importer.varies(side) and side.meta["val"].dtype not in (
            torch.bool,
            torch.float32,
            torch.float64,
            torch.float16,
            torch.bfloat16,
        ):
            raise Refused(f"compares {side.meta['val'].dtype}", "compare floating point numbers")
    signs = applied(importer, "sign", difference(importer, n, *((b, a) if kind in ("lt", "ge") else (a, b))))
    if kind in ("eq", "ne"):
        apart = applied(importer, "abs", signs)
        return apart if kind == "ne" else inverted(importer, apart)
    above = applied(importer, "relu", signs)
    return above if kind in ("gt", "lt") else inverted(importer, above)


def logical(importer: Importer, n: Node) -> Placed:
    kind = importer.kind(n).removeprefix("logical_").removeprefix("bitwise_").strip("_")
    for a in args_of(n):
        if importer.varies(a) and a.meta["val"].dtype != torch.bool:
            raise Refused(f"a truth of {a.meta['val'].dtype}", "compare with 0 first")
    if kind == "not":
        return inverted(importer, importer.settled(args_of(n)[0]))
    x, y = side_by_side(importer, n, *(a if importer.varies(a) else importer.constant(a) for a in args_of(n)[:2]))
    if kind == "xor":
        return applied(importer, "abs", paired(importer.graph, "add", x, negated(importer, y)))
    return paired(importer.graph, "mul" if kind == "and" else "maximum", x, y)


def chosen(importer: Importer, n: Node, condition: Any, first: Any, second: Any) -> Placed:
    mask = None if importer.varies(condition) else torch.as_tensor(importer.constant(condition), dtype=torch.float64)
    if mask is None or any(
        importer.varies(a) and changing(importer, importer.settled(a), mask) is not None for a in (first, second)
    ):
        return paired(importer.graph, "where", *side_by_side(importer, n, condition, first, second))
    x, y = side_by_side(importer, n, first, second)
    shape = torch.broadcast_shapes(mask.shape, x.at.shape, y.at.shape)
    x, y = (affine(importer, p.moved(p.at.expand(shape)), c, 0.0) for p, c in ((x, mask), (y, 1 - mask)))
    return paired(importer.graph, "add", x, y)


def where(importer: Importer, n: Node) -> Placed:
    return chosen(importer, n, *args_of(n)[:3])


def masked_fill(importer: Importer, n: Node) -> Placed:
    x, mask, value = args_of(n)[:3]
    return chosen(importer, n, mask, value, x)


def extreme(importer: Importer, n: Node) -> Placed:
    """The larger or the smaller of two values, of which one may be constant."""
    kind, (a, b) = "maximum" if "max" in importer.kind(n) else "minimum", args_of(n)[:2]
    for x, c in ((a, b), (b, a)):
        if importer.varies(x) and not importer.varies(c) and torch.as_tensor(importer.constant(c)).numel() == 1:
            number = float(importer.constant(c))
            limits = {"low": number, "high": MOST} if kind == "maximum" else {"low": -MOST, "high": number}
            return applied(importer, "clamp", importer.settled(x), **limits)
    return paired(importer.graph, kind, *side_by_side(importer, n, a, b))


def clamp(importer: Importer, n: Node) -> Placed:
    """Between numbers, or between values and constants per feature."""
    low, high = (argument(n, Argument(i, name, None)) for i, name in ((1, "min"), (2, "max")))
    if all(limit is None or isinstance(limit, (int, float)) for limit in (low, high)):
        return unary(importer, n, "clamp")
    made = importer.settled(args_of(n)[0])
    for kind, limit in (("maximum", low), ("minimum", high)):
        if limit is not None:
            limit = (
                importer.settled(limit)
                if importer.varies(limit)
                else constant_rows(importer, importer.constant(limit), made, n.meta["val"].shape)
            )
            made = paired(importer.graph, kind, *in_step(importer, n, made, limit))
    return made


RULES = dict.fromkeys(["gt", "ge", "lt", "le", "eq", "ne"], compare) | {
    "where": where,
    "masked_fill": masked_fill,
    "clamp": clamp,
    "maximum": extreme,
    "minimum": extreme,
    "fmax": extreme,
    "fmin": extreme,
}
RULES |= dict.fromkeys(
    [
        "logical_not",
        "logical_and",
        "logical_or",
        "logical_xor",
        "bitwise_not",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "__and__",
        "__or__",
        "__xor__",
    ],
    logical,
)
