"""Matches exported torch operations, one by one, with ops. A refusal never stops the others: its result becomes an opaque
value, so that later operations are judged too."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Union

from torch import Tensor
from torch.fx.node import Node

from . import decompositions, loops
from .errors import NoOp, Problem, Refused, UnclearLength
from .export import Exported, address, call, module_of, name_of, op_name
from .nodes import args_of
from .places import Placed, all_features, natural, settled
from .probe import Taps
from .recovered import Op, Output, Recovered
from .regions import find_convolution
from .rules import (
    attention,
    cells,
    choice,
    complexes,
    embedding,
    group_norm,
    image,
    image_up,
    inside,
    known,
    linear,
    norms,
    padding,
    pointwise,
    pooling,
    positions,
    prelu,
    products,
    recurrent,
    reduce,
    scalar,
    scans,
    spectrum,
    transposed,
    unary,
)

MOVES = set(
    "view reshape _unsafe_view flatten unflatten transpose permute t mT numpy_T movedim unsqueeze squeeze alias clone slice select narrow "
    "split split_with_sizes chunk unbind unfold getitem expand expand_as contiguous roll flip repeat repeat_interleave tile".split()
)
KEEPS = set(
    "to _to_copy dropout feature_dropout detach type_as lift_fresh_copy alias_copy clone contiguous identity".split()
)
RULES: dict[str, Callable[[Importer, Node], Value]] = {
    **linear.RULES,
    **padding.RULES,
    **inside.RULES,
    **image.RULES,
    **image_up.RULES,
    **pointwise.RULES,
    **choice.RULES,
    **norms.RULES,
    **embedding.RULES,
    **reduce.RULES,
    **products.RULES,
    **spectrum.RULES,
    **known.RULES,
    **recurrent.RULES,
    **cells.RULES,
    **scans.RULES,
    **pooling.RULES,
    **group_norm.RULES,
    **transposed.RULES,
    **complexes.RULES,
    **prelu.RULES,
    **scalar.RULES,
}
NO_STREAM = "no stream"
AHEAD = f"looks ahead: {NO_STREAM}"
LATE = ": its stream comes so many rows late"


@dataclass
class Convolution:
    where: str
    lags: Tensor
    ahead: Tensor
    cut: bool
    form: str = "table"  # what the folder holds
    error: float = 0.0  # of that form, of the peak
    cut_warning: str = ""


@dataclass
class Read:
    """In place of a Placed that nothing reads any more."""

    value: int


# A list: of an operation with several results, None where no rule makes one.
Value = Union[
    Placed,
    spectrum.Spectrum,
    complexes.Complex,
    complexes.Phase,
    attention.Scores,
    norms.Root,
    Read,
    Sequence[Any],
    None,
]


@dataclass
class Importer:
    exported: Exported
    graph: Recovered = field(default_factory=Recovered)
    values: dict[Node, Value] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    convolutions: list[Convolution] = field(default_factory=list)
    opaque: set[int] = field(default_factory=set)
    unclear: bool = False
    least: int = 0  # rows: below, the module means something else
    below: str = ""  # what it means there
    tables: list[positions.Table] = field(default_factory=list)
    masked: bool = False  # by constants that may show a window of rows at a longer example only

    @property
    def constants(self) -> dict[Node, Tensor]:
        return self.exported.constants

    # ---- what rules ask
    def varies(self, a: object) -> bool:
        return isinstance(a, Node) and a in self.exported.varying

    def constant(self, a: Any) -> Any:
        """What does not depend on an input: of a node its tensor, of a number or a text itself."""
        if self.varies(a):
            raise Refused("a weight that depends on the input", "compute weights from parameters only")
        return self.constants[a] if isinstance(a, Node) else a

    def variables(self, n: Node) -> list[Node]:
        return [a for a in n.all_input_nodes if self.varies(a)]

    def kind(self, n: Node) -> str:
        return op_name(n)

    def op(self, placed: Placed) -> Op:
        return self.graph.ops[placed.value]

    def placed(self, n: Node) -> Placed:
        found = self.values.get(n)
        if isinstance(found, norms.Root):
            found = self.values[n] = found.itself
        if isinstance(found, spectrum.Spectrum):
            found = self.values[n] = spectrum.value_of(self, found)
        if isinstance(found, attention.Scores):
            raise Refused("multiplies each row with all others", attention.OVER_TIME)
        if not isinstance(found, Placed):
            raise Refused(
                "reads a value that is not rows of numbers, such as the index of a largest feature",
                "keep values real, with one row per time step",
            )
        return found

    def settled(self, n: Node) -> Placed:
        found = self.values[n] = settled(self.graph, self.placed(n))
        return found

    def overlaps(self, x: Placed) -> bool:
        at = x.at[x.at >= 0]
        return at.numel() > len(at.unique())

    def windowed(self, n: Node, x: Placed, window: Tensor) -> Placed:
        return spectrum.windowed(self, n, x, window)

    def warn(self, n: Node, text: str) -> None:
        self.warnings.append(f"{self.where(n)}: {text}")

    def looks_ahead(self, n: Node, rows: int | None = None) -> None:
        """So many rows, or so far that no stream can wait for them."""
        self.warn(n, AHEAD if rows is None else f"looks {rows} rows ahead{LATE}")

    def no_stream(self, why: str) -> None:
        """Of the operation that is matched now."""
        self.warnings.append(f"{'/'.join(part for part in self.graph.here if part)}: {why}: {NO_STREAM}")

    def note_convolution(self, n: Node, taps: Taps, two_sided: bool) -> None:
        self.convolutions.append(Convolution(self.where(n), taps.lags, taps.ahead, taps.cut))
        if taps.cut:
            self.warn(n, f"taps reach the example's length {self.exported.length}: longer sequences differ")
            self.convolutions[-1].cut_warning = self.warnings[-1]
        if two_sided:
            self.looks_ahead(n)  # unless its taps are few: compact.py

    # ---- the walk
    def module(self, n: Node) -> str:
        return module_of(n)

    def where(self, n: Node) -> str:
        return address(n)

    def refuse(self, n: Node, e: Refused) -> None:
        self.unclear |= isinstance(e, UnclearLength)
        _, kind = decompositions.written(n) or ("", self.kind(n))
        problem = Problem(self.where(n), kind, e.reason, e.way_out)
        if problem not in self.problems:  # parts of one operation share its name
            self.problems.append(problem)

    def run(self) -> Importer:
        for entry, n in zip(self.exported.inputs, self.exported.arguments, strict=True):
            self.graph.here = ("", entry.name)
            v = self.graph.emit("input", [], width=entry.width, rows=self.exported.length)
            self.values[n] = natural(v, n.meta["val"].shape, entry.shape.index(0))
            find_convolution(self, n)
        last = {a: n for n in self.exported.nodes for a in n.all_input_nodes}
        for n in self.exported.nodes:
            if not self.varies(n) or n.op == "placeholder":
                continue
            if n not in self.values:
                self.match(n)
            find_convolution(self, n)
            for a in n.all_input_nodes:  # places of long sequences are large
                if (
                    last[a] is n
                    and a not in self.exported.results
                    and isinstance(held := self.values.get(a), (Placed, attention.Scores))
                ):
                    self.values[a] = Read((held if isinstance(held, Placed) else held.q).value)
        return self

    def match(self, n: Node) -> None:
        self.graph.here = (self.module(n), name_of(n))
        if any(v not in self.values for v in self.variables(n)):
            return self.stand_in(n)  # the cause is reported elsewhere
        try:
            self.values[n] = self.lower(n)
        except Refused as e:
            if not loops.explained(self, n) and (isinstance(e, NoOp) or not self.follows(n)):
                self.refuse(n, e)
            self.stand_in(n)
        except (KeyError, IndexError, ValueError, TypeError, AttributeError, RuntimeError) as e:
            if not self.follows(n):
                self.refuse(
                    n,
                    Refused(
                        f"in a form that the importer does not know ({type(e).__name__}: {str(e)[:80]})",
                        "write it in another form",
                    ),
                )
            self.stand_in(n)

    def follows(self, n: Node) -> bool:
        """Whether what it reads stands in for something refused: places and kinds of such a value are not the module's."""
        held = map(self.values.get, self.variables(n))
        waiting, seen = [x.value for x in held if isinstance(x, (Placed, Read))], set[int]()
        while waiting:
            v = waiting.pop()
            if v in self.opaque:
                return True
            waiting += [i for i in self.graph.ops[v].inputs if i not in seen]
            seen.update(self.graph.ops[v].inputs)
        return False

    def stand_in(self, n: Node) -> None:
        """An opaque value of the right shape, in place of what was refused."""
        val = n.meta.get("val")
        if not isinstance(val, Tensor) or val.is_complex() or val.dim() == 0:
            return
        known = [self.op(v) for v in map(self.values.get, self.variables(n)) if isinstance(v, Placed)]
        rows = next(
            (r for r in [*(op.rows for op in known if not op.timeless), self.exported.length] if r in val.shape), None
        )
        if rows is None and not any(op.timeless for op in known):
            return  # no telling what its rows would be: what reads it is not judged
        if rows and list(val.shape).count(rows) > 1:
            return  # such as the scores of an attention: neither is what reads them
        axis = None if rows is None else list(val.shape).index(rows)
        v = self.graph.emit("opaque", [], width=val.numel() // (rows or 1), rows=rows or 1, timeless=rows is None)
        self.values[n] = natural(v, val.shape, axis)
        self.opaque.add(v)

    def lower(self, n: Node) -> Value:
        kind, sources = self.kind(n), self.variables(n)
        if any(isinstance(self.values[v], norms.Root) for v in sources) and (norm := norms.by_root(self, n)):
            return norm
        first = self.values[sources[0]]
        if any(isinstance(self.values[v], spectrum.Spectrum) for v in sources):
            step = (
                spectrum.spectrum(self, n)
                if all(isinstance(self.values[v], spectrum.Spectrum) for v in sources)
                else None
            )
            if step is not None:
                return step
            for source in sources:
                if isinstance(part := self.values[source], spectrum.Spectrum):
                    self.values[source] = spectrum.value_of(self, part)
            first = self.values[sources[0]]
        if any(isinstance(self.values[v], attention.Scores) for v in sources) and kind not in products.RULES:
            return attention.step(self, n)
        if any(isinstance(self.values[v], (complexes.Complex, complexes.Phase)) for v in sources):
            return complexes.complex_step(self, n)
        if kind == "mul" and (product := complexes.times_constant(self, n)):
            return product
        if n.target is operator.getitem and isinstance(first, (list, tuple)):
            found: Value = first[args_of(n)[1]]
            return found
        val: Any = n.meta.get("val")
        if isinstance(val, Tensor) and val.is_complex() and kind not in RULES:
            raise Refused(
                "complex values that are neither a convolution nor the spectrum of frames", "use real arithmetic"
            )
        if kind in KEEPS:
            if not val.is_floating_point() and sources[0].meta["val"].is_floating_point():
                raise Refused(f"turns numbers into {val.dtype}", "keep floating point numbers")
            return first
        if kind in MOVES:
            x = self.placed(sources[0])
            if kind in ("view", "_unsafe_view"):
                return x.moved(x.at.reshape(args_of(n)[1]))  # places need not have the strides of the tensor
            moved = call(n, {**self.constants, sources[0]: x.at})
            return x.moved(moved) if isinstance(moved, Tensor) else [x.moved(part) for part in moved]
        if kind in RULES:
            return RULES[kind](self, n)
        if kind in unary.TABLE:
            return pointwise.unary(self, n, kind)
        raise NoOp("no rule for it", "docs/import.md lists what is accepted; write it with these operations")

    def outputs(self, names: list[str]) -> None:
        """Names the results. Their features are in torch's order."""
        for name, n in zip(names, self.exported.results, strict=True):
            if not self.varies(n):
                self.problems.append(
                    Problem(name, "output", "does not depend on an input", "return values of the input only")
                )
                continue
            if n not in self.values:
                if not self.problems:
                    self.problems.append(Problem(name, "output", "is not real numbers", "return real numbers"))
                continue
            self.graph.here = (self.module(n), name_of(n))
            try:
                placed = self.settled(n)
                if placed.value in self.opaque:
                    continue
                order, axis, steps = all_features(self.graph, placed)
                self.graph.outputs.append(Output(name, self.graph.take(placed.value, order), axis, steps))
                if steps > 1:
                    self.warn(n, f"each row of the output {name} holds {steps} time steps")
            except Refused as e:
                if not self.follows(n) and getattr(self.values[n], "value", None) not in self.opaque:
                    self.refuse(n, e)
