"""SGConv's hybrids: hosts of softmax attention some of whose layers are long convolutions (Li et al. 2022,
§4.3.1 and A.3): Transformer-XL as in the code that the paper builds on, and BERT.

The block of Fig. 6 is printed as a picture only: a long convolution takes the place of the attention in its
layer, GLU projection included, and the host's norm behind the sum and MLP stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from longwave.model_json import Layer, layer, residual

from .model import Model
from .sgconv import multi_scale
from .tensors import Tensors, constant, given, normal


@dataclass(frozen=True, kw_only=True)
class TransformerXlSize:
    """A memory of M rows is a window of M + 1 keys.  `factor` 1: every cluster is as wide as the model and has no
    projection (Transformer-XL's div_val).  `pattern`: A for attention, C for a long convolution, a letter a layer."""

    length: int
    pattern: str
    width: int
    heads: int
    hidden: int
    memory: int
    vocabulary: int
    cutoffs: Sequence[int]
    factor: int
    kernel_dim: int

    @property
    def clusters(self) -> list[tuple[int, int]]:
        """(words, width of their rows) of each cluster."""
        edges = [0, *self.cutoffs, self.vocabulary]
        return [(end - first, self.width // self.factor**i) for i, (first, end) in enumerate(zip(edges, edges[1:]))]


@dataclass(frozen=True, kw_only=True)
class BertSize:
    length: int
    pattern: str
    width: int
    heads: int
    hidden: int
    vocabulary: int
    kernel_dim: int


def model(host: str, **options) -> Model:
    if host == "bert":
        return bert(BertSize(**options))
    return transformer_xl(TransformerXlSize(**options))


def transformer_xl(size: TransformerXlSize) -> Model:
    """Rows behind the last layer at every position, and log-probabilities of the words behind the last one:
    of all positions they would be gigabytes."""
    tensors, width, heads = Tensors(), size.width, size.heads
    for i, (words, rank) in enumerate(size.clusters):
        tensors.add(f"embedding.embeddings.{i}.0.weight", (words, rank), normal(rank**-0.5))
        if size.factor > 1:
            tensors.linear(f"embedding.embeddings.{i}.1", width, rank, bias=False)
    if size.factor == 1:  # the layers have projections
        tensors.add("identity.weight", (width, width), given(np.eye(width)), trained=False)
    layers = [_embedding(size)]
    for name in ("r_w_bias", "r_r_bias"):  # one for all layers
        tensors.add(name, (heads, width // heads), normal(0.02))
    for n, kind in enumerate(size.pattern):
        here = f"layers.{n}"
        if kind == "A":
            for name in ("q", "k", "v", "r", "o"):
                tensors.linear(f"{here}.mixer.{name}_proj", width, width, bias=False)
            mixer = layer(
                "attention",
                "attention",
                f"{here}.mixer",
                heads=heads,
                window=size.memory + 1,
                relative=True,
                bias=False,
                keys={name: name for name in ("r_w_bias", "r_r_bias")},
            )
        else:
            mixer = _long_convolution(tensors, here, size, causal=True)
        layers += _sublayers(tensors, here, mixer, size, "relu", 1e-5)
    layers.append(layer("last", "newest"))
    layers.append(_softmax(tensors, size))
    return Model(
        [{"name": "ids", "kind": "tokens", "vocabulary": size.vocabulary}],
        layers,
        [
            {"name": "rows", "from": f"layers.{len(size.pattern) - 1}.2"},
            {"name": "log_probabilities", "from": "log_probabilities"},
        ],
        tensors,
        streams=True,
    )


def bert(size: BertSize) -> Model:
    """BERT with its masked-word head: logits at every position.  The positions are an input, as they are in
    BERT's own code."""
    tensors, width = Tensors(), size.width
    inputs = [
        ("ids", "words", size.vocabulary),
        ("token_type_ids", "types", 2),
        ("position_ids", "positions", size.length),
    ]
    layers: list[Layer] = []
    for given_as, name, rows in inputs:
        tensors.add(f"{name}.weight", (rows, width), normal(0.02))
        layers.append(layer("embedding", name, input=given_as, vocabulary=rows, width=width))
    tensors.norm("layer", "embedded.norm", width)
    layers += [
        layer("add", "typed", inputs=["words", "types"]),
        layer("add", "placed", inputs=["typed", "positions"]),
        layer("layer_norm", "embedded", "embedded.norm", eps=1e-12),
    ]
    for n, kind in enumerate(size.pattern):
        here = f"layers.{n}"
        if kind == "A":
            for name in "qkvo":
                tensors.linear(f"{here}.mixer.{name}_proj", width, width)
            mixer = layer("attention", "attention", f"{here}.mixer", heads=size.heads, causal=False)
        else:
            mixer = _long_convolution(tensors, here, size, causal=False)
        layers += _sublayers(tensors, here, mixer, size, "gelu", 1e-12)
    tensors.linear("transform", width, width)
    tensors.norm("layer", "transform.norm", width)
    tensors.add("logits.bias", (size.vocabulary,), constant(0.0))
    layers += [
        layer("linear", "transform", out_features=width),
        layer("gelu", "transform.gelu"),
        layer("layer_norm", "transform.norm", eps=1e-12),
        layer("linear", "logits", out_features=size.vocabulary, keys={"weight": "words.weight"}),
    ]
    return Model(
        [{"name": name, "kind": "tokens", "vocabulary": rows} for name, _, rows in inputs],
        layers,
        [{"name": "logits", "from": "logits"}],
        tensors,
        streams=False,
    )


def _embedding(size: TransformerXlSize) -> Layer:
    entry = layer(
        "adaptive_embedding",
        "embedding",
        vocabulary=size.vocabulary,
        width=size.width,
        cutoffs=",".join(map(str, size.cutoffs)),
        factor=size.factor,
        scale=math.sqrt(size.width),
    )
    if size.factor == 1:
        entry["keys"] = {f"embeddings.{i}.1.weight": "identity.weight" for i in range(len(size.clusters))}
    return entry


def _softmax(tensors: Tensors, size: TransformerXlSize) -> Layer:
    """Its tables and the projections of its tails are the embedding's, the projection of its head its own."""
    table, width = size.clusters, size.width
    name, keys = "log_probabilities", {"head.word_proj.weight": "embedding.embeddings.0.0.weight"}
    if size.factor > 1:
        tensors.linear(f"{name}.head.proj", width, width, bias=False)
    tensors.add(f"{name}.head.word_proj.bias", (table[0][0],), constant(0.0))
    tensors.linear(f"{name}.head.class_proj", len(table) - 1, width)
    for i, (words, _) in enumerate(table[1:]):
        projection = f"embedding.embeddings.{i + 1}.1.weight" if size.factor > 1 else "identity.weight"
        keys[f"tail.{i}.0.weight"] = projection
        keys[f"tail.{i}.2.weight"] = f"embedding.embeddings.{i + 1}.0.weight"
        tensors.add(f"{name}.tail.{i}.2.bias", (words,), constant(0.0))
    entry = layer(
        "adaptive_softmax",
        name,
        vocabulary=size.vocabulary,
        cutoffs=",".join(map(str, size.cutoffs)),
        factor=size.factor,
        bias=True,
        tied_projections=True,
        keys=keys,
    )
    return entry | {"head_projection": True} if size.factor > 1 else entry


def _long_convolution(tensors: Tensors, here: str, size: TransformerXlSize | BertSize, causal: bool) -> Layer:
    width, kernel_dim = size.width, size.kernel_dim
    scales = 1 + math.ceil(math.log2(size.length / kernel_dim))
    tensors.add(f"{here}.mixer.D", (1, width), normal(1.0))
    multi_scale(tensors, f"{here}.mixer", width, kernel_dim, scales, 1 if causal else 2, "cat_randn", (2.0, 2.0))
    tensors.linear(f"{here}.mixer.output_linear.0", 2 * width, width)
    return layer(
        "sgconv",
        "sgconv",
        f"{here}.mixer",
        kernel_dim=kernel_dim,
        l_max=size.length,
        mode="cat_randn",
        postact="glu",
        bidirectional=not causal,
    )


def _sublayers(
    tensors: Tensors, here: str, mixer: Layer, size: TransformerXlSize | BertSize, activation: str, eps: float
) -> list[Layer]:
    """norm(x + mixer(x)), norm(x + mlp(x))."""
    width, hidden = size.width, size.hidden
    tensors.linear(f"{here}.fc1", hidden, width)
    tensors.linear(f"{here}.fc2", width, hidden)
    mlp = [
        layer("linear", "fc1", f"{here}.fc1", out_features=hidden),
        layer(activation, "activation"),
        layer("linear", "fc2", f"{here}.fc2", out_features=width),
    ]
    layers = []
    for number, inner in (("1", [mixer]), ("2", mlp)):
        tensors.norm("layer", f"{here}.norm{number}", width)
        norm = layer("layer_norm", "norm", f"{here}.norm{number}", eps=eps)
        layers.append(residual(f"{here}.{number}", norm, inner, prenorm=False))
    return layers
