"""Which parts of a state depend on themselves.

A state that no cycle leads through is an older row of some value. Each cycle is a recurrence of its own: its states, the
operations between them, and what flows in.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.fx.node import Node

from ..errors import ImportFailed, Problem
from ..export import address, op_name
from .origins import Origins
from .pairs import Pair

UNCHANGED = -2  # an element that becomes itself


@dataclass
class Cycle:
    states: Tensor  # numbers of its elements of state
    after: Tensor  # the numbers of what they become
    nodes: list[Node]  # operations between, in order
    inputs: Tensor  # numbers of what flows in


@dataclass
class States:
    """For each element of a state, in the order of `numbers`: the element that it is an older row of, and how much older.
    `end` below 0: it never changes. `first`: value in the first step."""

    numbers: Tensor
    after: Tensor
    first: Tensor
    cycles: list[Cycle] = field(default_factory=list)
    _place: dict[int, int] = field(default_factory=dict)

    def is_state(self, numbers: Tensor) -> Tensor:
        return torch.isin(numbers, self.numbers)

    def chain(self, number: int) -> tuple[int, list[float]]:
        """What the element is an older row of, and its values in the first steps. Or UNCHANGED."""
        firsts: list[float] = []
        seen: set[int] = set()
        while number in self._place:
            if number in seen:
                if len(seen) == 1:
                    return UNCHANGED, firsts
                raise ImportFailed(
                    [
                        Problem(
                            "state",
                            "",
                            "elements of the state change places for ever",
                            "keep each element in its place",
                        )
                    ]
                )
            seen.add(number)
            at = self._place[number]
            firsts.append(float(self.first[at]))
            number = int(self.after[at])
        return number, firsts


def states_of(origins: Origins, pairs: list[Pair], first: list[Tensor]) -> States:
    exported = origins.exported
    numbers, after, values = [], [], []
    for pair, value in zip(pairs, first):
        argument, result = exported.arguments[pair.argument], exported.results[pair.result]
        numbers.append(origins.flat(argument))
        after.append(origins.flat(result) if origins.varies(result) else constant(pair, exported.constants[result]))
        values.append(value.to(torch.float64).flatten())
    made = States(torch.cat(numbers), torch.cat(after), torch.cat(values))
    made._place = {int(n): i for i, n in enumerate(made.numbers)}
    made.cycles = cycles_of(origins, made)
    return made


def constant(pair: Pair, value: Tensor) -> Tensor:
    if bool(value.any()):
        raise ImportFailed([Problem(pair.name, "state", "becomes a constant that is not zero", "leave it out")])
    return torch.full((value.numel(),), -1)


def dependence(origins: Origins, states: States) -> dict[Node, Tensor]:
    """Source -> which elements of the states it depends on within a step."""
    found: dict[Node, Tensor] = {}
    order = {int(n): i for i, n in enumerate(states.numbers)}
    for n in origins.sources:
        mask = torch.zeros(len(states.numbers), dtype=torch.bool)
        if n.op != "placeholder":
            for a in origins.reads(n):
                at = origins.at[a]
                flat = torch.cat([t.flatten() for t in at]) if isinstance(at, list) else at.flatten()
                mine = flat[states.is_state(flat)].unique()
                mask[[order[int(i)] for i in mine]] = True
                for source in origins.sources_of(a):
                    mask |= found[source]
        found[n] = mask
    return found


def cycles_of(origins: Origins, states: States) -> list[Cycle]:
    depends = dependence(origins, states)
    ends = [states.chain(int(n))[0] for n in states.numbers]
    made_by = [origins.source(e) if e >= 0 else None for e in ends]
    makers = list(dict.fromkeys(n for n in made_by if n is not None and n.op != "placeholder"))
    at = {n: i for i, n in enumerate(makers)}
    reach = torch.zeros(len(makers), len(makers), dtype=torch.bool)
    for n in makers:
        for s in depends[n].nonzero().flatten().tolist():
            if made_by[s] in at:
                reach[at[n], at[made_by[s]]] = True
    for k in range(len(makers)):
        reach |= reach[:, k : k + 1] & reach[k]
    found, done = [], set()
    for i in range(len(makers)):
        if i in done or not bool(reach[i, i]):
            continue
        group = [j for j in range(len(makers)) if j == i or bool(reach[i, j] and reach[j, i])]
        done.update(group)
        inside = {makers[j] for j in group}
        read = torch.zeros(len(states.numbers), dtype=torch.bool)
        for node in inside:
            read |= depends[node]
        mine = torch.tensor([bool(read[s]) and made_by[s] in inside for s in range(len(ends))])
        while bool((more := torch.isin(states.numbers, states.after[mine]) & ~mine).any()):
            mine |= more  # between one that is read and what it is an older row of
        found.append(cycle(origins, states, mine, depends, inside))
    return found


def cycle(origins: Origins, states: States, mine: Tensor, depends: dict[Node, Tensor], ends: set[Node]) -> Cycle:
    needed, waiting = set(ends), list(ends)
    while waiting:
        n = waiting.pop()
        for a in origins.reads(n):
            for source in origins.sources_of(a):
                if source.op != "placeholder" and source not in needed and bool((depends[source] & mine).any()):
                    needed.add(source)
                    waiting.append(source)
    needed |= matrices_before(origins, needed)
    nodes = [n for n in origins.sources if n in needed]
    read = torch.cat(
        [
            torch.cat([t.flatten() for t in at]) if isinstance(at := origins.at[a], list) else at.flatten()
            for n in nodes
            for a in origins.reads(n)
        ]
    ).unique()
    numbers = states.numbers[mine]
    inside = torch.cat([numbers, *[torch.arange(origins.first[n], origins.first[n] + size(n)) for n in nodes]])
    inputs = read[(read >= 0) & ~torch.isin(read, inside)]
    return Cycle(numbers, states.after[mine], nodes, inputs)


def matrices_before(origins: Origins, needed: set[Node]) -> set[Node]:
    """Where several values flow in: matrices that nothing else reads, so that they and those of the recurrence become one."""
    flowing = {source for n in needed for a in origins.reads(n) for source in origins.sources_of(a)} - needed
    computed = {n for n in flowing if n.op != "placeholder"}
    if len(flowing) < 2:
        return set()
    elsewhere = {
        source
        for n in origins.sources
        if n not in needed and n.op != "placeholder"
        for a in origins.reads(n)
        for source in origins.sources_of(a)
    }
    elsewhere |= {source for r in origins.exported.results if origins.varies(r) for source in origins.sources_of(r)}
    return {n for n in computed - elsewhere if op_name(n) == "linear" and len(origins.reads(n)) == 1}


def size(n: Node) -> int:
    val = n.meta["val"]
    return sum(t.numel() for t in val) if isinstance(val, (tuple, list)) else val.numel()


def name_of(origins: Origins, states: States, pairs: list[Pair], found: Cycle) -> tuple[str, str]:
    """The states of a cycle by name, and its operations, for messages."""
    held = [
        p.name
        for p in pairs
        if bool(torch.isin(origins.flat(origins.exported.arguments[p.argument]), found.states).any())
    ]
    return ", ".join(held), ", ".join(dict.fromkeys(f"{address(n)} ({op_name(n)})" for n in found.nodes))
