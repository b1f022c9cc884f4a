"""LightNet attention of flash-linear-attention, and our own: the layer `lightnet_attention`."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import nn

from ...layers.lightnet import LightNetAttention, LightNetConfig, attention_entry
from . import Known


def find(module: nn.Module) -> Iterator[Known]:
    if not all(isinstance(getattr(module, f"{name}_proj", None), nn.Linear) for name in "qkvo"):
        return
    config = getattr(module, "config", None)
    configs = [config] if isinstance(config, LightNetConfig) else published(module)
    for one in configs:
        if one.lrpe:  # the rates are the model's, not the layer's
            continue
        entry, state = attention_entry(one, "x"), module.state_dict()
        reference = LightNetAttention(one)
        reference.load_state_dict({key: state[key] for key in reference.state_dict()})
        tensors = tensors_of(entry, state)
        attributes = {key: value for key, value in entry.items() if key not in ("type", "name", "keys", "prefix")}
        yield Known("lightnet_attention", attributes, tensors, runner(reference.double().eval()), one.width, (one.width,),
                    looks_ahead=not one.causal)


def runner(reference: nn.Module):
    @torch.no_grad()
    def run(x):
        return reference(x)
    return run


def tensors_of(entry: dict, state: dict) -> dict:
    """By parameter of the layer: `entry` says which have another name in the module."""
    renamed = {key.removeprefix("x."): parameter for parameter, key in entry["keys"].items()}
    return {renamed.get(key, key): tensor.detach() for key, tensor in state.items()}


def published(module: nn.Module) -> list[LightNetConfig]:
    """Of flash-linear-attention. Its norm adds 1e-6, whatever the module says; a later one may not."""
    gate, norm = getattr(module, "g_proj", None), getattr(module, "g_norm", None)
    if not isinstance(gate, nn.Sequential) or norm is None or not hasattr(module, "head_f_dim"):
        return []
    config = LightNetConfig(
        module.hidden_size, module.num_heads, "fla", module.key_dim, module.value_dim, scale=module.head_f_dim ** -0.5,
        gate_activation="silu", gate_rank=gate[0].out_features, short_conv=module.conv_size if module.use_short_conv else 0,
        conv_bias=module.conv_bias)
    return [replace(config, norm_eps=eps) for eps in (1e-6, getattr(norm, "eps", 1e-5))]
