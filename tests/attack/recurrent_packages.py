#!/usr/bin/env python3
"""recurrent_packages.py FOLDER: model folders of recurrences and of convolutions that look ahead, with seeded weights.

FOLDER/lstm, gru, state_space and late. Standard library only.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
from families import Weights  # noqa: E402
from sc10_package import write  # noqa: E402

WIDTH, UNITS, ROWS = 6, 8, 64


def tensor(key):
    return {"tensor": key}


def gated(kind, gates):
    weights = Weights()
    weights.linear("in", gates * UNITS, WIDTH)
    weights.normal(f"{kind}.weight", [gates * UNITS, UNITS], 0.3)
    weights.linear("out", 3, UNITS)
    inputs = ["in", tensor(f"{kind}.weight")]
    if kind == "gru":
        weights.normal("gru.bias", [UNITS], 0.1)
        inputs.append(tensor("gru.bias"))
    return weights, [linear("in", "x"), {"name": kind, "op": kind, "inputs": inputs}, linear("out", kind)]


def linear(name, source):
    return {
        "name": name,
        "op": "linear",
        "inputs": [source, tensor(f"{name}.weight"), tensor(f"{name}.bias")],
        "attributes": {"bias": 1},
    }


def state_space():
    """Poles in two parts, which keep their state in float64."""
    weights, states = Weights(), 4
    weights.positive("poles.real", [WIDTH, states])
    real = [-0.01 * value for value in weights.tensors.pop("poles.real")[1]]
    weights.constant("space.poles", [WIDTH, states, 4], 0.0)
    poles = weights.tensors["space.poles"][1]
    for i, value in enumerate(real):
        poles[4 * i], poles[4 * i + 1] = value, 0.3 * (i % states)
    weights.normal("space.c", [1, WIDTH, states, 2], 0.5)
    weights.normal("space.D", [1, WIDTH], 1.0)
    weights.linear("out", 3, WIDTH)
    node = {
        "name": "space",
        "op": "state_space",
        "inputs": ["x", *(tensor(f"space.{key}") for key in ("poles", "c", "D"))],
        "attributes": {"channels": 1, "complex": 0, "state": 64},
    }
    return weights, [node, linear("out", "space")]


def late():
    """Convolutions that look 2 and 3 rows ahead, one of them for each channel alone, between others that need their rows."""
    weights = Weights()
    weights.normal("ahead.weight", [UNITS, WIDTH, 5, 1], 0.3)
    weights.normal("ahead.bias", [UNITS], 0.1)
    weights.normal("centred.weight", [UNITS, 7], 0.3)
    weights.normal("causal.weight", [4, UNITS, 3, 1], 0.3)
    convolution = {"stride_t": 1, "stride_f": 1, "groups": 1, "frequency": 0}
    return weights, [
        {
            "name": "ahead",
            "op": "conv2d",
            "inputs": ["x", tensor("ahead.weight"), tensor("ahead.bias")],
            "attributes": convolution | {"bias": 1, "ahead": 2},
        },
        {
            "name": "centred",
            "op": "centred_conv",
            "inputs": ["ahead", tensor("centred.weight")],
            "attributes": {"bias": 0},
        },
        {"name": "sum", "op": "add", "inputs": ["ahead", "centred"]},
        {
            "name": "causal",
            "op": "conv2d",
            "inputs": ["sum", tensor("causal.weight")],
            "attributes": convolution | {"bias": 0},
        },
    ]


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, (weights, graph) in {
        "lstm": gated("lstm", 4),
        "gru": gated("gru", 3),
        "state_space": state_space(),
        "late": late(),
    }.items():
        model = {
            "format": "longwave-model",
            "version": 2,
            "name": name,
            "inputs": [{"name": "x", "kind": "features", "width": WIDTH}],
            "length": ROWS,
            "graph": graph,
            "outputs": [{"name": "y", "from": graph[-1]["name"]}],
        }
        write(folder / name, model, weights.tensors)


if __name__ == "__main__":
    main()
