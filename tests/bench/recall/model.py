"""The model of the recall experiments (models.md §3.3): embedding, blocks of x + Orchid(LN(x)) and x + MLP(LN(x)), LN, and the logits at the last position."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import torch.nn.functional as F
from longwave.layers.orchid import OrchidOperator
from longwave.package import Package, layer, residual
from torch import Tensor, nn


@dataclass
class RecallConfig:
    length: int = 128
    vocabulary: int = 20  # keys and values; the separator is one more id
    width: int = 64
    depth: int = 2
    hidden: int = 256
    filter_order: int = 64
    emb_dim: int = 5
    num_inner_mlps: int = 2
    transform: str = "fft"

    def as_json(self) -> dict[str, int | str]:
        return asdict(self)


class Block(nn.Module):
    def __init__(self, config: RecallConfig) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(config.width), nn.LayerNorm(config.width)
        self.mixer = OrchidOperator(
            config.width,
            config.length,
            config.transform,
            filter_order=config.filter_order,
            emb_dim=config.emb_dim,
            num_inner_mlps=config.num_inner_mlps,
        )
        self.fc1, self.fc2 = nn.Linear(config.width, config.hidden), nn.Linear(config.hidden, config.width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.mixer(self.norm1(x))
        result: Tensor = x + self.fc2(F.gelu(self.fc1(self.norm2(x))))
        return result


class RecallModel(nn.Module):
    """ids (B, L) -> logits (B, ids) of the answer."""

    def __init__(self, config: RecallConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocabulary + 1, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.depth))
        self.norm, self.head = nn.LayerNorm(config.width), nn.Linear(config.width, config.vocabulary + 1)
        nn.init.normal_(self.embed.weight, std=0.02)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        result: Tensor = self.head(self.norm(x)[:, -1])
        return result


def model_package(model: RecallModel, name: str = "recall") -> Package:
    """With one output, the logits; run it at its one length."""
    config = model.config
    layers = [layer("embedding", "embed", vocabulary=config.vocabulary + 1, width=config.width)]
    block: Any
    for n, block in enumerate(model.blocks):
        here = f"blocks.{n}"
        layers.append(
            residual(
                f"mixer.{n}",
                layer("layer_norm", "norm", f"{here}.norm1"),
                [block.mixer.package_layer("orchid", f"{here}.mixer")],
            )
        )
        layers.append(
            residual(
                f"mlp.{n}",
                layer("layer_norm", "norm", f"{here}.norm2"),
                [
                    layer("linear", "fc1", f"{here}.fc1", out_features=config.hidden),
                    layer("gelu", "gelu"),
                    layer("linear", "fc2", f"{here}.fc2", out_features=config.width),
                ],
            )
        )
    layers += [
        layer("layer_norm", "norm", "norm"),
        layer("last", "last"),
        layer("linear", "logits", "head", out_features=config.vocabulary + 1),
    ]
    return Package(
        name,
        [{"name": "ids", "kind": "tokens", "vocabulary": config.vocabulary + 1}],
        layers,
        [{"name": "logits", "from": "logits"}],
        weights=model.state_dict(),
    )
