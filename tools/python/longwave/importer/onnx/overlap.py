"""Graphs that read samples of the call before in front of the new ones, as Silero VAD does.

Such a graph takes any samples without an error, and then hears wrong things. Its first windows tell: those of a call follow the
windows of the call before at the same distance, so its new samples are a whole number of distances. What is left are samples
that were there before. Samples that fill whole distances cannot be told: docs/vad.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..inputs import Input
from .block import Block, Choice
from .call import Call
from .graph import OnnxGraph
from .interface import Value

# Operations that leave samples samples, on their first input.
SAME = {
    *("Add", "Cast", "Clip", "Div", "Identity", "Mul", "Neg", "Pad", "Reshape", "Squeeze", "Sub", "Tanh", "Transpose"),
    *("Unsqueeze",),
}


class Windows:
    """Runs each step on shapes alone. `found`: of an input, how many windows its samples make first, and their distance."""

    def __init__(self, samples: list[str]) -> None:
        self.source = {name: name for name in samples}  # value -> the input whose samples it holds
        self.found: dict[str, tuple[int, int]] = {}

    def __call__(self, step: Any, values: dict[str, Any]) -> list[Any]:
        read = [values[n] if n else None for n in step.reads]
        made: list[Any] = step(values, "meta", self) if isinstance(step, Choice) else step(read, "meta")
        name = self.source.get(step.reads[0]) if step.reads and step.writes else None
        if name is None or name in self.found or not isinstance(made[0], Tensor):
            return made
        if isinstance(step, Choice):
            return made
        if window := windows_of(step, read, made[0]):
            self.found[name] = window
        elif step.op_type in SAME or step.op_type == "Conv":
            self.source[step.writes[0]] = name
        return made


def windows_of(step: Any, read: list[Any], made: Tensor) -> tuple[int, int] | None:
    """Of a convolution along the samples with a stride, or of an STFT."""
    if step.op_type == "Conv" and (stride := step.attributes.get("strides", [1])[-1]) > 1:
        return made.shape[-1], int(stride)
    if step.op_type == "STFT":
        return made.shape[1], int(Call(step.attributes, step.opset, 1, read).number(1, "frame_step"))
    return None


def windows(graph: OnnxGraph, examples: Sequence[Tensor], samples: list[str]) -> dict[str, tuple[int, int]]:
    """Of a graph that the judge has let pass with these examples. `samples`: the inputs to look at."""
    watch = Windows(samples)
    with torch.no_grad():
        Block.forward(
            graph, {**graph.constants("meta"), **dict(zip(graph.inputs, examples, strict=True))}, "meta", watch
        )
    return watch.found


@dataclass(frozen=True)
class Overlap:
    """The samples of each call of `entry` make windows `hop` apart, as if `new` of them were new."""

    entry: Input
    hop: int
    new: int
    fixed: bool  # the file says how many samples a call has

    @property
    def form(self) -> str:
        """For --input, without the rate."""
        split = f"{self.entry.shape[-1] - self.new}+{self.new}" if self.fixed else "BEFORE+NEW"
        return f"{self.entry.name}=" + "x".join([*map(str, self.entry.shape[:-1]), split])

    def __str__(self) -> str:
        total = self.entry.shape[-1]
        if self.fixed:
            why = f", as of {self.new} new samples and {total - self.new} others"
            how = ""
        else:
            why = f" and do not fill it in whole distances of {self.hop}"
            how = (
                ", with the numbers of the program that calls the graph; docs/vad.md has those of known files, such as 1x64+512 of "
                "Silero VAD"
            )
        return (
            f"{self.entry.name}: the windows of the {total} samples of a call are {self.hop} apart{why}; if the graph expects samples "
            f"of the call before in front, say so, or it hears wrong things: --input {self.form}@{self.entry.rate or 16000}{how}"
        )


def expected(e: Input, count: int, hop: int) -> int:
    """How many samples of a call are new, as its windows tell: all where nothing speaks against it."""
    new = e.shape[-1] - e.kept
    return min(count * hop, new - new % hop)


def overlaps(
    graph: OnnxGraph, entries: Sequence[Input], examples: Sequence[Tensor], declared: Mapping[str, Value]
) -> dict[str, Overlap]:
    """By input: those that are, or may be, several samples in each call, of which fewer are new than the call takes."""
    several = {e.name: e for e in entries if not e.timed and e.shape[-1] > 1 and e.width == e.shape[-1]}
    found = windows(graph, examples, list(several)) if several else {}
    made = {}
    for name, (count, hop) in found.items():
        e, extent = several[name], declared[name].shape[-1]
        if 0 < (new := expected(e, count, hop)) < e.shape[-1] - e.kept:
            made[name] = Overlap(e, hop, new, isinstance(extent, int) and extent > 0)
    return made
