"""One denoising step of latent diffusion with LightNet: latents of `side` x `side` x `channels` in patches, a time
step and a class in, noise and variance of each patch out (Peebles and Xie 2023, [P4] Tab. 13).

conditioning "tokens": time and class are two rows before those of the patches, which LRPE does not rotate; the counts
of [P4] have no room for more.  "adaln": every layer's norms are scaled, shifted and gated by the sum of both
(adaLN-Zero of DiT).  There the first rows of time and class count, and every row gets what is made of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph import Graph
from .lightnet import LRPE_BASE, NORM_EPS
from .model import Model
from .tensors import given, normal

CONDITIONS = 2  # rows: the time step, the class
FREQUENCIES = 256  # features of a time step: cosines, then sines
PARTS = ("shift", "scale", "gate")


def time_features(step: float) -> np.ndarray:
    half = FREQUENCIES // 2
    angles = step * np.exp(-np.log(10000.0) * np.arange(half) / half)
    return np.concatenate([np.cos(angles), np.sin(angles)]).astype(np.float32)


def model(
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
) -> Model:
    """`classes`: with the class that says "none"."""
    side = round((length - (CONDITIONS if conditioning == "tokens" else 0)) ** 0.5)
    pixels, tokens = patch * patch * channels, conditioning == "tokens"
    if length != side * side + CONDITIONS * tokens:
        raise ValueError(f"length: expected a square of patches (and {CONDITIONS} with tokens), found {length}")
    body = _Body(width, heads, hidden, gate_rank, side, CONDITIONS if tokens else 0)
    g = body.graph
    if tokens:
        x = _with_tokens(g, width, pixels, classes)
        for n in range(depth):
            x = body.plain_layer(f"layers.{n}", x)
        x = g.rms_norm("final_norm", x, width, NORM_EPS)
    else:
        x = g.linear("x_embedder", "latents", width, pixels)
        c = body.condition(classes)
        for n in range(depth):
            x = body.modulated_layer(f"layers.{n}", x, c)
        x = body.modulated("final_layer", g.layer_norm("final_norm", x, width, NORM_EPS, affine=False), c)
    g.linear("final_layer.linear", x, 2 * pixels, width)
    extra = int(tokens)  # a feature that is 1 in the rows that a bias belongs to
    inputs = [
        {"name": "latents", "kind": "features", "width": pixels + extra},
        {"name": "time", "kind": "features", "width": FREQUENCIES + extra},
        {"name": "label", "kind": "tokens", "vocabulary": classes + extra},
    ]

    def made_up(random: np.random.Generator) -> dict[str, np.ndarray]:
        latents = random.standard_normal((side * side, pixels)).astype(np.float32)
        return rows_of(latents, float(random.integers(1000)), int(random.integers(classes)), classes, tokens)

    outputs = [{"name": "noise", "from": "final_layer.linear"}]
    return Model(inputs, [], outputs, g.tensors, False, graph=g.nodes, length=length, made_up=made_up)


def rows_of(latents: np.ndarray, step: float, label: int, classes: int, tokens: bool) -> dict[str, np.ndarray]:
    """The inputs of one step.  With tokens, rows 0 and 1 are time and class, and zeros stand in all others."""
    patches = len(latents)
    if not tokens:
        time = np.tile(time_features(step), (patches, 1))
        return {"latents": latents, "time": time, "label": np.full(patches, label)}
    rows = patches + CONDITIONS
    given_latents = np.zeros((rows, latents.shape[1] + 1), np.float32)
    given_latents[CONDITIONS:, :-1], given_latents[CONDITIONS:, -1] = latents, 1
    time = np.zeros((rows, FREQUENCIES + 1), np.float32)
    time[0, :-1], time[0, -1] = time_features(step), 1
    labels = np.full(rows, classes)  # the last row of the table, zeros
    labels[1] = label
    return {"latents": given_latents, "time": time, "label": labels}


def _with_tokens(g: Graph, width: int, pixels: int, classes: int) -> str:
    """Patches, time and class, each in rows of its own: their sum."""
    x = g.linear("x_embedder", "latents", width, pixels + 1, bias=False)
    t = g.linear("t_embedder.0", "time", width, FREQUENCIES + 1, bias=False)
    t = g.node("t_embedder.act", "silu", t)
    t = g.linear("t_embedder.2", t, width, width, bias=False)
    table = np.random.default_rng(0).standard_normal((classes + 1, width)) * 0.02
    table[classes] = 0
    y = g.node("y_embedder", "embedding", "label", g.tensor("y_embedder.weight", (classes + 1, width), given(table)))
    return g.node("rows", "add", g.node("patches_and_time", "add", x, t), y)


class _Body:
    def __init__(self, width: int, heads: int, hidden: int, gate_rank: int, side: int, conditions: int) -> None:
        self.width, self.heads, self.hidden, self.gate_rank = width, heads, hidden, gate_rank
        self.graph = Graph()
        self.where: dict[str, Any] = {"heads": heads, "shape": f"{side}x{side}", "conditions": conditions}
        shared = -(-(width // heads) // 2)  # rates of an axis
        rates = np.float32([LRPE_BASE ** (-2 * i / shared) for i in range(shared)])
        each = np.tile(rates[np.arange(width // heads) % shared], heads)
        self.theta = self.graph.tensor("lrpe.theta", (width,), given(each), trained=False)

    def attention(self, name: str, x: str) -> str:
        """The nodes that the layer lightnet_attention becomes, not causal."""
        g, d = self.graph, self.width
        q = g.node(f"{name}/q", "silu", g.linear(f"{name}.q_proj", x, d, d, bias=False))
        k, v = (g.linear(f"{name}.{part}_proj", x, d, d, bias=False) for part in "kv")
        weights = g.node(f"{name}/weights", "sequence_softmax", k)
        q = g.node(f"{name}/rotated_q", "lrpe", q, self.theta, **self.where)
        weights = g.node(f"{name}/rotated_weights", "lrpe", weights, self.theta, **self.where)
        o = g.node(f"{name}/o", "linear_attention_offline", q, weights, v, heads=self.heads)
        gate = g.linear(f"{name}.output_gate.0", x, self.gate_rank, d, bias=False)
        gate = g.node(f"{name}/gate", "sigmoid", g.linear(f"{name}.output_gate.1", gate, d, self.gate_rank, bias=False))
        o = g.node(f"{name}/gated", "mul", g.rms_norm(f"{name}.norm", o, d, NORM_EPS), gate)
        return g.linear(f"{name}.o_proj", o, d, d, bias=False)

    def mlp(self, name: str, x: str) -> str:
        g, d = self.graph, self.width
        a = g.node(f"{name}/act", "silu", g.linear(f"{name}.w1", x, self.hidden, d, bias=False))
        b = g.linear(f"{name}.w2", x, self.hidden, d, bias=False)
        return g.linear(f"{name}.w3", g.node(f"{name}/product", "mul", a, b), d, self.hidden, bias=False)

    def plain_layer(self, name: str, x: str) -> str:
        g = self.graph
        y = self.attention(f"{name}.token_mixer", g.rms_norm(f"{name}.token_norm", x, self.width, NORM_EPS))
        x = g.node(f"{name}/token", "add", x, y)
        y = self.mlp(f"{name}.channel_mixer", g.rms_norm(f"{name}.channel_norm", x, self.width, NORM_EPS))
        return g.node(f"{name}/channel", "add", x, y)

    def condition(self, classes: int) -> str:
        """silu(MLP(time) + class), from which every layer takes its shifts, scales and gates."""
        g, d = self.graph, self.width
        t = g.node("time.first", "mean", "time", mode="first")
        t = g.node("t_embedder.act", "silu", g.linear("t_embedder.0", t, d, FREQUENCIES))
        t = g.linear("t_embedder.2", t, d, d)
        y = g.node("y_embedder", "embedding", "label", g.tensor("y_embedder.weight", (classes, d), normal(0.02)))
        y = g.node("label.first", "mean", y, mode="first")
        return g.node("condition.act", "silu", g.node("condition", "add", t, y))

    def part(self, name: str, part: str, x: str, c: str) -> str:
        """In every row of `x`."""
        made = self.graph.linear(f"{name}.adaLN.{part}", c, self.width, self.width)
        return self.graph.node(f"{name}.adaLN/{part}", "repeat", x, made)

    def modulated(self, name: str, x: str, c: str) -> str:
        """x (1 + scale) + shift"""
        g = self.graph
        scaled = g.node(f"{name}/scaled", "mul", x, self.part(name, "scale", x, c))
        return g.node(
            f"{name}/modulated", "add", g.node(f"{name}/plus", "add", x, scaled), self.part(name, "shift", x, c)
        )

    def modulated_layer(self, name: str, x: str, c: str) -> str:
        g = self.graph
        for stem, inner in ((f"{name}.token_mixer", self.attention), (f"{name}.channel_mixer", self.mlp)):
            y = g.layer_norm(f"{stem}_norm", x, self.width, NORM_EPS, affine=False)
            y = inner(stem, self.modulated(stem, y, c))
            x = g.node(f"{stem}/sum", "add", x, g.node(f"{stem}/kept", "mul", y, self.part(stem, "gate", x, c)))
        return x
