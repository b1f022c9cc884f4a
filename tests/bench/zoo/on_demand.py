"""A large model in PyTorch with a part of its weights in memory: each module gets its tensors from the file when
it is called, in float64, and gives them back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn

from . import peers
from .configurations import Row


def as_stored(weight: Tensor, weights: str) -> Tensor:
    """The matrix of a product in float64 as an artifact holds it: "float32", "bf16" or "int8" (-127 ... 127 times
    a float32 scale of each output: its largest magnitude / 127)."""
    if weights == "bf16":
        return weight.to(torch.bfloat16).double()
    if weights != "int8":
        return weight.double()
    exact = weight.double()
    scale = (exact.abs().amax(1, keepdim=True) / 127).float().double()
    return torch.where(scale > 0, scale * (exact / scale).round().clamp(-127, 127), 0.0)


MOST_STEPS = 32512  # of an int16 activation
LEAST_STEPS = 2048  # with fewer the layer keeps float32 activations


def activation_steps(weight: Tensor) -> int | None:
    """Steps from zero to the largest magnitude of a row, so that no sum of products leaves int32
    (docs/numerics.md). `weight`: float64, as stored in int8. None: the activations stay as they are."""
    magnitudes = weight.abs()
    scales = magnitudes.amax(1) / 127
    heaviest = (magnitudes.sum(1)[scales > 0] / scales[scales > 0]).max()
    steps = min(MOST_STEPS, int((2**31 - 1) / float(heaviest)))
    return steps if steps >= LEAST_STEPS else None


def in_steps(x: Tensor, steps: int | None) -> Tensor:
    """Each row in whole parts of its largest magnitude."""
    if steps is None:
        return x
    step = x.abs().amax(-1, keepdim=True).clamp(min=1e-300) / steps
    return (x / step).round() * step


def on_demand(row: Row, weights_file: Path, rounded: bool = False, **changes: Any) -> nn.Module:
    """The row's model: float64, products rounded as the row's `weights` say.  A table that the head shares stays;
    everything else comes and goes with its module.  `rounded`: int8 layers round their input as kernels do."""
    options = dict(row.options) | changes
    options.pop("length", None)
    with torch.device("meta"):
        net = peers.LightNet(**options).eval()
    net.theta = peers.theta_of(**options)
    file = safe_open(weights_file, "pt")
    for name, module in net.named_modules():
        own = [key for key, _ in module.named_parameters(recurse=False)]
        if not own:
            continue
        product = isinstance(module, (nn.Linear, nn.Embedding))
        fill = _Filled(file, name, own, row.weights if product else "float32")
        if isinstance(module, nn.Embedding):
            fill(module)
            continue
        module.register_forward_pre_hook(lambda module, _, fill=fill: fill(module))
        if rounded and isinstance(module, nn.Linear):
            module.register_forward_pre_hook(lambda module, x: in_steps(x[0], activation_steps(module.weight)))
        module.register_forward_hook(lambda module, *_, fill=fill: fill.empty(module))
    if rounded:  # the head has no module: it multiplies what the last norm gives
        steps = activation_steps(net.model["embed_tokens"].weight)
        net.model["final_norm"].register_forward_hook(lambda _, __, rows: in_steps(rows, steps))
    return net


class _Filled:
    """The parameters of one module."""

    def __init__(self, file: Any, prefix: str, names: list[str], weights: str) -> None:
        self.file, self.prefix, self.names, self.weights = file, prefix, names, weights

    def __call__(self, module: nn.Module) -> None:
        for name in self.names:
            value = self.file.get_tensor(f"{self.prefix}.{name}")
            value = as_stored(value, self.weights if name == "weight" else "float32")
            module._parameters[name] = nn.Parameter(value, requires_grad=False)

    def empty(self, module: nn.Module) -> None:
        for name in self.names:
            module._parameters[name] = nn.Parameter(torch.empty(0, device="meta"), requires_grad=False)
