"""Which inputs of a graph are its state, and which results are the state after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import ImportFailed, Problem
from .interface import Value

AFTER = (
    "{}n",
    "{}N",
    "{}_n",
    "{}_out",
    "{}Out",
    "{}_next",
    "{}_new",
    "{}_output",
    "next_{}",
    "new_{}",
    "out_{}",
    "output_{}",
    "{}_1",
    "{}.1",
)
WORDS = ("state", "hidden", "cache", "cell", "h", "c", "h0", "c0", "hx", "cx")


def agree(a: Value, b: Value) -> bool:
    """Whether both can have one shape."""
    return (
        a.code == b.code
        and len(a.shape) == len(b.shape)
        and all(x == y or not (isinstance(x, int) and isinstance(y, int) and x and y) for x, y in zip(a.shape, b.shape))
    )


def says_state(name: str) -> bool:
    parts = name.lower().split("_")
    return any(word in parts or len(word) > 3 and word in name.lower() for word in WORDS)


def pairs(
    given: Mapping[str, str], inputs: Sequence[Value], outputs: Sequence[Value]
) -> tuple[dict[str, str], dict[str, str]]:
    """Input -> output: those that the user names, and those that names and shapes tell. Raises ImportFailed."""
    ins, outs = {v.name: v for v in inputs}, {v.name: v for v in outputs}
    problems = []
    for name, result in given.items():
        where = f"--state {name}={result}"
        if name not in ins:
            problems.append(Problem(where, "", f"the graph has no input {name}", f"its inputs are {', '.join(ins)}"))
        elif result not in outs:
            problems.append(
                Problem(where, "", f"the graph has no output {result}", f"its outputs are {', '.join(outs)}")
            )
        elif not agree(ins[name], outs[result]):
            problems.append(
                Problem(
                    where,
                    "",
                    f"the input is {ins[name].text}, and the output {outs[result].text}",
                    "a state keeps its shape",
                )
            )
    if len(set(given.values())) < len(given):
        problems.append(Problem("--state", "", "two states become the same output", "name one output for each state"))
    if problems:
        raise ImportFailed(problems)
    free = {name: v for name, v in outs.items() if name not in given.values()}
    found: dict[str, str] = {}
    for name, v in ins.items():
        if name in given:
            continue
        base = (
            name.removesuffix("_in")
            .removesuffix("In")
            .removeprefix("in_")
            .removesuffix("_input")
            .removeprefix("input_")
            .removesuffix("_prev")
            .removeprefix("prev_")
        )
        first = base.removesuffix("0").removesuffix("_") if says_state(base) else base  # of h0, h_0
        forms = [form.format(n) for n in dict.fromkeys((name, base, first)) for form in (*AFTER, "{}")]
        match = next((form for form in forms if form in free and form != name and agree(v, free[form])), None)
        if match is None and (says_state(name) or all(isinstance(n, int) and n for n in v.shape)):
            same = [
                o for o, value in free.items() if agree(v, value) and o != outputs[0].name
            ]  # the first output is the answer
            alike = [n for n, w in ins.items() if n not in given and n not in found and agree(v, w)]
            match = same[0] if len(same) == len(alike) == 1 else None
        if match is not None:
            found[name] = match
            del free[match]
    return dict(given), found
