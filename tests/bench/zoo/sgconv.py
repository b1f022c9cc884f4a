"""SGConv in the s4 body: encoder, residual blocks, decoder, under the keys of the official checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from longwave.model_json import Layer, layer, residual

from .model import Model, pair_head, sequence_input, side_by_side
from .tensors import Tensors, constant, given, normal


def model(
    length: int,
    width: int,
    depth: int,
    kernel_dim: int,
    num_scales: int,
    classes: int,
    causal: bool = False,
    vocabulary: int | None = None,
    sample_rate: int | None = None,
    norm: str = "batch",
    prenorm: bool = True,
    mode: str = "cat_randn",
    init_scale: int = 0,
    decay: tuple[float, float] = (2.0, 2.0),
    postact: str | None = "glu",
    pool: str = "mean",
    towers: bool = False,
    labels: Sequence[str] = (),
) -> Model:
    """`decay`: ends of the growth over the channels; `towers`: two documents and the retrieval head."""
    tensors = Tensors()
    if vocabulary is None:
        tensors.linear("encoder.0", width, 1)
    else:
        tensors.add("encoder.0.weight", (vocabulary, width), normal(1.0))
    for n in range(depth):
        tensors.norm(norm, f"model.layers.{n}.norm.norm", width)
        _gconv(
            tensors, f"model.layers.{n}.layer", width, kernel_dim, num_scales, 1 if causal else 2, mode, decay, postact
        )
    if prenorm:
        tensors.norm(norm, "model.norm.norm", width)
    if towers:
        tensors.linear("decoder.0.retrieval.classifier.0", width, 4 * width)
        tensors.linear("decoder.0.retrieval.classifier.2", classes, width)
    else:
        tensors.linear("decoder.0.output_transform", classes, width)

    kernel = {"kernel_dim": kernel_dim, "l_max": length, "mode": mode, "num_scales": num_scales}
    kernel |= {"bidirectional": True} if not causal else {}
    kernel |= {"init_scale": init_scale} if init_scale else {}
    kernel |= {"postact": postact} if postact else {}

    def body(prefix: str) -> list[Layer]:
        layers = [
            (
                layer("linear", f"{prefix}encoder", "encoder.0", out_features=width)
                if vocabulary is None
                else layer("embedding", f"{prefix}encoder", "encoder.0", vocabulary=vocabulary, width=width)
            )
        ]
        for n in range(depth):
            stem = f"model.layers.{n}"
            layers.append(
                residual(
                    f"{prefix}{stem}",
                    layer(f"{norm}_norm", "norm", f"{stem}.norm.norm"),
                    [layer("sgconv", "sgconv", f"{stem}.layer", **kernel)],
                    prenorm,
                )
            )
        if prenorm:
            layers.append(layer(f"{norm}_norm", f"{prefix}norm", "model.norm.norm"))
        return layers + [layer(pool, f"{prefix}pool")]

    return _assembled(body, tensors, classes, width, vocabulary, sample_rate, causal, towers, list(labels))


def _assembled(
    body,
    tensors: Tensors,
    classes: int,
    width: int,
    vocabulary: int | None,
    sample_rate: int | None,
    causal: bool,
    two: bool,
    labels: list[str],
) -> Model:
    names = ["first", "second"] if two else ["audio" if sample_rate else "ids" if vocabulary else "x"]
    layers = side_by_side(names, body)
    if two:
        layers += pair_head("pool", "second.pool", width, classes, "decoder.0.retrieval.classifier")
    else:
        layers.append(layer("linear", "logits", "decoder.0.output_transform", out_features=classes))
    return Model(
        [sequence_input(name, vocabulary, sample_rate, 1) for name in names],
        layers,
        [{"name": "logits", "from": "logits"}],
        tensors,
        causal,
        labels,
    )


def _gconv(
    tensors: Tensors,
    prefix: str,
    width: int,
    kernel_dim: int,
    scales: int,
    copies: int,
    mode: str,
    decay: tuple[float, float],
    postact: str | None,
) -> None:
    """One GConv whose kernel norm is not yet known: it is computed from the kernel."""
    tensors.add(f"{prefix}.D", (1, width), normal(1.0))
    multi_scale(tensors, prefix, width, kernel_dim, scales, copies, mode, decay)
    tensors.linear(
        f"{prefix}.output_linear.0" if postact else f"{prefix}.output_linear",
        2 * width if postact == "glu" else width,
        width,
    )


def multi_scale(
    tensors: Tensors,
    prefix: str,
    width: int,
    kernel_dim: int,
    scales: int,
    copies: int,
    mode: str,
    decay: tuple[float, float],
) -> None:
    """The kernel of SGConv under its own names; "cat_cos" starts from cosines of random frequencies, one for
    each channel."""
    for i in range(scales):
        values = normal(1.0)
        if "cos" in mode:
            values = _cosines(i)
        tensors.add(f"{prefix}.kernel_list.{i}", (copies, width, kernel_dim), values)
    if "learnable" in mode:
        tensors.add(f"{prefix}.multiplier", (), constant(1.0), trained=False)
        tensors.add(f"{prefix}.decay", (width,), constant(1.0))
    else:
        tensors.add(f"{prefix}.multiplier", (1, width, 1), given(np.linspace(*decay, width)), trained=False)
    tensors.add(f"{prefix}.kernel_norm", (copies, width, 1), constant(1.0), trained=False)
    tensors.add(f"{prefix}.kernel_norm_initialized", (), constant(0.0), trained=False)


def _cosines(scale: int):
    def values(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        copies, width, d = shape
        frequency = random.permuted(np.tile(np.arange(width) / width, (copies, 1)), axis=1)[..., None]
        return np.cos(2 * np.pi * frequency * (np.arange(d) + scale * d)).astype(np.float32)

    return values
