"""Element by element: functions, sums, products, constants per feature."""
from __future__ import annotations

import torch

from ..errors import Refused
from ..places import NONE, ZERO, Placed, paired, per_feature
from .linear import matrix
from .unary import FLOAT64, TABLE


def kept_zero(x: Placed, zero: bool) -> None:
    """Zeros that a pad added are places, not numbers: they must stay zero."""
    if not zero and bool((x.at == ZERO).any()):
        raise Refused("changes zeros that a pad added", "pad after it")


def unary(importer, n, kind: str) -> Placed:
    options, op, attributes = TABLE[kind]
    for name, value in options.items():
        if n.kwargs.get(name, value) != value:
            raise Refused(f"{name}={n.kwargs[name]} has no op", f"use {name}={value}")
    x = importer.settled(n.args[0])
    kept_zero(x, float(FLOAT64[op](torch.zeros(1, dtype=torch.float64), **attributes)) == 0)
    graph, value = importer.graph, x.value
    made = graph.ops[value]
    if op == "log" and made.kind == "affine" and bool((made.constant("scale") == 1).all()) \
            and bool((made.constant("shift") == made.constant("shift")[0]).all()):
        attributes, value = {"offset": attributes["offset"] + float(made.constant("shift")[0])}, made.inputs[0]
    return Placed(graph.emit(op, [value], [], attributes), x.at)


def affine(importer, x: Placed, scale, shift) -> Placed:
    """x * scale + shift; both spread over x as torch does."""
    graph = importer.graph
    scale, shift = (torch.as_tensor(c, dtype=torch.float64) for c in (scale, shift))
    shape = torch.broadcast_shapes(x.at.shape, scale.shape, shift.shape)
    x = x.moved(x.at.expand(shape))
    kept_zero(x, not bool(shift.any()))
    if bool((x.at == NONE).all()):
        raise Refused("has no rows", "use a longer example --length")
    a, b = per_feature(graph, x, scale, 1.0), per_feature(graph, x, shift, 0.0)
    return x.moved(x.at) if bool((a == 1).all() and (b == 0).all()) else Placed(graph.affine(x.value, a, b), x.at)


def negated(importer, x: Placed) -> Placed:
    return affine(importer, x, -1.0, 0.0)


def arithmetic(importer, n) -> Placed:
    kind, (x, y) = importer.kind(n).rstrip("_"), n.args[:2]
    factor = n.kwargs.get("alpha", n.args[2] if len(n.args) > 2 and kind in ("add", "sub") else 1)
    if importer.varies(x) and importer.varies(y):
        a, b = importer.settled(x), importer.settled(y)
        if kind == "div":
            raise Refused("divides by a value that depends on the input", "multiply by a constant instead")
        if kind == "sub" or factor != 1:
            b = affine(importer, b, -factor if kind == "sub" else factor, 0.0)
        return paired(importer.graph, "mul" if kind == "mul" else "add", a, b)
    swapped = not importer.varies(x)
    placed = importer.settled(y if swapped else x)
    c = torch.as_tensor(importer.constant(x if swapped else y), dtype=torch.float64)
    if torch.broadcast_shapes(placed.at.shape, c.shape) != placed.at.shape:
        return matrix(importer, n)  # one feature becomes several
    if kind == "mul" or kind == "div" and not swapped:
        if kind == "mul" and importer.overlaps(placed):
            return importer.windowed(n, placed, c)
        return affine(importer, placed, 1 / c if kind == "div" else c, 0.0)
    if kind == "div":
        raise Refused("divides by a value that depends on the input", "multiply by a constant instead")
    if kind == "add":
        return affine(importer, placed, float(factor) if swapped else 1.0, c if swapped else factor * c)
    return affine(importer, placed, -float(factor), c) if swapped else affine(importer, placed, 1.0, -factor * c)


def power(importer, n) -> Placed:
    x = importer.settled(n.args[0])
    exponent = 2 if importer.kind(n) == "square" else n.args[1]
    if exponent == 1:
        return x
    if exponent not in (2, 3):
        raise Refused(f"power {exponent} has no op", "use powers 2 and 3")
    squared = paired(importer.graph, "mul", x, x)
    return squared if exponent == 2 else paired(importer.graph, "mul", squared, x)


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


RULES = dict.fromkeys(["add", "sub", "mul", "div", "add_", "mul_", "sub_", "div_"], arithmetic) | {
    "pow": power, "square": power, "neg": negative, "glu": glu}
