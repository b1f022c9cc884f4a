"""The same diffusion models in PyTorch: patches, a time step and a class, the conditions put before the patches
or into the norms."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from longwave.layers.lightnet import GatedMlp, LightNetAttention, LightNetConfig, Phases, RmsNorm, image_phases
from torch import Tensor, nn

from . import dit as rows
from .lightnet import LRPE_BASE, NORM_EPS


class Modulation(nn.Module):
    """shift, scale and gate from the condition; those of a final layer have no gate."""

    def __init__(self, width: int, parts: tuple[str, ...] = rows.PARTS) -> None:
        super().__init__()
        self.adaLN = nn.ModuleDict({part: nn.Linear(width, width) for part in parts})

    def forward(self, x: Tensor, c: Tensor) -> Tensor:
        result: Tensor = x * (1 + self.adaLN["scale"](c)) + self.adaLN["shift"](c)
        return result

    def gate(self, c: Tensor) -> Tensor:
        result: Tensor = self.adaLN["gate"](c)
        return result


class Dit(nn.Module):
    def __init__(
        self,
        length: int,
        width: int,
        depth: int,
        heads: int,
        hidden: int,
        gate_rank: int,
        patch: int,
        channels: int,
        classes: int,
        conditioning: str,
        **_: Any,
    ) -> None:
        super().__init__()
        self.tokens, self.classes, pixels = conditioning == "tokens", classes, patch * patch * channels
        side = round((length - rows.CONDITIONS * self.tokens) ** 0.5)
        angles = image_phases(width // heads, (side, side), LRPE_BASE).angles
        still = angles.new_zeros(rows.CONDITIONS * self.tokens, angles.shape[1])  # conditions are not rotated
        self.theta = Phases(torch.cat([still, angles]))
        self.x_embedder = nn.Linear(pixels, width)
        self.t_embedder = nn.Sequential(
            nn.Linear(rows.FREQUENCIES, width), nn.SiLU(), nn.Linear(width, width, not self.tokens)
        )
        self.y_embedder = nn.Embedding(classes, width)
        config = LightNetConfig(width, heads, causal=False, gate_rank=gate_rank, norm_eps=NORM_EPS, lrpe=True)
        self.layers = nn.ModuleList()
        for _ in range(depth):
            layer = nn.ModuleDict(
                {"token_mixer": LightNetAttention(config), "channel_mixer": GatedMlp(width, hidden, "xmixers")}
            )
            if self.tokens:
                layer.update({"token_norm": RmsNorm(width, NORM_EPS), "channel_norm": RmsNorm(width, NORM_EPS)})
            else:
                layer.update({"token_modulation": Modulation(width), "channel_modulation": Modulation(width)})
            self.layers.append(layer)
        if self.tokens:
            self.final_norm: nn.Module = RmsNorm(width, NORM_EPS)
        else:
            self.final_modulation = Modulation(width, ("shift", "scale"))
        self.final_layer = nn.ModuleDict({"linear": nn.Linear(width, 2 * pixels)})

    def forward(self, latents: Tensor, time: Tensor, label: Tensor) -> Tensor:
        """Rows as the engine takes them -> rows as it gives them."""
        if not self.tokens:
            return self.with_adaln(self.x_embedder(latents), time[:, 0], label[:, 0])
        patches = self.x_embedder(latents[:, rows.CONDITIONS :, :-1])
        t, y = self.t_embedder(time[:, :1, :-1]), self.y_embedder(label[:, 1:2])
        x = torch.cat([t, y, patches], 1)
        for layer in self.layers:
            x = x + layer["token_mixer"](layer["token_norm"](x), theta=self.theta)
            x = x + layer["channel_mixer"](layer["channel_norm"](x))
        result: Tensor = self.final_layer["linear"](self.final_norm(x))
        return result

    def with_adaln(self, x: Tensor, time: Tensor, label: Tensor) -> Tensor:
        c = F.silu(self.t_embedder(time) + self.y_embedder(label))[:, None]
        norm = lambda x: F.layer_norm(x, x.shape[-1:], eps=NORM_EPS)  # noqa: E731
        for layer in self.layers:
            token, channel = layer["token_modulation"], layer["channel_modulation"]
            x = x + token.gate(c) * layer["token_mixer"](token(norm(x), c), theta=self.theta)
            x = x + channel.gate(c) * layer["channel_mixer"](channel(norm(x), c))
        result: Tensor = self.final_layer["linear"](self.final_modulation(norm(x), c))
        return result


def state_of(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The tensors of a package under the modules' names.  With tokens, the package has biases as the last
    column of a matrix, and a row of zeros at the end of the table."""
    tokens = "x_embedder.bias" not in state
    own = {}
    for key, value in state.items():
        if key == "lrpe.theta" or "_norm." in key and not tokens:
            continue  # the modules have them as constants
        for mixer in ("token", "channel"):
            key = key.replace(f".{mixer}_mixer.adaLN.", f".{mixer}_modulation.adaLN.")
        key = key.replace("final_layer.adaLN.", "final_modulation.adaLN.")
        if tokens and key in ("x_embedder.weight", "t_embedder.0.weight"):
            own[key.replace("weight", "bias")] = value[:, -1]
            value = value[:, :-1]
        if tokens and key == "y_embedder.weight":
            value = value[:-1]
        own[key] = value
    return own
