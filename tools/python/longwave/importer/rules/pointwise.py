"""Element by element: functions, sums, products, constants per feature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.fx.node import Node

from ..errors import NoOp, Refused, retrain
from ..nodes import args_of, kwargs_of
from ..places import NONE, ZERO, Placed, paired, per_feature, separate
from .linear import matrix
from .unary import FLOAT64, MOST, TABLE, Argument

if TYPE_CHECKING:
    from ..match import Importer
    from ..recovered import Recovered


def kept_zero(x: Placed, zero: bool) -> None:
    """Zeros that a pad added are places, not numbers: they must stay zero."""
    if not zero and bool((x.at == ZERO).any()):
        raise Refused("changes zeros that a pad added", "pad after it")


def argument(n: Node, a: Argument) -> Any:
    value = args_of(n)[a.place] if len(args_of(n)) > a.place else kwargs_of(n).get(a.name)
    return a.default if value is None else value


def meaning(n: Node, kind: str) -> tuple[str, dict[str, float]]:
    """The op that the torch operation stands for with its arguments, and its attributes."""
    for line in TABLE[kind]:
        if all(argument(n, a) == value for a, value in line.when.items()):
            numbers = {
                name: float(argument(n, a) if isinstance(a, Argument) else a) for name, a in line.attributes.items()
            }
            return line.op, {name: min(max(number, -MOST), MOST) for name, number in numbers.items()}
    given = ", ".join(f"{a.name}={argument(n, a)}" for a in TABLE[kind][0].when)
    raise NoOp(f"{given} has no op", retrain("use the defaults of torch"))


def unary(importer: Importer, n: Node, kind: str) -> Placed:
    op, attributes = meaning(n, kind)
    x = importer.settled(args_of(n)[0])
    made, graph = importer.op(x), importer.graph
    if (
        op == "log"
        and made.kind == "affine"
        and bool((made.constant("scale") == 1).all())
        and bool((made.constant("shift") == made.constant("shift")[0]).all())
    ):
        kept_zero(x, False)
        return Placed(
            graph.emit(op, [made.inputs[0]], [], {"offset": attributes["offset"] + float(made.constant("shift")[0])}),
            x.at,
        )
    return applied(importer, op, x, **attributes)


def inverse(importer: Importer, x: Placed) -> Placed:
    kept_zero(x, False)
    return Placed(importer.graph.emit("reciprocal", [x.value]), x.at)


def affine(importer: Importer, x: Placed, factor: Tensor | float, added: Tensor | float) -> Placed:
    """x * factor + added; both spread over x as torch does."""
    graph = importer.graph
    scale, shift = (torch.as_tensor(c, dtype=torch.float64) for c in (factor, added))
    shape = torch.broadcast_shapes(x.at.shape, scale.shape, shift.shape)
    x = x.moved(x.at.expand(shape))
    kept_zero(x, not bool(shift.any()))
    if bool((x.at == NONE).all()):
        raise Refused("has no rows", "use a longer example --length")
    x = separate(graph, x) if scale.numel() > 1 or shift.numel() > 1 else x
    a, b = per_feature(graph, x, scale, 1.0), per_feature(graph, x, shift, 0.0)
    return x.moved(x.at) if bool((a == 1).all() and (b == 0).all()) else Placed(graph.affine(x.value, a, b), x.at)


def negated(importer: Importer, x: Placed) -> Placed:
    return affine(importer, x, -1.0, 0.0)


def repeated(importer: Importer, n: Node, x: Placed, rows: Placed) -> Placed:
    """A value without a time axis, such as a mean over time, in every row of a sequence."""
    graph, width = importer.graph, importer.op(x).width
    shape = torch.broadcast_shapes(x.at.shape, rows.at.shape)
    p, q = rows.at.expand(shape), x.at.expand(shape)
    if importer.op(rows).rows > 1 and len((p // importer.op(rows).width).unique()) == 1:
        raise Refused(
            "one operand is one row of a sequence, and the other is none",
            retrain("take the first or the last row, or a mean over all"),
        )
    value = graph.emit("repeat", [rows.value, graph.flat(x.value)], width=width)
    importer.looks_ahead(n)
    return Placed(value, torch.where(p < 0, p, torch.where(q < 0, q, p // importer.op(rows).width * width + q)))


def changing(importer: Importer, x: Placed, c: Tensor | float) -> Placed | None:
    """rules/positions.py, which reads this file."""
    from .positions import changing as found

    return found(importer, x, c) if torch.as_tensor(c).numel() > 1 else None


def in_step(importer: Importer, n: Node, *operands: Placed) -> list[Placed]:
    """Values without a time axis in every row of those that have one."""
    rows = next((x for x in operands if not importer.op(x).timeless), None)
    return [x if rows is None or not importer.op(x).timeless else repeated(importer, n, x, rows) for x in operands]


def applied(importer: Importer, op: str, x: Placed, **attributes: float) -> Placed:
    kept_zero(x, float(FLOAT64[op](torch.zeros(1, dtype=torch.float64), **attributes)) == 0)
    return Placed(importer.graph.emit(op, [x.value], [], attributes), x.at)


def arithmetic(importer: Importer, n: Node) -> Placed:
    """Sums, differences, products and quotients, also rounded ones."""
    made, mode = ratio(importer, n), kwargs_of(n).get("rounding_mode")
    return made if mode is None else rounded(importer, made, mode)


def rounded(importer: Importer, x: Placed, mode: str) -> Placed:
    if mode == "floor":
        return applied(importer, "floor", x)
    return paired(
        importer.graph, "mul", applied(importer, "sign", x), applied(importer, "floor", applied(importer, "abs", x))
    )


def ratio(importer: Importer, n: Node) -> Placed:
    kind, (x, y) = importer.kind(n).rstrip("_"), args_of(n)[:2]
    if kind == "rsub":
        kind, x, y = "sub", y, x
    factor = kwargs_of(n).get("alpha", args_of(n)[2] if len(args_of(n)) > 2 and kind in ("add", "sub") else 1)
    if importer.varies(x) and importer.varies(y):
        a, b = importer.settled(x), importer.settled(y)
        if kind == "div":
            b = inverse(importer, b)
        if kind == "sub" or factor != 1:
            b = affine(importer, b, -factor if kind == "sub" else factor, 0.0)
        return paired(importer.graph, "mul" if kind in ("mul", "div") else "add", *in_step(importer, n, a, b))
    swapped = not importer.varies(x)
    c = torch.as_tensor(importer.constant(x if swapped else y), dtype=torch.float64)
    placed = importer.placed(y if swapped else x)
    if (
        kind == "mul"
        and importer.op(placed).width == 1
        and importer.overlaps(placed)
        and bool((placed.at[..., -1:] != placed.at[..., :1]).any())
    ):
        return importer.windowed(n, placed, c)
    placed = importer.settled(y if swapped else x)
    if (t := changing(importer, placed, c)) is not None:
        return of_changing(importer, kind, placed, t, c, float(factor), swapped)
    if torch.broadcast_shapes(placed.at.shape, c.shape) != placed.at.shape:
        return matrix(importer, n)  # one feature becomes several
    if kind == "mul" or kind == "div" and not swapped:
        return affine(importer, placed, 1 / c if kind == "div" else c, 0.0)
    if kind == "div":
        return affine(importer, inverse(importer, placed), c, 0.0)
    if kind == "add":
        return affine(importer, placed, float(factor) if swapped else 1.0, c if swapped else factor * c)
    return affine(importer, placed, -float(factor), c) if swapped else affine(importer, placed, 1.0, -factor * c)


def of_changing(importer: Importer, kind: str, x: Placed, t: Placed, c: Tensor, factor: float, swapped: bool) -> Placed:
    """With a constant that changes with time, `t` as a value."""
    graph = importer.graph
    if kind == "div":
        if swapped:
            x = inverse(importer, x)
        else:
            reciprocal = changing(importer, x, 1 / c)
            assert reciprocal is not None  # as c does, its reciprocal changes
            t = reciprocal
    if kind in ("mul", "div"):
        return paired(graph, "mul", x, t)
    one, two = (t, x) if swapped else (x, t)
    return paired(graph, "add", one, affine(importer, two, -factor if kind == "sub" else factor, 0.0))


MOST_FACTORS = 16  # of a power that is multiplied


def power(importer: Importer, n: Node) -> Placed:
    """Whole and half powers by products and roots. Others are e^(exponent log x), which torch defines for x > 0."""
    base, exponent = args_of(n)[:2]
    if not importer.varies(base):
        c = torch.as_tensor(importer.constant(base), dtype=torch.float64)
        if not bool((c > 0).all()):
            raise NoOp("a power of a base that is not positive", retrain("use a positive base"))
        return applied(importer, "exp", affine(importer, importer.settled(exponent), c.log(), 0.0))
    x, graph = importer.settled(base), importer.graph
    if importer.varies(exponent):
        y, logarithm = importer.settled(exponent), applied(importer, "log", x, offset=0.0)
        return applied(importer, "exp", paired(graph, "mul", *in_step(importer, n, logarithm, y)))
    each = torch.as_tensor(importer.constant(exponent), dtype=torch.float64)
    one = float(each.flatten()[0]) if each.numel() and bool((each == each.flatten()[0]).all()) else None
    if one is None or 2 * abs(one) != int(2 * abs(one)) or abs(one) > MOST_FACTORS:
        return applied(importer, "exp", affine(importer, applied(importer, "log", x, offset=0.0), each, 0.0))
    if one == 0:
        return affine(importer, x, 0.0, 1.0)
    made = product_of(graph, x, int(abs(one)))
    if abs(one) != int(abs(one)):
        root = applied(importer, "sqrt", x)
        made = root if made is None else paired(graph, "mul", made, root)
    assert made is not None  # the exponent is not 0
    return made if one > 0 else inverse(importer, made)


def product_of(graph: Recovered, x: Placed, count: int) -> Placed | None:
    made, power_of_two = None, x
    while count:
        if count % 2:
            made = power_of_two if made is None else paired(graph, "mul", power_of_two, made)
        if count := count // 2:
            power_of_two = Placed(graph.emit("square", [power_of_two.value]), x.at)
    return made


def negative(importer: Importer, n: Node) -> Placed:
    return negated(importer, importer.settled(args_of(n)[0]))


def glu(importer: Importer, n: Node) -> Placed:
    """Values times the sigmoid of gates, as one op where a matrix is right before it."""
    graph, x = importer.graph, importer.settled(args_of(n)[0])
    x = Placed(graph.folded(x.value), x.at)
    dim = (args_of(n)[1] if len(args_of(n)) > 1 else -1) % x.at.dim()
    a, b = (x.moved(half) for half in x.at.chunk(2, dim))
    op, half = importer.op(x), importer.op(x).width // 2
    fa, fb = a.at % op.width, b.at % op.width
    if (
        op.kind == "linear"
        and op.width % 2 == 0
        and bool((a.at >= 0).all() and (b.at >= 0).all())
        and bool((fa < half).all())
        and torch.equal(fb, fa + half)
        and torch.equal(a.at // op.width, b.at // op.width)
    ):
        return Placed(graph.emit("glu", [x.value], [], {}, half), a.at // op.width * half + fa)
    gates = graph.emit("sigmoid", [b.value])
    return paired(graph, "mul", a, Placed(gates, b.at))


RULES = dict.fromkeys(["add", "sub", "rsub", "mul", "div", "add_", "mul_", "sub_", "div_"], arithmetic) | {
    "pow": power,
    "neg": negative,
    "glu": glu,
}
