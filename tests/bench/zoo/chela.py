"""CHELA classifiers and language models, under the keys of longwave/layers/chela.py."""

from __future__ import annotations

import math
from collections.abc import Sequence

from longwave.model_json import Layer, layer

from .model import Model, pair_head, sequence_input, side_by_side
from .sgconv import multi_scale
from .tensors import Tensors, constant, normal

TAIL_FACTOR = 4  # each cluster of rarer words has rows of a quarter of the width (Baevski and Auli 2019)


def branch_sizes(length: int) -> tuple[int, int]:
    """Sizes of the short branches: 3, and 2 log10(L) + 1 made odd."""
    return 3, 2 * math.floor(math.log10(length)) + 1


def model(
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
    sample_rate: int | None = None,
    head: str = "mean",
    towers: bool = False,
    labels: Sequence[str] = (),
) -> Model:
    """`kernel_dim`: of a multi-scale long kernel; `taps`: length of an explicit one.  `cutoffs`: adaptive
    embeddings and log-probabilities instead of plain ones.  `head`: "mean" or "last" of the positions, or
    "steps": all of them."""
    tensors, value_width = Tensors(), value_width or width
    _embedding(tensors, width, inputs, vocabulary, cutoffs)
    for n in range(depth):
        _block(tensors, f"layers.{n}", length, width, value_width, ffn_width, causal, kernel_dim, taps, norm)
    if prenorm:
        tensors.norm(norm, "final_norm", width)
    if towers:
        tensors.linear("classifier.0", width, 4 * width)
        tensors.linear("classifier.2", classes, width)
    elif cutoffs:
        _adaptive_softmax(tensors, width, vocabulary or 0, cutoffs)
    else:
        tensors.linear("classifier.0.0", classes or 0, width)

    block = {
        "causal": causal,
        "short_branches": [{"kind": "conv1d", "kernel": size, "bias": False} for size in branch_sizes(length)],
        "norm": norm,
        "prenorm": prenorm,
        "ffn_width": ffn_width,
    }
    block |= {"long": "sgconv", "kernel_dim": kernel_dim, "l_max": length} if kernel_dim else {"long": "taps"}
    block |= {"value_width": value_width, "h_proj": True} if value_width != width else {}

    def body(prefix: str) -> list[Layer]:
        if cutoffs:
            first = layer(
                "adaptive_embedding",
                f"{prefix}embed_tokens",
                "embed_tokens",
                width=width,
                vocabulary=vocabulary,
                cutoffs=",".join(map(str, cutoffs)),
                factor=TAIL_FACTOR,
            )
        elif vocabulary is not None:
            first = layer("embedding", f"{prefix}embed_tokens", "embed_tokens", vocabulary=vocabulary, width=width)
        else:
            first = layer("linear", f"{prefix}embed_tokens", "embed_tokens", out_features=width)
        layers = [first] + [layer("chela", f"{prefix}layers.{n}", f"layers.{n}", **block) for n in range(depth)]
        if prenorm:
            layers.append(layer(f"{norm}_norm", f"{prefix}final_norm", "final_norm"))
        return layers + ([layer(head, f"{prefix}pooled")] if head != "steps" else [])

    names = ["first", "second"] if towers else ["audio" if sample_rate else "ids" if vocabulary else "x"]
    layers, output = side_by_side(names, body), "logits"
    if towers:
        layers += pair_head("pooled", "second.pooled", width, classes, "classifier")
    elif cutoffs:
        output = "log_probabilities"
        layers.append(
            layer(
                "adaptive_softmax",
                output,
                "adaptive_softmax",
                vocabulary=vocabulary,
                cutoffs=",".join(map(str, cutoffs)),
                factor=TAIL_FACTOR,
            )
        )
    else:
        layers.append(layer("linear", output, "classifier.0.0", out_features=classes))
    return Model(
        [sequence_input(name, vocabulary, sample_rate, inputs) for name in names],
        layers,
        [{"name": output, "from": output}],
        tensors,
        causal,
        list(labels),
    )


def _embedding(tensors: Tensors, width: int, inputs: int, vocabulary: int | None, cutoffs: Sequence[int]) -> None:
    if vocabulary is None:
        return tensors.linear("embed_tokens", width, inputs)
    if not cutoffs:
        return tensors.add("embed_tokens.weight", (vocabulary, width), normal(width**-0.5))
    for i, (size, rank) in enumerate(clusters(width, vocabulary, cutoffs)):
        tensors.add(f"embed_tokens.embeddings.{i}.0.weight", (size, rank), normal(rank**-0.5))
        tensors.linear(f"embed_tokens.embeddings.{i}.1", width, rank, bias=False)
    return None


def clusters(width: int, vocabulary: int, cutoffs: Sequence[int]) -> list[tuple[int, int]]:
    """(words, width of their rows) of each cluster."""
    edges = [0, *cutoffs, vocabulary]
    return [(end - start, width // TAIL_FACTOR**i) for i, (start, end) in enumerate(zip(edges, edges[1:]))]


def _adaptive_softmax(tensors: Tensors, width: int, vocabulary: int | None, cutoffs: Sequence[int]) -> None:
    (head, _), *tails = clusters(width, vocabulary or 0, cutoffs)
    tensors.linear("adaptive_softmax.head.word_proj", head, width, bias=False)
    tensors.linear("adaptive_softmax.head.class_proj", len(tails), width, bias=False)
    for i, (size, rank) in enumerate(tails):
        tensors.linear(f"adaptive_softmax.tail.{i}.0", rank, width, bias=False)
        tensors.linear(f"adaptive_softmax.tail.{i}.2", size, rank, bias=False)


def _block(
    tensors: Tensors,
    prefix: str,
    length: int,
    width: int,
    value_width: int,
    ffn_width: int,
    causal: bool,
    kernel_dim: int,
    taps: int,
    norm: str,
) -> None:
    tensors.norm(norm, f"{prefix}.norm", width)
    for i, size in enumerate(branch_sizes(length)):
        tensors.depthwise(f"{prefix}.short.{i}.conv", width, size, bias=False)
    if kernel_dim:
        scales = 1 + math.ceil(math.log2(length / kernel_dim))
        multi_scale(tensors, f"{prefix}.long", width, kernel_dim, scales, 1 if causal else 2, "cat_randn", (2.0, 2.0))
    else:
        for name in ("k0",) if causal else ("k0", "k1"):
            tensors.add(f"{prefix}.long.{name}", (width, taps), normal(taps**-0.5))
    tensors.add(f"{prefix}.gamma", (2, width), normal(0.1, 1.0))
    tensors.add(f"{prefix}.beta", (2, width), constant(0.0))
    tensors.linear(f"{prefix}.v_proj", value_width, width)
    tensors.linear(f"{prefix}.g_proj", value_width, width)
    tensors.linear(f"{prefix}.o_gate", width, width)
    if value_width != width:
        tensors.linear(f"{prefix}.h_proj", width, value_width)
    tensors.norm(norm, f"{prefix}.nffn.norm", width)
    tensors.linear(f"{prefix}.nffn.fc1", ffn_width, width)
    tensors.linear(f"{prefix}.nffn.fc2", width, ffn_width)
