"""Silero VAD with the weights of the installed package, against float64 and ONNX Runtime. Skipped where it is not installed.

The module is written here: the package has TorchScript and ONNX only. Limits: those of float32, see `test_exactness`.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy
import pytest
import torch
import torch.nn.functional as F
from importer_checks import LONGWAVE, imported, kinds, longwave
from torch import Tensor, nn

CHUNK, CONTEXT = 512, 64


def package_file(name: str) -> Path:
    found = importlib.util.find_spec("silero_vad")
    if found is None:
        pytest.skip("silero_vad is not installed: pip install silero-vad==6.2.3")
    return Path(found.origin).parent / "data" / name


class Silero(nn.Module):
    """The 16 kHz model over a stream of samples: one probability for each chunk."""

    def __init__(self) -> None:
        super().__init__()
        jit = torch.jit.load(str(package_file("silero_vad.jit")))
        p = {**dict(jit.named_parameters()), **dict(jit.named_buffers())}
        self.basis = nn.Parameter(p["_model.stft.forward_basis_buffer"].detach())
        self.encoder = nn.ModuleList(
            nn.Conv1d(i, o, 3, s, 1) for i, o, s in ((129, 128, 1), (128, 64, 2), (64, 64, 2), (64, 128, 1))
        )
        self.lstm, self.last = nn.LSTM(128, 128, batch_first=True), nn.Conv1d(128, 1, 1)
        state = {
            f"encoder.{n}.{k}": p[f"_model.encoder.{n}.reparam_conv.{k}"] for n in range(4) for k in ("weight", "bias")
        }
        state |= {
            f"lstm.{k}_l0": p[f"_model.decoder.rnn.{k}"] for k in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        }
        state |= {f"last.{k}": p[f"_model.decoder.decoder.2.{k}"] for k in ("weight", "bias")}
        self.load_state_dict(state | {"basis": self.basis})

    def forward(self, audio: Tensor) -> Tensor:
        return self.after(F.pad(audio, (CONTEXT, 0)))[0]

    def after(self, audio: Tensor, state: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Probabilities and the next state; `audio` begins with the samples of context."""
        x = audio.unfold(1, CONTEXT + CHUNK, CHUNK)[0][:, None]
        x = F.conv1d(F.pad(x, (0, 64), "reflect"), self.basis, stride=128)
        x = (x[:, :129] ** 2 + x[:, 129:] ** 2).sqrt()
        for conv in self.encoder:
            x = conv(x).relu()
        h, state = self.lstm(x.squeeze(-1)[None], state)
        return self.last(h.relu().mT).mT.sigmoid(), state


def voices(chunks: int) -> numpy.ndarray:
    """Harmonics that glide, in syllables, with pauses and noise: the model takes a part of them for speech."""
    random, n = numpy.random.default_rng(5), chunks * CHUNK
    t = numpy.arange(n) / 16000
    pitch = 120 + 40 * numpy.sin(2 * numpy.pi * 0.7 * t) + 15 * numpy.sin(2 * numpy.pi * 3.1 * t)
    phase = 2 * numpy.pi * numpy.cumsum(pitch) / 16000
    formants = [500 + 300 * numpy.sin(2 * numpy.pi * 1.3 * t), 1500 + 600 * numpy.sin(2 * numpy.pi * 0.9 * t)]
    voice = sum(
        numpy.sin(k * phase) * sum(numpy.exp(-(((k * pitch - f) / 150) ** 2)) for f in formants) for k in range(1, 25)
    )
    syllables = numpy.clip(numpy.sin(2 * numpy.pi * 4 * t), 0, 1) * (numpy.sin(2 * numpy.pi * 0.25 * t) > -0.3)
    return (0.2 * voice * syllables + 10 ** (-2 + numpy.sin(t)) * 0.1 * random.standard_normal(n)).astype(numpy.float32)


@pytest.fixture(scope="module")
def silero(tmp_path_factory: pytest.TempPathFactory) -> tuple[Silero, Path]:
    module = Silero().eval()
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    folder = tmp_path_factory.mktemp("silero")
    made = imported(module, "audio=16000")
    assert kinds(made)[:3] == ["frame", "take", "conv2d"]  # one copy of each window, one matrix for its four frames
    assert max(made.report["errors"].values()) <= 1e-10
    made.write(folder / "model")
    return module, folder


def probabilities(folder: Path, audio: numpy.ndarray, *options: str) -> numpy.ndarray:
    longwave("compile", folder / "model", "-o", folder / "x.lw", "--stream", "--no-whole", *options)
    numpy.save(folder / "audio.npy", audio)
    longwave(
        "run", folder / "x.lw", "--stream", "--input", f"audio=@{folder / 'audio.npy'}", "-o", f"y={folder / 'y.npy'}"
    )
    return numpy.load(folder / "y.npy").ravel()


def by_onnxruntime(audio: numpy.ndarray) -> numpy.ndarray:
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install onnxruntime")
    session = ort.InferenceSession(str(package_file("silero_vad_16k_op15.onnx")), providers=["CPUExecutionProvider"])
    state, context, found = numpy.zeros((2, 1, 128), numpy.float32), numpy.zeros(CONTEXT, numpy.float32), []
    for chunk in audio.reshape(-1, CHUNK):
        p, state = session.run(
            None,
            {"input": numpy.concatenate([context, chunk])[None], "state": state, "sr": numpy.array(16000, numpy.int64)},
        )
        context = chunk[-CONTEXT:]
        found.append(p[0, 0])
    return numpy.array(found)


def test_exactness(silero: tuple[Silero, Path]) -> None:
    """Over five minutes of speech the largest error of ONNX Runtime is 1.9e-5."""
    module, folder = silero
    audio = voices(1000)
    found, other = probabilities(folder, audio), by_onnxruntime(audio)
    with torch.no_grad():
        exact = module.double()(torch.from_numpy(audio)[None].double()).numpy().ravel()
    module.float()
    assert 0.05 < (exact > 0.5).mean() < 0.95  # both decisions
    assert numpy.abs(found - exact).max() < 1e-5 and numpy.abs(other - exact).max() < 5e-5
    assert ((found > 0.5) == (other > 0.5)).all()


def test_int8_keeps_the_decisions(silero: tuple[Silero, Path]) -> None:
    _, folder = silero
    audio = voices(3000)
    exact, int8 = probabilities(folder, audio), probabilities(folder, audio, "--weights", "int8")
    assert ((exact > 0.5) != (int8 > 0.5)).mean() <= 0.002 and numpy.abs(exact - int8).max() > 0


@pytest.mark.parametrize(
    "name, rate",
    [
        ("silero_vad.onnx", 16000),
        ("silero_vad.onnx", 8000),
        ("silero_vad_16k_op15.onnx", 16000),
        ("silero_vad_op18_ifless.onnx", 16000),
        ("silero_vad_openvino_16k.onnx", 16000),
        ("silero_vad_16k_sequence.onnx", 16000),
        ("silero_vad.jit", 16000),
        ("silero_vad.jit", 8000),
    ],
)
def test_every_form_is_the_model(name: str, rate: int) -> None:
    """Against the TorchScript file of the package."""
    pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
    from longwave.importer.published import known_file
    from longwave.importer.published.silero_vad import published

    file = str(package_file(name))
    assert known_file(file) == "silero-vad"
    made = published([file], rate)
    original = torch.jit.load(str(package_file("silero_vad.jit"))).eval()
    original.reset_states()
    states = [torch.zeros(i.shape) for i in made.inputs[1:]]
    with torch.no_grad():
        for chunk in torch.from_numpy(voices(20))[None].split(made.inputs[0].shape[1], 1):
            speech, *states = made.module(chunk, *states)
            assert (speech - original(chunk, rate)).abs().max() <= 1e-5


def test_forms_without_that_model_are_refused() -> None:
    pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
    from longwave.importer.errors import ImportFailed
    from longwave.importer.published import known_file
    from longwave.importer.published.silero_vad import published

    for name, rate, reason in (
        ("silero_vad_16k.safetensors", 16000, "holds other weights"),
        ("silero_vad_op18_ifless.onnx", 8000, "is read for 16000 Hz only"),
        ("silero_vad_half.onnx", 8000, "is read for 16000 Hz only"),
    ):
        with pytest.raises(ImportFailed, match=reason):
            published([str(package_file(name))], rate)
    assert known_file(str(package_file("silero_vad_16k.safetensors"))) is None
    notes = published([str(package_file("silero_vad_half.onnx"))], None).notes
    assert any("rounded to float16" in note for note in notes)


def test_both_doors_know_the_file() -> None:
    """`longwave import FILE` and longwave.compile(FILE) read it here."""
    pytest.importorskip("onnx", reason="onnx is not installed: pip install onnx")
    from longwave.importer.errors import ImportFailed
    from longwave.importer.onnx.file import source_of

    for name in ("silero_vad.onnx", "silero_vad.jit"):
        made = source_of(str(package_file(name)))
        assert [i.name for i in made.inputs[:2]] == ["audio", "context"] and made.options == ["--blocks", "512"]
    graph = source_of(str(package_file("silero_vad.onnx")), ["input=1x64+512@16000"], {"sr": "16000"})
    assert [i.name for i in graph.inputs] == ["input", "state", "input_before"] and "is a file of" in graph.notes[0]
    with pytest.raises(ImportFailed, match="of which the weights alone are read"):
        source_of(str(package_file("silero_vad.jit")), ["audio=16000"])
