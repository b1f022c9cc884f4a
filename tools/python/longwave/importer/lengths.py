"""Which lengths a module takes, found by running it: how its rows follow the rows of the input, and whether it loops over them."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from .blame import of_module
from .errors import ImportFailed, Problem
from .inputs import Input

LEAST = 16  # rows: shorter examples cannot tell taps from the end of the sequence
# Numbers of rows with many divisors: a stride shows exactly where it divides them.
DIVISIBLE, DIVISIBLE_SAMPLES = (960, 5544), (15360, 11088)
OTHERS = (960, 1920, 3840, 15360, 16000, 512, 320, 128, 64, 5544)  # lengths to try where the example's does not run
OFTEN = 8  # calls more for 16 rows more
PRIMES = (13, 17, 19, 23, 29, 31, 37, 41, 43, 53, 67, 127, 251, 509)


@dataclass(frozen=True)
class Lengths:
    """The module takes `rest` rows and multiples of `stride` more. Its results have whole rows there."""

    stride: int = 1
    rest: int = 0

    def near(self, n: int) -> int:
        """The first such length that is not below n."""
        return n + (self.rest - n) % self.stride

    def example(self, length: int) -> int:
        """Near `length`, with a prime number of strides: rows of no layer are then as many as its features."""
        if self.stride == 1:
            return length
        count = max(length // self.stride, PRIMES[0])
        while any(count % d == 0 for d in range(2, math.isqrt(count) + 1)):
            count += 1
        return self.near(count * self.stride)


class _Seen(TorchFunctionMode):
    """Notes the shapes of all results of calls into PyTorch. And how often each part of a module computes what depends on the
    input, or calls another part: gradients tell that, where they are on."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []
        self.calls: Counter[str] = Counter()
        self.parts: Counter[tuple[str, str]] = Counter()  # calls of (one part by another)
        self.stack: list[str] = []
        self.hooks = [
            hook
            for name, part in module.named_modules()
            if not isinstance(part, torch.jit.ScriptModule)
            for hook in (
                part.register_forward_pre_hook(partial(self.enter, name)),
                part.register_forward_hook(self.leave, always_call=True),
            )
        ]

    def enter(self, name: str, *_: object) -> None:
        self.parts[self.stack[-1] if self.stack else "", name] += 1
        self.stack.append(name)

    def leave(self, *_: object) -> None:
        self.stack.pop()

    def __exit__(self, *exception: object) -> None:
        for hook in self.hooks:
            hook.remove()
        super().__exit__(*exception)  # type: ignore[no-untyped-call]

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = function(*args, **(kwargs or {}))
        tensors = [
            t
            for t in (tree_leaves(result) if isinstance(result, (Tensor, tuple, list, dict)) else ())
            if isinstance(t, Tensor)
        ]
        self.calls[self.stack[-1] if self.stack else ""] += any(t.requires_grad for t in tensors)
        self.shapes += [tuple(t.shape) for t in tensors]
        return result


class Runs:
    """A module at several lengths. Each is run once."""

    def __init__(self, module: nn.Module, inputs: Sequence[Input]) -> None:
        self.module, self.inputs = copy.deepcopy(module), inputs
        self.floats = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
        self.seen: dict[int, list[tuple[int, ...]] | BaseException] = {}

    def shapes(self, length: int) -> list[tuple[int, ...]] | None:
        """Of all that it computes; None: it does not run."""
        if length not in self.seen:
            try:
                with torch.no_grad(), _Seen(self.module) as noted:
                    results = self.module(*(i.example(length, self.floats) for i in self.inputs))
                self.seen[length] = [
                    *noted.shapes,
                    *(tuple(t.shape) for t in tree_leaves(results) if isinstance(t, Tensor)),
                ]
            except (Exception, SystemExit) as e:  # whatever the module raises
                self.seen[length] = e
        found = self.seen[length]
        return None if isinstance(found, BaseException) else found

    def calls(self, length: int) -> _Seen | None:
        """What it computes from the input, by part. None: it does not run so."""
        module = copy.deepcopy(self.module).requires_grad_(any(i.vocabulary for i in self.inputs))
        noted: _Seen
        try:
            with torch.enable_grad(), _Seen(module) as noted:
                examples = [i.example(length, self.floats) for i in self.inputs]
                module(*(x.requires_grad_(True) * 1 if x.is_floating_point() else x for x in examples))
        except (Exception, SystemExit):  # whatever the module raises
            return None
        return noted

    def reason(self, length: int) -> str:
        e = self.seen[length]
        return of_module(e) if isinstance(e, BaseException) else ""


def lengths_of(runs: Runs, length: int) -> Lengths:
    """Raises ImportFailed where the module runs at no length that is tried."""
    audio = any(i.rate for i in runs.inputs)
    base = next((n for n in (length, *OTHERS[3 if audio else 0 :], *OTHERS) if runs.shapes(n) is not None), None)
    if base is None:
        raise ImportFailed(
            [
                Problem(
                    "",
                    "",
                    f"the module does not run at length {length}, or at {len(runs.seen) - 1} others: {runs.reason(length)}",
                    way_out(runs.module),
                )
            ]
        )
    steps = DIVISIBLE_SAMPLES if audio and base >= 8000 else DIVISIBLE
    strides = [stride for n in steps if (stride := stride_of(runs, base, n))]
    # Whatever divides the example divides twice as many rows.
    if not strides and (stride := stride_of(runs, base, base)):
        strides = [stride]
    stride = min(strides, default=1)
    if strides and not taken(runs, base, stride):  # it takes fewer lengths than its shapes tell
        stride = next((m for m in range(2 * stride, 16 * stride + 1, stride) if taken(runs, base, m)), stride)
    even = base - base % stride or stride
    return Lengths(stride, 0 if runs.shapes(even) is not None else base % stride)


def way_out(module: nn.Module) -> str:
    if any(p.is_complex() for p in module.parameters()):
        return "its weights are complex and inputs are real: convert them in forward, and return real numbers"
    return "check --input, or choose another --length"


def taken(runs: Runs, base: int, stride: int) -> bool:
    return all(runs.shapes(base + k * stride) is not None for k in (1, 2, 3))


def stride_of(runs: Runs, base: int, n: int) -> int | None:
    """The least common multiple of the strides of all that the module computes, from two lengths. None: that cannot be told."""
    before, after = runs.shapes(base), runs.shapes(base + n)
    if before is None or after is None or len(before) != len(after):
        return None
    stride = 1
    for a, b in zip(before, after):
        if len(a) != len(b):
            return None
        for grown in (y - x for x, y in zip(a, b) if y != x):
            stride = math.lcm(stride, n // math.gcd(n, grown))
    return stride


def short_lengths(lengths: Lengths, below: int) -> list[int]:
    """From one row on, each half as long again as the one before."""
    found, n = [], 1
    while (rows := lengths.near(n * lengths.stride)) < below:
        found.append(rows)
        n = max(n + 1, n * 3 // 2)
    return list(dict.fromkeys(found))


def loops(runs: Runs, length: int) -> tuple[list[str], int | None]:
    """The parts of the module that surely loop over the rows, and a short length at which loops show.

    A loop calls PyTorch, or other parts, more often for more rows. Few calls for each row may be no more than a
    selection of the rows."""
    few = next((n for n in (16, 48, 160, 640, 2560) if n < length and runs.shapes(n) is not None), None)
    if few is None:
        return [], None
    shapes, more = runs.shapes(few), runs.shapes(2 * few)
    if shapes is None or more is None or len(more) <= len(shapes):
        return [], None
    one, two = runs.calls(few), runs.calls(2 * few)
    if one is None or two is None or sum(two.calls.values()) <= sum(one.calls.values()):
        return [], None
    often = {part for (by, part), count in two.parts.items() if by != part and count >= one.parts[by, part] + OFTEN}
    found = {by for by, part in two.parts if part in often} | {
        part for part, count in two.calls.items() if count >= one.calls[part] + 4 * OFTEN
    }
    extents = {extent for p in runs.module.parameters() for extent in p.shape}
    stride = max(1, few // 16)
    return sorted(found - often), next(
        (n for p in PRIMES if p not in extents and (n := p * stride) < length and runs.shapes(n) is not None), None
    )
