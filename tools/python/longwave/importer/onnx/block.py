"""Nodes in order, and the choice between two such lists on a shape."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ..errors import Refused
from .call import Call


class Values(dict[str, Any]):
    """Arrays by name, of which copies of a module need no copies."""

    def __deepcopy__(self, memo: Any) -> Values:
        return self


class Block(nn.Module):
    """`plan`: names of its modules in order. `results`: names of values."""

    def __init__(self, results: list[str]) -> None:
        super().__init__()
        self.results = results
        self.plan: list[str] = []
        self.taken = {*vars(nn.Module()), *dir(nn.Module), *("results", "plan", "taken")}

    def add(self, name: str, step: nn.Module) -> None:
        self.add_module(name, step)
        self.plan.append(name)

    def steps(self) -> list[Any]:
        """Steps (steps.py) and choices, in order."""
        return [self.get_submodule(name) for name in self.plan]

    def forward(self, values: dict[str, Any], device: str = "cpu", judge: Any = None) -> list[Any]:
        """`values`: by name; the block adds its own. `judge`: runs each step in place of the step itself (judge.py)."""
        for step in self.steps():
            made = (
                judge(step, values)
                if judge
                else step(values, device)
                if isinstance(step, Choice)
                else step([values[n] if n else None for n in step.reads], device)
            )
            if len(made) < len(step.writes):
                raise Refused(
                    f"{step.title}: gives {len(made)} results, and {len(step.writes)} are named",
                    "the file is damaged: export it again",
                )
            values.update((name, v) for name, v in zip(step.writes, made) if name)
        return [values[name] for name in self.results]


class Choice(nn.Module):
    """An `If` whose condition is known for each number of rows. `held`: results of its branches that are constants.

    `known`: constants inside."""

    def __init__(self, title: str, opset: int, condition: str, writes: list[str]) -> None:
        super().__init__()
        self.title, self.opset, self.reads, self.writes = title, opset, [condition], writes
        self.held, self.known = Values(), Values()

    kind = property(lambda self: f"If of opset {self.opset}")

    def forward(self, values: dict[str, Any], device: str = "cpu", judge: Any = None) -> list[Any]:
        condition = Call({}, self.opset, 1, [values[self.reads[0]]])
        if isinstance(condition.values[0], Tensor):
            raise Refused(
                "a branch on data", "fix the input that it reads with --fix NAME=VALUE, or let it depend on shapes only"
            )
        return self.chosen(bool(condition.known(0, "condition").any()), values, device, judge)

    def chosen(self, which: bool, values: dict[str, Any], device: str, judge: Any) -> list[Any]:
        name = "then" if which else "else"
        result: list[Any] = self.get_submodule(name)({**self.known[name], **self.held[name], **values}, device, judge)
        return result
