"""Seeded packages that mix softmax attention (A) and long convolutions (C), each in a residual."""

import array
import math
import random

WIDTH = 24


class Numbers:
    def __init__(self, seed):
        self.random, self.tensors = random.Random(seed), {}

    def normal(self, key, shape, scale):
        values = (self.random.gauss(0, scale) for _ in range(math.prod(shape)))
        self.tensors[key] = (shape, array.array("f", values))


def attention(numbers, name, heads, inner, options):
    for part, shape in {"q": [inner, WIDTH], "k": [inner, WIDTH], "v": [inner, WIDTH], "o": [WIDTH, inner]}.items():
        numbers.normal(f"{name}.{part}_proj.weight", shape, 1.5 * shape[1] ** -0.5)
        numbers.normal(f"{name}.{part}_proj.bias", shape[:1], 0.1)
    if options.get("relative"):
        numbers.normal(f"{name}.r_proj.weight", [inner, WIDTH], WIDTH**-0.5)
        for bias in ("r_w_bias", "r_r_bias"):
            numbers.normal(f"{name}.{bias}", [heads, inner // heads], 0.3)
    return {"type": "attention", "name": "mixer", "prefix": name, **options}


def convolution(numbers, name, causal):
    for scale in range(5):
        numbers.normal(f"{name}.kernel_list.{scale}", [1 if causal else 2, WIDTH, 8], 1)
    numbers.normal(f"{name}.D", [1, WIDTH], 1)
    numbers.tensors[f"{name}.kernel_norm_initialized"] = ([], array.array("f", [0.0]))
    numbers.tensors[f"{name}.multiplier"] = ([1, WIDTH, 1], array.array("f", [2.0] * WIDTH))
    numbers.normal(f"{name}.output_linear.0.weight", [2 * WIDTH, WIDTH], WIDTH**-0.5)
    numbers.normal(f"{name}.output_linear.0.bias", [2 * WIDTH], 0.1)
    return {
        "type": "sgconv",
        "name": "mixer",
        "prefix": name,
        "kernel_dim": 8,
        "l_max": 128,
        "num_scales": 5,
        "postact": "glu",
        "bidirectional": not causal,
    }


def package(pattern, **options):
    numbers, layers = Numbers(5), []
    heads, causal = options.get("heads", 1), options.get("causal", True)
    inner = heads * options.get("head_width", WIDTH // heads)
    for n, kind in enumerate(pattern):
        name = f"layers.{n}"
        numbers.normal(f"{name}.norm.weight", [WIDTH], 1)
        numbers.normal(f"{name}.norm.bias", [WIDTH], 0.1)
        layer = attention(numbers, name, heads, inner, options) if kind == "A" else convolution(numbers, name, causal)
        layers.append(
            {"type": "residual", "name": name, "prenorm": False, "norm": {"type": "layer_norm"}, "layers": [layer]}
        )
    model = {
        "format": "longwave-model",
        "version": 1,
        "name": "hybrid",
        "inputs": [{"name": "x", "kind": "features", "width": WIDTH}],
        "layers": layers,
        "outputs": [{"name": "y", "from": layers[-1]["name"]}],
    }
    return model, numbers.tensors
