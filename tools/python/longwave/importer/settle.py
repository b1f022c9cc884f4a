"""A module of whole sequences that begins at rest: in the state that N rows of zeros leave.

Cells begin with their states. What reads older rows of a value finds those of a constant p there, once the module is at rest.
A linear operation f of x behind rows of p is f of x - p behind zeros, and what f makes of p alone. So the graph needs no rows
before the first one, and a stream none either.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map

from .as_it_is import rows_of
from .definitions import lstm_states
from .errors import ImportFailed, Problem
from .execute import compute, execute
from .export import float64_default
from .inputs import Input
from .known import Wide
from .lengths import Lengths
from .match import Importer
from .prove import EXACT, error
from .recovered import Op, Output, Recovered
from .rules.unary import FLOAT64
from .state.step import LONGEST

WHOLE = ""  # the name in `initial` of all that the module remembers
ROW_BY_ROW = {
    "input",
    "linear",
    "affine",
    "add",
    "mul",
    "maximum",
    "minimum",
    "where",
    "row_product",
    "glu",
    "softmax",
    "log_softmax",
    "layer_norm",
    "rms_norm",
    "take",
    "concat",
    "power_spectrum",
    *FLOAT64,
}
LINEAR = {"conv2d", "shift", "frame", "long_conv", "exponential_scan", "state_space"}
WITH_BIAS = {"linear", "conv2d", "affine"}  # what is added to their results costs nothing
ROUNDED = 1e-4  # of the peak, where the module does not run in float64


class Settled(nn.Module):
    """The module behind so many rows of zeros."""

    def __init__(self, module: nn.Module, inputs: Sequence[Input], outputs: Sequence[Output], count: int) -> None:
        super().__init__()
        self.module, self.inputs, self.count = module, list(inputs), count
        self.axes = [o.axis for o in outputs if o.axis is not None]  # each has one

    def forward(self, *x: Tensor) -> Any:
        zeros = [torch.zeros(entry.sized(self.count), dtype=t.dtype) for entry, t in zip(self.inputs, x, strict=True)]
        axes, length = iter(self.axes), x[0].shape[self.inputs[0].shape.index(0)]
        made = self.module(*(torch.cat([z, t], entry.shape.index(0)) for entry, z, t in zip(self.inputs, zeros, x)))

        def behind(t: Tensor) -> Tensor:
            axis = next(axes)
            return t.narrow(
                axis,
                t.shape[axis] * self.count // (self.count + length),
                t.shape[axis] - t.shape[axis] * self.count // (self.count + length),
            )

        return tree_map(behind, made)


def settle(
    importer: Importer, module: nn.Module, inputs: Sequence[Input], count: int, lengths: Lengths
) -> dict[str, Any]:
    """Rewrites the graph of the importer. Returns the rows and the largest error of the proof. Raises ImportFailed."""
    where = f"--initial settle:{count}"
    if not 0 < count <= LONGEST or count % lengths.stride:
        raise ImportFailed(
            [
                Problem(
                    where,
                    "",
                    "is not a number of rows",
                    f"give 1 to {LONGEST}" + (f", a multiple of {lengths.stride}" if lengths.stride > 1 else ""),
                )
            ]
        )
    if any(entry.vocabulary for entry in inputs):
        raise ImportFailed([Problem(where, "", "a token cannot be zero", "begin with zeros: leave it out")])
    if any(o.axis is None for o in importer.graph.outputs):
        raise ImportFailed(
            [
                Problem(
                    where,
                    "output",
                    "a result of all rows would count those before the first one",
                    "return rows, or leave it out",
                )
            ]
        )
    before = importer.graph
    with float64_default():
        importer.graph = Rest(before, inputs, count, where).graph()
        importer.graph.tidy()
        return prove(importer.graph, before, module, inputs, count, importer.exported.length, lengths, where)


def remembers(op: Op) -> bool:
    """Whether a linear op reads older rows than its own."""
    return op.kind in LINEAR and not (op.kind == "conv2d" and op.constant("weight").shape[2] == 1)


def takes_either(op: Op) -> bool:
    """Whether a constant less in the input is a constant less in the result."""
    return op.kind in WITH_BIAS and not remembers(op)


class Rest:
    """Values are kept as they are, or less what they are at rest. What reads older rows wants the second. A sum of values that are
    less than they were is less as well, so a chain of residual layers needs no op more."""

    def __init__(self, graph: Recovered, inputs: Sequence[Input], count: int, where: str) -> None:
        self.old, self.new, self.where, self.count = graph, Recovered(), where, count
        waiting = (entry.rows(torch.zeros(entry.sized(count), dtype=torch.float64)) for entry in inputs)
        self.values: list[Tensor] = []
        for op in graph.ops:
            self.values.append(
                next(waiting) if op.kind == "input" else compute(op, [self.values[i] for i in op.inputs], self.dims(op))
            )
        self.moved: dict[int, int] = {}  # value of the old graph -> as it is
        self.less: dict[int, int] = {}  # -> less what it is at rest

    def dims(self, op: Op) -> tuple[int, ...]:
        return self.old.ops[op.inputs[0]].dims

    def graph(self) -> Recovered:
        problems = [
            Problem(f"{op.module}/{op.source}", op.kind, reason, f"leave {self.where} out")
            for op in self.old.ops
            if (reason := self.refusal(op))
        ]
        if problems:
            raise ImportFailed(problems)
        only_less = self.only_less()
        for i, op in enumerate(self.old.ops):
            self.new.here = (op.module, op.source)
            if i not in only_less:
                self.moved[i] = self.begun(i, op)
            elif op.kind == "add":
                self.less[i] = self.added(replace(op, inputs=[self.without_rest(j) for j in op.inputs]))
            else:
                self.less[i] = self.shifted(self.begun(i, op), op, -self.values[i][-1])
        self.new.outputs = [replace(o, value=self.moved[o.value]) for o in self.old.outputs]
        return self.new

    def refusal(self, op: Op) -> str:
        if op.timeless or op.form is not None and op.kind not in (*ROW_BY_ROW, *LINEAR):
            return "has one row for all"
        if op.attributes.get("ahead", 0) or op.attributes.get("two_sided", 0) or op.kind == "centred_conv":
            return "looks ahead, and a row before the first one that waits for later rows has no state"
        if op.kind not in (*ROW_BY_ROW, *LINEAR, "lstm", "gru"):
            return "its state at rest is not known"
        return ""

    def begun(self, i: int, op: Op) -> int:
        x = [self.values[j] for j in op.inputs]
        if op.kind in ("lstm", "gru") and not op.attributes.get("over_bands"):
            return self.added(
                replace(
                    op,
                    inputs=[self.moved[j] for j in op.inputs],
                    constants=[(key, t) for key, t in op.constants if key != "initial"]
                    + [("initial", self.state(i, op, x[0]))],
                )
            )
        lacks = [self.has_rest(j) and (remembers(op) or j not in self.moved) for j in op.inputs]
        inputs = [self.without_rest(j) if less else self.moved[j] for j, less in zip(op.inputs, lacks, strict=True)]
        made = self.added(replace(op, inputs=inputs))
        if not any(lacks):
            return made
        zeros = [torch.zeros_like(v) for v in x]
        at_rest = [v[-1:].expand(len(v), -1) if less else z for v, z, less in zip(x, zeros, lacks, strict=True)]
        shift = compute(op, at_rest, self.dims(op))[-1] - compute(op, zeros, self.dims(op))[-1]
        return self.shifted(made, op, shift)

    def only_less(self) -> set[int]:
        """The values that nothing reads as they are, and that are less what they are at rest at no cost: from the last op to the
        first, because what reads a value decides."""
        free: set[int] = set()
        for i, op in enumerate(self.old.ops):
            if not self.has_rest(i) or op.kind in WITH_BIAS or op.kind == "add" and free.issuperset(op.inputs):
                free.add(i)
        as_it_is, wanted = {o.value for o in self.old.outputs}, set[int]()
        found: set[int] = set()
        for i in range(len(self.old.ops) - 1, -1, -1):
            op = self.old.ops[i]
            # A sum that may be either is less, for what it is made of may have to be.
            if i not in as_it_is and i in free and self.has_rest(i) and (op.kind == "add" or i in wanted):
                found.add(i)
            if remembers(op) or i in found and op.kind == "add":
                wanted.update(op.inputs)
            elif not takes_either(op):
                as_it_is.update(op.inputs)
        return found

    def has_rest(self, i: int) -> bool:
        """Whether a value is another than zero at rest."""
        return bool(self.values[i][-1].any())

    def shifted(self, v: int, op: Op, by: Tensor) -> int:
        return self.new.emit("affine", [v], [("scale", torch.ones(op.width)), ("shift", by)], dims=op.dims)

    def state(self, i: int, op: Op, x: Tensor) -> Tensor:
        if op.kind == "lstm":
            return torch.stack(lstm_states(x, op, self.dims(op))[1]).reshape(2, *op.dims)
        return self.values[i][-1].reshape(op.dims)

    def without_rest(self, old: int) -> int:
        if not self.has_rest(old):
            return self.moved[old]
        if old not in self.less:
            self.less[old] = self.shifted(self.moved[old], self.old.ops[old], -self.values[old][-1])
        return self.less[old]

    def added(self, op: Op) -> int:
        self.new.ops.append(op)
        return len(self.new.ops) - 1


@torch.no_grad()
def prove(
    graph: Recovered,
    before: Recovered,
    module: nn.Module,
    inputs: Sequence[Input],
    count: int,
    length: int,
    lengths: Lengths,
    where: str,
) -> dict[str, Any]:
    """Against the graph without it and against the module, both behind so many rows of zeros, in float64."""
    worst = 0.0
    for n in (length, lengths.near(length // 3)):
        x = [entry.example(n, torch.float64, seed=7) for entry in inputs]
        found = execute(graph, [entry.rows(t) for entry, t in zip(inputs, x)])
        whole = [
            torch.cat([torch.zeros(entry.sized(count), dtype=torch.float64), t], entry.shape.index(0))
            for entry, t in zip(inputs, x)
        ]
        wanted = [
            rows[len(rows) * count // (count + n) :]
            for rows in execute(before, [entry.rows(t) for entry, t in zip(inputs, whole)])
        ]
        own = max(error(f, e) for f, e in zip(found, wanted, strict=True))
        if not own <= EXACT:
            raise ImportFailed(
                [
                    Problem(
                        where,
                        "",
                        f"after so many rows of zeros the module is not at rest: it differs by {own:.1e} of the peak",
                        f"give more rows: settle:{4 * count}",
                    )
                ]
            )
        worst = max(worst, own, against(module, before, inputs, x, found, count, where))
    return {"rows": count, "error": worst}


def against(
    module: nn.Module,
    graph: Recovered,
    inputs: Sequence[Input],
    x: list[Tensor],
    found: list[Tensor],
    count: int,
    where: str,
) -> float:
    limit = EXACT
    try:
        with Wide():
            results = flat(Settled(copy.deepcopy(module).double(), inputs, graph.outputs, count)(*x))
    except Exception:  # whatever a module raises that does not run in float64
        floats = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
        results, limit = flat(Settled(module, inputs, graph.outputs, count)(*(t.to(floats) for t in x))), ROUNDED
    worst = max(error(f, rows_of(o, e)) for o, f, e in zip(graph.outputs, found, results, strict=True))
    if not worst <= limit:
        raise ImportFailed(
            [
                Problem(
                    where,
                    "",
                    f"the module behind {count} rows of zeros differs by {worst:.1e} of the peak",
                    "please report this with the module",
                )
            ]
        )
    return worst if limit == EXACT else 0.0


def flat(results: Any) -> list[Tensor]:
    return [t for t in tree_leaves(results) if isinstance(t, Tensor)]
