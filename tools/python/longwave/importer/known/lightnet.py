"""LightNet attention of flash-linear-attention, of xmixers, and our own: the layer `lightnet_attention`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from ...layers.lightnet import LightNetAttention, LightNetConfig, attention_entry
from . import Known


def find(module: nn.Module) -> Iterator[Known]:
    if not all(isinstance(getattr(module, f"{name}_proj", None), nn.Linear) for name in "qkvo"):
        return
    config, state = getattr(module, "config", None), module.state_dict()
    theta = getattr(getattr(module, "lrpe", None), "theta", None)  # in xmixers no part of the state
    for one in [config] if isinstance(config, LightNetConfig) else [*fla(module), *xmixers(module)]:
        if one.lrpe and theta is None:
            continue  # the rates are the model's, not the layer's
        entry = attention_entry(one, "x")
        reference = LightNetAttention(one)
        reference.load_state_dict({key: state[key] for key in reference.state_dict()})
        rates = {"lrpe.theta": theta} if one.lrpe else {}
        tensors = tensors_of(entry, {key: state[key] for key in reference.state_dict()} | rates)
        attributes = {key: value for key, value in entry.items() if key not in ("type", "name", "keys", "prefix")}
        yield Known(
            "lightnet_attention",
            attributes,
            tensors,
            runner(reference.double().eval(), theta),
            one.width,
            (one.width,),
            looks_ahead=not one.causal,
        )


def runner(reference: nn.Module, theta: torch.Tensor | None) -> Callable[[torch.Tensor], torch.Tensor]:
    @torch.no_grad()
    def run(x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = reference(x, theta=theta)
        return result

    return run


def tensors_of(entry: dict[str, Any], state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """By parameter of the layer: `entry` says which have another name in the module."""
    renamed = {key.removeprefix("x."): parameter for parameter, key in entry["keys"].items()}
    return {renamed.get(key, key): tensor.detach() for key, tensor in state.items()}


def fla(module: Any) -> list[LightNetConfig]:
    """Of flash-linear-attention. Its norm adds 1e-6, whatever the module says; a later one may not."""
    gate, norm = getattr(module, "g_proj", None), getattr(module, "g_norm", None)
    if not isinstance(gate, nn.Sequential) or norm is None or not hasattr(module, "head_f_dim"):
        return []
    first: Any = gate[0]
    config = LightNetConfig(
        module.hidden_size,
        module.num_heads,
        "fla",
        module.key_dim,
        module.value_dim,
        scale=module.head_f_dim**-0.5,
        gate_activation="silu",
        gate_rank=first.out_features,
        short_conv=module.conv_size if module.use_short_conv else 0,
        conv_bias=module.conv_bias,
    )
    return [replace(config, norm_eps=eps) for eps in (1e-6, getattr(norm, "eps", 1e-5))]


def xmixers(module: Any) -> list[LightNetConfig]:
    """Of xmixers. Its versions differ in the place of the gate, in the first sum, and in what the norm adds, so all are tried.
    Decays of a head (`scalar_decay`) are another layer."""
    norm, gate = getattr(module, "norm", None), getattr(module, "output_gate", None)
    if not isinstance(norm, nn.Module) or not hasattr(module, "num_heads") or getattr(module, "scalar_decay", False):
        return []
    width, values, eps = module.q_proj.in_features, module.v_proj.out_features, getattr(norm, "eps", 1e-5)
    parts = [gate] if isinstance(gate, nn.Linear) else list(gate or [])
    config = LightNetConfig(
        width,
        module.num_heads,
        "xmixers",
        module.k_proj.out_features,
        values,
        gate_activation=getattr(norm, "gate_act", "sigmoid"),
        gate_rank=parts[0].out_features if len(parts) > 1 else None,
        gate_bias=any(part.bias is not None for part in parts),
        bias=module.q_proj.bias is not None,
        lrpe=bool(getattr(module, "use_lrpe", False)),
    )
    places = (
        (None,)
        if gate is None
        else {"pre": ("before_norm",), "post": ("after_norm",)}.get(
            str(getattr(norm, "gate_pos", None)), ("before_norm", "after_norm")
        )
    )
    return [
        replace(config, gate=place, initial_sum=start, norm_eps=added)
        for place in places
        for start in (1, 0)
        for added in (eps / values, eps)
    ]
