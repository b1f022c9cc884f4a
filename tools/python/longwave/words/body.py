"""The frozen body: the shipped keyword model up to a block in its middle, and the layers of a head on top of it.

The body turns 16 kHz samples into WIDTH numbers per 20 ms. Its weights never change here. So its outputs are computed once,
by the compiled body, and every head is trained on what the finished model will compute.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from .. import package, programs
from ..package import Package, layer, residual
from .errors import WordsError
from .head import BN_EPS, Head

BLOCKS = 5  # of six
OUTPUT = f"blocks.{BLOCKS - 1}"
RATE = 16000
ROW = 320  # samples


def source() -> Path:
    """The folder of the shipped keyword model: of the wheel, or of the repository."""
    here = Path(__file__).resolve()
    for folder in (programs.DEMO / "model", here.parents[4] / "examples/kws/model"):
        if (folder / "model.json").is_file():
            return folder
    raise WordsError("the shipped keyword model was not found: install the longwave wheel, or run in the repository")


def body_layers() -> tuple[list[dict[str, Any]], list[dict[str, Any]], dict[str, torch.Tensor]]:
    """Inputs, layers and weights."""
    document, weights = package.read(source())
    names = [entry["name"] for entry in document["layers"]]
    return document["inputs"], document["layers"][: names.index(OUTPUT) + 1], weights


def write_body(folder: Path) -> None:
    inputs, layers, weights = body_layers()
    package.write(Package("words-body", inputs, layers, [{"name": "hidden", "from": OUTPUT}], weights), folder)


def head_layers(head: Head) -> list[dict[str, Any]]:
    chain = [layer("batch_norm", "head.norm1", eps=BN_EPS)]
    block: Any
    for i, block in enumerate(head.blocks):
        convolution = layer(
            "sgconv",
            "sgconv",
            prefix=f"head.blocks.{i}.layer",
            kernel_dim=head.config.kernel_dim,
            l_max=block.layer.kernel_length,
            num_scales=head.config.n_scales,
            mode="cat_randn",
            postact="glu",
        )
        norm = layer("batch_norm", "norm", prefix=f"head.blocks.{i}.norm", eps=BN_EPS)
        chain.append(residual(f"head.blocks.{i}", norm, [convolution]))
    return chain + [
        layer("batch_norm", "head.norm2", eps=BN_EPS),
        layer("linear", "head.linear", out_features=head.classes),
        layer("softmax", "softmax"),
    ]


def write_model(head: Head, labels: list[str], decision: dict[str, Any], name: str, folder: Path) -> None:
    """Body and head as one model folder."""
    inputs, layers, weights = body_layers()
    weights = weights | {f"head.{key}": value for key, value in head.state_dict().items()}
    package.write(
        Package(
            name,
            inputs,
            layers + head_layers(head),
            [{"name": "probabilities", "from": "softmax"}],
            weights,
            labels,
            decision,
        ),
        folder,
    )


def compile_model(folder: Path, file: Path) -> None:
    done = programs.run(["compile", str(folder), "-o", str(file), "--stream"])
    if done.returncode:
        raise WordsError(f"longwave compile failed: {done.stderr.strip()}")


def block_microseconds(file: Path) -> float:
    """Median time of a block of 20 ms on this machine, as `longwave bench` measures it."""
    import json

    done = programs.run(["bench", str(file), "--json"])
    if done.returncode:
        raise WordsError(f"longwave bench failed: {done.stderr.strip()}")
    return float(json.loads(done.stdout)["streams"][0]["block_us"]["median"])
