"""Graphs whose calls overlap: samples of the call before in front of the new ones.

The graphs have the shape of Silero VAD and of others in packages: windows at a distance, and a state. Expected numbers are those of
onnxruntime, which gets the samples before from this file. Tolerance: 1e-5 of the peak, rounding of float32.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
import onnx
import onnx_graphs
import torch
from longwave.importer.errors import ImportFailed
from longwave.importer.onnx.door import open_file
from longwave.importer.onnx.file import source_of
from longwave.importer.onnx.kept import streamed
from onnx_graphs import ints, model, node, random


def detector(samples: int | str, pads: tuple[int, int], batch: int | str = 1) -> onnx.ModelProto:
    """Windows of 16 samples, 8 apart, then a GRU over them and a probability of the last one."""
    return model(
        [
            node("Pad", "audio pads", "padded", "/Pad"),
            node("Unsqueeze", "padded one", "image", "/Unsqueeze"),
            node("Conv", "image basis", "windows", "/stft/Conv", kernel_shape=[16], strides=[8]),
            node("Abs", "windows", "level", "/Abs"),
            node("Transpose", "level", "rows", "/Transpose", perm=[2, 0, 1]),
            node("GRU", "rows w r b _ h", "all hn", "/GRU", hidden_size=4, linear_before_reset=1),
            node("Squeeze", "hn zero", "unit", "/Squeeze"),
            node("MatMul", "unit out", "logit", "/MatMul"),
            node("Sigmoid", "logit", "speech", "/Sigmoid"),
        ],
        {"audio": [batch, samples], "h": [1, 1, 4]},
        {"speech": [1, 1], "hn": [1, 1, 4]},
        {
            "pads": ints(0, pads[0], 0, pads[1]),
            "one": ints(1),
            "zero": ints(0),
            "basis": random(1, 6, 1, 16),
            "w": random(2, 1, 12, 6),
            "r": random(3, 1, 12, 4),
            "b": random(4, 1, 24),
            "out": random(5, 4, 1),
        },
    )


def saved(made: onnx.ModelProto, folder: Path) -> str:
    onnx.save(made, folder / "model.onnx")
    return str(folder / "model.onnx")


@pytest.mark.parametrize(
    "samples, pads, text, advice",
    [
        (36, (0, 4), "audio=16000", "audio=1x4+32@16000"),  # Silero VAD, and akiki: the half of a distance more
        (36, (8, 8), "audio=16000", "audio=1x4+32@16000"),  # faster-whisper pads on both sides
        (40, (0, 0), "audio=8000", "audio=1x8+32@8000"),  # no padding: the windows begin before the new samples
        ("sequence", (0, 4), "audio=1x36@16000", "audio=1xBEFORE+NEW@16000"),  # the file does not say how many
        (32, (4, 4), "audio=16000", ""),
        (32, (8, 8), "audio=16000", ""),  # one window more than distances: both ends are padded
        (36, (0, 4), "audio=1x4+32@16000", ""),
        (40, (0, 0), "audio=1x8+32@16000", ""),
    ],
)
def test_the_windows_tell_samples_of_the_call_before(
    samples: int | str, pads: tuple[int, int], text: str, advice: str, tmp_path: Path
) -> None:
    warnings = open_file(saved(detector(samples, pads), tmp_path), [text]).warnings
    assert [w.rpartition("--input ")[2].partition(", with")[0] for w in warnings] == ([advice] if advice else [])
    for warning in warnings:  # numbers that are no advice look like some
        assert ("new samples and" in warning) == (samples != "sequence") == ("docs/vad.md" not in warning), warning


def test_a_rate_that_the_graph_reads_is_that_of_the_audio(tmp_path: Path) -> None:
    made = detector(36, (0, 4))
    made.graph.input.append(onnx.helper.make_tensor_value_info("sr", onnx.TensorProto.INT64, []))
    path = saved(made, tmp_path)
    assert open_file(path, ["audio=1x4+32@16000"], {"sr": "16000"}).fixed["sr"] == 16000
    with pytest.raises(
        ImportFailed, match="--fix sr=8000: is another rate than that of the audio audio, 16000 Hz; give both"
    ):
        open_file(path, ["audio=1x4+32@16000"], {"sr": "8000"})
    with pytest.raises(ImportFailed, match="fix it: --fix sr=VALUE; the other inputs are audio float"):
        open_file(path, ["audio=1x4+32@16000"])


def test_a_row_of_features_is_told_with_its_samples_before(tmp_path: Path) -> None:
    opened = open_file(saved(detector(36, (0, 4)), tmp_path))
    assert not opened.warnings
    assert any(note.endswith("if it is audio, say its rate: --input audio=1x4+32@16000") for note in opened.notes)


def test_kept_samples_are_those_of_the_call_before(tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime")
    path = saved(detector(36, (0, 4)), tmp_path)
    read = streamed(open_file(path, ["audio=1x4+32@16000"]))
    assert [(e.name, e.shape) for e in read.inputs] == [("audio", (1, 32)), ("h", (1, 1, 4)), ("audio_before", (1, 4))]
    assert read.states == {"h": "hn", "audio_before": "audio_after"}
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    audio = random(9, 1, 20 * 32)
    padded = np.concatenate([np.zeros((1, 4), np.float32), audio], 1)
    h = np.zeros((1, 1, 4), np.float32)
    states = [torch.zeros(e.shape) for e in read.inputs[1:]]
    for at in range(0, audio.shape[1], 32):
        expected, h = session.run(["speech", "hn"], {"audio": padded[:, at : at + 36], "h": h})
        with torch.no_grad():
            speech, *states = read.module(torch.from_numpy(audio[:, at : at + 32]), *states)
        assert np.abs(speech.numpy() - expected).max() <= 1e-5


@pytest.mark.parametrize("text", ["audio=1x4+32", "audio=1x0+36@16000", "audio=1x36+0@16000"])
def test_what_is_kept_needs_a_rate_and_samples(text: str, tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="samples of the call before are for audio of an ONNX graph"):
        open_file(saved(detector(36, (0, 4)), tmp_path), [text])


def test_a_rate_alone_is_told_the_samples_of_each_call(tmp_path: Path) -> None:
    """The input may have any length, and the graph answers once in each call."""
    made = onnx_graphs.lstm()
    made.graph.node[0].input[0] = "image"
    made.graph.node.insert(0, node("Unsqueeze", "x last", "image", "/Unsqueeze"))
    made.graph.initializer.append(onnx.numpy_helper.from_array(ints(3), "last"))
    with pytest.raises(ImportFailed, match="in each call: --input NAME=1xN@RATE"):
        open_file(saved(made, tmp_path), length=24)


def test_first_states_are_found_by_their_names(tmp_path: Path) -> None:
    made = onnx_graphs.lstm()
    for entry in (*made.graph.input, made.graph.node[0]):
        if isinstance(entry, onnx.NodeProto):
            entry.input[5], entry.input[6] = "h0", "c_0"
        elif entry.name in ("h", "c"):
            entry.name = {"h": "h0", "c": "c_0"}[entry.name]
    assert source_of(saved(made, tmp_path)).states == {"h0": "hn", "c_0": "cn"}


def test_torchscript_of_an_unknown_model_is_refused(tmp_path: Path) -> None:
    torch.jit.script(torch.nn.Linear(4, 2)).save(tmp_path / "other.jit")
    with pytest.raises(ImportFailed, match="is TorchScript, a program and not a graph"):
        source_of(str(tmp_path / "other.jit"))
