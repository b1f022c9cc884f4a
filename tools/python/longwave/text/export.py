"""Packages of trained models, and models from packages.

python -m longwave.text.export RUN FOLDER [--name NAME]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch

from .. import package
from ..layers.chela import ChelaModel, model_layers
from ..layers.lightnet import model_package
from ..package import Package
from . import model as text_model


def as_package(model: text_model.TextModel, name: str) -> Package:
    """One input "ids" (bytes), one output "logits" (256 a byte)."""
    if isinstance(model, ChelaModel):
        inputs, layers = model_layers(model)
        return Package(name, inputs, layers, [{"name": "logits", "from": "logits"}], model.state_dict())
    made = model_package(model, name)
    made.outputs = [{"name": "logits", "from": "logits"}]
    return made


def sizes(document: dict[str, Any], weights: dict[str, torch.Tensor]) -> tuple[str, dict[str, int]]:
    """Family and sizes (the arguments of model.make) of a package's contents."""
    kinds = [entry["type"] for entry in document["layers"]]
    if "chela" in kinds:
        block = document["layers"][kinds.index("chela")]
        width, taps = weights["layers.0.long.k0"].shape
        return "chela", {
            "width": width,
            "depth": kinds.count("chela"),
            "taps": taps,
            "hidden": weights["layers.0.nffn.fc1.weight"].shape[0],
            "heads": block["heads"],
        }
    mixer = "model.layers.0.token_mixer."
    attention = document["layers"][kinds.index("residual")]["layers"][0]
    return "lightnet", {
        "width": weights["model.embed_tokens.weight"].shape[1],
        "depth": kinds.count("residual") // 2,
        "short_conv": weights[mixer + "q_conv1d.weight"].shape[2],
        "heads": attention["heads"],
        "hidden": weights["model.layers.0.channel_mixer.w1.weight"].shape[0],
        "gate_rank": weights[mixer + "output_gate.0.weight"].shape[0],
    }


def from_package(folder: Path) -> text_model.TextModel:
    """The PyTorch model of a package that `as_package` made; every tensor of both must fit."""
    document, weights = package.read(folder)
    family, found = sizes(document, weights)
    model = text_model.make(family, **found)
    model.load_state_dict(weights)
    return model.eval()


def from_run(run: Path) -> text_model.TextModel:
    """The averaged weights of the last checkpoint, or, where that was removed, of final.pt."""
    final, checkpoint = run / "final.pt", run / "checkpoint.pt"
    saved = torch.load(checkpoint if checkpoint.exists() else final)
    options = saved["options"]
    model = text_model.make(options["family"], **{k: int(n) for k, n in (item.split("=") for item in options["set"])})
    model.load_state_dict(saved["average"])
    return model.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a run of train_text")
    parser.add_argument("folder", type=Path, help="where the package goes")
    parser.add_argument("--name", help="name of the model (default: that of the folder above the package)")
    options = parser.parse_args()
    package.write(
        as_package(from_run(options.run), options.name or options.folder.resolve().parent.name), options.folder
    )
    print(f"{options.folder}: {(options.folder / 'weights.safetensors').stat().st_size} bytes of weights")


if __name__ == "__main__":
    main()
