"""Which inputs of a step are its state, and which results are the state after it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import ImportFailed, Problem

STATEFUL = re.compile(
    r"(^|_)(h|c|hx|cx|h0|c0|s|state|states|hidden|cell|cache|caches|buffer|context|memory|past|prev|ema|sum)\d*($|_)|state|cache|hidden"
)
AFTER = ("{}n", "{}N", "{}_n", "{}2", "{}_out", "{}Out", "{}_next", "{}_new", "next_{}", "new_{}", "out_{}", "{}")


@dataclass(frozen=True)
class Pair:
    """A state: the place of the input among the arguments, and of what it becomes among the results."""

    name: str
    argument: int
    result: int


def told(text: str) -> tuple[str, str]:
    """--state h=h2"""
    name, equals, result = text.partition("=")
    if not equals or not name or not result:
        raise ImportFailed(
            [Problem(f"--state {text}", "", "expected INPUT=OUTPUT", "write h=h2, or h=1 for the second result")]
        )
    return name, result


def pairs_of(state: Mapping[str, str | int], names: Sequence[str], outputs: Sequence[str]) -> list[Pair]:
    """`state`: input -> output, by name or index. `outputs`: names of all results, of the states too; of fewer, the rest have none."""
    problems, found = [], []
    for name, result in state.items():
        where = f"--state {name}={result}"
        if name not in names:
            problems.append(Problem(where, "", f"the module has no input {name}", f"name one of {', '.join(names)}"))
            continue
        at = outputs.index(result) if result in outputs else int(result) if str(result).isdigit() else None
        if at is None or at >= len(outputs):
            problems.append(
                Problem(
                    where,
                    "",
                    f"the module has no result {result}",
                    f"name one of {', '.join(outputs)}, or give its index from 0 on",
                )
            )
            continue
        found.append(Pair(name, names.index(name), at))
    if len({p.result for p in found}) < len(found):
        problems.append(Problem("--state", "", "two states become the same result", "name one result for each state"))
    if problems:
        raise ImportFailed(problems)
    return found


def guessed(
    names: Sequence[str], shapes: Sequence[tuple[int, ...]], outputs: Sequence[str], results: Sequence[tuple[int, ...]]
) -> list[Pair]:
    """By the names of inputs and results where they say it, else by shapes, in order. Raises ImportFailed where that leaves a choice."""
    free, found = set(range(len(results))), []
    states = [i for i, name in enumerate(names) if STATEFUL.search(name)]
    for i in states:
        like = [form.format(names[i]) for form in AFTER]
        at = next((k for form in like for k in free if outputs[k] == form and results[k] == shapes[i]), None)
        if at is not None:
            found.append(Pair(names[i], i, at))
            free.discard(at)
    rest = [i for i in states if all(p.argument != i for p in found)]
    for shape in dict.fromkeys(shapes[i] for i in rest):
        mine, theirs = [i for i in rest if shapes[i] == shape], sorted(k for k in free if results[k] == shape)
        if len(theirs) > len(mine) and 0 in theirs:
            theirs.remove(0)  # the first result is the answer
        if len(mine) != len(theirs):
            shown = ", ".join(f"{outputs[k]} {results[k]}" for k in range(len(results)))
            raise ImportFailed(
                [
                    Problem(
                        names[i],
                        "",
                        f"it is not clear which result is this state of shape {shape}; the results are {shown}",
                        f"say it: --state {names[i]}=NAME",
                    )
                    for i in mine
                ]
            )
        found += [Pair(names[i], i, k) for i, k in zip(mine, theirs)]
    return sorted(found, key=lambda p: p.argument)
