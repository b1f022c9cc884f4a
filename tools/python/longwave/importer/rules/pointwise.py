"""Element by element: functions, sums, products, constants per feature."""
from __future__ import annotations

import torch

from ..errors import NoOp, Refused, retrain
from ..places import NONE, ZERO, Placed, paired, per_feature, separate
from .linear import matrix
from .unary import FLOAT64, MOST, TABLE, Argument


def kept_zero(x: Placed, zero: bool) -> None:
    """Zeros that a pad added are places, not numbers: they must stay zero."""
    if not zero and bool((x.at == ZERO).any()):
        raise Refused("changes zeros that a pad added", "pad after it")


def argument(n, a: Argument):
    value = n.args[a.index] if len(n.args) > a.index else n.kwargs.get(a.name)
    return a.default if value is None else value


def meaning(n, kind: str) -> tuple[str, dict]:
    """The op that the torch operation stands for with its arguments, and its attributes."""
    for line in TABLE[kind]:
        if all(argument(n, a) == value for a, value in line.when.items()):
            numbers = {name: float(argument(n, a) if isinstance(a, Argument) else a) for name, a in line.attributes.items()}
            return line.op, {name: min(max(number, -MOST), MOST) for name, number in numbers.items()}
    given = ", ".join(f"{a.name}={argument(n, a)}" for a in TABLE[kind][0].when)
    raise NoOp(f"{given} has no op", retrain("use the defaults of torch"))


def unary(importer, n, kind: str) -> Placed:
    op, attributes = meaning(n, kind)
    x = importer.settled(n.args[0])
    kept_zero(x, float(FLOAT64[op](torch.zeros(1, dtype=torch.float64), **attributes)) == 0)
    graph, value = importer.graph, x.value
    made = graph.ops[value]
    if op == "log" and made.kind == "affine" and bool((made.constant("scale") == 1).all()) \
            and bool((made.constant("shift") == made.constant("shift")[0]).all()):
        attributes, value = {"offset": attributes["offset"] + float(made.constant("shift")[0])}, made.inputs[0]
    return Placed(graph.emit(op, [value], [], attributes), x.at)


def inverse(importer, x: Placed) -> Placed:
    kept_zero(x, False)
    return Placed(importer.graph.emit("reciprocal", [x.value]), x.at)


def affine(importer, x: Placed, scale, shift) -> Placed:
    """x * scale + shift; both spread over x as torch does."""
    graph = importer.graph
    scale, shift = (torch.as_tensor(c, dtype=torch.float64) for c in (scale, shift))
    shape = torch.broadcast_shapes(x.at.shape, scale.shape, shift.shape)
    x = x.moved(x.at.expand(shape))
    kept_zero(x, not bool(shift.any()))
    if bool((x.at == NONE).all()):
        raise Refused("has no rows", "use a longer example --length")
    x = separate(graph, x) if scale.numel() > 1 or shift.numel() > 1 else x
    a, b = per_feature(graph, x, scale, 1.0), per_feature(graph, x, shift, 0.0)
    return x.moved(x.at) if bool((a == 1).all() and (b == 0).all()) else Placed(graph.affine(x.value, a, b), x.at)


def negated(importer, x: Placed) -> Placed:
    return affine(importer, x, -1.0, 0.0)


def repeated(importer, n, x: Placed, rows: Placed) -> Placed:
    """A value without a time axis, such as a mean over time, in every row of a sequence."""
    graph, width = importer.graph, importer.op(x).width
    shape = torch.broadcast_shapes(x.at.shape, rows.at.shape)
    p, q = rows.at.expand(shape), x.at.expand(shape)
    if importer.op(rows).rows > 1 and len((p // importer.op(rows).width).unique()) == 1:
        raise Refused("one operand is one row of a sequence, and the other is none", retrain("take the first or the last row, or a mean over all"))
    value = graph.emit("repeat", [rows.value, graph.flat(x.value)], width=width)
    importer.looks_ahead(n)
    return Placed(value, torch.where(p < 0, p, torch.where(q < 0, q, p // importer.op(rows).width * width + q)))


def arithmetic(importer, n) -> Placed:
    kind, (x, y) = importer.kind(n).rstrip("_"), n.args[:2]
    if kind == "rsub":
        kind, x, y = "sub", y, x
    if n.kwargs.get("rounding_mode"):
        raise NoOp("rounds its result", retrain("divide without rounding_mode"))
    factor = n.kwargs.get("alpha", n.args[2] if len(n.args) > 2 and kind in ("add", "sub") else 1)
    if importer.varies(x) and importer.varies(y):
        a, b = importer.settled(x), importer.settled(y)
        if kind == "div":
            b = inverse(importer, b)
        if kind == "sub" or factor != 1:
            b = affine(importer, b, -factor if kind == "sub" else factor, 0.0)
        if importer.op(a).timeless != importer.op(b).timeless:
            a, b = (repeated(importer, n, a, b), b) if importer.op(a).timeless else (a, repeated(importer, n, b, a))
        return paired(importer.graph, "mul" if kind in ("mul", "div") else "add", a, b)
    swapped = not importer.varies(x)
    placed = importer.settled(y if swapped else x)
    c = torch.as_tensor(importer.constant(x if swapped else y), dtype=torch.float64)
    if torch.broadcast_shapes(placed.at.shape, c.shape) != placed.at.shape:
        return matrix(importer, n)  # one feature becomes several
    if kind == "mul" or kind == "div" and not swapped:
        if kind == "mul" and importer.op(placed).width == 1 and importer.overlaps(placed):
            return importer.windowed(n, placed, c)
        return affine(importer, placed, 1 / c if kind == "div" else c, 0.0)
    if kind == "div":
        return affine(importer, inverse(importer, placed), c, 0.0)
    if kind == "add":
        return affine(importer, placed, float(factor) if swapped else 1.0, c if swapped else factor * c)
    return affine(importer, placed, -float(factor), c) if swapped else affine(importer, placed, 1.0, -factor * c)


def power(importer, n) -> Placed:
    x, exponent, graph = importer.settled(n.args[0]), n.args[1], importer.graph
    if exponent == 1:
        return x
    if not isinstance(exponent, (int, float)):
        raise NoOp("an exponent that is a tensor has no op", "write (exponent * x.log()).exp() where x is positive")
    if exponent not in (2, 3, 0.5, -1, -0.5):
        raise NoOp(f"power {exponent} has no op", retrain("use powers 2, 3, 0.5, -1 and -0.5"))
    if exponent in (2, 3):
        squared = Placed(graph.emit("square", [x.value]), x.at)
        return squared if exponent == 2 else paired(graph, "mul", squared, x)
    root = x if exponent == -1 else Placed(graph.emit("sqrt", [x.value]), x.at)
    return root if exponent == 0.5 else inverse(importer, root)


def negative(importer, n) -> Placed:
    return negated(importer, importer.settled(n.args[0]))


def glu(importer, n) -> Placed:
    """Values times the sigmoid of gates, as one op where a matrix is right before it."""
    graph, x = importer.graph, importer.settled(n.args[0])
    x = Placed(graph.folded(x.value), x.at)
    dim = (n.args[1] if len(n.args) > 1 else -1) % x.at.dim()
    a, b = (x.moved(half) for half in x.at.chunk(2, dim))
    op, half = importer.op(x), importer.op(x).width // 2
    fa, fb = a.at % op.width, b.at % op.width
    if op.kind == "linear" and op.width % 2 == 0 and bool((a.at >= 0).all() and (b.at >= 0).all()) and bool((fa < half).all()) \
            and torch.equal(fb, fa + half) and torch.equal(a.at // op.width, b.at // op.width):
        return Placed(graph.emit("glu", [x.value], [], {}, half), a.at // op.width * half + fa)
    gates = graph.emit("sigmoid", [b.value])
    return paired(graph, "mul", a, Placed(gates, b.at))


RULES = dict.fromkeys(["add", "sub", "rsub", "mul", "div", "add_", "mul_", "sub_", "div_"], arithmetic) | {
    "pow": power, "neg": negative, "glu": glu}
