"""Runs a graph on shapes alone, and collects every refusal.

What reads the result of a refused node has no shape. Only its kind is judged. Sizes and work are summed, so nothing runs on
data that is too large.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..errors import Problem, Refused
from .block import Block, Choice
from .limits import ALL_NUMBERS, NUMBERS, WORK
from .steps import NodeFailed, Step

SMALLER = "give a shorter --length, or a smaller model"


class Unknown:
    """The result of a refused node."""


UNKNOWN = Unknown()


class Judge:
    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.numbers = self.work = 0
        self.full = False

    def refuse(self, step: Any, e: Refused) -> list[Any]:
        problem = Problem(step.title, step.kind, str(e), e.way_out)
        if problem not in self.problems:
            self.problems.append(problem)
        return [UNKNOWN] * len(step.writes)

    def __call__(self, step: Step | Choice, values: dict[str, Any]) -> list[Any]:
        if isinstance(step, Step) and (refused := step.refused()):
            return self.refuse(step, refused)
        read = [values[n] if n else None for n in step.reads]
        if isinstance(step, Choice):
            return self.choice(step, values, read[0])
        if any(v is UNKNOWN for v in read):
            return [UNKNOWN] * len(step.writes)
        try:
            made: list[Any] = step(read, "meta")
            if len(made) < len(step.writes):
                raise Refused(
                    f"gives {len(made)} results, and {len(step.writes)} are named",
                    "the file is damaged: export it again",
                )
            self.count(step, read, made)
            return made
        except NodeFailed as e:
            return self.refuse(step, Refused(e.reason, "check --input, or choose another --length"))
        except Refused as e:
            return self.refuse(step, e)

    def choice(self, step: Choice, values: dict[str, Any], condition: Any) -> list[Any]:
        if condition is not UNKNOWN:
            try:
                result: list[Any] = step(values, "meta", self)
                return result
            except Refused as e:
                self.refuse(step, e)
        for which in (True, False):
            step.chosen(which, dict(values), "meta", self)
        return [UNKNOWN] * len(step.writes)

    def count(self, step: Step, read: list[Any], made: list[Any]) -> None:
        size = max((t.numel() for t in made if isinstance(t, Tensor)), default=0)
        if size > NUMBERS:
            raise Refused(f"makes a tensor of {size:,} numbers; at most {NUMBERS:,}", SMALLER)
        self.numbers += size
        self.work += size * inner(step, read) + sum(numel(v) for v in read)
        if not self.full and (self.numbers > ALL_NUMBERS or self.work > WORK):
            self.full = True
            raise Refused(
                f"all nodes until this one make {self.numbers:,} numbers with {self.work:,} multiply-adds; at most {ALL_NUMBERS:,} and {WORK:,}",
                SMALLER,
            )
        if self.full:
            raise Refused("all nodes together compute too much", SMALLER)


def numel(v: Any) -> int:
    return v.tensor.numel() if hasattr(v, "tensor") else v.numel() if isinstance(v, Tensor) else getattr(v, "size", 0)


def shape(v: Any) -> tuple[int, ...]:
    return tuple((v.tensor if hasattr(v, "tensor") else v).shape)


def inner(step: Step, read: list[Any]) -> int:
    """Multiply-adds for each number of the result, at most."""
    kind = step.op_type
    if kind in ("Conv", "ConvTranspose"):
        return math.prod(shape(read[1])[1:] if kind == "Conv" else shape(read[1])[:1] + shape(read[1])[2:])
    if kind in ("MatMul", "Gemm"):
        return max(shape(read[0])[-1:] + shape(read[0])[:1], default=1)
    if kind in ("LSTM", "GRU", "RNN"):
        return 4 * (shape(read[1])[-1] + shape(read[2])[-1])
    if kind == "Einsum":
        return max(numel(v) for v in read)
    if kind.endswith("Pool"):
        return math.prod(step.attributes.get("kernel_shape", [1]))
    return 1


def judged(block: Block, values: dict[str, Any]) -> list[Problem]:
    """`values`: constants and inputs on the meta device."""
    judge = Judge()
    with torch.no_grad():
        Block.forward(block, values, "meta", judge)
    return judge.problems
