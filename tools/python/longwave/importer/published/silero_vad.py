"""Silero VAD: one probability of speech for each 512 samples at 16 kHz, or 256 at 8 kHz.

The graph of one step reads 64 (32) samples of context in front of the new ones. Here the context is a state, so that the
model reads audio.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from ..errors import ImportFailed, Problem
from ..inputs import Input
from ..onnx.door import open_file
from ..source import Source
from .found import digest, file_of, licence_of
from .silero_module import UNITS, module_of

NAME, VERSION = "silero-vad", "6.2.3"
SAMPLES = {16000: (64, 512), 8000: (32, 256)}  # of the context, and new ones
# Names of two layers in the forms.
EXACT = ("encoder/2/", "encoder/3/", "encoder_2/", "encoder_3/", "node_conv1d_3", "node_conv1d_4")
# with int8 weights these alone change more decisions than all others together


@dataclass(frozen=True)
class Form:
    """One file of the package. `fixes`: its input sr. `script`: TorchScript, of which the weights alone are read. `refused`: why none are."""

    name: str
    rates: tuple[int, ...] = (16000,)
    fixes: bool = False
    states: Mapping[str, str] = field(default_factory=lambda: {"state": "stateN"})
    script: bool = False
    refused: str = ""
    note: str = ""


FORMS = {  # by SHA-256
    "1a153a22f4509e292a94e67d6f9b85e8deb25b4988682b7e174c65279d8788e3": Form("silero_vad.onnx", tuple(SAMPLES), True),
    "7671cd04b004e9076da0d4a7b1a5aec36adf161c39230c1cb94a4fd5db6bbd28": Form(
        "silero_vad_op18_ifless.onnx", fixes=True
    ),  # its model for 8 kHz gives other probabilities than that of silero_vad.onnx
    "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49": Form("silero_vad_16k_op15.onnx", fixes=True),
    "7776b81ad1b0350c15d7f1555943b9232eb53e9ca5d989c6d0cea9ebc8664d87": Form("silero_vad_openvino_16k.onnx"),
    "9ccdacc4719d8aa7e45a77536bfabec45a03ba1f2fad5e241ab4060b24238a85": Form(
        "silero_vad_16k_sequence.onnx", states={"h": "hn", "c": "cn"}
    ),
    "1e0b195ad4806595ef4466f419d16fca7e4afcfc6669b8c0b5f76ea87547c769": Form(
        "silero_vad_half.onnx",
        note="its weights are rounded to float16, and its probabilities differ from those of silero_vad.onnx",
    ),
    "e1122837f4154c511485fe0b9c64455f7b929c96fbb8d79fbdb336383ebd3720": Form(
        "silero_vad.jit", tuple(SAMPLES), states={"state": "state_after"}, script=True
    ),
    "c59271c284ae9c8335d795d60e0bfdb71aaaceec578d9bd9ffc1b8153c319ea1": Form(
        "silero_vad_16k.safetensors", refused="holds other weights than silero_vad.onnx and silero_vad.jit"
    ),
}


class Step(nn.Module):
    """(1, new samples), context and states -> probability, and all of them after it."""

    def __init__(self, step: nn.Module, context: int) -> None:
        super().__init__()
        self.step, self.size = step, context

    def forward(self, audio: Tensor, context: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        speech, *after = self.step(torch.cat([context, audio], 1), *states)
        return speech.reshape(1, 1), audio[:, -self.size :], *after


def published(given: list[str], rate: int | None) -> Source:
    """`given`: one file of the package, else its silero_vad.onnx. Raises ImportFailed and OSError."""
    rate = 16000 if rate is None else rate
    if rate not in SAMPLES:
        raise ImportFailed(
            [
                Problem(
                    f"--rate {rate}",
                    "",
                    f"{NAME} has models for 8000 and 16000",
                    "give one of them, and resample the audio",
                )
            ]
        )
    if len(given) > 1:
        raise ImportFailed(
            [Problem("--from", "", f"{len(given)} files are named, {NAME} is one", "give silero_vad.onnx alone")]
        )
    file = file_of("silero_vad", "data/silero_vad.onnx", given[0] if given else None, f"{NAME}=={VERSION}")
    found = digest(file)
    if found not in FORMS:
        raise ImportFailed(
            [
                Problem(
                    str(file),
                    "",
                    f"is not a file of {NAME} {VERSION}: its SHA-256 is {found[:16]}...",
                    f"pip install {NAME}=={VERSION}; other files are imported by their graph: docs/onnx.md",
                )
            ]
        )
    form = FORMS[found]
    reason = form.refused or ("" if rate in form.rates else f"is read for {form.rates[0]} Hz only")
    if reason:
        raise ImportFailed(
            [
                Problem(
                    str(file),
                    "",
                    f"is {form.name} of {NAME} {VERSION}: it {reason}",
                    "give silero_vad.onnx of the same package",
                )
            ]
        )
    context, new = SAMPLES[rate]
    opened = None
    if form.script:
        step: nn.Module = module_of(file, rate)
        states = [Input("state", (2, 1, UNITS))]
    else:
        opened = open_file(file, [f"input=1x{context + new}"], {"sr": str(rate)} if form.fixes else {}, form.states)
        step, states = opened.module, [e for e in opened.inputs if e.name in form.states]
    inputs = [Input("audio", (1, new), rate=rate), Input("context", (1, context)), *states]
    after = {"context": "context_after"} | {e.name: f"{e.name}_after" for e in states}
    notes = [f"{NAME} {VERSION} for {rate} Hz, from {file}", f"licence of the package {NAME}: {licence_of(NAME)}"]
    return Source(
        Step(step, context).eval(),
        inputs,
        ["speech", *after.values()],
        notes + ([f"{form.name}: {form.note}"] if form.note else []),
        after,
        opened,
        ["--blocks", str(new)],
        EXACT,
    )
