"""Softmax attention as the hosts of long convolutions have it, and the hybrids of SGConv (Li et al. 2022, §4.3): stacks in which some
attention layers are long convolutions.

Plain, with relative positions (Transformer-XL, Dai et al. 2019, §3.3 and App. B) or with rotary ones (RoFormer, Su et al. 2021,
Eq. 34); causal over a window, causal over all rows, or over the whole sequence.  All shapes are (batch, time, width).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..package import Layer, Package, layer, residual
from .sgconv import GConv


@dataclass(frozen=True)
class AttentionConfig:
    """`window`: keys a query sees, its own among them; a memory of M rows is a window of M + 1."""

    width: int
    heads: int
    head_width: int | None = None
    window: int | None = None
    causal: bool = True
    relative: bool = False
    rotary: bool = False
    interleaved: bool = False  # pairs of a rotary head: neighbours, else halves
    bias: bool = True

    @property
    def per_head(self) -> int:
        return self.head_width or self.width // self.heads


def sinusoids(count: int, width: int, dtype: torch.dtype) -> Tensor:
    """(count, width): [sin | cos] of each lag."""
    rates = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    phase = torch.arange(count, dtype=torch.float64)[:, None] * rates
    return torch.cat([phase.sin(), phase.cos()], dim=-1).to(dtype)


def rotated(x: Tensor, interleaved: bool) -> Tensor:
    """(B, H, T, d) rotated by its position."""
    half = x.shape[-1] // 2
    rates = (10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)).float().double()
    phase = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * rates
    cosine, sine = phase.cos().to(x.dtype), phase.sin().to(x.dtype)
    a, b = (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])
    rotated = a * cosine - b * sine, b * cosine + a * sine
    return torch.stack(rotated, dim=-1).flatten(-2) if interleaved else torch.cat(rotated, dim=-1)


class SoftmaxAttention(nn.Module):
    def __init__(self, config: AttentionConfig) -> None:
        super().__init__()
        self.config, inner = config, config.heads * config.per_head
        for name in "qkv":
            setattr(self, f"{name}_proj", nn.Linear(config.width, inner, bias=config.bias))
        self.o_proj = nn.Linear(inner, config.width, bias=config.bias)
        if config.relative:
            self.r_proj = nn.Linear(config.width, inner, bias=False)
            self.r_w_bias = nn.Parameter(torch.randn(config.heads, config.per_head) * 0.02)
            self.r_r_bias = nn.Parameter(torch.randn(config.heads, config.per_head) * 0.02)

    def forward(self, x: Tensor) -> Tensor:
        config, rows = self.config, x.shape[1]
        q, k, v = (getattr(self, f"{name}_proj")(x).unflatten(-1, (config.heads, -1)).transpose(1, 2) for name in "qkv")
        if config.rotary:
            q, k = rotated(q, config.interleaved), rotated(k, config.interleaved)
        lag = torch.arange(rows)[:, None] - torch.arange(rows)
        if config.relative:
            r = self.r_proj(sinusoids(rows, config.width, x.dtype)).unflatten(-1, (config.heads, -1)).transpose(0, 1)
            of_lag = torch.einsum("bhtd,hjd->bhtj", q + self.r_r_bias[:, None], r)
            scores = (q + self.r_w_bias[:, None]) @ k.transpose(-1, -2) + of_lag.gather(
                -1, lag.clamp(min=0).expand_as(of_lag)
            )
        else:
            scores = q @ k.transpose(-1, -2)
        scores = scores / math.sqrt(config.per_head)
        if config.causal:
            scores = scores.masked_fill((lag < 0) | (lag >= (config.window or rows)), -math.inf)
        result: Tensor = self.o_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(-2))
        return result


def attention_entry(config: AttentionConfig, name: str, prefix: str | None = None) -> Layer:
    entry = layer(
        "attention",
        name,
        prefix,
        heads=config.heads,
        head_width=config.per_head,
        causal=config.causal,
        relative=config.relative,
        rotary=config.rotary,
        bias=config.bias,
    )
    if config.window:
        entry["window"] = config.window
    if config.rotary:
        entry["rotary_pairs"] = "interleaved" if config.interleaved else "halves"
    return entry


@dataclass(frozen=True)
class HybridConfig:
    """A stack of `pattern`: A an attention layer, C a long convolution; each with an MLP behind it, norms behind the sums."""

    attention: AttentionConfig
    pattern: str
    hidden: int
    vocabulary: int
    kernel_dim: int
    length: int  # of the long kernels
    activation: str = "relu"
    bias: bool = True  # of the MLP


WIKITEXT_16 = "AAAC" * 2 + "ACCC" * 2
WIKITEXT_18 = "AAC" * 3 + "ACC" * 3
BERT_12 = "AAC" * 2 + "ACC" * 2


class HybridModel(nn.Module):
    """ids (B, T) -> logits; x = norm(x + mixer(x)), x = norm(x + mlp(x)) for each layer."""

    def __init__(self, config: HybridConfig) -> None:
        super().__init__()
        self.config, width = config, config.attention.width
        self.embedding = nn.Embedding(config.vocabulary, width)
        blocks = []
        for kind in config.pattern:
            mixer = (
                SoftmaxAttention(config.attention)
                if kind == "A"
                else GConv(
                    width, config.length, config.kernel_dim, bidirectional=not config.attention.causal, transposed=False
                )
            )
            if isinstance(mixer, GConv):
                mixer.freeze_norm()
            blocks.append(
                nn.ModuleDict(
                    {
                        "mixer": mixer,
                        "norm1": nn.LayerNorm(width),
                        "norm2": nn.LayerNorm(width),
                        "fc1": nn.Linear(width, config.hidden),
                        "fc2": nn.Linear(config.hidden, width),
                    }
                )
            )
        self.layers = nn.ModuleList(blocks)
        self.logits = nn.Linear(width, config.vocabulary)

    def forward(self, ids: Tensor) -> Tensor:
        x, activation = self.embedding(ids), getattr(F, self.config.activation)
        block: Any
        for block in self.layers:
            x = block["norm1"](x + block["mixer"](x))
            x = block["norm2"](x + block["fc2"](activation(block["fc1"](x))))
        result: Tensor = self.logits(x)
        return result


def hybrid_package(model: HybridModel, name: str) -> Package:
    config = model.config
    layers = [layer("embedding", "embedding", vocabulary=config.vocabulary, width=config.attention.width)]
    for n, kind in enumerate(config.pattern):
        here = f"layers.{n}"
        mixer = (
            attention_entry(config.attention, "attention", f"{here}.mixer")
            if kind == "A"
            else layer(
                "sgconv",
                "sgconv",
                f"{here}.mixer",
                kernel_dim=config.kernel_dim,
                l_max=config.length,
                mode="cat_randn",
                postact="glu",
                bidirectional=not config.attention.causal,
            )
        )
        mlp = [
            layer("linear", "fc1", f"{here}.fc1", out_features=config.hidden),
            layer(config.activation, "activation"),
            layer("linear", "fc2", f"{here}.fc2", out_features=config.attention.width),
        ]
        for which, inner in (("1", [mixer]), ("2", mlp)):
            layers.append(
                residual(f"{here}.{which}", layer("layer_norm", "norm", f"{here}.norm{which}"), inner, prenorm=False)
            )
    layers.append(layer("linear", "logits", out_features=config.vocabulary))
    return Package(
        name,
        [{"name": "ids", "kind": "tokens", "vocabulary": config.vocabulary}],
        layers,
        [{"name": "logits", "from": "logits"}],
        weights=model.state_dict(),
    )
