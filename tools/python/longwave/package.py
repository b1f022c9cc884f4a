"""Writes a model package: a folder with `model.json` and `weights.safetensors` (float32).

The format is described in docs/model-format.md.  Layer functions below return one entry of "layers" each; a model
is a list of them, and tensors are found in its state dict by the prefixes they name.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from . import output_files
from .model_json import Layer, document, layer, pretty, residual

__all__ = ["Layer", "Package", "layer", "model_json", "read", "residual", "tensor_keys", "weights_file", "write"]

_BRANCH = ["conv.weight", "conv.bias", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"]
_SHORT_LONG = [f"short.#.{name}" for name in _BRANCH] + [
    f"long.{name}"
    for name in ("k0", "k1", "D", "kernel_list.#", "kernel_norm", "kernel_norm_initialized", "multiplier", "decay")
]

# tensors that a layer type reads under its prefix; "#" stands for 0, 1, ..., a last "*" for all
# that follows
_PARAMETERS = {
    "log_mel": ["window", "mel", "mean", "scale"],
    "conv2d": ["weight", "bias"],
    "conv1d": ["weight", "bias"],
    "linear": ["weight", "bias"],
    "patch_embedding": ["weight", "bias"],
    "embedding": ["weight"],
    "adaptive_embedding": [f"embeddings.#.{part}.weight" for part in (0, 1)],
    "adaptive_softmax": [f"head.{name}_proj.{part}" for name in ("word", "class") for part in ("weight", "bias")]
    + ["tail.#.0.weight", "tail.#.2.weight", "tail.#.2.bias"],
    "batch_norm": ["weight", "bias", "running_mean", "running_var"],
    "layer_norm": ["weight", "bias"],
    "transposed_layer_norm": ["m", "s"],
    "rms_norm": ["weight"],
    "lightnet_attention": [f"{name}_proj.{part}" for name in "qkvo" for part in ("weight", "bias")]
    + [f"{name}_conv1d.{part}" for name in "qkv" for part in ("weight", "bias")]
    + [f"output_gate{number}.{part}" for number in ("", ".0", ".1") for part in ("weight", "bias")]
    + ["norm.weight", "norm.bias", "lrpe.theta"],
    "lrpe": ["theta"],
    "tpe": ["q", "k", "log_decay", "norm.weight", "o_proj.weight"]
    + [f"tpes.#.{name}" for name in ("q", "k", "log_decay", "norm.weight", "o_proj.weight")],
    "exponential_sums": ["lambda", "c"],
    "state_space": ["poles", "c", "D", "kernel.log_dt", "kernel.C", "kernel.log_A_real", "kernel.A_imag"],
    "gated_mlp": [f"w{number}.{part}" for number in (1, 2, 3) for part in ("weight", "bias")],
    "sgconv": [
        "D",
        "kernel_list.#",
        "kernel_norm",
        "kernel_norm_initialized",
        "multiplier",
        "decay",
        "output_linear.weight",
        "output_linear.bias",
        "output_linear.0.weight",
        "output_linear.0.bias",
        "norm.norm.weight",
        "norm.norm.bias",
        "norm.norm.m",
        "norm.norm.s",
    ],
    "scale_norm": ["scalar"],
    "attention": [f"{name}_proj.{kind}" for name in "qkvo" for kind in ("weight", "bias")]
    + ["r_proj.weight", "r_w_bias", "r_r_bias"],
    "linear_attention": [f"{name}.{kind}" for name in ("q_proj", "k_proj", "v_proj") for kind in ("weight", "bias")],
    "branches": [f"#.{name}" for name in _BRANCH],
    "short_long": _SHORT_LONG,
    "chela": _SHORT_LONG
    + [
        f"{norm}.{name}"
        for norm in ("norm", "nffn.norm")
        for name in ("weight", "bias", "running_mean", "running_var", "scalar")
    ]
    + [
        f"{name}.{kind}"
        for name in ("v_proj", "g_proj", "o_gate", "h_proj", "nffn.fc1", "nffn.fc2", "att_norm")
        for kind in ("weight", "bias")
    ]
    + ["gamma", "beta"],
    "orchid": [
        "in_linear.weight",
        "in_linear.bias",
        "out_linear.weight",
        "out_linear.bias",
        "conv1d_short.weight",
        "conv1d_short.bias",
    ]
    + [
        f"{conv}.{name}"
        for conv in ("fixed_conv", "fixed_conv_res")
        for name in ("bias", "pos_emb.z", "pos_emb.t", "implicit_filter.*", "modulation.deltas")
    ]
    + [f"conv_kernel_nn.nn_model{name}.*" for name in ("", "2", "_k", "_q", "_frq")],
    "m2_mlp": ["gated_layers.weight", "wo.weight", "wo.bias", "layernorm.weight", "layernorm.bias"],
}


@dataclass
class Package:
    name: str
    inputs: list[dict[str, Any]]
    layers: list[Layer]
    outputs: list[dict[str, str]]
    weights: dict[str, Tensor]
    labels: list[str] = field(default_factory=list)
    decision: dict[str, Any] | None = None


def tensor_keys(layers: Iterable[Layer], available: Iterable[str]) -> list[str]:
    """Keys among `available` that the layers read, in the order of the layers."""
    available = set(available)
    found: list[str] = []
    for entry in layers:
        if entry["type"] == "residual":
            norm = entry["norm"]
            inner = ([norm | {"name": f"{entry['name']}.norm"}] if norm else []) + entry["layers"]
            found += tensor_keys(inner, available)
            continue
        prefix = entry.get("prefix", entry["name"])
        for parameter in _PARAMETERS.get(entry["type"], []):
            key = entry.get("keys", {}).get(parameter, f"{prefix}.{parameter}" if prefix else parameter)
            if key.endswith("*"):
                found += sorted(name for name in available if name.startswith(key[:-1]))
                continue
            if "#" not in key:
                found += [key] if key in available else []
                continue
            # not every index has every tensor: an identity among the branches has no convolution
            found += [numbered for number in range(64) if (numbered := key.replace("#", str(number))) in available]
    return found


def model_json(package: Package) -> dict[str, Any]:
    return document(package.name, package.inputs, package.layers, package.outputs, package.labels, package.decision)


def write(package: Package, folder: str | PathLike[str]) -> None:
    """Replaces both files whole; only tensors that a layer reads, all as float32 (flags become 0 or 1)."""
    keys = tensor_keys(package.layers, package.weights)
    tensors = {key: package.weights[key].detach().to(torch.float32).contiguous().clone() for key in keys}
    for key, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise ValueError(f"{key}: not finite")
    output_files.write_folder(
        Path(folder),
        {"weights.safetensors": weights_file(tensors), "model.json": (pretty(model_json(package)) + "\n").encode()},
    )


def weights_file(tensors: dict[str, Tensor]) -> Callable[[Path], None]:
    """What writes the tensors, for `output_files`: the reason of a failure is an OSError."""

    def write_to(file: Path) -> None:
        try:
            save_file(tensors, file)
        except SafetensorError as error:
            number = re.search(r"os error (\d+)", str(error))
            raise OSError(
                int(number[1]) if number else errno.EIO, re.sub(r" \(os error.*", "", str(error).rpartition(": ")[2])
            ) from error

    return write_to


def read(folder: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """model.json as a dictionary, and the weights by key."""
    folder = Path(folder)
    return json.loads((folder / "model.json").read_text()), load_file(folder / "weights.safetensors")
