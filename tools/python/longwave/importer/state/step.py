"""Modules with their state as inputs and results, as modules of whole sequences that the rest of the importer reads."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten_with_path

from ..blame import of_module
from ..errors import ImportFailed, Problem
from ..export import Exported
from ..inputs import Input
from ..known import Wide
from ..wrappers import copied
from .pairs import Pair, guessed, pairs_of
from .rows import Rows
from .unrolled import unrolled

PROBE = 64  # rows of a sequence that tells the results
LONGEST = 1 << 20  # steps of settle:N


@dataclass
class Stepped:
    """`module` reads whole sequences. `original` takes and returns its state."""

    original: nn.Module
    module: nn.Module
    inputs: list[Input]  # of `module`
    given: list[Input]  # of `original`, with the states
    pairs: list[Pair]
    first: list[Tensor]
    outputs: list[str] | None  # of `module`
    notes: list[str] = field(default_factory=list)
    names: dict[str, str] = field(default_factory=dict)  # state -> the result that it becomes

    @property
    def by_rows(self) -> bool:
        """Whether each call of the original is one row."""
        return isinstance(self.module, Rows)

    @property
    def samples(self) -> int:
        """Of audio that each call takes; 1 where rows are no samples."""
        shapes = self.module.shapes if isinstance(self.module, Samples) else []
        return math.lcm(*(math.prod(shape) for shape in shapes if shape))


class Whole(nn.Module):
    """A module of chunks, with the states before the first row as constants."""

    def __init__(self, module: nn.Module, pairs: Sequence[Pair], first: Sequence[Tensor]) -> None:
        super().__init__()
        self.module, self.pairs = module, list(pairs)
        for pair, value in zip(pairs, first):
            self.register_buffer(f"state_{pair.argument}", value.clone())

    def forward(self, *rows: Tensor) -> Any:
        results = results_of(
            call_with(self.module, self.pairs, rows, [getattr(self, f"state_{p.argument}") for p in self.pairs])
        )[1]
        states = {p.result for p in self.pairs}
        found = [r for i, r in enumerate(results) if i not in states]
        return found[0] if len(found) == 1 else tuple(found)


class Called(nn.Module):
    """The original in its own type, called for each row with the state that its last call returned."""

    def __init__(self, made: Stepped) -> None:
        super().__init__()
        self.module, self.made = made.original, [made]

    @torch.no_grad()
    def forward(self, *rows: Tensor) -> Any:
        made = self.made[0]
        rest = [entry for k, entry in enumerate(made.given) if all(p.argument != k for p in made.pairs)]
        x = [t.reshape(-1, *entry.shape) for t, entry in zip(rows, rest, strict=True)]
        states, found = list(made.first), []
        for step in zip(*x):
            results = results_of(call_with(self.module, made.pairs, step, states))[1]
            states = [results[p.result] for p in made.pairs]
            found.append([r for i, r in enumerate(results) if all(p.result != i for p in made.pairs)])
        return tuple(torch.stack([row[k] for row in found]) for k in range(len(found[0])))


def call_with(module: nn.Module, pairs: Sequence[Pair], rows: Sequence[Tensor], states: Sequence[Tensor]) -> Any:
    given, waiting = dict(zip((p.argument for p in pairs), states)), iter(rows)
    return module(*(given[i] if i in given else next(waiting) for i in range(len(rows) + len(states))))


def results_of(found: Any) -> tuple[list[str], list[Tensor]]:
    """Names, where the module gives some, and tensors, in order."""
    leaves = [(path, t) for path, t in tree_flatten_with_path(found)[0] if isinstance(t, Tensor)]
    return [
        str(getattr(path[-1], "key", None) or getattr(path[-1], "name", None) or i) if path else str(i)
        for i, (path, _) in enumerate(leaves)
    ], [t for _, t in leaves]


def has_state(inputs: Sequence[Input], state: Mapping[str, str | int] | None) -> bool:
    return bool(state) or any(not i.timed for i in inputs)


@torch.no_grad()
def stepped(
    module: nn.Module,
    inputs: Sequence[Input],
    state: Mapping[str, str | int] | None,
    initial: Mapping[str, object] | None,
    outputs: Sequence[str] | None,
) -> Stepped:
    """Raises ImportFailed. `state`: input -> result, by name or index; None: guessed. `initial`: input -> values before the first row."""
    module = copied(module)
    floats = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
    try:
        names, results = results_of(module(*(i.example(PROBE, floats) for i in inputs)))
    except (Exception, SystemExit) as e:  # whatever the module raises
        raise ImportFailed(
            [
                Problem(
                    "",
                    "",
                    f"the module does not run with these inputs: {of_module(e)}",
                    "check --input: say how many samples each call has, as "
                    f"{inputs[0].name}=1x512@16000, or the shape of each state",
                )
            ]
        ) from e
    if outputs and len(outputs) == len(results):
        names = list(outputs)
    notes: list[str] = []
    if state:
        pairs = pairs_of(state, [i.name for i in inputs], names)
    else:
        pairs = guessed([i.name for i in inputs], [i.shape for i in inputs], names, [tuple(r.shape) for r in results])
        notes = [f"state {p.name} becomes the result {names[p.result]}: guessed, --state says otherwise" for p in pairs]
    if not pairs:
        raise ImportFailed(
            [
                Problem(
                    f"--input {entry.name}",
                    "",
                    "expected a batch of 1 in front and one time axis T, and the module has no state",
                    f"write T in its shape, or --state {entry.name}=RESULT",
                )
                for entry in inputs
                if not entry.timed
            ]
        )
    check(inputs, pairs, names, results)
    rest = [names[i] for i in range(len(results)) if all(p.result != i for p in pairs)]
    if outputs and len(outputs) == len(rest):
        rest = list(outputs)
    elif outputs and len(outputs) != len(results):
        raise ImportFailed(
            [
                Problem(
                    "--output",
                    "",
                    f"the module returns {len(results)} tensors, {len(pairs)} of them states; {len(outputs)} are named",
                    "name each one",
                )
            ]
        )
    pair_names = {p.name: names[p.result] for p in pairs}
    first = first_states(module, inputs, pairs, initial or {}, floats)
    timed = [i for i, entry in enumerate(inputs) if all(p.argument != i for p in pairs)]
    named = rest if outputs or not all(name.isdigit() for name in rest) else None
    if any(inputs[i].timed for i in timed):
        return Stepped(
            module,
            Whole(module, pairs, first),
            [inputs[i] for i in timed],
            list(inputs),
            pairs,
            first,
            named,
            notes,
            pair_names,
        )
    made = rows_module(module, inputs, pairs, first)
    return Stepped(
        module,
        made,
        [row_input(inputs[i]) for i in timed],
        list(inputs),
        pairs,
        first,
        named,
        notes + made.found,
        pair_names,
    )


def check(inputs: Sequence[Input], pairs: Sequence[Pair], names: Sequence[str], results: Sequence[Tensor]) -> None:
    problems = []
    rest = [i for k, i in enumerate(inputs) if all(p.argument != k for p in pairs)]
    for p in pairs:
        shape, result = inputs[p.argument].shape, tuple(results[p.result].shape)
        if 0 in shape:
            problems.append(Problem(p.name, "state", "has a time axis", "give its shape without T"))
        elif shape != result:
            problems.append(
                Problem(
                    p.name,
                    "state",
                    f"has shape {shape}, and the result {names[p.result]} has shape {result}",
                    "name the result that the next call reads",
                )
            )
        elif not results[p.result].is_floating_point():
            problems.append(
                Problem(
                    p.name,
                    "state",
                    f"holds {str(results[p.result].dtype).removeprefix('torch.')}",
                    "keep floating point numbers",
                )
            )
    if not rest:
        problems.append(Problem("--input", "", "all inputs are states", "name what comes in at each step"))
    elif any(i.timed for i in rest) and not all(i.timed for i in rest):
        lacking = [i.name for i in rest if not i.timed]
        problems.append(
            Problem(
                f"--input {lacking[0]}",
                "",
                "has no time axis, and is not a state",
                f"write T in its shape, or --state {lacking[0]}=RESULT",
            )
        )
    if len(pairs) == len(results):
        problems.append(Problem("--state", "", "all results are states", "return what each step gives"))
    if problems:
        raise ImportFailed(problems)


def row_input(entry: Input) -> Input:
    """What a step reads as a row of a sequence."""
    return (
        Input(entry.name, (1, 0), entry.rate)
        if entry.rate
        else Input(entry.name, (0, *entry.shape), 0, entry.vocabulary)
    )


class Samples(Rows):
    """A step that reads several samples of audio at a time."""

    shapes: list[tuple[int, ...] | None]

    def forward(self, *rows: Tensor) -> Any:
        return super().forward(
            *(x.reshape(-1, *shape) if shape else x for x, shape in zip(rows, self.shapes, strict=True))
        )


def rows_module(module: nn.Module, inputs: Sequence[Input], pairs: Sequence[Pair], first: Sequence[Tensor]) -> Rows:
    exported = Exported(module, inputs, 1, unrolled())
    made = Samples(exported, pairs, first)
    made.shapes = [
        entry.shape if entry.rate else None for k, entry in enumerate(inputs) if all(p.argument != k for p in pairs)
    ]
    return made


def first_states(
    module: nn.Module,
    inputs: Sequence[Input],
    pairs: Sequence[Pair],
    initial: Mapping[str, object],
    floats: torch.dtype,
) -> list[Tensor]:
    """The states before the first row: zeros, values, or ("settle", N): what N rows of zeros leave."""
    names = [p.name for p in pairs]
    if (every := initial.get("")) is not None:
        initial = dict.fromkeys(names, every) | {name: value for name, value in initial.items() if name}
    if unknown := [name for name in initial if name not in names]:
        raise ImportFailed(
            [Problem(f"--initial {name}", "", "is not a state", f"name one of {', '.join(names)}") for name in unknown]
        )
    found = [torch.zeros(inputs[p.argument].shape, dtype=floats) for p in pairs]
    settling = {
        name: int(value[1]) for name, value in initial.items() if isinstance(value, tuple) and value[:1] == ("settle",)
    }
    for k, p in enumerate(pairs):
        value = initial.get(p.name)
        if value is None or p.name in settling or isinstance(value, str) and value == "zeros":
            continue
        given = torch.as_tensor(value).to(floats)
        if given.numel() != found[k].numel():
            raise ImportFailed(
                [
                    Problem(
                        f"--initial {p.name}",
                        "",
                        f"has shape {tuple(given.shape)}, and the state has {tuple(found[k].shape)}",
                        "give an array of that shape",
                    )
                ]
            )
        if not bool(torch.isfinite(given).all()):
            raise ImportFailed([Problem(f"--initial {p.name}", "", "holds NaN or infinity", "give finite numbers")])
        found[k] = given.reshape(found[k].shape)
    for count in sorted(set(settling.values())):
        after = settled_states(module, inputs, pairs, found, count)
        found = [after[k] if settling.get(p.name) == count else found[k] for k, p in enumerate(pairs)]
    return found


def settled_states(
    module: nn.Module, inputs: Sequence[Input], pairs: Sequence[Pair], first: Sequence[Tensor], count: int
) -> list[Tensor]:
    if not 0 < count <= LONGEST:
        raise ImportFailed(
            [Problem("--initial", "", f"settle:{count} is not a number of rows", f"give 1 to {LONGEST}")]
        )
    rest = [entry for k, entry in enumerate(inputs) if all(p.argument != k for p in pairs)]
    whole = any(entry.timed for entry in rest)
    with Wide():
        wide = copy.deepcopy(module).double()
        states = [t.double() for t in first]
        for _ in range(1 if whole else count):
            rows = [
                torch.zeros(entry.sized(count), dtype=torch.long if entry.vocabulary else torch.float64)
                for entry in rest
            ]
            results = results_of(call_with(wide, pairs, rows, states))[1]
            states = [results[p.result] for p in pairs]
    return [t.to(given.dtype) for t, given in zip(states, first)]
