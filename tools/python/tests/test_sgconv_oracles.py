"""GConv and its residual stack against reference tensors (float64, computed from the official code's weights)."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.layers import heads  # noqa: E402
from longwave.layers.backbone import SgconvBackbone  # noqa: E402
from longwave.layers.sgconv import GConv  # noqa: E402
from oracles import LIMIT, cases, difference, load, weights  # noqa: E402


def layer_options(config: dict) -> dict:
    names = (
        "l_max",
        "kernel_dim",
        "n_scales",
        "channels",
        "bidirectional",
        "mode",
        "init_scale",
        "decay_min",
        "decay_max",
        "postact",
        "linear",
        "ln",
    )
    return {name: config[name] for name in names if name in config}


@torch.no_grad()
def operator_error(case: str) -> float:
    about, tensors = load(case)
    config = about["config"]
    layer = GConv(config["d_model"], transposed=config["transposed"], **layer_options(config)).double()
    layer.load_state_dict(weights(tensors))
    errors = [difference(layer(tensors["in.x"]), tensors["ref.y"])]
    if "ref.k" in tensors:
        k = layer.kernel(config["L"])
        wanted = tensors["ref.k"]
        errors.append(difference(k, wanted[..., : k.shape[-1]]))
    return max(errors)


@torch.no_grad()
def model_error(case: str) -> float:
    about, tensors = load(case)
    config = about["config"]
    kind = {"batch": "batch", "layer": "transposed_layer" if config["transposed"] else "layer"}[config["norm"]]
    stack = (
        SgconvBackbone(config["d_model"], config["n_layers"], kind, config["prenorm"], **layer_options(config["layer"]))
        .double()
        .eval()
    )
    state = weights(tensors, "w.model.")
    stack.load_state_dict(state, strict=False)
    encoder, decoder = weights(tensors, "w.encoder.0."), weights(tensors, "w.decoder.0.output_transform.")
    if "in.ids" in tensors:
        x = encoder["weight"][tensors["in.ids"].long()]
    else:
        x = tensors["in.x"] @ encoder["weight"].t() + encoder["bias"]
    hidden = stack(x)
    errors = [difference(hidden, tensors["ref.h"])]
    how = config["decoder"]
    if how["kind"] == "nli":
        pooled = heads.mean(hidden, tensors.get("in.lengths"))
        pairs = heads.pair_features(*pooled.chunk(2))
        head = weights(tensors, "w.decoder.0.retrieval.classifier.")
        y = (
            torch.nn.functional.gelu(pairs @ head["0.weight"].t() + head["0.bias"]) @ head["2.weight"].t()
            + head["2.bias"]
        )
    else:
        if how["mode"] == "pool":
            hidden = heads.mean(hidden, tensors.get("in.lengths"))
        elif how.get("l_output", 0) is not None:
            hidden = heads.last(hidden)
        y = hidden @ decoder["weight"].t() + decoder["bias"]
    errors.append(difference(y, tensors["ref.y"]))
    return max(errors)


def test_oracles() -> None:
    for prefix, error in (("sgconv_op_", operator_error), ("sgconv_model_", model_error)):
        for case in cases(prefix):
            assert error(case) < LIMIT, case
