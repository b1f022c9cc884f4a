"""LightNet's language model and its image classifiers, under the keys of xmixers, with the TPE of the paper
(sums of exponentials)."""

from __future__ import annotations

from longwave.model_json import Layer, layer, residual

from .model import Model
from .tensors import Tensors, constant, normal, uniform

NORM_EPS = 1e-6
LRPE_BASE = 10000


def model(host: str, **options) -> Model:
    return {"language": language, "image": image}[host](**options)


def language(
    length: int, width: int, depth: int, heads: int, hidden: int, gate_rank: int, vocabulary: int, modes: int
) -> Model:
    """Logits at every position from a table that is tied to the embedding."""
    del length  # nothing in it depends on it
    tensors, table = Tensors(), "model.embed_tokens.weight"
    tensors.add(table, (vocabulary, width), normal(0.02))
    layers = [layer("embedding", "embed", "model.embed_tokens", vocabulary=vocabulary, width=width)]
    layers += _body(tensors, width, depth, heads, hidden, gate_rank, modes, causal=True, shape=())
    layers.append(layer("linear", "logits", "lm_head", out_features=vocabulary, bias=False, keys={"weight": table}))
    return Model(
        [{"name": "ids", "kind": "tokens", "vocabulary": vocabulary}],
        layers,
        [{"name": "logits", "from": "logits"}],
        tensors,
        streams=True,
    )


def image(
    length: int,
    width: int,
    depth: int,
    heads: int,
    hidden: int,
    gate_rank: int,
    modes: int,
    patch: int,
    classes: int,
    shape: tuple[int, int],
) -> Model:
    """Patches of an image of `shape` patches, attention over all of them, the mean of the positions.  No
    position embeddings."""
    if length != shape[0] * shape[1]:
        raise ValueError(f"length: expected {shape[0]} x {shape[1]} patches, found {length}")
    tensors = Tensors()
    tensors.add("patch_embed.proj.weight", (width, 3, patch, patch), normal((3 * patch * patch) ** -0.5))
    tensors.add("patch_embed.proj.bias", (width,), constant(0.0))
    layers: list[Layer] = [
        layer("patch_embedding", "patch_embed", "patch_embed.proj", out_features=width, patch=[patch, patch])
    ]
    layers += _body(tensors, width, depth, heads, hidden, gate_rank, modes, causal=False, shape=shape)
    tensors.linear("head", classes, width)
    layers += [layer("mean", "pool"), layer("linear", "logits", "head", out_features=classes)]
    return Model(
        [{"name": "patches", "kind": "features", "width": 3 * patch * patch}],
        layers,
        [{"name": "logits", "from": "logits"}],
        tensors,
        False,
    )


def _body(
    tensors: Tensors,
    width: int,
    depth: int,
    heads: int,
    hidden: int,
    gate_rank: int,
    modes: int,
    causal: bool,
    shape: tuple[int, ...],
) -> list[Layer]:
    """TPE, the layers, the final norm.  Over an image TPE is one sum along each axis."""
    where = {"shape": "x".join(map(str, shape))} if shape else {}
    axes = max(1, len(shape))
    tensors.add("model.tpe.lambda", (axes, width, modes), uniform(0.1, 0.95))
    tensors.add("model.tpe.c", (axes, width, modes), normal(modes**-0.5))
    layers = [layer("exponential_sums", "tpe", "model.tpe", modes=modes, **where)]
    attention = {
        "heads": heads,
        "gate_rank": gate_rank,
        "norm_eps": NORM_EPS,
        "lrpe": "cosine",
        "lrpe_base": LRPE_BASE,
        **where,
    }
    attention |= {} if causal else {"causal": False}
    for n in range(depth):
        here = f"model.layers.{n}"
        _layer(tensors, here, width, hidden, gate_rank)
        layers += [
            residual(
                f"token.{n}",
                layer("rms_norm", "norm", f"{here}.token_norm", eps=NORM_EPS),
                [layer("lightnet_attention", "attention", f"{here}.token_mixer", **attention)],
            ),
            residual(
                f"channel.{n}",
                layer("rms_norm", "norm", f"{here}.channel_norm", eps=NORM_EPS),
                [layer("gated_mlp", "mlp", f"{here}.channel_mixer", hidden=hidden)],
            ),
        ]
    tensors.norm("rms", "model.final_norm", width)
    return layers + [layer("rms_norm", "final_norm", "model.final_norm", eps=NORM_EPS)]


def _layer(tensors: Tensors, prefix: str, width: int, hidden: int, gate_rank: int) -> None:
    tensors.norm("rms", f"{prefix}.token_norm", width)
    for name in ("q", "k", "v", "o"):
        tensors.linear(f"{prefix}.token_mixer.{name}_proj", width, width, bias=False)
    tensors.linear(f"{prefix}.token_mixer.output_gate.0", gate_rank, width, bias=False)
    tensors.linear(f"{prefix}.token_mixer.output_gate.1", width, gate_rank, bias=False)
    tensors.norm("rms", f"{prefix}.token_mixer.norm", width)
    tensors.norm("rms", f"{prefix}.channel_norm", width)
    for name, outputs, inputs in (("w1", hidden, width), ("w2", hidden, width), ("w3", width, hidden)):
        tensors.linear(f"{prefix}.channel_mixer.{name}", outputs, inputs, bias=False)
