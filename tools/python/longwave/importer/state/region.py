"""The operations of a recurrence as a function of its states and of what flows in, and its parts by numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

import torch
from torch import Tensor
from torch.fx.node import Node

from ..export import call, float64_default, op_name
from .cycles import Cycle
from .origins import Origins

Result = TypeVar("Result")

GATES = {"sigmoid", "tanh"}
CHUNK = 64  # columns of a Jacobian at a time


class Region:
    def __init__(self, origins: Origins, cycle: Cycle) -> None:
        self.cycle, self.constants = cycle, origins.exported.constants
        self.shapes = {n: n.meta["val"].shape for n in cycle.nodes if isinstance(n.meta["val"], Tensor)}
        place = torch.full((origins.total + 1,), -1)
        count = 0
        for numbers in (cycle.inputs, cycle.states):
            place[numbers] = torch.arange(count, count + len(numbers))
            count += len(numbers)
        place[-1] = count  # of an element that is zero
        count += 1
        for n in cycle.nodes:
            val, first = n.meta["val"], origins.first[n]
            for t in val if isinstance(val, (tuple, list)) else [val]:
                place[first : first + t.numel()] = torch.arange(count, count + t.numel())
                first, count = first + t.numel(), count + t.numel()
        self.read = {a: place[origins.at[a]] for n in cycle.nodes for a in origins.reads(n)}
        self.after = place[cycle.after]
        self.place = place
        self.first = origins.first
        self.reads = {n: origins.reads(n) for n in cycle.nodes}
        self.gates = [n for n in cycle.nodes if op_name(n) in GATES]

    @property
    def n_inputs(self) -> int:
        return len(self.cycle.inputs)

    @property
    def n_states(self) -> int:
        return len(self.cycle.states)

    def run(self, u: Tensor, h: Tensor, given: Mapping[Node, Tensor] = {}) -> Tensor:
        """All elements: inputs, states, one zero, and those of each operation. `given`: results of operations, as they are."""
        flat = torch.cat([u, h, torch.zeros(1, dtype=torch.float64)])
        for n in self.cycle.nodes:
            if n in given:
                made = given[n]
            else:
                made = call(n, {**self.constants, **{a: flat[self.read[a]] for a in self.reads[n]}})
            flat = torch.cat([flat, *[t.flatten() for t in (made if isinstance(made, (tuple, list)) else [made])]])
        return flat

    def result(self, u: Tensor, h: Tensor, given: Mapping[Node, Tensor] = {}) -> Tensor:
        """The states after the step."""
        return self.run(u, h, given)[self.after]

    def before(self, n: Node) -> Tensor:
        """Places of what a gate reads."""
        return self.read[self.reads[n][0]].flatten()

    def kinds(self) -> str:
        return ", ".join(dict.fromkeys(op_name(n) for n in self.cycle.nodes))


def jacobian(function: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """[results, len(x)] of an affine function, exact but for rounding."""
    zero = function(torch.zeros_like(x))
    columns = []
    for first in range(0, len(x), CHUNK):
        count = min(CHUNK, len(x) - first)
        units = torch.zeros(count, len(x), dtype=torch.float64)
        units[torch.arange(count), first + torch.arange(count)] = 1
        columns.append(torch.vmap(function)(units) - zero)
    return torch.cat(columns).T if columns else torch.zeros(len(zero), 0, dtype=torch.float64)


def evaluated(function: Callable[[Region], Result]) -> Callable[[Region], Result]:
    """In float64, without gradients."""

    def inner(region: Region) -> Result:
        with float64_default():
            return function(region)

    return inner
