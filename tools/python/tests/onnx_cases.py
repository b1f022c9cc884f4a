"""Graphs of one operation each, over opsets: name -> (model, --input texts, --fix)."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto
from onnx_graphs import FLOAT, INT64, choice, conv, function, ints, lstm, model, node, random, shapes

ROWS, WIDE = [1, "time", 4], [1, 4, "time"]


def one(
    op: str,
    opset: int = 17,
    shape: list[Any] = ROWS,
    reads: str = "x",
    constants: dict[str, np.ndarray] | None = None,
    writes: str = "y",
    **attributes: Any,
) -> onnx.ModelProto:
    return model([node(op, reads, writes, **attributes)], {"x": shape}, dict.fromkeys(writes.split()), constants, opset)


def two(op: str, opset: int = 17, second: np.ndarray | None = None, **attributes: Any) -> onnx.ModelProto:
    return one(op, opset, reads="x b", constants={"b": random(7, 4) if second is None else second}, **attributes)


def recurrent(
    kind: str, gates: int, states: int, direction: str = "forward", layout: int = 0, opset: int = 17, **attributes: Any
) -> onnx.ModelProto:
    n, units = 2 if direction == "bidirectional" else 1, 5
    weights = {
        "w": random(1, n, gates * units, 3),
        "r": random(2, n, gates * units, units),
        "b": random(3, n, 2 * gates * units),
    }
    shape = (1, n, units) if layout else (n, 1, units)
    first = {name: random(4 + k, *shape) for k, name in enumerate(("h", "c")[:states])}
    if layout:
        attributes["layout"] = 1
    return model(
        [node(kind, " ".join(["x w r b _", *first]), "y", hidden_size=units, direction=direction, **attributes)],
        {"x": [1, "time", 3] if layout else ["time", 1, 3]},
        {"y": None},
        {**weights, **first},
        opset,
    )


def mono(shape: int = 8) -> dict[str, np.ndarray]:
    return {"w": random(1, 4, 4, 3), "b": random(2, 4)}


CASES: dict[str, tuple[onnx.ModelProto, list[str], dict[str, str]]] = {}


def add(name: str, made: onnx.ModelProto, inputs: list[str] | None = None, fix: dict[str, str] | None = None) -> None:
    CASES[name] = made, inputs or [], fix or {}


for op in (
    "Relu",
    "Sigmoid",
    "Tanh",
    "Exp",
    "Abs",
    "Neg",
    "Softplus",
    "Softsign",
    "Erf",
    "Sin",
    "Cos",
    "Floor",
    "Ceil",
    "Round",
    "Sign",
    "Identity",
    "Atan",
):
    add(op, one(op, 9 if op not in ("Round",) else 11))
for op, opset, attributes in (
    ("Elu", 7, {"alpha": 0.7}),
    ("Selu", 7, {}),
    ("LeakyRelu", 7, {"alpha": 0.2}),
    ("HardSigmoid", 7, {}),
    ("ThresholdedRelu", 10, {"alpha": 0.3}),
    ("Celu", 12, {"alpha": 0.8}),
    ("HardSwish", 14, {}),
    ("Mish", 18, {}),
    ("Gelu", 20, {}),
    ("Gelu", 20, {"approximate": "tanh"}),
    ("Shrink", 9, {"lambd": 0.2}),
):
    add(f"{op}-{opset}-{'-'.join(map(str, attributes.values()))}", one(op, opset, **attributes))
for op in ("Add", "Sub", "Mul", "Div"):
    for opset in (7, 13, 22):
        add(f"{op}-{opset}", two(op, opset))
add("PRelu", two("PRelu"))
add("Pow-2", two("Pow", second=np.float32([2])))
add("Pow-3-int", two("Pow", second=ints(3)))
add("Max", two("Max"))
add("Min-8", two("Min", 8))
add("Mean", two("Mean"))
add("Mod", two("Mod", fmod=1))
add("Clip-7", one("Clip", 7, min=-0.5, max=0.4))
add("Clip-13", one("Clip", 13, reads="x low high", constants={"low": np.float32(-0.5), "high": np.float32(0.4)}))
add("Clip-13-max", one("Clip", 13, reads="x _ high", constants={"high": np.float32(0.4)}))
add("Softmax-11", one("Softmax", 11, axis=1, shape=[1, "time"] + [4]))
add("Softmax-11-last", one("Softmax", 11, axis=2))
add("Softmax-13", one("Softmax", 13))
add("LogSoftmax-13", one("LogSoftmax", 13))
add("MatMul", two("MatMul", second=random(1, 4, 6)))
add("MatMul-left", one("MatMul", shape=WIDE, reads="a x", constants={"a": random(1, 3, 4)}))
add("Gemm", one("Gemm", shape=["time", 4], reads="x w b", constants={"w": random(1, 4, 3), "b": random(2, 3)}))
add(
    "Gemm-alpha",
    one("Gemm", 7, ["time", 4], "x w b", {"w": random(1, 3, 4), "b": random(2, 3)}, alpha=0.5, beta=2.0, transB=1),
)
add("Gemm-transA", one("Gemm", 11, [4, "time"], "x w", {"w": random(1, 4, 3)}, transA=1), ["x=4xT"])
add("Einsum", one("Einsum", reads="x w", constants={"w": random(1, 4, 3)}, equation="btc,cd->btd"))
for opset in (7, 11, 22):
    add(f"Conv-{opset}", one("Conv", opset, WIDE, "x w b", mono(), pads=[2, 0], dilations=[1]))
add("Conv-same", one("Conv", 17, WIDE, "x w", {"w": random(1, 6, 4, 3)}, auto_pad="SAME_UPPER"))
add("Conv-same-even", one("Conv", 17, WIDE, "x w", {"w": random(1, 6, 4, 4)}, auto_pad="SAME_LOWER"))
add(
    "Conv-group-dilated",
    one("Conv", 17, WIDE, "x w b", {"w": random(1, 4, 1, 3), "b": random(2, 4)}, group=4, dilations=[2], pads=[4, 0]),
)
add("Conv-stride", one("Conv", 17, WIDE, "x w", {"w": random(1, 4, 4, 2)}, strides=[2]))
add("Conv2d", one("Conv", 17, [1, 2, "time", 6], "x w", {"w": random(1, 3, 2, 2, 3)}, pads=[1, 1, 0, 1]))
add(
    "ConvTranspose",
    one("ConvTranspose", 17, WIDE, "x w b", {"w": random(1, 4, 2, 4), "b": random(2, 2)}, strides=[2], pads=[1, 1]),
)
add(
    "ConvTranspose-output",
    one("ConvTranspose", 11, WIDE, "x w", {"w": random(1, 4, 2, 3)}, strides=[2], output_padding=[1]),
)
add("MaxPool", one("MaxPool", 12, WIDE, kernel_shape=[3], pads=[1, 1], strides=[1]))
add("MaxPool-left", one("MaxPool", 12, WIDE, kernel_shape=[3], pads=[2, 0], strides=[1]))
add("AveragePool", one("AveragePool", 11, WIDE, kernel_shape=[2], strides=[2]))
add(
    "AveragePool-counted", one("AveragePool", 19, WIDE, kernel_shape=[3], pads=[2, 0], strides=[1], count_include_pad=1)
)
add("GlobalAveragePool", one("GlobalAveragePool", 17, WIDE))
add("GlobalMaxPool", one("GlobalMaxPool", 17, WIDE))
norm = {"s": random(1, 4), "o": random(2, 4), "m": random(3, 4), "v": np.abs(random(4, 4)) + np.float32(0.1)}
add("BatchNormalization-9", one("BatchNormalization", 9, WIDE, "x s o m v", norm))
add("BatchNormalization-15", one("BatchNormalization", 15, WIDE, "x s o m v", norm, epsilon=1e-3))
add("InstanceNormalization", one("InstanceNormalization", 17, WIDE, "x s o", {"s": norm["s"], "o": norm["o"]}))
add("LayerNormalization", one("LayerNormalization", 17, ROWS, "x s o", {"s": norm["s"], "o": norm["o"]}, axis=-1))
add(
    "GroupNormalization-18",
    one("GroupNormalization", 18, WIDE, "x s o", {"s": random(1, 2), "o": random(2, 2)}, num_groups=2),
)
add(
    "GroupNormalization-21",
    one("GroupNormalization", 21, WIDE, "x s o", {"s": norm["s"], "o": norm["o"]}, num_groups=2),
)
add("LpNormalization", one("LpNormalization", 17, axis=-1))
for op in (
    "ReduceMean",
    "ReduceMax",
    "ReduceMin",
    "ReduceL1",
    "ReduceL2",
    "ReduceSumSquare",
    "ReduceLogSumExp",
    "ReduceProd",
):
    add(f"{op}-11", one(op, 11, axes=[2], keepdims=1))
    add(f"{op}-18", one(op, 18, reads="x axes", constants={"axes": ints(-1)}, keepdims=0))
add("ReduceSum-11", one("ReduceSum", 11, axes=[1]))
add("ReduceSum-13", one("ReduceSum", 13, reads="x axes", constants={"axes": ints(1)}))
add("ReduceSum-all", one("ReduceSum", 13))
add("CumSum", one("CumSum", reads="x axis", constants={"axis": np.int64(1)}))
add("CumSum-exclusive", one("CumSum", reads="x axis", constants={"axis": np.int64(1)}, exclusive=1))
add("Pad-7", one("Pad", 7, pads=[0, 2, 0, 0, 0, 1], mode="constant", value=0.0))
add("Pad-reflect", one("Pad", 13, reads="x pads", constants={"pads": ints(0, 0, 1, 0, 0, 2)}, mode="reflect"))
add(
    "Pad-edge-axes", one("Pad", 18, reads="x pads _ axes", constants={"pads": ints(1, 1), "axes": ints(2)}, mode="edge")
)
add("Slice-9", one("Slice", 9, starts=[1], ends=[3], axes=[2]))
add(
    "Slice-13-negative",
    one("Slice", 13, reads="x s e a t", constants={"s": ints(-1), "e": ints(-(2**31)), "a": ints(2), "t": ints(-2)}),
)
add("Split-11", one("Split", 11, writes="y z", axis=2, split=[1, 3]))
add("Split-13", one("Split", 13, reads="x s", writes="y z", constants={"s": ints(2, 2)}, axis=2))
add("Split-18", one("Split", 18, writes="y z", axis=2, num_outputs=2))
add("Gather", one("Gather", reads="x i", constants={"i": ints(2, 0, -1)}, axis=2))
add("Gather-one", one("Gather", reads="x i", constants={"i": np.int64(2)}, axis=2))
add("Gather-matrix", one("Gather", reads="x i", constants={"i": ints(0, 1, 2, 3).reshape(2, 2)}, axis=2))
add(
    "Embedding",
    model([node("Gather", "w ids")], {"ids": [1, "time"]}, {"y": None}, {"w": random(1, 9, 4)}, types={"ids": INT64}),
    ["ids=1xT:9"],
)
add("Transpose", one("Transpose", perm=[0, 2, 1]))
add("Transpose-default", one("Transpose"))
add("Squeeze-11", one("Squeeze", 11, axes=[0]))
add("Squeeze-13", one("Squeeze", 13))
add("Unsqueeze-11", one("Unsqueeze", 11, axes=[0, 3]))
add("Unsqueeze-13", one("Unsqueeze", 13, reads="x a", constants={"a": ints(-1)}))
add("Concat", one("Concat", reads="x x", axis=2))
add("Flatten", one("Flatten", axis=2))
add("Reshape-zero", one("Reshape", reads="x s", constants={"s": ints(0, 0, 2, -1)}))
add("Expand", one("Expand", reads="x s", constants={"s": ints(3, 1, 1, 4)}))
add("Tile", one("Tile", reads="x s", constants={"s": ints(1, 1, 2)}))
add("DepthToSpace", one("DepthToSpace", 13, [1, 8, "time", 3], blocksize=2, mode="CRD"))
add("SpaceToDepth", one("SpaceToDepth", 13, [1, 2, "time", 4], blocksize=2))
add(
    "Resize",
    one(
        "Resize",
        13,
        WIDE,
        "x _ s",
        {"s": np.float32([1, 1, 2])},
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    ),
)
add("Upsample", one("Upsample", 9, WIDE, "x s", {"s": np.float32([1, 1, 3])}))
add("Trilu", one("Trilu", 14, ["time", 4], upper=0))
add("Where", one("Where", 9, reads="c x b", constants={"c": np.array([True, False, True, False]), "b": random(1, 4)}))
add(
    "Cast",
    model(
        [node("Cast", "x", "d", "a", to=TensorProto.DOUBLE), node("CastLike", "d x", "y", "b")],
        {"x": ROWS},
        {"y": None},
    ),
)
add("Dropout-7", one("Dropout", 7, ratio=0.5))
add("Dropout-13", one("Dropout", 13))
add("DFT", one("DFT", 17, [1, "time", 8, 1], axis=2, onesided=1))
add("DFT-20", one("DFT", 20, [1, "time", 8, 1], "x _ a", {"a": np.int64(2)}))
add(
    "STFT",
    model(
        [node("HannWindow", "n", "w"), node("STFT", "x step w n")],
        {"x": [1, "time", 1]},
        {"y": None},
        {"n": np.int64(16), "step": np.int64(8)},
    ),
    ["x=1xTx1"],
)
add(
    "DequantizeLinear",
    model(
        [node("DequantizeLinear", "q s z", "w", axis=1), node("MatMul", "x w")],
        {"x": ROWS},
        {"y": None},
        {
            "q": np.arange(-8, 8, dtype=np.int8).reshape(4, 4),
            "s": np.float32([0.1, 0.2, 0.3, 0.4]),
            "z": np.int8([0, 1, -1, 2]),
        },
    ),
)
for direction in ("forward", "reverse", "bidirectional"):
    add(f"LSTM-{direction}", recurrent("LSTM", 4, 2, direction))
    add(f"GRU-{direction}", recurrent("GRU", 3, 1, direction, linear_before_reset=1))
    add(f"GRU-{direction}-reset-first", recurrent("GRU", 3, 1, direction))
    add(f"RNN-{direction}", recurrent("RNN", 1, 1, direction))
add("LSTM-7", recurrent("LSTM", 4, 0, opset=7))
add("GRU-reset-first-layout", recurrent("GRU", 3, 1, layout=1))
add("GRU-7", recurrent("GRU", 3, 0, opset=7, linear_before_reset=1))
add("LSTM-layout", recurrent("LSTM", 4, 0, layout=1))
add("RNN-relu", recurrent("RNN", 1, 0, activations=["Relu"]))
for op in ("Acos", "Asin", "Atanh"):
    add(
        op,
        model(
            [node("Clip", "x low high", "c"), node(op, "c")],
            {"x": ROWS},
            {"y": None},
            {"low": np.float32(-0.9), "high": np.float32(0.9)},
        ),
    )
for op in ("Acosh", "Log", "Sqrt", "Reciprocal"):
    add(
        op,
        model(
            [node("Exp", "x", "e"), node("Add", "e one", "c"), node(op, "c")],
            {"x": ROWS},
            {"y": None},
            {"one": np.float32(1.5)},
        ),
    )
for op in ("Asinh", "Cosh", "Sinh", "Tan"):
    add(op, one(op, 9))
for op in ("Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"):
    add(
        op,
        model(
            [node(op, "x b", "c"), node("Not", "c", "n"), node("Where", "n x b", "y")],
            {"x": ROWS},
            {"y": None},
            {"b": np.float32(0.1)},
        ),
    )
for op in ("And", "Or", "Xor"):
    add(
        op,
        model(
            [node("Greater", "x a", "c"), node("Less", "x b", "d"), node(op, "c d", "e"), node("Cast", "e", to=FLOAT)],
            {"x": ROWS},
            {"y": None},
            {"a": np.float32(-0.1), "b": np.float32(0.2)},
        ),
    )
add("Sum", two("Sum"))
add(
    "IsNaN, IsInf",
    model(
        [node("IsNaN", "x", "a"), node("IsInf", "x", "b"), node("Or", "a b", "c"), node("Cast", "c", to=FLOAT)],
        {"x": ROWS},
        {"y": None},
    ),
)
add("ReduceLogSum", model([node("Exp", "x", "e"), node("ReduceLogSum", "e", axes=[2])], {"x": ROWS}, {"y": None}))
for op, keep in (("ArgMax", 1), ("ArgMin", 0)):
    add(op, model([node(op, "x", "i", axis=2, keepdims=keep), node("Cast", "i", to=FLOAT)], {"x": ROWS}, {"y": None}))
add("MeanVarianceNormalization", one("MeanVarianceNormalization", 13, axes=[2]))
add(
    "windows",
    model(
        [
            node("HammingWindow", "n", "a"),
            node("BlackmanWindow", "n", "b", periodic=0),
            node("Add", "a b", "w"),
            node("Mul", "x w"),
        ],
        {"x": [1, "time", 12]},
        {"y": None},
        {"n": np.int64(12)},
    ),
)
add(
    "a constant by rows",
    model(
        [
            node("Constant", "", "k", value_float=0.5),
            node("Size", "x", "n"),
            node("Shape", "x", "s"),
            node("ConstantOfShape", "s", "z"),
            node("Cast", "n", "f", to=FLOAT),
            node("Div", "k f", "q"),
            node("Add", "z q", "w", "first"),
            node("Add", "x w"),
        ],
        {"x": ROWS},
        {"y": None},
    ),
)
add(
    "positions",
    model(
        [
            node("Shape", "x", "s"),
            node("Gather", "s one", "t"),
            node("Range", "zero t one", "r"),
            node("Cast", "r", "f", to=FLOAT),
            node("Unsqueeze", "f last", "u"),
            node("Mul", "x u"),
        ],
        {"x": ROWS},
        {"y": None},
        {"one": np.int64(1), "zero": np.int64(0), "last": ints(1)},
    ),
)
add(
    "EyeLike",
    model(
        [node("EyeLike", "m", "e", dtype=FLOAT, k=1), node("MatMul", "x e")],
        {"x": ROWS},
        {"y": None},
        {"m": random(1, 4, 4)},
    ),
)
add("a causal convolution", conv())
add("states", lstm())
add("an If on a fixed input", choice(), fix={"sr": "16000"})
add("shape arithmetic", shapes())
add("functions", function())
