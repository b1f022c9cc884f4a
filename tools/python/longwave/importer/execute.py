"""The recovered graph in float64, op by op from the definitions in docs/ops.md, at any length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from .definitions import DEFINED
from .known import Known
from .probe import convolved
from .recovered import Op, Recovered
from .rules.unary import FLOAT64


def long_conv(x: Tensor, op: Op) -> Tensor:
    copies, two = op.attributes["channels"], op.attributes["two_sided"]
    taps = op.constant("taps").flatten(0, 1)
    u, ahead = x.T.repeat(copies, 1), taps.new_zeros(len(taps), 0)
    if two:
        taps, ahead = taps.chunk(2)
    return (convolved(u, taps, ahead) + op.constant("D").reshape(-1, 1) * u).T


def conv2d(x: Tensor, op: Op, dims: tuple[int, ...]) -> Tensor:
    w, a = op.constant("weight"), op.attributes
    if len(x) < a["stride_t"]:
        return x.new_zeros(0, op.width)
    channels = w.shape[1] * a["groups"]
    image = x.reshape(1, len(x), -1, channels).permute(0, 3, 1, 2)
    pad, ahead, dilation = (w.shape[3] - 1) // 2, a.get("ahead", 0), a.get("dilation", 1)
    span = (w.shape[2] - 1) * dilation + 1
    image = F.pad(image, (pad, pad, span - a["stride_t"] - ahead, ahead))  # a negative pad cuts
    strides = (a["stride_t"], a["stride_f"])
    return (
        F.conv2d(image, w, op.given("bias"), strides, dilation=(dilation, 1), groups=a["groups"])[0]
        .permute(1, 2, 0)
        .flatten(1)
    )


def frame(x: Tensor, op: Op) -> Tensor:
    window, hop = op.attributes["window"], op.attributes["hop"]
    samples = F.pad(x[:, 0], (window - hop, 0))
    rows = len(x) // hop
    return samples.unfold(0, window, hop)[:rows] * op.constant("window") if rows else x.new_zeros(0, window)


def centred_conv(x: Tensor, op: Op) -> Tensor:
    w = op.constant("weight")
    return F.conv1d(x.T[None], w[:, None], op.given("bias"), padding=w.shape[1] // 2, groups=len(w))[0].T


def mean(x: Tensor, op: Op) -> Tensor:
    mode = op.attributes["mode"]
    return {
        "mean": lambda: x.mean(0, True),
        "sum": lambda: x.sum(0, True),
        "max": lambda: x.amax(0, True),
        "first": lambda: x[:1],
        "last": lambda: x[-1:],
    }[mode]()


def row_product(x: list[Tensor], a: dict[str, Any]) -> Tensor:
    left = x[0].reshape(-1, a["batches"], a["rows"], a["inner"])
    return (left @ x[1].reshape(-1, a["batches"], a["inner"], a["columns"])).flatten(1)


def of_parts(x: Tensor, a: dict[str, Any], norm: Callable[[Tensor], Tensor]) -> Tensor:
    """Each of the groups of a row for itself."""
    return norm(x.unflatten(1, (a.get("groups", 1), -1))).flatten(1)


def compute(op: Op, x: list[Tensor], dims: tuple[int, ...]) -> Tensor:
    c, a = op.constant, op.attributes
    if isinstance(op.form, Known):
        return op.form.reference(x[0][None])[0]
    if op.kind in FLOAT64:
        return FLOAT64[op.kind](x[0], **a)
    if op.kind in DEFINED:
        return DEFINED[op.kind](x, op, dims)
    table: dict[str, Callable[[], Tensor]] = {
        "linear": lambda: F.linear(x[0], c("weight"), op.given("bias")),
        "affine": lambda: x[0] * c("scale") + c("shift"),
        "add": lambda: x[0] + x[1],
        "mul": lambda: x[0] * x[1],
        "scalar": lambda: torch.full_like(x[0], a["initial"]),
        "maximum": lambda: torch.maximum(x[0], x[1]),
        "minimum": lambda: torch.minimum(x[0], x[1]),
        "row_product": lambda: row_product(x, a),
        "where": lambda: torch.where(x[0] > 0, x[1], x[2]),
        "glu": lambda: F.glu(x[0], -1),
        "softmax": lambda: torch.softmax(x[0], -1),
        "log_softmax": lambda: torch.log_softmax(x[0], -1),
        "layer_norm": lambda: (
            of_parts(x[0], a, lambda part: F.layer_norm(part, part.shape[-1:], eps=a["eps"])) * c("weight") + c("bias")
        ),
        "rms_norm": lambda: (
            of_parts(x[0], a, lambda part: part * torch.rsqrt(part.square().mean(-1, True) + a["eps"])) * c("weight")
        ),
        "mean": lambda: mean(x[0], op),
        "embedding": lambda: c("table")[x[0][:, 0].long()],
        "frame": lambda: frame(x[0], op),
        "power_spectrum": lambda: torch.fft.rfft(x[0], a["n_fft"]).abs().square(),
        "conv2d": lambda: conv2d(x[0], op, dims),
        "centred_conv": lambda: centred_conv(x[0], op),
        "long_conv": lambda: long_conv(x[0], op),
    }
    return table[op.kind]()


def execute(graph: Recovered, inputs: list[Tensor]) -> list[Tensor]:
    """Rows of each output. `inputs`: rows [time, width], in the order of the graph's input ops."""
    values: dict[int, Tensor] = {}
    waiting = iter(inputs)
    last = {i: at for at, op in enumerate(graph.ops) for i in op.inputs} | {
        output.value: len(graph.ops) for output in graph.outputs
    }
    for at, op in enumerate(graph.ops):
        x = [values[i] for i in op.inputs]
        for i in op.inputs:
            if last[i] == at:
                values.pop(i, None)  # sequences are long
        values[at] = (
            next(waiting).to(torch.float64) if op.kind == "input" else compute(op, x, graph.ops[op.inputs[0]].dims)
        )
    return [values[output.value] for output in graph.outputs]
