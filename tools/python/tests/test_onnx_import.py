"""ONNX files through the whole importer: state, branches, names in reports, the comparison with onnxruntime, and the command."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="needs the onnx package")

import onnx_graphs  # noqa: E402
from importer_checks import LONGWAVE, PEAK, ROOT, import_command  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.onnx.door import open_file  # noqa: E402
from longwave.importer.onnx.peer import compared, lines  # noqa: E402
from onnx_graphs import ints, model, node, random  # noqa: E402


def saved(made: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "graph.onnx"
    onnx.save(made, str(path))
    return path


@pytest.mark.parametrize(
    "name, options, layers",
    [
        ("conv", [], ["conv2d", "relu", "add"]),
        ("lstm", [], ["linear", "lstm"]),
        ("cells", [], ["linear", "lstm", "linear", "gru", "linear", "gru", "linear", "gru"]),
        ("bands", [], ["take", "conv2d", "gru", "take", "conv2d", "lstm", "take"]),
        ("choice", ["--fix", "sr=16000"], ["affine"]),
        ("shapes", [], None),
        ("function", [], None),
    ],
)
def test_graphs_become_files(name: str, options: list[str], layers, tmp_path: Path) -> None:
    done = import_command(saved(getattr(onnx_graphs, name)(), tmp_path), *options, "-o", tmp_path / "model")
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "model/import.json").read_text())
    if layers:
        assert [kind for kinds in report["modules"].values() for kind in kinds] == layers
    assert max(report["artifact"]["offline"], report["artifact"].get("stream", 0)) <= PEAK
    assert report["onnx"]["opset"] == 17 and report["onnx"]["file"] == "graph.onnx"
    if importlib.util.find_spec("onnxruntime"):
        assert report["onnx"]["other"]["name"].startswith("onnxruntime") and report["onnx"]["other"]["error"] <= PEAK
        assert "equal to onnxruntime" in done.stdout


def test_states_are_guessed_and_said(tmp_path: Path) -> None:
    done = import_command(saved(onnx_graphs.lstm(), tmp_path), "-o", tmp_path / "m.lw")
    assert done.returncode == 0, done.stderr
    assert "h is a state that becomes hn; say another with --state" in done.stderr and "input x=Tx1x3" in done.stderr
    assert "state c = cn" in done.stdout and "as a stream" in done.stdout


def test_a_state_plus_nothing_is_that_state(tmp_path: Path) -> None:
    """As Silero VAD of opset 15 does: h + sr * 0, so that sr is used."""
    made = onnx_graphs.lstm()
    for node_of in made.graph.node:
        if "hn" in node_of.output:
            node_of.output[list(node_of.output).index("hn")] = "after"
    made.graph.node.extend(
        [
            node("Mul", "sr zero", "nothing"),
            node("Cast", "nothing", "float", to=1),
            node("Add", "after float", "same"),
            node("Mul", "same one", "hn"),
        ]
    )
    made.graph.input.append(onnx.helper.make_tensor_value_info("sr", onnx.TensorProto.INT64, []))
    made.graph.initializer.extend(
        [
            onnx.numpy_helper.from_array(np.array(0, np.int64), "zero"),
            onnx.numpy_helper.from_array(np.float32([1]), "one"),
        ]
    )
    done = import_command(saved(made, tmp_path), "--fix", "sr=16000", "-o", tmp_path / "m.lw")
    assert done.returncode == 0, done.stderr
    assert "state h = hn" in done.stdout and "linear, lstm" in done.stdout


def test_steps_of_one_row(tmp_path: Path) -> None:
    """No extent may change, and there is a state: each call is a row."""
    made = model(
        [
            node("Concat", "cache x", "all", axis=2),
            node("Conv", "all w", "c"),
            node("Sigmoid", "c", "y"),
            node("Slice", "all one end axis", "cache_out"),
        ],
        {"x": [1, 4, 1], "cache": [1, 4, 2]},
        {"y": [1, 5, 1], "cache_out": [1, 4, 2]},
        {"w": random(1, 5, 4, 3), "one": ints(1), "end": ints(3), "axis": ints(2)},
    )
    done = import_command(saved(made, tmp_path), "-o", tmp_path / "m.lw")
    assert done.returncode == 0, done.stderr
    assert "cache is a state that becomes cache_out" in done.stderr and "48 calls of one row" in done.stdout


def test_refusals_of_rules_have_the_name_of_the_node(tmp_path: Path) -> None:
    made = model(
        [
            node("ArgMax", "x", "i", "/head/ArgMax", axis=2),
            node("Cast", "i", "f", to=1),
            node("CumSum", "x axis", "s", "/head/CumSum", reverse=1),
            node("Add", "f s", "y"),
        ],
        {"x": [1, "time", 4]},
        {"y": None},
        {"axis": np.int64(1)},
    )
    done = import_command(saved(made, tmp_path), "-o", tmp_path / "m.lw")
    assert (
        done.returncode == 3
        and "head/ArgMax/argmax: argmax: no rule for it" in done.stderr
        and "head/CumSum/" in done.stderr
    ), done.stderr
    assert "nothing was written" in done.stderr and not (tmp_path / "m.lw").exists()


def test_without_onnxruntime_the_reference_evaluator_compares(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "onnxruntime.py").write_text("raise ImportError('none')\n")
    done = import_command(
        saved(onnx_graphs.conv(), tmp_path), "-o", tmp_path / "m.lw", PYTHONPATH=f"{hidden}:{ROOT}/tools/python"
    )
    assert done.returncode == 0, done.stderr
    assert "equal to the reference evaluator of onnx" in done.stdout, done.stdout


def test_without_onnx_the_message_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "onnx.py").write_text("raise ImportError('none')\n")
    done = import_command("model.onnx", "-o", tmp_path / "m.lw", PYTHONPATH=f"{tmp_path}:{ROOT}/tools/python")
    assert (
        done.returncode == 3
        and "model.onnx: needs the onnx package, found none; install it: pip install onnx onnxruntime" in done.stderr
    )


def test_a_difference_is_an_error(tmp_path: Path, monkeypatch) -> None:
    opened = open_file(saved(onnx_graphs.conv(), tmp_path))
    assert compared(opened, 40)["error"] < 1e-5
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            opened.module._parameters[opened.module.weights["b"]],
            "data",
            opened.module._parameters[opened.module.weights["b"]].data + 0.1,
        )
        with pytest.raises(ImportFailed, match="the module differs from"):
            compared(opened, 40)


def test_what_another_program_cannot_run_is_said(tmp_path: Path) -> None:
    opened = open_file(saved(onnx_graphs.conv(), tmp_path))
    (tmp_path / "graph.onnx").write_bytes(b"no graph")
    report = compared(opened, 40)
    assert "missing" in report and lines(report)[0].startswith("not compared with onnxruntime: ")


def test_a_fixed_length_is_the_length_of_the_example(tmp_path: Path) -> None:
    made = model([node("Relu", "x")], {"x": [1, 80, 4]}, {"y": None})
    assert open_file(saved(made, tmp_path), ["x=1xTx4"]).length == 80


def test_options_of_others_are_refused(tmp_path: Path) -> None:
    path = saved(onnx_graphs.conv(), tmp_path)
    assert "an ONNX file holds its weights" in import_command(path, "--checkpoint", "a.pt", "-o", tmp_path / "m").stderr
    assert "--fix: is for an ONNX graph" in import_command("a:b", "--fix", "x=1", "-o", tmp_path / "m").stderr
    assert "--input: a module needs one for each input" in import_command("a:b", "-o", tmp_path / "m").stderr
    assert "expected NAME=VALUE" in import_command(path, "--fix", "sr", "-o", tmp_path / "m").stderr


def test_runs_of_more_than_64_mib_are_compared(tmp_path: Path) -> None:
    """The default limit of memory is that for files of others: 64 MiB, or 64 times the file."""
    made = model(
        [
            node("Unsqueeze", "x axis", "image"),
            node("Conv", "image w", "wide", pads=[1, 1, 1, 1]),
            node("Relu", "wide", "r"),
            node("Conv", "r v", "narrow"),
            node("Squeeze", "narrow axis", "y"),
        ],
        {"x": [1, "time", 64]},
        {"y": [1, "time", 64]},
        {"axis": ints(1), "w": random(1, 64, 1, 3, 3), "v": random(2, 1, 64, 1, 1)},
    )
    done = import_command(saved(made, tmp_path), "--length", 4096, "-o", tmp_path / "m.lw")
    assert done.returncode == 0 and "offline" in done.stdout, done.stderr
    assert (
        json.loads(
            subprocess.run(
                [str(LONGWAVE), "inspect", str(tmp_path / "m.lw"), "--json"], capture_output=True, text=True
            ).stdout
        )["bytes"]
        << 6
        < 64 << 20
    )
    np.save(tmp_path / "x.npy", np.zeros((4096, 64), np.float32))
    refused = subprocess.run(
        [str(LONGWAVE), "run", str(tmp_path / "m.lw"), "--input", f"x=@{tmp_path}/x.npy"],
        capture_output=True,
        text=True,
    )
    assert refused.returncode and "--memory" in refused.stderr, refused.stderr


def test_compile_takes_a_file(tmp_path: Path) -> None:
    built = LONGWAVE.resolve().parent / "python" / "longwave"
    if next(built.glob("_native*.so"), None) is None:
        pytest.skip(f"{built} has no _native module: configure with -DLONGWAVE_PYTHON=ON")
    path = saved(onnx_graphs.choice(), tmp_path)
    code = f"""
import sys; sys.path.insert(0, {str(built.parent)!r})
import numpy as np, longwave
x = np.random.default_rng(2).standard_normal((40, 3)).astype(np.float32)
with longwave.compile({str(path)!r}, fix={{"sr": 8000}}, stream=True) as model:
    assert np.abs(model.run(x) - 3 * x).max() <= 1e-6 * np.abs(x).max()
    assert model.import_report["onnx"]["opset"] == 17
try:
    longwave.compile({str(path)!r})
except longwave.CompileError as error:
    assert "sr: is int64 []: it has no time axis" in str(error), error
else:
    sys.exit("sr was not asked for")
for wrong in (dict(sample_rate=16000), dict(example=np.zeros((1, 20, 3)), output="m.lw")):
    try:
        longwave.compile({str(path)!r}, **wrong)
    except ValueError:
        continue
    sys.exit(f"{{wrong}} was taken")
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=os.environ | {"LONGWAVE_PROGRAM": str(LONGWAVE.resolve())},
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("rate, context, new", [(16000, 64, 512), (8000, 32, 256)])
def test_silero_vad_by_name(rate: int, context: int, new: int, tmp_path: Path) -> None:
    """Against the wrapper of the package itself, over onnxruntime."""
    if not importlib.util.find_spec("silero_vad") or not importlib.util.find_spec("onnxruntime"):
        pytest.skip("needs silero-vad==6.2.3 and onnxruntime")
    import onnxruntime

    done = import_command("silero-vad", "--rate", rate, "-o", tmp_path / "vad.lw")
    assert done.returncode == 0, done.stderr
    assert "licence of the package silero-vad: MIT" in done.stderr
    if rate == 16000:  # two layers keep float32 with --weights int8: hour_test.py counts the decisions
        assert import_command("silero-vad", "--no-compile", "-o", tmp_path / "model").returncode == 0
        kept = [
            n["name"]
            for n in json.loads((tmp_path / "model/model.json").read_text())["graph"]
            if n.get("attributes", {}).get("weights") == "float32"
        ]
        assert len(kept) == 2 and all("encoder/" in name for name in kept), kept
    file = Path(importlib.util.find_spec("silero_vad").submodule_search_locations[0]) / "data/silero_vad.onnx"
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    audio = onnx_graphs.random(5, 28 * new, scale=0.1)  # shorter than the longest offline run
    state, before, expected = np.zeros((2, 1, 128), np.float32), np.zeros(context, np.float32), []
    for at in range(0, len(audio), new):
        row = np.concatenate([before, audio[at : at + new]])
        speech, state = session.run(["output", "stateN"], {"input": row[None], "state": state, "sr": np.array(rate)})
        expected.append(speech[0])
        before = row[-context:]
    np.save(tmp_path / "x.npy", audio[:, None])
    np.save(tmp_path / "y.npy", np.array(expected, np.float32))
    for flags in ([], ["--stream"]):
        ran = subprocess.run(
            [
                str(LONGWAVE),
                "run",
                str(tmp_path / "vad.lw"),
                *flags,
                "--input",
                f"audio=@{tmp_path}/x.npy",
                "--expected",
                f"speech=@{tmp_path}/y.npy",
                "--limit",
                "2e-4",
            ],
            capture_output=True,
            text=True,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_other_files_of_silero_vad_are_refused(tmp_path: Path) -> None:
    assert (
        "--rate 44100: silero-vad has models for 8000 and 16000"
        in import_command("silero-vad", "--rate", 44100, "-o", tmp_path / "m").stderr
    )
    (tmp_path / "silero_vad.onnx").write_bytes(b"another")
    assert (
        "is not a file of silero-vad 6.2.3: its SHA-256 is"
        in import_command("silero-vad", "--checkpoint", tmp_path / "silero_vad.onnx", "-o", tmp_path / "m").stderr
    )
    spec = importlib.util.find_spec("silero_vad")
    if spec is None:
        pytest.skip("needs silero-vad==6.2.3")
    other = Path(spec.submodule_search_locations[0]) / "data/silero_vad_16k.safetensors"
    assert (
        "holds other weights than silero_vad.onnx and silero_vad.jit"
        in import_command("silero-vad", "--checkpoint", other, "-o", tmp_path / "m").stderr
    )
