"""Writes weights.safetensors of the hand-written packages beside this file: small numbers from a fixed sequence, and the format without a library."""
import json
import struct
from math import prod
from pathlib import Path

SGCONV = {"D": [1, 4], "kernel_norm": [1, 4, 1], "kernel_norm_initialized": [], "multiplier": [1, 4, 1]}


def sgconv(prefix, kernel_dim, scales, rows, projection):
    shapes = SGCONV | {"kernel_norm": [rows, 4, 1], f"{projection}.weight": [8 if projection.endswith("0") else 4, 4],
                       f"{projection}.bias": [8 if projection.endswith("0") else 4]}
    shapes |= {f"kernel_list.{i}": [rows, 4, kernel_dim] for i in range(scales)}
    return {f"{prefix}.{name}": shape for name, shape in shapes.items()}


PACKAGES = {
    "tiny": {"encoder.weight": [4, 3], "encoder.bias": [4], "norm.weight": [4], "norm.bias": [4], "head.weight": [2, 4], "head.bias": [2],
             "block.norm.weight": [4], "block.norm.bias": [4], "block.norm.running_mean": [4], "block.norm.running_var": [4]}
            | sgconv("block.layer", 4, 4, 1, "output_linear.0"),
    "pair": {"embed.weight": [10, 4], "mix.weight": [4, 16], "mix.bias": [4], "score.weight": [2, 4], "score.bias": [2]}
            | sgconv("conv", 2, 4, 2, "output_linear"),
}


def numbers(state=1):
    while True:
        state = (state * 1103515245 + 12345) % 2**31
        yield state / 2**30 - 1


def value(key, number):
    if key.endswith("initialized"):
        return 0.0  # the compiler computes kernel_norm
    if key.endswith(("running_var", "norm.weight", "kernel_norm", "multiplier")):
        return 1.5 + 0.5 * number
    return 0.5 * number


def write(path, shapes):
    header, data, sequence = {}, b"", numbers()
    for key, shape in sorted(shapes.items()):
        values = [value(key, next(sequence)) for _ in range(prod(shape))]
        header[key] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += struct.pack(f"<{len(values)}f", *values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


for name, shapes in PACKAGES.items():
    write(Path(__file__).parent / name / "weights.safetensors", shapes)
