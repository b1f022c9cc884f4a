"""Small language models with seeded weights, one of each family that streams: (description, weights) as the command line tests write packages."""

import math
import random

FAMILIES = ("sgconv", "chela", "lightnet")


class Weights(dict):
    def __init__(self, seed):
        super().__init__()
        self.random = random.Random(seed)

    def normal(self, key, shape, scale, mean=0.0):
        self[key] = (shape, [self.random.gauss(mean, scale) for _ in range(math.prod(shape))])

    def linear(self, key, out, width, bias=True):
        self.normal(f"{key}.weight", [out, width], width**-0.5)
        if bias:
            self.normal(f"{key}.bias", [out], 0.1)

    def norm(self, key, width, bias=True):
        self.normal(f"{key}.weight", [width], 0.1, 1.0)
        if bias:
            self.normal(f"{key}.bias", [width], 0.1)


def sgconv(weights, name, width):
    weights.norm(f"{name}.norm", width)
    long = f"{name}.long"
    for i in range(5):
        weights.normal(f"{long}.kernel_list.{i}", [1, width, 8], 1.0)
    weights[f"{long}.kernel_norm"] = ([1, width, 1], [1.0] * width)
    weights[f"{long}.kernel_norm_initialized"] = ([], [0.0])
    weights[f"{long}.multiplier"] = ([1, width, 1], [2.0] * width)
    weights.normal(f"{long}.D", [1, width], 1.0)
    weights.linear(f"{long}.output_linear", width, width)
    layer = {"type": "sgconv", "name": "long", "prefix": long, "kernel_dim": 8, "l_max": 128}
    return [
        {"type": "residual", "name": name, "norm": {"type": "layer_norm", "prefix": f"{name}.norm"}, "layers": [layer]}
    ]


def chela(weights, name, width):
    weights.normal(f"{name}.short.0.conv.weight", [width, 1, 3], 0.5)
    weights.normal(f"{name}.long.k0", [width, 100], 0.1)
    weights.norm(f"{name}.norm", width)
    weights.norm(f"{name}.nffn.norm", width)
    weights.normal(f"{name}.gamma", [2, width], 0.3, 1.0)
    weights.normal(f"{name}.beta", [2, width], 0.1)
    for projection in ("v_proj", "g_proj", "o_gate"):
        weights.linear(f"{name}.{projection}", width, width)
    weights.linear(f"{name}.nffn.fc1", 2 * width, width)
    weights.linear(f"{name}.nffn.fc2", width, 2 * width)
    branches = [{"kind": "conv1d", "kernel": 3, "bias": False}, {"kind": "identity"}]
    return [{"type": "chela", "name": name, "norm": "layer", "ffn_width": 2 * width, "short_branches": branches}]


def lightnet(weights, name, width):
    attention, mlp = f"{name}.attention", f"{name}.mlp"
    for key in ("q_proj", "k_proj", "v_proj", "o_proj"):
        weights.linear(f"{attention}.{key}", width, width, bias=False)
    weights.linear(f"{attention}.output_gate", width, width, bias=False)
    weights.norm(f"{attention}.norm", width, bias=False)
    for key, shape in (("w1", (2 * width, width)), ("w2", (2 * width, width)), ("w3", (width, 2 * width))):
        weights.linear(f"{mlp}.{key}", *shape, bias=False)
    layers = [
        ("attention", {"type": "lightnet_attention", "name": "attention", "prefix": attention, "heads": 2}),
        ("mlp", {"type": "gated_mlp", "name": "mlp", "prefix": mlp, "hidden": 2 * width}),
    ]
    blocks = []
    for part, layer in layers:
        weights.norm(f"{name}.{part}_norm", width, bias=False)
        norm = {"type": "rms_norm", "prefix": f"{name}.{part}_norm"}
        blocks.append({"type": "residual", "name": f"{name}.{part}_block", "norm": norm, "layers": [layer]})
    return blocks


def language_model(family, vocabulary=256, width=16, depth=2, seed=1):
    weights = Weights(seed)
    weights.normal("embed.weight", [vocabulary, width], 1.0)
    blocks = [layer for n in range(depth) for layer in globals()[family](weights, f"layers.{n}", width)]
    weights.norm("norm", width)
    weights.normal("head.weight", [vocabulary, width], 3 * width**-0.5)  # so that some bytes are likelier than others
    weights.normal("head.bias", [vocabulary], 0.1)
    description = {
        "format": "longwave-model",
        "version": 1,
        "name": f"{family}-text",
        "inputs": [{"name": "ids", "kind": "tokens", "vocabulary": vocabulary}],
        "layers": [
            {"type": "embedding", "name": "embed", "vocabulary": vocabulary, "width": width},
            *blocks,
            {"type": "layer_norm", "name": "norm"},
            {"type": "linear", "name": "head", "out_features": vocabulary},
        ],
        "outputs": [{"name": "logits", "from": "head"}],
    }
    return description, weights
