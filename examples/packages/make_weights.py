"""Writes weights.safetensors of the hand-written packages beside this file: small numbers from a fixed sequence, and the format without a library."""

import json
import struct
from math import cos, log, pi, prod, sin
from pathlib import Path

SGCONV = {"D": [1, 4], "kernel_norm": [1, 4, 1], "kernel_norm_initialized": [], "multiplier": [1, 4, 1]}


def sgconv(prefix, kernel_dim, scales, rows, projection):
    shapes = SGCONV | {
        "kernel_norm": [rows, 4, 1],
        f"{projection}.weight": [8 if projection.endswith("0") else 4, 4],
        f"{projection}.bias": [8 if projection.endswith("0") else 4],
    }
    shapes |= {f"kernel_list.{i}": [rows, 4, kernel_dim] for i in range(scales)}
    return {f"{prefix}.{name}": shape for name, shape in shapes.items()}


HYENA = {
    "bias": [32],
    "pos_emb.z": [1, 1024, 3],
    "pos_emb.t": [1, 1024, 1],
    "modulation.deltas": [1, 1, 32],
    "implicit_filter.0.weight": [16, 3],
    "implicit_filter.0.bias": [16],
    "implicit_filter.1.freq": [1, 16],
    "implicit_filter.2.weight": [16, 16],
    "implicit_filter.2.bias": [16],
    "implicit_filter.3.freq": [1, 16],
    "implicit_filter.4.weight": [32, 16],
}


def orchid(prefix):
    shapes = {
        "in_linear.weight": [96, 32],
        "in_linear.bias": [96],
        "out_linear.weight": [32, 32],
        "out_linear.bias": [32],
        "conv1d_short.weight": [96, 1, 3],
        "conv1d_short.bias": [96],
    }
    shapes |= {f"{conv}.{name}": shape for conv in ("fixed_conv", "fixed_conv_res") for name, shape in HYENA.items()}
    for network, width in (("nn_model", 32), ("nn_model2", 64)):
        here = f"conv_kernel_nn.{network}"
        shapes |= {
            f"{here}.conv1d_ls.0.weight": [width, 1, 3],
            f"{here}.conv1d_ls.0.bias": [width],
            f"{here}.norm_ls.0.norm_conv_kernel.weight": [width],
            f"{here}.norm_ls.0.norm_conv_kernel.bias": [width],
        }
    return {f"{prefix}.{name}": shape for name, shape in shapes.items()}


PACKAGES = {
    "tiny": {
        "encoder.weight": [4, 3],
        "encoder.bias": [4],
        "norm.weight": [4],
        "norm.bias": [4],
        "head.weight": [2, 4],
        "head.bias": [2],
        "block.norm.weight": [4],
        "block.norm.bias": [4],
        "block.norm.running_mean": [4],
        "block.norm.running_var": [4],
    }
    | sgconv("block.layer", 4, 4, 1, "output_linear.0"),
    "orchid": {"encoder.weight": [32, 4], "encoder.bias": [32], "head.weight": [2, 32], "head.bias": [2]}
    | orchid("mixer"),
    "pair": {"embed.weight": [10, 4], "mix.weight": [4, 16], "mix.bias": [4], "score.weight": [2, 4], "score.bias": [2]}
    | sgconv("conv", 2, 4, 2, "output_linear"),
}


def numbers(state=1):
    while True:
        state = (state * 1103515245 + 12345) % 2**31
        yield state / 2**30 - 1


def value(key, number, i, shape):
    at, of = divmod(i, shape[-1]) if shape else (0, 0)
    if key.endswith("pos_emb.t") or (key.endswith("pos_emb.z") and of == 0):
        return at / (shape[1] - 1)
    if key.endswith("pos_emb.z"):
        angle = 1e-4 * 2 * pi * at / shape[1]
        return cos(angle) if of == 1 else -sin(angle)
    if key.endswith(".deltas"):
        slow, fast = log(0.01) / 1.5, log(0.01) / 0.3
        return slow + (fast - slow) * i / (shape[-1] - 1)
    if key.endswith(".freq"):
        return 10.0
    if key.endswith("initialized"):
        return 0.0  # the compiler computes kernel_norm
    if key.endswith(("running_var", "norm.weight", "kernel_norm", "multiplier")):
        return 1.5 + 0.5 * number
    return 0.5 * number


def write(path, shapes):
    header, data, sequence = {}, b"", numbers()
    for key, shape in sorted(shapes.items()):
        values = [value(key, next(sequence), i, shape) for i in range(prod(shape))]
        header[key] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(values)]}
        data += struct.pack(f"<{len(values)}f", *values)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


for name, shapes in PACKAGES.items():
    write(Path(__file__).parent / name / "weights.safetensors", shapes)
