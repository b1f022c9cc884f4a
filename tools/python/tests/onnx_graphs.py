"""Small ONNX graphs, made with onnx.helper: (name, model bytes, --input texts or none)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def random(seed: int, *shape: int, scale: float = 0.4) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: dict[str, Sequence[Any]],
    outputs: dict[str, Sequence[Any]],
    constants: dict[str, np.ndarray] | None = None,
    opset: int = 17,
    types: dict[str, int] | None = None,
    functions: Sequence[onnx.FunctionProto] = (),
    domains: Sequence[str] = (),
) -> onnx.ModelProto:
    def values(entries: dict[str, Sequence[Any]]) -> list[onnx.ValueInfoProto]:
        return [
            helper.make_tensor_value_info(name, (types or {}).get(name, FLOAT), shape)
            for name, shape in entries.items()
        ]

    graph = helper.make_graph(
        list(nodes),
        "graph",
        values(inputs),
        values(outputs),
        [numpy_helper.from_array(a, n) for n, a in (constants or {}).items()],
    )
    made = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)],
        functions=list(functions),
    )
    made.ir_version = 8
    return made


def node(op: str, reads: str, writes: str = "y", name: str = "", **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(
        op, [n if n != "_" else "" for n in reads.split()], writes.split(), name=name or f"/block/{op}", **attributes
    )


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def conv(opset: int = 17) -> onnx.ModelProto:
    """A causal convolution, a norm, and a residual."""
    return model(
        [
            node("Pad", "x pads", "p"),
            node("Conv", "p w b", "c", kernel_shape=[3]),
            node("Relu", "c", "r"),
            node("Add", "r x", "y"),
        ],
        {"x": [1, 4, "time"]},
        {"y": [1, 4, "time"]},
        {"pads": ints(0, 0, 2, 0, 0, 0), "w": random(1, 4, 4, 3), "b": random(2, 4)},
        opset,
    )


def bands() -> onnx.ModelProto:
    """A GRU over time for each of 5 bands, and an LSTM over the bands of each row in both directions."""
    return model(
        [
            node("Reshape", "x image", "i"),
            node("GRU", "i gw gr gb", "g", hidden_size=4, linear_before_reset=1),
            node("Squeeze", "g one", "s"),
            node("Transpose", "s", "t", perm=[1, 0, 2]),
            node("LSTM", "t lw lr lb", "l", hidden_size=3, direction="bidirectional"),
            node("Transpose", "l", "u", "/block/back", perm=[2, 0, 1, 3]),
            node("Reshape", "u row", "y", "/block/row"),
        ],
        {"x": [1, "time", 10]},
        {"y": [1, "time", 30]},
        {
            "image": ints(-1, 5, 2),
            "one": ints(1),
            "row": ints(1, -1, 30),
            "gw": random(1, 1, 12, 2),
            "gr": random(2, 1, 12, 4),
            "gb": random(3, 1, 24),
            "lw": random(4, 2, 12, 4),
            "lr": random(5, 2, 12, 3),
            "lb": random(6, 2, 24),
        },
    )


def lstm(directions: int = 1, states: bool = True, units: int = 4, **attributes: Any) -> onnx.ModelProto:
    n = directions
    inputs: dict[str, Sequence[Any]] = {"x": ["time", 1, 3]}
    outputs: dict[str, Sequence[Any]] = {"y": ["time", n, 1, units]}
    if states:
        inputs |= {"h": [n, 1, units], "c": [n, 1, units]}
        outputs |= {"hn": [n, 1, units], "cn": [n, 1, units]}
    return model(
        [
            node(
                "LSTM",
                "x w r b _ h c" if states else "x w r b",
                "y hn cn" if states else "y",
                hidden_size=units,
                **attributes,
            )
        ],
        inputs,
        outputs,
        {"w": random(1, n, 4 * units, 3), "r": random(2, n, 4 * units, units), "b": random(3, n, 8 * units)},
    )


def cells() -> onnx.ModelProto:
    """LSTM, GRU with its reset gate first, GRU and RNN in a row, each from a state of the file."""
    nodes, constants, last = [], {}, "x"
    for k, (kind, gates, attributes) in enumerate(
        (("LSTM", 4, {}), ("GRU", 3, {}), ("GRU", 3, {"linear_before_reset": 1}), ("RNN", 1, {}))
    ):
        width = 3 if k == 0 else 4
        constants |= {
            f"w{k}": random(k, 1, 4 * gates, width),
            f"r{k}": random(k + 9, 1, 4 * gates, 4),
            f"b{k}": random(k + 20, 1, 8 * gates),
            f"h{k}": random(k + 30, 1, 1, 4),
        }
        reads = f"{last} w{k} r{k} b{k} _ h{k}"
        if kind == "LSTM":
            constants["c0"], reads = random(40, 1, 1, 4), f"{reads} c0"
        nodes += [
            node(kind, reads, f"z{k}", f"/cells/{k}/{kind}", hidden_size=4, **attributes),
            node("Squeeze", f"z{k} one", f"y{k}", f"/cells/{k}/Squeeze"),
        ]
        last = f"y{k}"
    return model(nodes, {"x": ["time", 1, 3]}, {last: ["time", 1, 4]}, constants | {"one": ints(1)})


def choice() -> onnx.ModelProto:
    """An If on an input that is fixed: sr."""

    def branch(name: str, factor: float) -> onnx.GraphProto:
        return helper.make_graph(
            [helper.make_node("Mul", ["x", f"{name}_f"], [f"{name}_y"], name=f"/{name}/Mul")],
            name,
            [],
            [helper.make_tensor_value_info(f"{name}_y", FLOAT, None)],
            [numpy_helper.from_array(np.float32([factor]), f"{name}_f")],
        )

    return model(
        [
            node("Equal", "sr rate", "same"),
            node("If", "same", "y", then_branch=branch("then", 2.0), else_branch=branch("else", 3.0)),
        ],
        {"x": [1, "time", 3], "sr": []},
        {"y": [1, "time", 3]},
        {"rate": np.int64(16000)},
        types={"sr": INT64},
    )


def shapes() -> onnx.ModelProto:
    """Shape arithmetic: a reshape to groups of features and back."""
    return model(
        [
            node("Shape", "x", "s"),
            node("Gather", "s one", "t"),
            node("Unsqueeze", "t zero", "t1"),
            node("Concat", "first t1 groups", "to", axis=0),
            node("Reshape", "x to", "g", "/block/to"),
            node("ReduceMean", "g", "m", axes=[3], keepdims=1),
            node("Sub", "g m", "d"),
            node("Reshape", "d s", "y"),
        ],
        {"x": [1, "time", 6]},
        {"y": [1, "time", 6]},
        {"one": np.int64(1), "zero": ints(0), "first": ints(1), "groups": ints(2, 3)},
    )


def function() -> onnx.ModelProto:
    """Functions of the file that call each other."""
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    inner = helper.make_function("local", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], opsets)
    outer = helper.make_function(
        "local",
        "Four",
        ["a"],
        ["b"],
        [
            helper.make_node("Twice", ["a"], ["m"], domain="local"),
            helper.make_node("Twice", ["m"], ["b"], domain="local"),
        ],
        opsets,
    )
    return model(
        [helper.make_node("Four", ["x"], ["y"], domain="local", name="four")],
        {"x": [1, "time", 3]},
        {"y": [1, "time", 3]},
        functions=[inner, outer],
        domains=["local"],
    )


def seeds() -> list[tuple[bytes, list[str], dict[str, str]]]:
    """Files to change: bytes, --input, --fix."""
    made = [
        (conv(), [], {}),
        (lstm(), [], {}),
        (choice(), [], {"sr": "16000"}),
        (shapes(), [], {}),
        (function(), [], {}),
        (lstm(2, False, direction="bidirectional"), [], {}),
    ]
    return [(m.SerializeToString(), inputs, fix) for m, inputs, fix in made]
