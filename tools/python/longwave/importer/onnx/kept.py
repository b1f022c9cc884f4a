"""A graph that reads samples of the call before, as a module that keeps them as a state of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ..inputs import Input
from .door import Opened


@dataclass
class Streamed:
    """What the importer reads: each input has new samples alone. `states`: input -> output."""

    module: nn.Module
    inputs: list[Input]
    outputs: list[str]
    states: dict[str, str]


class Kept(nn.Module):
    """`sizes`: place of an input -> how many samples it keeps. These come behind the inputs, and their next ones behind the results."""

    def __init__(self, module: nn.Module, sizes: dict[int, int]) -> None:
        super().__init__()
        self.module, self.sizes = module, sizes

    def forward(self, *given: Tensor) -> tuple[Any, ...]:
        count = len(given) - len(self.sizes)
        inputs = list(given[:count])
        for place, before in zip(self.sizes, given[count:], strict=True):
            inputs[place] = torch.cat([before, inputs[place]], -1)
        return *tree_leaves(self.module(*inputs)), *(inputs[place][..., -size:] for place, size in self.sizes.items())


def streamed(opened: Opened) -> Streamed:
    """The graph as it is, unless an input says that samples are kept: audio=1x64+512@16000."""
    sizes = {place: e.kept for place, e in enumerate(opened.inputs) if e.kept}
    if not sizes:
        return Streamed(opened.module, opened.inputs, opened.outputs, opened.states)
    entries = [opened.inputs[place] for place in sizes]
    fresh = [replace(e, shape=(*e.shape[:-1], e.shape[-1] - e.kept), kept=0) for e in opened.inputs]
    before = [Input(f"{e.name}_before", (*e.shape[:-1], e.kept)) for e in entries]
    after = {e.name: f"{e.name.removesuffix('_before')}_after" for e in before}
    return Streamed(
        Kept(opened.module, sizes).eval(), [*fresh, *before], [*opened.outputs, *after.values()], opened.states | after
    )
