"""The same models in PyTorch, made of longwave.layers, with the weights of a package: what the engine is
compared with.

`fastest` makes them as fast as eager mode goes without changing what they compute: kernels, their spectra and
everything else that does not depend on the input are computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch.nn.functional as F
from longwave.layers.adaptive import AdaptiveEmbedding, AdaptiveSoftmax
from longwave.layers.backbone import SgconvBackbone
from longwave.layers.chela import Branch, ChelaBlock, ChelaConfig, make_norm
from longwave.layers.heads import pair_features
from longwave.layers.lightnet import (
    ExponentialSums,
    GatedMlp,
    LightNetAttention,
    LightNetConfig,
    Phases,
    RmsNorm,
    cosine_rates,
    image_phases,
)
from longwave.layers.orchid import BlockDiagonalLinear, GatedMlp as M2Mlp, M2Layer, OrchidOperator
from torch import Tensor, nn

from . import convnext_peers, dit_peers, hybrid_peers, lightnet as lightnet_rows
from .chela import TAIL_FACTOR, branch_sizes
from .configurations import Row


class Pooled(nn.Module):
    """encoder, body, pooling, head; of two inputs: both through the same, then the pair's features."""

    def __init__(self, pool: str) -> None:
        super().__init__()
        self.pool = pool

    def rows(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def head(self, h: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, *inputs: Tensor) -> Tensor:
        pooled = [
            h if self.pool == "steps" else h.mean(1) if self.pool == "mean" else h[:, -1]
            for h in map(self.rows, inputs)
        ]
        return self.head(pooled[0] if len(pooled) == 1 else pair_features(*pooled))


def pair_classifier(width: int, classes: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(4 * width, width), nn.GELU(), nn.Linear(width, classes))


class Sgconv(Pooled):
    def __init__(
        self,
        length: int,
        width: int,
        depth: int,
        kernel_dim: int,
        num_scales: int,
        classes: int,
        causal: bool = False,
        vocabulary: int | None = None,
        norm: str = "batch",
        prenorm: bool = True,
        mode: str = "cat_randn",
        init_scale: int = 0,
        postact: str | None = "glu",
        pool: str = "mean",
        towers: bool = False,
        **_: Any,
    ) -> None:
        super().__init__(pool)
        self.encoder = nn.ModuleList([nn.Linear(1, width) if vocabulary is None else nn.Embedding(vocabulary, width)])
        self.model = SgconvBackbone(
            width,
            depth,
            norm,
            prenorm,
            kernel_dim=kernel_dim,
            l_max=length,
            n_scales=num_scales,
            mode=mode,
            init_scale=init_scale,
            postact=postact,
            bidirectional=not causal,
        )
        head: dict[str, nn.Module] = {"output_transform": nn.Linear(width, classes)}
        if towers:
            head = {"retrieval": nn.ModuleDict({"classifier": pair_classifier(width, classes)})}
        self.decoder = nn.ModuleList([nn.ModuleDict(head)])

    def rows(self, x: Tensor) -> Tensor:
        result: Tensor = self.model(self.encoder[0](x))
        return result

    def head(self, h: Tensor) -> Tensor:
        head = self.decoder[0]
        result: Tensor = (
            head["output_transform"](h) if "output_transform" in head else head["retrieval"]["classifier"](h)
        )
        return result


class Chela(Pooled):
    def __init__(
        self,
        length: int,
        depth: int,
        width: int,
        ffn_width: int,
        classes: int | None = None,
        causal: bool = False,
        value_width: int | None = None,
        kernel_dim: int = 0,
        taps: int = 0,
        norm: str = "batch",
        prenorm: bool = True,
        inputs: int = 1,
        vocabulary: int | None = None,
        cutoffs: Sequence[int] = (),
        head: str = "mean",
        towers: bool = False,
        **_: Any,
    ) -> None:
        super().__init__(head)
        config = ChelaConfig(
            width,
            length if kernel_dim else taps,
            [Branch(size, batch_norm=False) for size in branch_sizes(length)],
            causal,
            long="sgconv" if kernel_dim else "taps",
            kernel_dim=kernel_dim,
            norm=norm,
            prenorm=prenorm,
            value_width=value_width,
            h_proj=(value_width or width) != width,
            ffn_width=ffn_width,
        )
        if cutoffs:
            self.embed_tokens: nn.Module = AdaptiveEmbedding(vocabulary or 0, width, cutoffs, TAIL_FACTOR)
            self.adaptive_softmax = AdaptiveSoftmax(vocabulary or 0, width, cutoffs, TAIL_FACTOR)
        else:
            self.embed_tokens = nn.Linear(inputs, width) if vocabulary is None else nn.Embedding(vocabulary, width)
            self.classifier: nn.Module = (
                pair_classifier(width, classes or 0)
                if towers
                else nn.Sequential(nn.Sequential(nn.Linear(width, classes or 0)))
            )
        self.layers = nn.ModuleList(ChelaBlock(config) for _ in range(depth))
        self.final_norm = make_norm(norm, width, config.norm_eps) if prenorm else nn.Identity()

    def rows(self, x: Tensor) -> Tensor:
        h = self.embed_tokens(x)
        for layer in self.layers:
            h = layer(h)
        result: Tensor = self.final_norm(h)
        return result

    def head(self, h: Tensor) -> Tensor:
        result: Tensor = self.adaptive_softmax(h) if hasattr(self, "adaptive_softmax") else self.classifier(h)
        return result


class PlainMlp(nn.Module):
    """LayerNorm(x + fc2(gelu(fc1(x)))), the matrices block-diagonal."""

    def __init__(self, width: int, hidden: int, blocks: int) -> None:
        super().__init__()
        self.fc1, self.fc2 = (
            BlockDiagonalLinear(width, hidden, blocks, True),
            BlockDiagonalLinear(hidden, width, blocks, True),
        )
        self.layernorm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.layernorm(x + self.fc2(F.gelu(self.fc1(x))))
        return result


class Patches(nn.Module):
    """(B, T, pixels of a patch) -> (B, T, width); the weight is a convolution's."""

    def __init__(self, width: int, patch: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, width, patch, patch)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.proj.weight.flatten(1), self.proj.bias)


class OrchidVision(nn.Module):
    def __init__(
        self,
        length: int,
        width: int,
        depth: int,
        mlp: int,
        blocks: int,
        patch: int,
        classes: int,
        short_conv: int,
        **options: Any,
    ) -> None:
        super().__init__()
        del options["host"]
        self.patch_embed = Patches(width, patch)
        self.blocks = nn.ModuleList(
            M2Layer(
                OrchidOperator(width, length, short_filter_order=short_conv, **options), PlainMlp(width, mlp, blocks)
            )
            for _ in range(depth)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, patches: Tensor) -> Tensor:
        x = self.patch_embed(patches)
        for block in self.blocks:
            x = block(x)
        result: Tensor = self.head(self.norm(x).mean(1))
        return result


class OrchidBert(nn.Module):
    def __init__(
        self, length: int, width: int, depth: int, mlp: int, blocks: int, vocabulary: int, **options: Any
    ) -> None:
        super().__init__()
        del options["host"]
        embeddings = nn.ModuleDict(
            {
                "word_embeddings": nn.Embedding(vocabulary, width),
                "token_type_embeddings": nn.Embedding(2, width),
                "LayerNorm": nn.LayerNorm(width, 1e-12),
            }
        )
        layers = nn.ModuleList(
            M2Layer(OrchidOperator(width, length, **options), M2Mlp(width, mlp, blocks)) for _ in range(depth)
        )
        self.bert = nn.ModuleDict({"embeddings": embeddings, "encoder": nn.ModuleDict({"layer": layers})})
        transform = nn.ModuleDict({"dense": nn.Linear(width, width), "LayerNorm": nn.LayerNorm(width, 1e-12)})
        decoder = nn.Linear(width, vocabulary)
        decoder.weight = embeddings["word_embeddings"].weight
        self.cls = nn.ModuleDict({"predictions": nn.ModuleDict({"transform": transform, "decoder": decoder})})

    def forward(self, ids: Tensor, types: Tensor) -> Tensor:
        embeddings = self.bert["embeddings"]
        x = embeddings["LayerNorm"](embeddings["word_embeddings"](ids) + embeddings["token_type_embeddings"](types))
        for layer in self.bert["encoder"]["layer"]:
            x = layer(x)
        head = self.cls["predictions"]
        result: Tensor = head["decoder"](head["transform"]["LayerNorm"](F.gelu(head["transform"]["dense"](x))))
        return result


def theta_of(width: int, heads: int, shape: tuple[int, ...] = (), **_: Any) -> Tensor | Phases:
    """The angles of LRPE, which every layer shares."""
    rates = lightnet_rows.LRPE_BASE
    return image_phases(width // heads, shape, rates) if shape else cosine_rates(width // heads, rates)


class LightNet(nn.Module):
    """The body of both hosts; `model.` holds what xmixers calls so."""

    def __init__(
        self,
        width: int,
        depth: int,
        heads: int,
        hidden: int,
        gate_rank: int,
        modes: int,
        shape: tuple[int, ...] = (),
        vocabulary: int | None = None,
        patch: int = 0,
        classes: int = 0,
        **_: Any,
    ) -> None:
        super().__init__()
        eps = lightnet_rows.NORM_EPS
        config = LightNetConfig(width, heads, causal=not shape, gate_rank=gate_rank, norm_eps=eps, lrpe=True)
        body: dict[str, nn.Module] = {
            "tpe": ExponentialSums(width, modes, shape),
            "layers": nn.ModuleList(
                nn.ModuleDict(
                    {
                        "token_norm": RmsNorm(width, eps),
                        "token_mixer": LightNetAttention(config),
                        "channel_norm": RmsNorm(width, eps),
                        "channel_mixer": GatedMlp(width, hidden, "xmixers"),
                    }
                )
                for _ in range(depth)
            ),
            "final_norm": RmsNorm(width, eps),
        }
        self.theta = theta_of(width, heads, shape)
        if vocabulary is not None:
            body["embed_tokens"] = nn.Embedding(vocabulary, width)
        else:
            self.patch_embed, self.head = Patches(width, patch), nn.Linear(width, classes)
        self.model = nn.ModuleDict(body)

    def forward(self, x: Tensor) -> Tensor:
        model = self.model
        h = model["tpe"](model["embed_tokens"](x) if "embed_tokens" in model else self.patch_embed(x))
        for block in model["layers"]:
            h = h + block["token_mixer"](block["token_norm"](h), theta=self.theta)
            h = h + block["channel_mixer"](block["channel_norm"](h))
        h = model["final_norm"](h)
        return F.linear(h, model["embed_tokens"].weight) if "embed_tokens" in model else self.head(h.mean(1))


def peer(row: Row, state: dict[str, Tensor], **changes: Any) -> nn.Module:
    """The row's model with the weights of a package; strict: the same names and shapes, but for what a
    package leaves out (counters, tied names)."""
    length = changes.pop("length", row.length)
    options = dict(row.options) | changes
    family = {
        "sgconv": Sgconv,
        "chela": Chela,
        "lightnet": LightNet,
        "orchid": OrchidVision if options.get("host") == "vit" else OrchidBert,
        "hybrid": hybrid_peers.hybrid,
        "convnext": convnext_peers.ConvNext,
        "dit": dit_peers.Dit,
    }[row.family]
    if row.family != "lightnet":
        options["length"] = length
    prepared = {"convnext": convnext_peers.state_of, "dit": dit_peers.state_of}.get(row.family)
    state = prepared(state) if prepared else state
    net = family(**options).eval()
    missing, unexpected = net.load_state_dict(state, strict=False)
    missing = [key for key in missing if not key.endswith(("num_batches_tracked", "cls.predictions.decoder.weight"))]
    if missing or unexpected:
        raise ValueError(f"names that differ from the package's: {', '.join([*missing, *unexpected])}")
    return net
