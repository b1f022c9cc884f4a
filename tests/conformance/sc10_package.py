#!/usr/bin/env python3
"""Writes a raw-audio model package of the shape published for SC10 (SGConv on ten spoken words): 6 layers of 128 channels, causal, K = 16000 taps
at 16 kHz, seeded random weights. No training: it is there to measure and to prove, at the published size.

    sc10_package.py FOLDER [--seed N] [--layers N] [--width N] [--taps N] [--each]

Standard library only. Weights have the official state-dict names; kernel_norm is left uninitialised, so the reader computes it.
"""

import argparse
import array
import json
import math
import pathlib
import random
import struct


def package(
    layers: int, width: int, l_max: int, kernel_dim: int = 32, classes: int = 10, seed: int = 0, each: bool = False
):
    """Returns (model, weights): the model.json object and {key: (shape, float array)}."""
    rng = random.Random(seed)
    scales = 1 + math.ceil(math.log2(l_max / kernel_dim))
    weights = {}

    def normal(key, shape, scale):
        count = math.prod(shape)
        weights[key] = (shape, array.array("f", (rng.gauss(0, scale) for _ in range(count))))

    def constant(key, shape, value):
        weights[key] = (shape, array.array("f", [value] * math.prod(shape)))

    def batch_norm(prefix):
        normal(f"{prefix}.bias", [width], 0.1)
        normal(f"{prefix}.running_mean", [width], 0.1)
        weights[f"{prefix}.weight"] = ([width], array.array("f", (0.5 + rng.random() for _ in range(width))))
        weights[f"{prefix}.running_var"] = ([width], array.array("f", (0.5 + rng.random() for _ in range(width))))

    normal("encoder.0.weight", [width, 1], 1.0)
    normal("encoder.0.bias", [width], 0.1)
    blocks = []
    for n in range(layers):
        layer = f"model.layers.{n}.layer"
        batch_norm(f"model.layers.{n}.norm.norm")
        normal(f"{layer}.D", [1, width], 1.0)
        for i in range(scales):
            normal(f"{layer}.kernel_list.{i}", [1, width, kernel_dim], 1.0)
        constant(f"{layer}.kernel_norm", [1, width, 1], 1.0)
        constant(f"{layer}.kernel_norm_initialized", [], 0.0)
        constant(f"{layer}.multiplier", [1, width, 1], 2.0)
        normal(f"{layer}.output_linear.weight", [width, width], width**-0.5)
        normal(f"{layer}.output_linear.bias", [width], 0.1)
        blocks.append(
            {
                "type": "residual",
                "name": f"model.layers.{n}",
                "prenorm": True,
                "norm": {"type": "batch_norm", "prefix": f"model.layers.{n}.norm.norm"},
                "layers": [
                    {
                        "type": "sgconv",
                        "name": "layer",
                        "prefix": layer,
                        "kernel_dim": kernel_dim,
                        "l_max": l_max,
                        "mode": "cat_randn",
                    }
                ],
            }
        )
    batch_norm("model.norm.norm")
    normal("decoder.0.output_transform.weight", [classes, width], width**-0.5)
    normal("decoder.0.output_transform.bias", [classes], 0.1)
    model = {
        "format": "longwave-model",
        "version": 1,
        "name": "sc10",
        "inputs": [{"name": "audio", "kind": "audio", "sample_rate": 16000}],
        "layers": [
            {"type": "linear", "name": "encoder.0", "out_features": width},
            *blocks,
            {"type": "batch_norm", "name": "model.norm", "prefix": "model.norm.norm"},
            *([] if each else [{"type": "mean", "name": "pool", "lengths": False}]),
            {"type": "linear", "name": "decoder", "prefix": "decoder.0.output_transform", "out_features": classes},
        ],
        "outputs": [{"name": "logits", "from": "decoder"}],
        "labels": ["yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go"][:classes],
    }
    return model, weights


def write(folder: pathlib.Path, model: dict, weights: dict) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.json").write_text(json.dumps(model, indent=1) + "\n")
    header, offset = {}, 0
    for key, (shape, values) in sorted(weights.items()):
        size = 4 * len(values)
        header[key] = {"dtype": "F32", "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(folder / "weights.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, (_, values) in sorted(weights.items()):
            values.tofile(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--taps", type=int, default=16000, help="l_max")
    parser.add_argument("--each", action="store_true", help="logits at every position instead of those of the mean")
    options = parser.parse_args()
    write(options.folder, *package(options.layers, options.width, options.taps, seed=options.seed, each=options.each))


if __name__ == "__main__":
    main()
