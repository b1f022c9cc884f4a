"""Norms over the features of a row, and softmax."""
from __future__ import annotations

import torch

from ..errors import Refused
from ..places import Placed, features, natural
from .convolution import option
from .pointwise import affine


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
        eps = option(n, 3, "eps", float(torch.finfo(torch.float32).eps))
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


def no_statistics(importer, n) -> Placed:
    raise Refused("its statistics go over time", "use a norm over features, or batch norm in eval mode")


RULES = {"_native_batch_norm_legit_no_training": batch_norm, "layer_norm": row_norm, "rms_norm": row_norm,
         "softmax": softmax, "_softmax": softmax, "log_softmax": softmax, "_log_softmax": softmax,
         "group_norm": no_statistics, "instance_norm": no_statistics}
