"""Norms and softmax."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import Refused
from ..call import Call, axis_of


def batch_norm(c: Call) -> Tensor:
    if c.integer("training_mode", 0):
        raise Refused("computes its statistics from the data: training mode", "export the model in eval mode")
    c.only_outputs(1, "running means")
    return F.batch_norm(
        c.tensor(0), c.tensor(3), c.tensor(4), c.tensor(1), c.tensor(2), False, 0.0, c.attr("epsilon", 1e-5)
    )


def instance_norm(c: Call) -> Tensor:
    return F.instance_norm(c.tensor(0), None, None, c.tensor(1), c.tensor(2), True, 0.0, c.attr("epsilon", 1e-5))


def layer_norm(c: Call) -> Tensor:
    c.only_outputs(1, "its mean and deviation")
    x = c.tensor(0)
    axis = axis_of(c.integer("axis", -1), x.dim())
    shape, scale, bias = list(x.shape[axis:]), c.tensor(1), c.tensor(2) if c.has(2) else None
    if list(scale.shape) == shape and (bias is None or list(bias.shape) == shape):
        return F.layer_norm(x, shape, scale, bias, c.attr("epsilon", 1e-5))
    y = F.layer_norm(x, shape, None, None, c.attr("epsilon", 1e-5)) * scale
    return y if bias is None else y + bias


def group_norm(c: Call) -> Tensor:
    """Of opset 18: scale and bias per group. Of opset 21: per channel."""
    x, groups, scale, bias = c.tensor(0), c.integer("num_groups", 1), c.tensor(1), c.tensor(2)
    if c.opset < 21:
        each = x.shape[1] // groups
        scale, bias = scale.repeat_interleave(each), bias.repeat_interleave(each)
    return F.group_norm(x, groups, scale, bias, c.attr("epsilon", 1e-5))


def lp_norm(c: Call) -> Tensor:
    x = c.tensor(0)
    axis, p = axis_of(c.integer("axis", -1), x.dim()), c.integer("p", 2)
    return x / (x.abs().sum(axis, True) if p == 1 else x.square().sum(axis, True).sqrt())


def mean_variance(c: Call) -> Tensor:
    x, axes = c.tensor(0), c.ints("axes", default=[0, 2, 3])
    mean = x.mean(axes, True)
    return (x - mean) / ((x.square().mean(axes, True) - mean.square()).sqrt() + 1e-9)


def soft(function: Callable[[Tensor, int], Tensor]) -> Callable[[Call], Tensor]:
    """Before opset 13 all axes from `axis` on are one."""

    def run(c: Call) -> Tensor:
        x = c.tensor(0)
        axis = axis_of(c.integer("axis", -1 if c.opset >= 13 else 1), x.dim())
        if c.opset >= 13 or axis == x.dim() - 1 or math.prod(x.shape[axis + 1 :]) == 1:
            return function(x, axis)
        return function(x.flatten(axis), axis).reshape(x.shape)

    return run


TABLE = {
    "BatchNormalization": batch_norm,
    "InstanceNormalization": instance_norm,
    "LayerNormalization": layer_norm,
    "GroupNormalization": group_norm,
    "LpNormalization": lp_norm,
    "MeanVarianceNormalization": mean_variance,
    "Softmax": soft(torch.softmax),
    "LogSoftmax": soft(torch.log_softmax),
}
