"""Orchid in its two hosts: M2-BERT for masked words, and a vision transformer whose layers mix with it."""

from __future__ import annotations

import numpy as np
from longwave.model_json import Layer, layer, residual

from .model import Model
from .tensors import Tensors, constant, given, normal

FILTER_W = 10.0  # frequency of the sines of the implicit filters


def model(host: str, **options) -> Model:
    return {"bert": bert, "vit": vision}[host](**options)


def bert(
    length: int,
    width: int,
    depth: int,
    mlp: int,
    blocks: int,
    vocabulary: int,
    filter_order: int,
    emb_dim: int,
    num_inner_mlps: int,
) -> Model:
    """M2-BERT with Orchid as its mixer, and the head that guesses words: logits at every position.  It has
    no position embeddings."""
    tensors, stem = Tensors(), "bert.embeddings"
    tensors.add(f"{stem}.word_embeddings.weight", (vocabulary, width), normal(0.02))
    tensors.add(f"{stem}.token_type_embeddings.weight", (2, width), normal(0.02))
    tensors.norm("layer", f"{stem}.LayerNorm", width)
    options = {"l_max": length, "filter_order": filter_order, "emb_dim": emb_dim, "num_inner_mlps": num_inner_mlps}
    layers = [
        layer("embedding", "words", f"{stem}.word_embeddings", vocabulary=vocabulary, width=width),
        layer("embedding", "types", f"{stem}.token_type_embeddings", input="token_type_ids", vocabulary=2, width=width),
        layer("add", "embedded", inputs=["words", "types"]),
        layer("layer_norm", "embeddings", f"{stem}.LayerNorm", eps=1e-12),
    ]
    for n in range(depth):
        here = f"bert.encoder.layer.{n}"
        operator(tensors, f"{here}.attention", width, **options)
        tensors.block_linear(f"{here}.mlp.gated_layers", 2 * mlp, width, blocks, bias=False)
        tensors.block_linear(f"{here}.mlp.wo", width, mlp, blocks)
        tensors.norm("layer", f"{here}.mlp.layernorm", width)
        layers += [
            layer("orchid", f"{here}.attention", **options),
            layer("m2_mlp", f"{here}.mlp", intermediate=mlp, blocks=blocks),
        ]
    head = "cls.predictions"
    tensors.linear(f"{head}.transform.dense", width, width)
    tensors.norm("layer", f"{head}.transform.LayerNorm", width)
    tensors.add(f"{head}.decoder.bias", (vocabulary,), constant(0.0))
    layers += [
        layer("linear", "transform", f"{head}.transform.dense", out_features=width),
        layer("gelu", "transform.gelu"),
        layer("layer_norm", "transform.norm", f"{head}.transform.LayerNorm", eps=1e-12),
        layer(
            "linear",
            "logits",
            f"{head}.decoder",
            out_features=vocabulary,
            keys={"weight": f"{stem}.word_embeddings.weight"},
        ),
    ]
    inputs = [
        {"name": "ids", "kind": "tokens", "vocabulary": vocabulary},
        {"name": "token_type_ids", "kind": "tokens", "vocabulary": 2},
    ]
    return Model(inputs, layers, [{"name": "logits", "from": "logits"}], tensors, streams=False)


def vision(
    length: int,
    width: int,
    depth: int,
    mlp: int,
    blocks: int,
    patch: int,
    classes: int,
    transform: str,
    short_conv: int,
    filter_order: int,
    emb_dim: int,
    num_inner_mlps: int,
) -> Model:
    """Patches, layers of Orchid and a block-diagonal MLP as M2-BERT has them (no residual around the mixer,
    no gate in the MLP), the mean of the positions. The host's code is not public: with position embeddings,
    or two norms a layer, the printed counts cannot be met.
    """
    tensors = Tensors()
    tensors.add("patch_embed.proj.weight", (width, 3, patch, patch), normal((3 * patch * patch) ** -0.5))
    tensors.add("patch_embed.proj.bias", (width,), constant(0.0))
    options = {
        "l_max": length,
        "transform": transform,
        "short_conv": short_conv,
        "filter_order": filter_order,
        "emb_dim": emb_dim,
        "num_inner_mlps": num_inner_mlps,
    }
    layers: list[Layer] = [
        layer("patch_embedding", "patch_embed", "patch_embed.proj", out_features=width, patch=[patch, patch])
    ]
    for n in range(depth):
        here = f"blocks.{n}"
        operator(tensors, f"{here}.attention", width, **options)
        tensors.block_linear(f"{here}.mlp.fc1", mlp, width, blocks)
        tensors.block_linear(f"{here}.mlp.fc2", width, mlp, blocks)
        tensors.norm("layer", f"{here}.mlp.layernorm", width)
        layers += [
            layer("orchid", f"{here}.attention", **options),
            residual(
                f"{here}.mlp",
                layer("layer_norm", "norm", f"{here}.mlp.layernorm"),
                [
                    layer("linear", "fc1", f"{here}.mlp.fc1", out_features=mlp, blocks=blocks),
                    layer("gelu", "gelu"),
                    layer("linear", "fc2", f"{here}.mlp.fc2", out_features=width, blocks=blocks),
                ],
                prenorm=False,
            ),
        ]
    tensors.norm("layer", "norm", width)
    tensors.linear("head", classes, width)
    layers += [
        layer("layer_norm", "norm"),
        layer("mean", "pool"),
        layer("linear", "logits", "head", out_features=classes),
    ]
    return Model(
        [{"name": "patches", "kind": "features", "width": 3 * patch * patch}],
        layers,
        [{"name": "logits", "from": "logits"}],
        tensors,
        False,
    )


def operator(
    tensors: Tensors,
    prefix: str,
    width: int,
    l_max: int,
    filter_order: int,
    emb_dim: int,
    num_inner_mlps: int,
    transform: str = "fft",
    short_conv: int = 3,
) -> None:
    """One Orchid operator under the official keys, with the conditioning network of Eq. 2 (absfreq,
    convtf)."""
    tensors.linear(f"{prefix}.in_linear", 3 * width, width)
    tensors.linear(f"{prefix}.out_linear", width, width)
    tensors.depthwise(f"{prefix}.conv1d_short", 3 * width, short_conv)
    for name in ("fixed_conv", "fixed_conv_res"):
        _hyena_filter(tensors, f"{prefix}.{name}", width, l_max, filter_order, emb_dim, num_inner_mlps)
    parts = 2 if transform.startswith("fft") else 1
    for name, outputs in (("nn_model", width), ("nn_model2", parts * width)):
        here = f"{prefix}.conv_kernel_nn.{name}"
        tensors.depthwise(f"{here}.conv1d_ls.0", outputs, 3)
        tensors.norm("layer", f"{here}.norm_ls.0.norm_conv_kernel", outputs)


def _hyena_filter(tensors: Tensors, prefix: str, width: int, l_max: int, order: int, emb_dim: int, inner: int) -> None:
    """The positions `z` and the decays are trained, the times are a buffer; the sine is one object, whose
    frequencies every one of its keys repeats."""
    tensors.add(f"{prefix}.bias", (width,), normal(1.0))
    t, bands = np.linspace(0, 1, l_max), (emb_dim - 1) // 2
    phase = np.linspace(1e-4, bands - 1, bands)[None] * (2 * np.pi * np.arange(l_max) / l_max)[:, None]
    tensors.add(
        f"{prefix}.pos_emb.z",
        (1, l_max, emb_dim),
        given(np.concatenate([t[:, None], np.cos(phase), -np.sin(phase)], 1)),
    )
    tensors.add(f"{prefix}.pos_emb.t", (1, l_max, 1), given(t), trained=False)
    for i in range(inner + 1):
        tensors.linear(f"{prefix}.implicit_filter.{2 * i}", order, order if i else emb_dim)
        tensors.add(f"{prefix}.implicit_filter.{2 * i + 1}.freq", (1, order), constant(FILTER_W), trained=i == 0)
    tensors.linear(f"{prefix}.implicit_filter.{2 * inner + 2}", width, order, bias=False)
    slow, fast = np.log(0.01) / 1.5, np.log(0.01) / 0.3
    tensors.add(f"{prefix}.modulation.deltas", (1, 1, width), given(np.linspace(slow, fast, width)))
