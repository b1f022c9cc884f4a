#!/usr/bin/env python3
"""Writes a model package whose weights are mostly those of its linear layers: blocks of a layer norm, SGConv (kernels of
d x 2^(scales - 1) taps) and its output projection to twice the width with a gate, around rows of features.

    large_package.py FOLDER [--layers N] [--width N] [--kernel-dim D] [--scales N]

24 layers of 2,048 channels have 217 million parameters. Standard library only. Weights repeat a list of random numbers
of prime length, each tensor from a place of its own: seconds instead of minutes, and no two rows are equal.
"""

import argparse
import array
import json
import math
import pathlib
import random
import struct
import sys

PERIOD = 65_537
CHUNK = 1 << 20  # elements written at once


class Weights:
    """A safetensors file, written tensor by tensor."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.noise = array.array("f", (rng.gauss(0, 1) for _ in range(PERIOD)))
        self.tensors = []  # key, shape, first number of the noise, scale, constant

    def normal(self, key, shape, scale):
        self.tensors.append((key, shape, 7919 * len(self.tensors) % PERIOD, scale, 0.0))

    def constant(self, key, shape, value):
        self.tensors.append((key, shape, 0, 0.0, value))

    def write(self, path):
        header, offset = {}, 0
        for key, shape, *_ in self.tensors:
            size = 4 * math.prod(shape)
            header[key] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
            offset += size
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for _, shape, first, scale, value in self.tensors:
                period = array.array("f", (value + scale * x for x in self.noise[first:] + self.noise[:first]))
                if sys.byteorder != "little":
                    period.byteswap()
                data, left = period * (CHUNK // PERIOD), math.prod(shape)
                while left > 0:
                    file.write(memoryview(data)[:left])
                    left -= len(data)
        return offset


def package(folder, layers, width, kernel_dim, scales, seed=0):
    """Returns the bytes of the weights."""
    weights, blocks = Weights(seed), []
    for n in range(layers):
        layer, norm = f"model.layers.{n}.layer", f"model.layers.{n}.norm"
        weights.normal(f"{norm}.weight", [width], 1.0)
        weights.normal(f"{norm}.bias", [width], 0.1)
        weights.normal(f"{layer}.D", [1, width], 1.0)
        for i in range(scales):
            weights.normal(f"{layer}.kernel_list.{i}", [1, width, kernel_dim], 1.0)
        weights.constant(f"{layer}.kernel_norm", [1, width, 1], 1.0)
        weights.constant(f"{layer}.kernel_norm_initialized", [], 0.0)
        weights.constant(f"{layer}.multiplier", [1, width, 1], 2.0)
        weights.normal(f"{layer}.output_linear.0.weight", [2 * width, width], width**-0.5)
        weights.normal(f"{layer}.output_linear.0.bias", [2 * width], 0.1)
        sgconv = {
            "type": "sgconv",
            "name": "layer",
            "prefix": layer,
            "kernel_dim": kernel_dim,
            "postact": "glu",
            "l_max": kernel_dim << (scales - 1),
            "mode": "cat_randn",
        }
        blocks.append(
            {
                "type": "residual",
                "name": f"model.layers.{n}",
                "prenorm": True,
                "norm": {"type": "layer_norm", "prefix": norm},
                "layers": [sgconv],
            }
        )
    weights.normal("head.weight", [8, width], width**-0.5)
    weights.normal("head.bias", [8], 0.1)
    model = {
        "format": "longwave-model",
        "version": 1,
        "name": "large",
        "inputs": [{"name": "x", "kind": "features", "width": width}],
        "layers": [*blocks, {"type": "linear", "name": "head", "out_features": 8}],
        "outputs": [{"name": "y", "from": "head"}],
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.json").write_text(json.dumps(model, indent=1) + "\n", encoding="utf-8")
    return weights.write(folder / "weights.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--width", type=int, default=2048)
    parser.add_argument("--kernel-dim", type=int, default=64)
    parser.add_argument("--scales", type=int, default=5)
    options = parser.parse_args()
    print(package(options.folder, options.layers, options.width, options.kernel_dim, options.scales))


if __name__ == "__main__":
    main()
