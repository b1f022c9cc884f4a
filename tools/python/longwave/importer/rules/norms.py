"""Norms over the features of a row, and softmax."""
from __future__ import annotations

from dataclasses import dataclass

import torch

from ..errors import Refused
from ..export import rms_eps
from ..places import Placed, features, natural
from .convolution import option
from .pointwise import affine, inverse, unary


def batch_norm(importer, n) -> tuple[Placed, ...]:
    x = importer.settled(n.args[0])
    weight, bias, mean, variance = (importer.constant(a) for a in n.args[1:5])
    weight = torch.ones_like(mean) if weight is None else weight
    bias = torch.zeros_like(mean) if bias is None else bias
    scale = weight / torch.sqrt(variance + n.args[6])
    shape = [1, -1] + [1] * (x.at.dim() - 2)
    return (affine(importer, x, scale.reshape(shape), (bias - mean * scale).reshape(shape)),)


def last_axis(importer, n, count: int) -> tuple[int, Placed]:
    """The value with all features of the last `count` axes in order."""
    x = importer.settled(n.args[0])
    if count != 1:
        x = x.moved(x.at.flatten(-count))
    order = features(importer.graph, x, x.at.dim() - 1)
    return importer.graph.flat(importer.graph.take(x.value, order)), x


def row_norm(importer, n) -> Placed:
    """layer_norm and rms_norm."""
    kind, shape = importer.kind(n), n.args[1]
    value, x = last_axis(importer, n, len(shape))
    width = importer.graph.ops[value].width
    weight = importer.constant(option(n, 2, "weight", None))
    weight = torch.ones(width) if weight is None else weight.reshape(-1)
    constants = [("weight", weight)]
    if kind == "layer_norm":
        bias = importer.constant(option(n, 3, "bias", None))
        constants.append(("bias", torch.zeros(width) if bias is None else bias.reshape(-1)))
        eps = option(n, 4, "eps", 1e-5)
    else:
        eps = rms_eps(n)
    out = importer.graph.emit(kind, [value], constants, {"eps": float(eps)})
    return in_rows(importer, n, out)


def softmax(importer, n) -> Placed:
    x = importer.settled(n.args[0])
    dim = n.args[1] % x.at.dim()
    order = features(importer.graph, x, dim)
    value = importer.graph.flat(importer.graph.take(x.value, order))
    out = importer.graph.emit("log_softmax" if "log" in importer.kind(n) else "softmax", [value])
    shape = list(x.at.shape)
    shape.append(shape.pop(dim))
    return Placed(out, torch.arange(x.at.numel()).reshape(shape).movedim(-1, dim))


def in_rows(importer, n, out: int) -> Placed:
    """A result whose last axes are the features, one row after the other."""
    return natural(out, n.meta["val"].shape, None)


@dataclass(frozen=True)
class Root:
    """sqrt(mean(x^2) + eps) of each row of a value, or one over it: half of an RMS norm that is written out."""

    value: int
    eps: float
    inverse: bool
    itself: Placed  # where it is no part of a norm


def root(importer, n) -> Root | Placed:
    kind, ops = importer.kind(n), importer.graph.ops
    itself = unary(importer, n, "sqrt")
    itself = inverse(importer, itself) if kind == "rsqrt" else itself
    eps, op = 0.0, importer.op(importer.values[n.args[0]])
    if op.kind == "affine" and op.width == 1 and float(op.constant("scale")) == 1:
        eps, op = float(op.constant("shift")), ops[op.inputs[0]]
    if op.kind != "linear" or op.width != 1 or op.constant("bias") is not None:
        return itself
    squares, weight = ops[op.inputs[0]], op.constant("weight")
    square = squares.kind == "square" or squares.kind == "mul" and squares.inputs[0] == squares.inputs[1]
    if not square or not bool((weight == weight[0, 0]).all()) or abs(float(weight[0, 0]) * squares.width - 1) > 1e-12:
        return itself
    return Root(squares.inputs[0], eps, kind == "rsqrt", itself)


def in_step(importer, root: Placed, x: Placed) -> bool:
    """Whether each row of x meets its own root, which is one number."""
    t = torch.broadcast_shapes(root.at.shape, x.at.shape)
    return bool((x.at >= 0).all()) and torch.equal((root.at // importer.op(root).width).expand(t), (x.at // importer.op(x).width).expand(t))


def by_root(importer, n) -> Placed | None:
    """x * rsqrt(...) or x / sqrt(...) is the norm of x. None: the root is read as a number."""
    kind, sources = importer.kind(n), importer.variables(n)
    at = next(i for i, v in enumerate(sources) if isinstance(importer.values[v], Root))
    r, x = importer.values[sources[at]], importer.values[sources[1 - at]] if len(sources) == 2 else None
    norm = isinstance(x, Placed) and x.value == r.value and (kind == "mul" if r.inverse else kind == "div" and at == 1)
    if not norm or not in_step(importer, r.itself, x):
        for v in sources:
            if isinstance(importer.values[v], Root):
                importer.values[v] = importer.values[v].itself
        return None
    value = importer.graph.flat(x.value)
    weight = torch.ones(importer.graph.ops[value].width)
    out = Placed(importer.graph.emit("rms_norm", [value], [("weight", weight)], {"eps": r.eps}), x.at)
    return out.moved(x.at.expand(n.meta["val"].shape))


RULES = {"_native_batch_norm_legit_no_training": batch_norm, "layer_norm": row_norm, "rms_norm": row_norm,
         "softmax": softmax, "_softmax": softmax, "log_softmax": softmax, "_log_softmax": softmax,
         "rsqrt": root, "sqrt": root}
