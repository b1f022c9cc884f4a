"""The accuracy of a compiled recall model: the engine answers the sequences that training counted, and its logits are compared with PyTorch's.

    tests/bench/recall/run measure LONGWAVE PACKAGE [--sequences N]

PACKAGE is what `train` wrote for one length. Prints a line of JSON.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np
import torch
from safetensors.torch import load_file

from .data import batch
from .model import RecallConfig, RecallModel


def config_of(folder: pathlib.Path) -> RecallConfig:
    """From the package's own layers."""
    layers = json.loads((folder / "model.json").read_text())["layers"]
    mixers = [inner for outer in layers for inner in outer.get("layers", []) if inner["type"] == "orchid"]
    mlps = [inner for outer in layers for inner in outer.get("layers", []) if inner["name"] == "fc1"]
    first = mixers[0]
    return RecallConfig(
        first["l_max"],
        layers[0]["vocabulary"] - 1,
        layers[0]["width"],
        len(mixers),
        mlps[0]["out_features"],
        first["filter_order"],
        first["emb_dim"],
        first["num_inner_mlps"],
        first["transform"],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave")
    parser.add_argument("package", type=pathlib.Path)
    parser.add_argument("--sequences", type=int, default=200)
    options = parser.parse_args()
    config = config_of(options.package)
    model = RecallModel(config).eval()
    model.load_state_dict(load_file(options.package / "weights.safetensors"), strict=False)
    ids, answers = batch(options.sequences, config.length, config.vocabulary, torch.Generator().manual_seed(1_000_003))
    with torch.no_grad():
        expected = model(ids).numpy()
    right, error = 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        artifact, given, found = folder / "recall.lw", folder / "ids.npy", folder / "logits.npy"
        subprocess.run(
            [
                options.longwave,
                "compile",
                options.package,
                "-o",
                artifact,
                "--target",
                "host",
                "--length",
                str(config.length),
                "--quiet",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for sequence, answer, logits in zip(ids, answers.tolist(), expected):
            np.save(given, sequence.numpy().astype(np.float32)[:, None])
            subprocess.run(
                [options.longwave, "run", artifact, "--input", f"ids=@{given}", "-o", f"logits={found}"],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            values = np.load(found).reshape(-1)
            right += int(values.argmax() == answer)
            error = max(error, float(abs(values - logits).max() / abs(logits).max()))
    print(
        json.dumps(
            {
                "length": config.length,
                "vocabulary": config.vocabulary,
                "sequences": options.sequences,
                "accuracy": right / options.sequences,
                "largest_difference_from_pytorch": error,
            }
        )
    )


if __name__ == "__main__":
    main()
