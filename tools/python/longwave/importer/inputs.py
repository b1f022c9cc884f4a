"""The inputs of a module, as --input names them, and its results, as --output does.

audio=16000        samples at 16000 Hz, shape 1xT
x=1xTx64           rows of 64 features, T is the time axis
x=1x64xT           the same, features first
wave=1x1xT@8000    samples at 8000 Hz with an axis of one channel
ids=1xT:256        token ids below 256
x=1x64             one row of 64 features: the module computes one step in each call (state/)
wave=1x512@16000   the same with 512 samples of one channel
wave=1x64+512@16000   64 samples of the call before, and then 512 new ones: of an ONNX graph
h=2x1x128          a state, without a time axis

clean              a result
clean=audio        a result that is samples at the rate of the input
clean=audio@384    the same, 384 samples late, as overlap-add makes it
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .errors import ImportFailed, Problem

_FORM = re.compile(
    r"(?P<name>[^=/]+)=(?:(?P<shape>\d+(?:x\d+)*x?T(?:x\d+)*|T(?:x\d+)*)(?:@(?P<rate>\d+)|:(?P<ids>\d+))?|(?P<step>\d+(?:x\d+)*x(?:(?P<kept>\d+)\+)?(?P<last>\d+))(?:@(?P<step_rate>\d+))?|(?P<audio>\d+))"
)


_RESULT = re.compile(r"(?P<name>[^=]+)(?P<audio>=audio(@(?P<lag>\d{1,9}))?)?")


@dataclass(frozen=True)
class Input:
    name: str
    shape: tuple[int, ...]  # 0 stands for the time axis; none: a state, or what one step reads
    rate: int = 0
    vocabulary: int = 0
    kept: int = 0  # of the samples of a step: the first ones, which the call before had as its last

    @property
    def width(self) -> int:
        width = 1
        for extent in self.shape:
            width *= extent or 1
        return width

    @property
    def timed(self) -> bool:
        return 0 in self.shape

    def sized(self, length: int) -> tuple[int, ...]:
        return tuple(extent or length for extent in self.shape)

    def example(self, length: int, dtype: torch.dtype, seed: int = 0) -> Tensor:
        random = torch.Generator().manual_seed(seed + length)
        if self.vocabulary:
            return torch.randint(0, self.vocabulary, self.sized(length), generator=random)
        return torch.randn(self.sized(length), dtype=torch.float64, generator=random).to(dtype)

    def rows(self, x: Tensor) -> Tensor:
        """A tensor of this input as rows [time, features]."""
        return x.movedim(self.shape.index(0), 0).reshape(-1, self.width)

    def document(self) -> dict[str, Any]:
        """The entry of "inputs" in model.json."""
        if self.vocabulary:
            return {"name": self.name, "kind": "tokens", "vocabulary": self.vocabulary}
        if self.rate:
            return {"name": self.name, "kind": "audio", "sample_rate": self.rate}
        return {"name": self.name, "kind": "features", "width": self.width}


def parse_input(text: str, batchless: bool = False) -> Input:
    """`batchless`: time may be the first axis, as Tx512, and there may be a batch of 1 or none."""

    def fail(reason: str) -> ImportFailed:
        return ImportFailed(
            [
                Problem(
                    f"--input {text}",
                    "",
                    reason,
                    "write audio=16000, x=1xTx64, x=1x64xT or ids=1xT:256; h=1x64 for a state",
                )
            ]
        )

    found = _FORM.fullmatch(text)
    if not found:
        raise fail("expected NAME=SHAPE with the time axis T")
    if found["audio"]:
        return Input(found["name"], (1, 0), rate=int(found["audio"]))
    if found["step"]:
        kept, rate = int(found["kept"] or 0), int(found["step_rate"] or 0)
        if found["kept"] and not (batchless and rate and kept and int(found["last"])):
            raise fail(
                "samples of the call before are for audio of an ONNX graph, at least one and as many as it needs"
            )
        front = found["step"].rpartition("x")[0].split("x")
        return Input(found["name"], (*map(int, front), kept + int(found["last"])), rate, kept=kept)
    shape = tuple(0 if part == "T" else int(part) for part in found["shape"].split("x"))
    made = Input(found["name"], shape, int(found["rate"] or 0), int(found["ids"] or 0))
    if shape.count(0) != 1 or not batchless and (len(shape) < 2 or shape[0] != 1):
        raise fail("expected a batch of 1 in front and one time axis T")
    if (made.rate or made.vocabulary) and made.width != 1:
        raise fail("expected one sample or one id per row")
    return made


def parse_outputs(texts: Sequence[str]) -> tuple[list[str], dict[str, int]]:
    """The names, and by how many samples those that are audio lag."""
    names, lags = [], {}
    for text in texts:
        found = _RESULT.fullmatch(text)
        if not found:
            raise ImportFailed(
                [
                    Problem(
                        f"--output {text}",
                        "",
                        "expected NAME",
                        "for audio write clean=audio, or clean=audio@384 with its lag",
                    )
                ]
            )
        names.append(found["name"])
        if found["audio"]:
            lags[found["name"]] = int(found["lag"] or 0)
    return names, lags


def mark_audio(model: dict[str, Any], lags: dict[str, int]) -> None:
    """Says in the content of model.json which outputs are audio."""
    for output in model["outputs"]:
        if output["name"] in lags:
            output |= {"kind": "audio", "lag": lags[output["name"]]}
