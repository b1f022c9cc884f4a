"""The CHELA modules against reference tensors computed in float64, and a package written from one of them."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave import package  # noqa: E402
from longwave.layers.chela import Branch, ChelaBlock, ChelaConfig, ChelaModel, model_layers  # noqa: E402
from longwave.package import Package  # noqa: E402
from oracles import LIMIT, cases, difference, load, weights as weights_of  # noqa: E402


def config_of(case: dict) -> ChelaConfig:
    c = case["config"]
    eps = {"batch": "bn_eps", "layer": "ln_eps", "scale": "scalenorm_eps"}
    branches = [Branch(b["size"], b["dilation"], b["bias"], b["bn"], c["bn_eps"]) for b in c["short_branches"]]
    same = {
        name: c[name]
        for name in (
            "causal",
            "short_mode",
            "norm",
            "prenorm",
            "residual",
            "h_proj",
            "att_norm",
            "att_norm_eps",
            "att_norm_groups",
        )
    }
    return ChelaConfig(
        c["d"],
        c["K"],
        branches,
        long_d=c["long_D"],
        norm_eps=c.get(eps.get(c["norm"], ""), 1e-5),
        value_width=c["e"],
        ffn_width=c["ffn"],
        ffn_activation=c["ffn_act"],
        **same,
    )


def model_of(case: dict, weights: dict[str, torch.Tensor]) -> nn.Module:
    c, config = case["config"], config_of(case)
    if case["operator"] == "chela.layer":
        return ChelaBlock(config)
    projection = weights.get("sentence_projection_layer.bias")
    return ChelaModel(
        config,
        c["n_layers"],
        c["classes"],
        vocabulary=c["vocab"],
        head=c["head"],
        projection=None if projection is None else projection.numel(),
        final_norm=c["final_norm"],
    )


def check(name: str) -> tuple[nn.Module, dict[str, torch.Tensor]]:
    case, tensors = load(name)
    weights = weights_of(tensors)
    model = model_of(case, weights)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected and all(key.endswith("num_batches_tracked") for key in missing), (name, missing, unexpected)
    model = model.double().eval()
    x = tensors["in.ids"].long() if "in.ids" in tensors else tensors["in.x"]
    with torch.no_grad():
        results = {"y": model(x)}
        if isinstance(model, ChelaModel):
            results["h"] = model.hidden(x)
        if "in.lengths" in tensors:
            inside = torch.arange(x.shape[1])[None, :] < tensors["in.lengths"][:, None]
            pooled = (results["h"] * inside[..., None]).sum(1) / tensors["in.lengths"][:, None]
            results["y"] = model.classifier(pooled)
    for what, found in results.items():
        error = difference(found, tensors[f"ref.{what}"])
        assert error <= LIMIT, f"{name} {what}: {error:.1e}"
    return model, weights


def test_oracles() -> None:
    for name in cases("chela_layer_", "chela_model_", "stream_chela"):
        check(name)


def test_a_package_has_every_tensor_of_the_model(tmp_path: Path) -> None:
    for long in ("taps", "sgconv"):
        config = ChelaConfig(
            8,
            64,
            [Branch(3), Branch(5, 2, True, False), Branch(None)],
            long=long,
            kernel_dim=8,
            long_d=True,
            ffn_width=12,
            att_norm="layer",
        )
        model = ChelaModel(config, 2, 3)
        for module in model.modules():
            if hasattr(module, "freeze_norm"):
                module.freeze_norm()
        inputs, layers = model_layers(model)
        weights = model.state_dict()
        package.write(
            Package("small", inputs, layers, [{"name": "logits", "from": "logits"}], weights), tmp_path / long
        )
        _, written = package.read(tmp_path / long)
        left = {key for key in weights if key not in written}
        assert all(key.endswith("num_batches_tracked") for key in left), left
