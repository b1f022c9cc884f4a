"""The operator of the Orchid authors, and our own: the layer `orchid`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ...layers.orchid import OrchidOperator
from . import Known, own_tensors

_CONDITIONING = {
    "conditioning": "kind",
    "network": "network",
    "kernel_size": "size",
    "kernel_layers": "n_layer",
    "actq": "actq",
    "causal": "causal",
}


def find(module: Any) -> Iterator[Known]:
    parts = ("in_linear", "out_linear", "conv1d_short", "fixed_conv", "conv_kernel_nn")
    if not all(isinstance(getattr(module, part, None), nn.Module) for part in parts):
        return
    options = module.options if isinstance(getattr(module, "options", None), dict) else published(module)
    if options is None:
        return
    own = {
        name: options[name]
        for name in ("l_max", "transform", "filter_order", "emb_dim", "num_inner_mlps", "shift", "residual_long_conv")
    }
    width = module.out_linear.out_features
    reference = OrchidOperator(
        width,
        short_filter_order=options["short_conv"],
        **own,
        conditioning={ours: options[name] for name, ours in _CONDITIONING.items()},
    )
    tensors = own_tensors("orchid", module)
    reference.load_state_dict({key: tensor for key, tensor in tensors.items() if key in reference.state_dict()})
    reference = reference.double().eval()

    @torch.no_grad()
    def run(x: Tensor) -> Tensor:
        result: Tensor = reference(x)
        return result

    yield Known("orchid", options, tensors, run, width, (width,), looks_ahead=True)


def published(module: Any) -> dict[str, Any] | None:
    """The options of the published module; None where it has others than our layer."""
    fixed, network, convolution = module.fixed_conv, module.conv_kernel_nn, module.adaptive_conv
    config = network.cfg
    linears = [part for part in fixed.implicit_filter if isinstance(part, nn.Linear)]
    plain = (
        module.order == 2
        and network.num_heads == 1
        and fixed.modulate
        and fixed.use_bias
        and not fixed.normalized
        and not fixed.bidirectional
        and convolution.alpha_adapt == 1
        and config["norm"] == "layernorm"
        and config["bias"]
        and config.get("padding_mode", "zeros") == "zeros"
        and config["activation"] == "gelu"
        and len(linears) > 1
    )
    if not plain:
        return None
    return {
        "l_max": module.l_max,
        "transform": convolution.dxt[0],
        "short_conv": module.conv1d_short.kernel_size[0],
        "residual_long_conv": module.residual_long_conv == "sconv",
        "filter_order": linears[0].out_features,
        "emb_dim": fixed.emb_dim,
        "num_inner_mlps": len(linears) - 2,
        "shift": float(fixed.modulation.shift),
        "conditioning": network.type_conv_kernel,
        "network": network.nn_type,
        "kernel_size": config["conv_filter_size"],
        "kernel_layers": config["n_layer"],
        "actq": config["actq"],
        "causal": bool(network.is_causal),
    }
