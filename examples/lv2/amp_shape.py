#!/usr/bin/env python3
"""A shape for amp.c: amp_shape.py CAPTURE FOLDER MAP

CAPTURE: a .nam file, of whose configuration the shape is, or the name of a published one: see PUBLISHED. FOLDER: the model folder. MAP: which weights of a capture of this configuration its tensors are. Needs torch, and
tools/python of Longwave in PYTHONPATH. The folder begins with zeros and not at rest, so its tensors are weights of the
capture as they stand, or times the last one, the head's scale. The plug-in lets a capture warm up before it is heard.
"""

import json
import pathlib
import random
import sys

import numpy as np
from longwave.importer.api import import_module
from longwave.importer.nam.door import open_file


def array(channels, head, dilations, inputs=1):
    """Layers as the first captures (A1) have them."""
    made = {"input_size": inputs, "condition_size": 1, "channels": channels, "head_size": head, "head_bias": head == 1}
    return made | {"kernel_size": 3, "dilations": dilations, "activation": "Tanh", "gated": False}


def a1(channels, first, second):
    """Two arrays. The second has half the channels."""
    half = channels // 2
    layers = [array(channels, half, first), array(half, 1, second, channels)]
    return {"layers": layers, "head": None, "head_scale": 0.02}, 48000


POWERS = [1 << i for i in range(10)]
PUBLISHED = {
    "a1-standard": a1(16, POWERS, POWERS),
    "a1-lite": a1(12, POWERS[:7], POWERS[7:] + POWERS),
    "a1-feather": a1(8, POWERS[:7], POWERS[7:] + POWERS),
    "a1-nano": a1(4, POWERS[:7], POWERS[7:] + POWERS),
}


def count(config):
    """Weights of a published one: of each array, and the head's scale."""
    total = 1
    for a in config["layers"]:
        channels, taps = a["channels"], a["kernel_size"]
        total += a["input_size"] * channels + a["head_size"] * (channels + a["head_bias"])
        total += len(a["dilations"]) * (channels * (channels * taps + 1) + channels + channels * (channels + 1))
    return total


def read(name):
    if name not in PUBLISHED:
        return json.loads(pathlib.Path(name).read_text())
    config, rate = PUBLISHED[name]
    made = {"version": "0.5.4", "architecture": "WaveNet", "config": config, "sample_rate": rate}
    return made | {"weights": [0.0] * count(config)}


def with_other_weights(name, folder):
    """The same capture. Its weights are all different, so that a tensor tells which ones it has."""
    capture = read(name)
    if capture["architecture"] == "SlimmableContainer":
        raise SystemExit(f"{name}: give one of its submodels")
    n = len(capture["weights"])
    values = [0.8 * (i + 1) / (n + 1) - 0.4 for i in range(n)]
    random.Random(1).shuffle(values)
    capture["weights"] = values
    made = folder / "other.nam"
    made.write_text(json.dumps(capture))
    return capture, made


def found(values, weights):
    """Where the values are in the list, and the power of the head's scale that they have."""
    for power, scale in enumerate((np.float32(1), weights[-1])):
        scaled = weights * scale
        for at in np.nonzero(scaled == values[0])[0]:
            if np.array_equal(scaled[at : at + len(values)], values):
                return int(at), power
    raise SystemExit("the list of weights does not contain a tensor of the model: this capture cannot be a shape")


def main(name, folder, described):
    folder.mkdir(parents=True, exist_ok=True)
    capture, other = with_other_weights(name, folder)
    opened = open_file(other)
    weights = np.array(capture["weights"], np.float32)
    imported = import_module(opened.module, opened.inputs, length=opened.length, outputs=opened.outputs)
    opened.described(imported)
    imported.write(folder / "model")
    tensors = []
    for key, tensor in imported.tensors.items():
        values = tensor.numpy().astype(np.float32)
        at, power = found(values.ravel(), weights)
        tensors.append({"name": key, "shape": list(values.shape), "from": at, "scaled": power})
    about = {"architecture": capture["architecture"], "config": capture["config"], "rate": opened.facts["sample_rate"]}
    about |= {"weights": len(weights), "remembers": opened.rest, "tensors": tensors}
    described.write_text(json.dumps(about) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], *map(pathlib.Path, sys.argv[2:4]))
