"""SGConv's hybrids: hosts of softmax attention some of whose layers are long convolutions (Li et al. 2022,
§4.3.1 and A.3): Transformer-XL as in the code that the paper builds on, and BERT.

The block of Fig. 6 is printed as a picture only: a long convolution takes the place of the attention in its
layer, GLU projection included, and the host's norm behind the sum and MLP stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..model_json import Layer, layer, residual
from .model import Model
from .sgconv import multi_scale
from .tensors import Tensors, constant, given, normal


def model(host: str, **options) -> Model:
    return {"transformer-xl": transformer_xl, "bert": bert}[host](**options)


def clusters(width: int, vocabulary: int, cutoffs: Sequence[int], factor: int) -> list[tuple[int, int]]:
    """(words, width of their rows) of each cluster."""
    edges = [0, *cutoffs, vocabulary]
    return [(end - first, width // factor**i) for i, (first, end) in enumerate(zip(edges, edges[1:]))]


def transformer_xl(
    length: int,
    pattern: str,
    width: int,
    heads: int,
    hidden: int,
    memory: int,
    vocabulary: int,
    cutoffs: Sequence[int],
    factor: int,
    kernel_dim: int,
) -> Model:
    """Rows behind the last layer at every position, and log-probabilities of the words behind the last one:
    of all positions they would be gigabytes.  A memory of M rows is a window of M + 1 keys.  `factor` 1: every
    cluster is as wide as the model and has no projection (Transformer-XL's div_val)."""
    tensors, table = Tensors(), clusters(width, vocabulary, cutoffs, factor)
    for i, (words, rank) in enumerate(table):
        tensors.add(f"embedding.embeddings.{i}.0.weight", (words, rank), normal(rank**-0.5))
        if factor > 1:
            tensors.linear(f"embedding.embeddings.{i}.1", width, rank, bias=False)
    if factor == 1:  # the layers have projections
        tensors.add("identity.weight", (width, width), given(np.eye(width)), trained=False)
    layers = [_embedding(width, vocabulary, cutoffs, factor, len(table))]
    for name in ("r_w_bias", "r_r_bias"):  # one for all layers
        tensors.add(name, (heads, width // heads), normal(0.02))
    for n, kind in enumerate(pattern):
        here = f"layers.{n}"
        if kind == "A":
            for name in ("q", "k", "v", "r", "o"):
                tensors.linear(f"{here}.mixer.{name}_proj", width, width, bias=False)
            mixer = layer(
                "attention",
                "attention",
                f"{here}.mixer",
                heads=heads,
                window=memory + 1,
                relative=True,
                bias=False,
                keys={name: name for name in ("r_w_bias", "r_r_bias")},
            )
        else:
            mixer = _long_convolution(tensors, here, length, width, kernel_dim, causal=True)
        layers += _sublayers(tensors, here, mixer, width, hidden, "relu", 1e-5)
    layers.append(layer("last", "newest"))
    layers.append(_softmax(tensors, table, vocabulary, cutoffs, factor, width))
    return Model(
        [{"name": "ids", "kind": "tokens", "vocabulary": vocabulary}],
        layers,
        [
            {"name": "rows", "from": f"layers.{len(pattern) - 1}.2"},
            {"name": "log_probabilities", "from": "log_probabilities"},
        ],
        tensors,
        streams=True,
    )


def bert(
    length: int, pattern: str, width: int, heads: int, hidden: int, vocabulary: int, kernel_dim: int
) -> Model:
    """BERT with its masked-word head: logits at every position.  The positions are an input, as they are in
    BERT's own code."""
    tensors = Tensors()
    inputs = [
        ("ids", "words", vocabulary),
        ("token_type_ids", "types", 2),
        ("position_ids", "positions", length),
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
    for n, kind in enumerate(pattern):
        here = f"layers.{n}"
        if kind == "A":
            for name in "qkvo":
                tensors.linear(f"{here}.mixer.{name}_proj", width, width)
            mixer = layer("attention", "attention", f"{here}.mixer", heads=heads, causal=False)
        else:
            mixer = _long_convolution(tensors, here, length, width, kernel_dim, causal=False)
        layers += _sublayers(tensors, here, mixer, width, hidden, "gelu", 1e-12)
    tensors.linear("transform", width, width)
    tensors.norm("layer", "transform.norm", width)
    tensors.add("logits.bias", (vocabulary,), constant(0.0))
    layers += [
        layer("linear", "transform", out_features=width),
        layer("gelu", "transform.gelu"),
        layer("layer_norm", "transform.norm", eps=1e-12),
        layer("linear", "logits", out_features=vocabulary, keys={"weight": "words.weight"}),
    ]
    return Model(
        [{"name": name, "kind": "tokens", "vocabulary": rows} for name, _, rows in inputs],
        layers,
        [{"name": "logits", "from": "logits"}],
        tensors,
        streams=False,
    )


def _embedding(width: int, vocabulary: int, cutoffs: Sequence[int], factor: int, count: int) -> Layer:
    entry = layer(
        "adaptive_embedding",
        "embedding",
        vocabulary=vocabulary,
        width=width,
        cutoffs=",".join(map(str, cutoffs)),
        factor=factor,
        scale=math.sqrt(width),
    )
    if factor == 1:
        entry["keys"] = {f"embeddings.{i}.1.weight": "identity.weight" for i in range(count)}
    return entry


def _softmax(
    tensors: Tensors,
    table: list[tuple[int, int]],
    vocabulary: int,
    cutoffs: Sequence[int],
    factor: int,
    width: int,
) -> Layer:
    """Its tables and the projections of its tails are the embedding's, the projection of its head its own."""
    name, keys = "log_probabilities", {"head.word_proj.weight": "embedding.embeddings.0.0.weight"}
    if factor > 1:
        tensors.linear(f"{name}.head.proj", width, width, bias=False)
    tensors.add(f"{name}.head.word_proj.bias", (table[0][0],), constant(0.0))
    tensors.linear(f"{name}.head.class_proj", len(table) - 1, width)
    for i, (words, _) in enumerate(table[1:]):
        projection = f"embedding.embeddings.{i + 1}.1.weight" if factor > 1 else "identity.weight"
        keys[f"tail.{i}.0.weight"] = projection
        keys[f"tail.{i}.2.weight"] = f"embedding.embeddings.{i + 1}.0.weight"
        tensors.add(f"{name}.tail.{i}.2.bias", (words,), constant(0.0))
    entry = layer(
        "adaptive_softmax",
        name,
        vocabulary=vocabulary,
        cutoffs=",".join(map(str, cutoffs)),
        factor=factor,
        bias=True,
        tied_projections=True,
        keys=keys,
    )
    return entry | {"head_projection": True} if factor > 1 else entry


def _long_convolution(
    tensors: Tensors, here: str, length: int, width: int, kernel_dim: int, causal: bool
) -> Layer:
    scales = 1 + math.ceil(math.log2(length / kernel_dim))
    tensors.add(f"{here}.mixer.D", (1, width), normal(1.0))
    multi_scale(
        tensors, f"{here}.mixer", width, kernel_dim, scales, 1 if causal else 2, "cat_randn", (2.0, 2.0)
    )
    tensors.linear(f"{here}.mixer.output_linear.0", 2 * width, width)
    return layer(
        "sgconv",
        "sgconv",
        f"{here}.mixer",
        kernel_dim=kernel_dim,
        l_max=length,
        mode="cat_randn",
        postact="glu",
        bidirectional=not causal,
    )


def _sublayers(
    tensors: Tensors, here: str, mixer: Layer, width: int, hidden: int, activation: str, eps: float
) -> list[Layer]:
    """norm(x + mixer(x)), norm(x + mlp(x))."""
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
