"""The Orchid operator and its M2-BERT block against reference tensors (float64, computed from the official code's weights)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.layers.orchid import GatedMlp, M2Layer, OrchidOperator  # noqa: E402
from longwave.package import tensor_keys  # noqa: E402
from oracles import LIMIT, cases, difference, load, weights  # noqa: E402


def operator(config: dict) -> OrchidOperator:
    kernel = config["conv_kernel"]
    conditioning = {
        "kind": kernel["type"],
        "network": kernel["nn"],
        "size": kernel["conv_filter_size"],
        "n_layer": kernel["n_layer"],
        "actq": kernel["actq"],
        "causal": config["causal_flag"],
    }
    names = ("d_model", "l_max", "transform", "short_filter_order", "filter_order", "emb_dim", "num_inner_mlps")
    return OrchidOperator(
        **{name: config[name] for name in names},
        conditioning=conditioning,
        residual_long_conv=config["residual_long_conv"] == "sconv",
        w=config["w_init"],
        shift=config["modulation"]["shift"],
    )


@torch.no_grad()
def errors(case: str) -> dict[str, float]:
    about, tensors = load(case)
    config = about["config"]
    if "mlp" in config:
        mlp = config["mlp"]
        layers = [
            M2Layer(
                operator(config),
                GatedMlp(config["d_model"], mlp["intermediate"], mlp["monarch_nblocks"], mlp["ln_eps"]),
            )
            for _ in range(config["n_layers"])
        ]
        model = nn.ModuleDict({"layer": nn.Sequential(*layers)}).double()
        run = model["layer"]
    else:
        run = model = operator(config).double()
    model.load_state_dict(weights(tensors))
    found = {"y": difference(run(tensors["in.x"]), tensors["ref.y"])}
    if "ref.k_fixed" in tensors:
        found["k_fixed"] = difference(model.fixed_conv.taps(config["L"]), tensors["ref.k_fixed"])
    if "ref.h_time" in tensors or "ref.h_re" in tensors:
        h, in_time = model.conv_kernel_nn(model.in_linear(tensors["in.x"]).chunk(3, -1)[2])
        assert in_time == ("ref.h_time" in tensors)
        wanted = (
            {"h_time": h}
            if in_time
            else {"h_re": h.real if h.is_complex() else h, "h_im": h.imag if h.is_complex() else h}
        )
        found |= {
            name: difference(value, tensors[f"ref.{name}"])
            for name, value in wanted.items()
            if f"ref.{name}" in tensors
        }
    return found


def test_every_case() -> None:
    for case in cases("orchid_"):
        found = errors(case)
        assert max(found.values()) <= LIMIT, (case, found)


def test_a_package_holds_the_whole_state_dict() -> None:
    kinds = (
        {},
        {"network": "convt"},
        {"kind": "corrTime", "causal": False},
        {"kind": "freq", "network": "convf", "n_layer": 2},
    )
    for conditioning in kinds:
        model = nn.ModuleDict({"block": M2Layer(OrchidOperator(8, 16, conditioning=conditioning), GatedMlp(8, 16))})
        layers = model["block"].package_layers("block")
        assert sorted(tensor_keys(layers, model.state_dict())) == sorted(model.state_dict())
        assert layers[0]["conditioning"] == conditioning.get("kind", "absfreq") and layers[1]["blocks"] == 4


def test_wrong_combinations_are_refused() -> None:
    for wrong in ({"kind": "freq", "network": "convt"}, {"kind": "corrTime"}):
        with pytest.raises(ValueError):
            OrchidOperator(8, 16, conditioning=wrong)
