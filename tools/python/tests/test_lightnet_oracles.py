"""LightNet's modules against reference tensors (float64, computed from the official codes' weights), and what the exporter writes."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave import package  # noqa: E402
from longwave.layers.lightnet import (  # noqa: E402
    LightNetAttention,
    LightNetConfig,
    LightNetModel,
    causal_attention,
    model_package,
)
from oracles import LIMIT, cases, difference, load, weights as weights_of  # noqa: E402


def block_config(config: dict, weights: dict[str, torch.Tensor], prefix: str = "") -> LightNetConfig:
    keys, values = weights[f"{prefix}k_proj.weight"].shape[0], weights[f"{prefix}v_proj.weight"].shape[0]
    activation, _, where = config["gate"].partition("_")
    gates = [weights[name] for name in (f"{prefix}g_proj.0.weight", f"{prefix}output_gate.0.weight") if name in weights]
    scale = config.get("query_scale", 1.0)
    return LightNetConfig(
        config["d_model"],
        config["num_heads"],
        config["impl"],
        keys,
        values,
        initial_sum=config["S0"],
        scale=(keys / config["num_heads"]) ** -0.5 if scale == "dk^-1/2" else scale,
        gate=None if activation == "none" else where,
        gate_activation=activation,
        gate_rank=gates[0].shape[0] if gates else None,
        norm_eps=config["norm_eps_on_sum"] / values
        if "norm_eps_on_sum" in config
        else config.get("norm_eps_used", 1e-6),
        bias=f"{prefix}k_proj.bias" in weights,
        short_conv=config.get("short_conv", 0),
        conv_bias=config.get("conv_bias", False),
        lrpe=config.get("lrpe", "none") != "none",
    )


@torch.no_grad()
def operator_error(case: str) -> float:
    about, tensors = load(case)
    config = about["config"]
    weights = weights_of(tensors)
    theta = weights.pop("lrpe.theta", None)
    block = LightNetAttention(block_config(config, weights)).double()
    block.load_state_dict(weights)
    mask = tensors["in.mask"].bool() if "in.mask" in tensors else None
    y = block(tensors["in.x"], mask, theta)
    if mask is not None:  # what comes out at padded positions means nothing
        y = y * mask[..., None]
    return difference(y, tensors["ref.y"])


def whole_model(case: str) -> tuple[LightNetModel, dict[str, torch.Tensor]]:
    about, tensors = load(case)
    config = about["config"]
    weights = weights_of(tensors)
    token = "attn" if config["impl"] == "fla" else "token_mixer"
    block = block_config(config, weights, f"model.layers.0.{token}.")
    eps = config["norm_eps_on_sum"] / config["d_model"] if "norm_eps_on_sum" in config else config["norm_eps"]
    model = LightNetModel(
        block, config["vocab"], config["n_layers"], config["glu_hidden"], eps, config.get("tpe", False)
    ).double()
    model.load_state_dict(weights)
    return model, tensors


@torch.no_grad()
def model_error(case: str) -> float:
    model, tensors = whole_model(case)
    h, y = model(tensors["in.ids"].long())
    return max(difference(h, tensors["ref.h"]), difference(y, tensors["ref.y"]))


def test_operators():
    for case in cases("lightnet_op_"):
        assert operator_error(case) <= LIMIT, case


def test_models():
    for case in cases("lightnet_model_"):
        assert model_error(case) <= LIMIT, case


def test_chunks_of_any_length_and_wide_keys():
    torch.manual_seed(0)
    q, k, v = (
        torch.randn(1, 90, 2, 8).double(),
        (torch.rand(1, 90, 2, 8).double() - 0.5) * 300,
        torch.randn(1, 90, 2, 5).double(),
    )
    one = causal_attention(q, k, v, chunk=1)
    for chunk in (7, 16, 64, 90):
        assert difference(causal_attention(q, k, v, chunk=chunk), one) < 1e-12


def test_exported_weights_are_complete():
    torch.manual_seed(0)
    config = LightNetConfig(16, 2, "xmixers", gate="before_norm", gate_rank=8, initial_sum=1, lrpe=True)
    model = LightNetModel(config, 11, 2, 24, 1e-6, tpe=True)
    with tempfile.TemporaryDirectory() as folder:
        package.write(model_package(model, "small"), Path(folder))
        _, weights = package.read(Path(folder))
    assert set(weights) == set(model.state_dict())
