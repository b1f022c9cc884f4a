"""What is refused in ONNX files: every cause at once, by the node's name; and files that ask for too much."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="needs the onnx package")

from importer_checks import ROOT  # noqa: E402,F401
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.onnx.door import open_file  # noqa: E402
from onnx import TensorProto, helper  # noqa: E402
from onnx_graphs import FLOAT, INT64, conv, ints, lstm, model, node, random  # noqa: E402


def refusal(made: onnx.ModelProto | bytes, folder: Path, inputs: list[str] | None = None, **options) -> str:
    path = folder / "m.onnx"
    path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
    with pytest.raises(ImportFailed) as failed:
        open_file(path, inputs or [], length=options.pop("length", 32), **options)
    text = str(failed.value)
    assert all(line.isprintable() for line in text.splitlines())
    return text


def test_every_cause_has_a_line_and_consequences_have_none(tmp_path: Path) -> None:
    body = helper.make_graph([], "body", [], [])
    made = model(
        [
            node("NonZero", "x", "a", "/a/NonZero"),
            node("Add", "a a", "b", "/b/Add"),
            node("QuantizeLinear", "x s z", "q", "/c/Quantize"),
            node("FusedConv", "x", "d", "/d/Fused", domain="com.microsoft"),
            node("RandomNormalLike", "b", "e", "/e/Random"),
            node("Loop", "_ _ b", "f", "/f/Loop", body=body),
            node("GRU", "x w r", "g", "/g/GRU", hidden_size=4, clip=3.0),
            node("Concat", "b d e f g q", "y", "/y/Concat", axis=0),
        ],
        {"x": ["time", 1, 3]},
        {"y": None},
        {"s": np.float32(0.1), "z": np.int8(0), "w": random(1, 1, 12, 3), "r": random(2, 1, 12, 4)},
        domains=["com.microsoft"],
    )
    lines = refusal(made, tmp_path).splitlines()
    assert [line.split(":")[0] for line in lines] == [
        "/a/NonZero",
        "/c/Quantize",
        "/d/Fused",
        "/e/Random",
        "/f/Loop",
        "/g/GRU",
    ]
    for part in (
        "NonZero of opset 17: its shape depends on the data",
        "QuantizeLinear of opset 17: computes with integers",
        "com.microsoft.FusedConv of opset 1: is of the domain",
        "draws random numbers",
        "a loop has no op",
        "clip=3.0",
    ):
        assert any(part in line for line in lines), part


@pytest.mark.parametrize(
    "op", ["QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger", "DynamicQuantizeLinear"]
)
def test_quantised_operations_are_named(op: str, tmp_path: Path) -> None:
    assert f"/block/{op}: {op} of opset 17: computes with integers" in refusal(
        model([node(op, "x")], {"x": [1, "time", 4]}, {"y": None}), tmp_path
    )


@pytest.mark.parametrize(
    "attributes, reason",
    [
        ({"activations": ["Relu", "Tanh", "Tanh"]}, "activations=Relu, Tanh, Tanh"),
        ({"clip": 1.0}, "clip=1.0"),
        ({"input_forget": 1}, "input_forget=1"),
    ],
)
def test_what_an_lstm_may_not_have(attributes: dict, reason: str, tmp_path: Path) -> None:
    assert reason in refusal(lstm(**attributes), tmp_path)


def test_peepholes_and_shorter_sequences(tmp_path: Path) -> None:
    made = lstm(1, False)
    made.graph.node[0].input.extend(["", "", "", "p"])
    made.graph.initializer.append(onnx.numpy_helper.from_array(random(9, 1, 12), "p"))
    assert "has peephole weights" in refusal(made, tmp_path)
    made = lstm(1, False)
    made.graph.node[0].input.append("lens")
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.array([7], np.int32), "lens"))
    assert "sequence_lens differ from the rows" in refusal(made, tmp_path)


def test_a_branch_on_data(tmp_path: Path) -> None:
    def branch(name: str) -> onnx.GraphProto:
        return helper.make_graph(
            [helper.make_node("NonZero", ["x"], [f"{name}_y"], name=f"/{name}/NonZero")],
            name,
            [],
            [helper.make_tensor_value_info(f"{name}_y", INT64, None)],
        )

    made = model(
        [
            node("ReduceMax", "x", "m", keepdims=0),
            node("Greater", "m zero", "c"),
            node("If", "c", "y", then_branch=branch("then"), else_branch=branch("else")),
        ],
        {"x": [1, "time", 3]},
        {"y": None},
        {"zero": np.float32(0)},
    )
    text = refusal(made, tmp_path)
    assert "/block/If: If of opset 17: a branch on data" in text
    assert "/then/NonZero" in text and "/else/NonZero" in text  # both sides are judged


def test_time_that_is_not_clear(tmp_path: Path) -> None:
    for shape, reason in (
        ([1, "a", "b"], "more than one of its extents may change"),
        (["n", 4], "may be a batch"),
        ([1, 9, 4], "none of its extents may change"),
        ([], "has no time axis"),
    ):
        text = refusal(model([node("Relu", "x")], {"x": shape}, {"y": None}), tmp_path)
        assert reason in text and ("--input" in text or not shape) and "--fix x=VALUE" in text, text
    assert "the graph has no such input" in refusal(conv(), tmp_path, ["z=1xT"])
    assert "the graph reads float [1, 4, time]" in refusal(conv(), tmp_path, ["x=1x5xT"])
    assert "is not a value of int64 []" in refusal(
        model([node("Relu", "x")], {"x": [1, "t", 2], "sr": []}, {"y": None}, types={"sr": INT64}),
        tmp_path,
        fix={"sr": "loud"},
    )


@pytest.mark.parametrize("inputs", [[], ["x=1x4xT"]])
@pytest.mark.parametrize("code", [2**31 - 1, -1, TensorProto.STRING, TensorProto.FLOAT8E5M2])
def test_inputs_of_types_that_are_not_read(code: int, inputs: list[str], tmp_path: Path) -> None:
    made = conv()
    made.graph.input[0].type.tensor_type.elem_type = code
    assert "floating point numbers and token ids are read" in refusal(made, tmp_path, inputs)


def test_names_that_stand_twice(tmp_path: Path) -> None:
    for add, reason in ((False, "two outputs have this name"), (True, "two inputs have this name")):
        made = conv()
        values = made.graph.input if add else made.graph.output
        values.add().CopyFrom(values[0])
        assert reason in refusal(made, tmp_path)


def test_opsets_that_are_not_read(tmp_path: Path) -> None:
    for opset in (1, 6, 23):
        made = conv()
        made.opset_import[0].version = opset
        assert f"is of opset {opset}; the importer reads 7 to 22" in refusal(made, tmp_path)


@pytest.mark.parametrize(
    "data, reason",
    [
        (b"", "is empty"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "is a Git LFS pointer"),
        (b"<!DOCTYPE html><html>", "is an HTML page"),
        (b"\x1f\x8b\x08\x00", "is compressed with gzip"),
        (b"\x89HDF\r\n\x1a\n", "is an HDF5 file"),
        (b"\x00\x01\x02\x03" * 9, "is not an ONNX file, or is damaged"),
    ],
)
def test_other_files(data: bytes, reason: str, tmp_path: Path) -> None:
    assert reason in refusal(data, tmp_path)


def test_every_shorter_file_has_a_message(tmp_path: Path) -> None:
    whole = conv().SerializeToString()
    for size in range(0, len(whole), 7):
        try:
            refusal(whole[:size], tmp_path)
        except pytest.fail.Exception:
            pass  # what is left may be a smaller graph


def external(folder: Path, location: str, size: int | None = None, offset: int | None = None) -> onnx.ModelProto:
    made = conv()
    t = made.graph.initializer[1]
    data = t.raw_data
    (folder / "w.bin").write_bytes(b"12345678" + data)
    t.ClearField("raw_data")
    t.data_location = TensorProto.EXTERNAL
    for key, value in (("location", location), ("offset", offset), ("length", size)):
        if value is not None:
            t.external_data.add(key=key, value=str(value))
    return made


def test_external_data_are_read_from_the_folder(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(external(tmp_path, "w.bin", 4 * 4 * 3 * 4, 8).SerializeToString())
    opened = open_file(path, [])
    assert np.array_equal(opened.module.held["w"], random(1, 4, 4, 3))


@pytest.mark.parametrize(
    "location, size, offset, reason",
    [
        ("../w.bin", None, None, "not a path below the model's folder"),
        ("/etc/passwd", None, None, "not a path below the model's folder"),
        ("a/../../w", None, None, "not a path below"),
        ("link.bin", None, None, "a link that leaves the model's folder"),
        ("none.bin", None, None, "cannot be read"),
        ("w.bin", 8, 0, "its shape needs 192"),
        ("w.bin", None, 1 << 40, "which has 200"),
        ("w.bin", None, "x", "not a number of bytes"),
        ("w.bin", "9" * 30, 0, "not a number of bytes"),
        (".", None, 0, "cannot be read"),
        ("pipe", None, 0, "not a regular file"),
    ],
)
def test_external_data_that_are_refused(location: str, size, offset, reason: str, tmp_path: Path) -> None:
    folder, outside = tmp_path / "model", tmp_path / "outside.bin"
    folder.mkdir()
    outside.write_bytes(b"0" * 4096)
    os.symlink(outside, folder / "link.bin")
    os.mkfifo(folder / "pipe")
    assert reason in refusal(external(folder, location, size, offset), folder)


def test_tensors_whose_bytes_do_not_fit(tmp_path: Path) -> None:
    made = conv()
    made.graph.initializer[1].dims[0] = 5
    assert "w: tensor: has 192 bytes, and its shape [5, 4, 3] needs 240" in refusal(made, tmp_path)
    made.graph.initializer[1].dims[0] = -1
    assert "has shape [-1, 4, 3]" in refusal(made, tmp_path)
    made = conv()
    made.graph.initializer[1].data_type = TensorProto.FLOAT8E4M3FN
    assert "holds float8e4m3fn" in refusal(made, tmp_path)


@pytest.mark.parametrize(
    "nodes, constants, reason",
    [
        (
            [node("ConstantOfShape", "s", "z"), node("Add", "x z")],
            {"s": ints(1 << 20, 1 << 20)},
            "makes a tensor of shape",
        ),
        ([node("Expand", "x s")], {"s": ints(1 << 30, 1, 1, 1)}, "makes a tensor of shape"),
        ([node("Tile", "x s")], {"s": ints(1 << 30, 1, 1)}, "makes a tensor of shape"),
        ([node("Pad", "x s")], {"s": ints(1 << 40, 0, 0, 0, 0, 0)}, "makes a tensor of shape"),
        (
            [node("Range", "a b c", "r"), node("Add", "x r")],
            {"a": np.int64(0), "b": np.int64(1 << 50), "c": np.int64(1)},
            "makes a tensor of shape",
        ),
        ([node("Upsample", "x s")], {"s": np.float32([1e9, 1, 1])}, "makes a tensor of shape"),
        (
            [node("Reshape", "x s", "r"), node("MatMul", "w r", "m"), node("MatMul", "m v")],
            {"s": ints(1, -1), "w": random(1, 40000, 1), "v": random(2, 96, 1)},
            "",
        ),
        (
            [node("MatMul", "w v", "m"), node("MatMul", "m u", "n"), node("ReduceMax", "n", "k"), node("Add", "x k")],
            {"w": random(1, 60000, 1), "v": random(2, 1, 60000), "u": random(3, 60000, 1)},
            "makes a tensor of shape [60000, 60000]",
        ),
    ],
)
def test_sizes_are_told_before_memory_is_taken(nodes, constants, reason: str, tmp_path: Path) -> None:
    made = model(
        nodes, {"x": [1, "time", 3]}, {"y": None}, constants, 9 if any(n.op_type == "Upsample" for n in nodes) else 17
    )
    if reason:
        assert reason in refusal(made, tmp_path)


def test_work_that_takes_too_long(tmp_path: Path) -> None:
    made = model(
        [
            node("MatMul", "x w", "a", "/0"),
            *(node("MatMul", f"{'abcdefgh'[k]} v", "abcdefghi"[k + 1], f"/{k + 1}") for k in range(7)),
            node("Identity", "h", "y", "/out"),
        ],
        {"x": [1, "time", 3]},
        {"y": None},
        {"w": random(1, 3, 8192), "v": random(2, 8192, 8192)},
    )
    assert "multiply-adds; at most" in refusal(made, tmp_path, length=1 << 14)


def test_functions_that_multiply(tmp_path: Path) -> None:
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    functions = [helper.make_function("local", "F0", ["a"], ["b"], [helper.make_node("Relu", ["a"], ["b"])], opsets)]
    for k in range(1, 12):
        inner = [
            helper.make_node(f"F{k - 1}", [f"v{i}" if i else "a"], [f"v{i + 1}" if i < 9 else "b"], domain="local")
            for i in range(10)
        ]
        functions.append(helper.make_function("local", f"F{k}", ["a"], ["b"], inner, opsets))
    made = model(
        [helper.make_node("F11", ["x"], ["y"], domain="local", name="bomb")],
        {"x": [1, "time", 3]},
        {"y": None},
        functions=functions,
        domains=["local"],
    )
    assert "nodes of functions" in refusal(made, tmp_path)
    loop = helper.make_function(
        "local", "L", ["a"], ["b"], [helper.make_node("L", ["a"], ["b"], domain="local")], opsets
    )
    assert "calls itself" in refusal(
        model(
            [helper.make_node("L", ["x"], ["y"], domain="local")],
            {"x": [1, "time", 3]},
            {"y": None},
            functions=[loop],
            domains=["local"],
        ),
        tmp_path,
    )


def test_subgraphs_that_lie_too_deep(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["o0"])], "g", [], [helper.make_tensor_value_info("o0", FLOAT, None)]
    )
    for k in range(1, 25):
        graph = helper.make_graph(
            [
                helper.make_node(
                    "If",
                    ["c"],
                    [f"o{k}"],
                    then_branch=graph,
                    else_branch=graph
                    if k < 3
                    else helper.make_graph(
                        [helper.make_node("Identity", ["x"], ["e"])],
                        "e",
                        [],
                        [helper.make_tensor_value_info("e", FLOAT, None)],
                    ),
                )
            ],
            "g",
            [],
            [helper.make_tensor_value_info(f"o{k}", FLOAT, None)],
        )
    made = model(list(graph.node), {"x": [1, "time", 3]}, {"o24": None}, {"c": np.array(True)})
    assert "within each other" in refusal(made, tmp_path) or "damaged" in refusal(made, tmp_path)


def test_names_are_printed_safely(tmp_path: Path) -> None:
    made = model(
        [node("NonZero", "x", "y", "\x1b[31m\u202egnp.exe\n/fake: imported")], {"x": [1, "time", 3]}, {"y": None}
    )
    text = refusal(made, tmp_path)
    assert len(text.splitlines()) == 1 and "\\x1b[31m\\u202egnp.exe\\n" in text


def test_states_that_do_not_fit(tmp_path: Path) -> None:
    assert "the graph has no input z" in refusal(lstm(), tmp_path, states={"z": "hn"})
    assert "the graph has no output q" in refusal(lstm(), tmp_path, states={"h": "q"})
    assert "and the output float [time, 1, 1, 4]" in refusal(lstm(), tmp_path, states={"h": "y"})
    assert "two states become the same output" in refusal(lstm(), tmp_path, states={"h": "hn", "c": "hn"})
