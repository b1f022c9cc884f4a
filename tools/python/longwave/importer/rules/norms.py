"""Norms over the features of a row, and softmax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node

from ..export import rms_eps
from ..nodes import args_of
from ..places import Placed, features, groups, natural, paired
from .convolution import option
from .pointwise import affine, inverse, negated, unary
from .reduce import largest_of

if TYPE_CHECKING:
    from ..match import Importer


def batch_norm(importer: Importer, n: Node) -> tuple[Placed, ...]:
    x = importer.settled(args_of(n)[0])
    weight, bias, mean, variance = (importer.constant(a) for a in args_of(n)[1:5])
    weight = torch.ones_like(mean) if weight is None else weight
    bias = torch.zeros_like(mean) if bias is None else bias
    scale = weight / torch.sqrt(variance + args_of(n)[6])
    shape = [1, -1] + [1] * (x.at.dim() - 2)
    return (affine(importer, x, scale.reshape(shape), (bias - mean * scale).reshape(shape)),)


def row_norm(importer: Importer, n: Node) -> Placed:
    """layer_norm and rms_norm of the last axes. A row may hold several parts that are normalised."""
    kind, shape = importer.kind(n), args_of(n)[1]
    x, graph = importer.settled(args_of(n)[0]), importer.graph
    value, count, at = groups(graph, x.value, x.at.flatten(-len(shape)).flatten(0, -2))
    value, width = graph.flat(value), at.shape[1]
    weight = importer.constant(option(n, 2, "weight", None))
    weight = torch.ones(width) if weight is None else weight.reshape(-1)
    constants = [("weight", weight.repeat(count))]
    if kind == "layer_norm":
        bias = importer.constant(option(n, 3, "bias", None))
        constants.append(("bias", (torch.zeros(width) if bias is None else bias.reshape(-1)).repeat(count)))
        eps = option(n, 4, "eps", 1e-5)
    else:
        eps = rms_eps(n)
    out = graph.emit(kind, [value], constants, {"eps": float(eps)} | ({"groups": count} if count > 1 else {}))
    return Placed(out, at.reshape(n.meta["val"].shape))


def softmax(importer: Importer, n: Node) -> Placed:
    x, graph = importer.settled(args_of(n)[0]), importer.graph
    dim, log, op = args_of(n)[1] % x.at.dim(), "log" in importer.kind(n), importer.op(x)
    moved = x.at.movedim(dim, -1)
    if (
        not op.timeless
        and op.rows > 1
        and moved.shape[-1] == op.rows
        and not log
        and bool((moved[..., 1:] - moved[..., :-1] == op.width).all())
    ):
        order = (
            features(graph, x.moved(moved), moved.dim() - 2) if moved.dim() > 1 else torch.zeros(1, dtype=torch.long)
        )
        value = graph.emit("sequence_softmax", [graph.take(graph.flat(x.value), order)])
        importer.looks_ahead(n)
        return natural(value, x.at.shape, dim)
    value, count, at = groups(graph, x.value, moved.flatten(0, -2))
    value = graph.flat(value)
    places = at.reshape(moved.shape).movedim(-1, dim)
    if count == 1:
        return Placed(graph.emit("log_softmax" if log else "softmax", [value]), places)
    return of_parts(importer, Placed(value, at), log).moved(places)


def of_parts(importer: Importer, x: Placed, log: bool) -> Placed:
    """A softmax of each [part, features] of a row."""
    graph, width = importer.graph, x.at.shape[1]
    order = torch.arange(importer.op(x).width).reshape(-1, width)
    largest = Placed(largest_of(graph, x.value, order, 0), x.at[:, :1] // width)
    less = paired(graph, "add", x, negated(importer, largest))
    e = Placed(graph.emit("exp", [less.value]), less.at)
    weight = torch.zeros(len(order), importer.op(e).width, dtype=torch.float64)
    feature = (e.at % importer.op(e).width)[e.at[:, 0] // importer.op(e).width == 0]
    weight.scatter_(1, feature, 1.0)
    total = Placed(graph.linear(e.value, weight), x.at[:, :1] // width)
    if log:
        return paired(
            graph,
            "add",
            less,
            negated(importer, Placed(graph.emit("log", [total.value], [], {"offset": 0.0}), total.at)),
        )
    return paired(graph, "mul", e, inverse(importer, total))


@dataclass(frozen=True)
class Root:
    """sqrt(mean(x^2) + eps) of each row of a value, or one over it: half of an RMS norm that is written out."""

    value: int
    eps: float
    inverse: bool
    itself: Placed  # where it is no part of a norm


def root(importer: Importer, n: Node) -> Root | Placed:
    kind, ops = importer.kind(n), importer.graph.ops
    itself = unary(importer, n, "sqrt")
    itself = inverse(importer, itself) if kind == "rsqrt" else itself
    eps, op = 0.0, importer.op(importer.placed(args_of(n)[0]))
    if op.kind == "affine" and op.width == 1 and float(op.constant("scale")) == 1:
        eps, op = float(op.constant("shift")), ops[op.inputs[0]]
    if op.kind != "linear" or op.width != 1 or op.given("bias") is not None:
        return itself
    squares, weight = ops[op.inputs[0]], op.constant("weight")
    square = squares.kind == "square" or squares.kind == "mul" and squares.inputs[0] == squares.inputs[1]
    if not square or not bool((weight == weight[0, 0]).all()) or abs(float(weight[0, 0]) * squares.width - 1) > 1e-12:
        return itself
    return Root(squares.inputs[0], eps, kind == "rsqrt", itself)


def in_step(importer: Importer, root: Placed, x: Placed) -> bool:
    """Whether each row of x meets its own root, which is one number."""
    t = torch.broadcast_shapes(root.at.shape, x.at.shape)
    return bool((x.at >= 0).all()) and torch.equal(
        (root.at // importer.op(root).width).expand(t), (x.at // importer.op(x).width).expand(t)
    )


def by_root(importer: Importer, n: Node) -> Placed | None:
    """x * rsqrt(...) or x / sqrt(...) is the norm of x. None: the root is read as a number."""
    kind, sources = importer.kind(n), importer.variables(n)
    values = [importer.values[v] for v in sources]
    at, r = next((i, v) for i, v in enumerate(values) if isinstance(v, Root))
    x = values[1 - at] if len(sources) == 2 else None
    norm = kind == "mul" if r.inverse else kind == "div" and at == 1
    if not norm or not isinstance(x, Placed) or x.value != r.value or not in_step(importer, r.itself, x):
        for source, v in zip(sources, values):
            if isinstance(v, Root):
                importer.values[source] = v.itself
        return None
    value = importer.graph.flat(x.value)
    weight = torch.ones(importer.graph.ops[value].width)
    out = Placed(importer.graph.emit("rms_norm", [value], [("weight", weight)], {"eps": r.eps}), x.at)
    return out.moved(x.at.expand(n.meta["val"].shape))


RULES: dict[str, Callable[[Importer, Node], Any]] = {
    "_native_batch_norm_legit_no_training": batch_norm,
    "layer_norm": row_norm,
    "rms_norm": row_norm,
    "softmax": softmax,
    "_softmax": softmax,
    "log_softmax": softmax,
    "_log_softmax": softmax,
    "rsqrt": root,
    "sqrt": root,
}
