"""GConv of the SGConv authors, and our own: the layer `sgconv`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...layers.sgconv import GConv
from . import Known, own_tensors

ACTIVATIONS = {
    nn.GELU: "gelu",
    nn.ReLU: "relu",
    nn.SiLU: "silu",
    nn.Sigmoid: "sigmoid",
    nn.Tanh: "tanh",
    nn.Identity: "identity",
}
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "relu": F.relu,
    "silu": F.silu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "identity": lambda x: x,
}


def find(module: Any) -> Iterator[Known]:
    scales = getattr(module, "kernel_list", None)
    if (
        not isinstance(scales, nn.ParameterList)
        or not len(scales)
        or not hasattr(module, "kernel_norm")
        or not hasattr(module, "multiplier")
    ):
        return
    mode, linear = module.mode, module.linear
    if (
        any(word in mode for word in ("trunc", "expand", "hankel"))
        or getattr(module, "hyper", False)
        or getattr(module, "shift", False)
    ):
        return
    copies, width = module.D.shape
    dim = scales[0].shape[-1]
    attributes = {
        "kernel_dim": dim,
        "l_max": dim << (len(scales) - 1 + module.init_scale),
        "num_scales": len(scales),
        "init_scale": module.init_scale,
        "mode": mode,
        "channels": copies,
        "bidirectional": module.bidirectional,
        "linear": linear,
    }
    tensors = own_tensors("sgconv", module)
    if not linear:
        activation = ACTIVATIONS[type(module.activation)] if hasattr(module, "activation") else "gelu"
        after = module.output_linear[1] if isinstance(module.output_linear, nn.Sequential) else None
        postact = None if after is None else "glu" if isinstance(after, nn.GLU) else ACTIVATIONS[type(after)]
        attributes |= {
            "activation": activation,
            "postact": postact,
            "layer_norm": any(key.startswith("norm.") for key in tensors),
        }
    dims = (copies, width) if linear and copies > 1 and width > 1 else (copies * width if linear else width,)
    yield Known(
        "sgconv",
        attributes,
        tensors,
        Reference(attributes, tensors, width),
        width,
        dims,
        module.transposed,
        module.bidirectional,
    )


class Reference:
    """The layer in float64, from the formulas of layers/sgconv.py."""

    def __init__(self, attributes: dict[str, Any], tensors: dict[str, Tensor], width: int) -> None:
        self.a, self.t = attributes, {key: tensor.double() for key, tensor in tensors.items()}
        self.long = (
            GConv(
                width,
                attributes["l_max"],
                attributes["kernel_dim"],
                attributes["num_scales"],
                attributes["channels"],
                attributes["bidirectional"],
                attributes["mode"],
                attributes["init_scale"],
                linear=True,
            )
            .double()
            .eval()
        )
        own = self.long.state_dict()
        self.long.load_state_dict({key: self.t[key].reshape(own[key].shape) for key in own})

    @torch.no_grad()
    def __call__(self, x: Tensor) -> Tensor:
        y: Tensor = self.long(x.mT).mT
        if self.a["linear"]:
            return y
        y = FUNCTIONS[self.a["activation"]](y)
        if self.a["layer_norm"]:
            y = self.norm(y)
        stem = "output_linear" if self.a["postact"] is None else "output_linear.0"
        y = F.linear(y, self.t[stem + ".weight"], self.t[stem + ".bias"])
        if self.a["postact"] is None:
            return y
        return F.glu(y, -1) if self.a["postact"] == "glu" else FUNCTIONS[self.a["postact"]](y)

    def norm(self, y: Tensor) -> Tensor:
        if "norm.norm.m" not in self.t:
            return F.layer_norm(y, y.shape[-1:], self.t["norm.norm.weight"], self.t["norm.norm.bias"], 1e-5)
        s, m = torch.std_mean(y, dim=-1, unbiased=False, keepdim=True)
        return self.t["norm.norm.s"] / s * (y - m + self.t["norm.norm.m"])
