"""Two trained keyword networks as one model: they share the front end, and the logits are the mean of theirs.

Networks that differ in their random numbers alone make different mistakes (Lakshminarayanan et al. 2017, "Simple and
scalable predictive uncertainty estimation using deep ensembles").
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..package import Layer, Package, layer
from .export import audio_package, chain
from .model import BN_EPS, KwsNet


def under(prefix: str, of: Any) -> Any:
    """The layer with its name and all its tensor prefixes below `prefix`."""
    if isinstance(of, list):
        return [under(prefix, one) for one in of]
    if not isinstance(of, dict):
        return of
    return {key: f"{prefix}.{value}" if key == "prefix" else under(prefix, value) for key, value in of.items()}


def tower(net: KwsNet, name: str, first: str) -> list[Layer]:
    """The layers from normalised features to logits, reading the layer `first`."""
    layers = [under(name, one) | {"name": f"{name}.{one['name']}"} for one in chain(net)]
    layers[0]["input"] = first
    return layers


def renormalise(net: KwsNet, to: KwsNet) -> dict[str, Tensor]:
    """A batch norm from the normalised features of `net` to those of `to`."""
    a, b = net.front_end, to.front_end
    ones = torch.ones_like(a.mean)
    return {
        "weight": b.scale / a.scale,
        "bias": (a.mean - b.mean) * b.scale,
        "running_mean": 0 * ones,
        "running_var": (1 - BN_EPS) * ones,
    }


def make_pair(nets: tuple[KwsNet, KwsNet], decision: dict[str, Any], name: str) -> Package:
    """Outputs as those of a single network. Each head has half of its weights, so the sum of the two is their mean."""
    weights: dict[str, Tensor] = {}
    for number, net in enumerate(nets):
        own = {key: value for key, value in net.state_dict().items() if not key.startswith("front_end.")}
        halves = {key: value / 2 for key, value in own.items() if key.startswith("head.")}
        weights |= {f"{number}.{key}": value for key, value in (own | halves).items()}
    weights |= {f"front_end.{key}": value for key, value in nets[0].front_end.state_dict().items()}
    layers: list[Layer] = []
    first = "front_end"
    for number, net in enumerate(nets):
        if number and not (
            torch.equal(net.front_end.mean, nets[0].front_end.mean)
            and torch.equal(net.front_end.scale, nets[0].front_end.scale)
        ):
            first = f"{number}.normalise"
            layers.append(layer("batch_norm", first, eps=BN_EPS) | {"input": "front_end"})
            weights |= {f"{first}.{key}": value for key, value in renormalise(nets[0], net).items()}
        layers += tower(net, str(number), first)
    layers.append(layer("add", "logits", inputs=["0.head", "1.head"]))
    return audio_package(nets[0], layers, weights, decision, name)
