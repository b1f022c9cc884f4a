"""The graph under recovery: Longwave ops with float64 constants. One row of a value is one time step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from .beginnings import begins
from .known import Known
from .rules.unary import FLOAT64 as POINTWISE
from .taps import Dyadic

FEW = 8  # products that cost no more than a selection
OF_VALUES = {"add", "mul", "maximum", "minimum", "where"}  # ops of several values, element by element
PLAIN = {
    "linear",
    "affine",
    "add",
    "mul",
    "square",
    "mean",
    "repeat",
    "power_spectrum",
    "sqrt",
}  # what modules often write twice: deviations from a mean


@dataclass
class Op:
    kind: str
    inputs: list[int]
    constants: list[tuple[str, Tensor]]  # operands after the inputs, in the op's order
    attributes: dict[str, Any]
    width: int
    rows: int  # at the example length; 1 where `timeless`
    dims: tuple[int, ...]
    timeless: bool
    module: str  # address of the module that it came from
    source: str  # name of the torch operation
    form: Dyadic | Known | None = None  # a shorter form of the taps, for the folder; the layer that the op is

    def constant(self, name: str) -> Tensor:
        return dict(self.constants)[name]

    def given(self, name: str) -> Tensor | None:
        """A constant that the op may lack."""
        return dict(self.constants).get(name)


@dataclass
class Output:
    name: str
    value: int
    axis: int | None  # of time in the module's result; None: the value has no time axis
    steps: int = 1  # time steps of the result in each row, one after the other: a transposed convolution makes several


MOST_REMADE = 16  # ops of elements behind one selection


@dataclass
class Recovered:
    ops: list[Op] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    here: tuple[str, str] = ("", "")  # module and source of what is emitted now
    _taken: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)
    _plain: dict[tuple[object, ...], list[int]] = field(default_factory=dict)

    def emit(
        self,
        kind: str,
        inputs: list[int],
        constants: Sequence[tuple[str, Tensor | None]] = (),
        attributes: dict[str, Any] | None = None,
        width: int = 0,
        rows: int = 0,
        dims: tuple[int, ...] | None = None,
        timeless: bool = False,
    ) -> int:
        first = self.ops[inputs[0]] if inputs else None
        width = width or (first.width if first else 0)
        if dims is None:
            dims = (
                first.dims
                if first and first.width == width and kind in {*POINTWISE, *OF_VALUES, "affine"}
                else (width,)
            )
        timeless = timeless or bool(first and first.timeless)
        held = [(key, t.detach().to(torch.float64)) for key, t in constants if t is not None]
        if (same := self._same(kind, inputs, held, attributes or {})) is not None:
            return same
        self.ops.append(
            Op(
                kind,
                inputs,
                held,
                attributes or {},
                width,
                1 if timeless else rows or (first.rows if first else 0),
                dims,
                timeless,
                *self.here,
            )
        )
        return len(self.ops) - 1

    def _same(
        self, kind: str, inputs: list[int], constants: list[tuple[str, Tensor]], attributes: dict[str, Any]
    ) -> int | None:
        """An op that computes the same already. The place that the next one will have is noted."""
        if kind not in PLAIN:
            return None
        before = self._plain.setdefault((kind, tuple(inputs), tuple(attributes.items())), [])
        for at in before:
            found = self.ops[at].constants
            if [key for key, _ in found] == [key for key, _ in constants] and all(
                torch.equal(a, b) for (_, a), (_, b) in zip(found, constants)
            ):
                return at
        before.append(len(self.ops))
        return None

    def linear(
        self, v: int, weight: Tensor, bias: Tensor | None = None, attributes: dict[str, Any] | None = None
    ) -> int:
        op = self.ops[v]
        if op.kind == "take":  # a matrix selects as well
            v, index = op.inputs[0], op.constant("index").long()
            there = index >= 0
            weight = torch.zeros(len(weight), self.ops[v].width, dtype=torch.float64).index_add(
                1, index[there], weight[:, there].to(torch.float64)
            )
        if attributes is None and (taps := self._taps(v, weight)) is not None:
            source, kernel, first = taps
            joined = {
                "stride_t": 1,
                "stride_f": 1,
                "groups": 1 if kernel.shape[1] > 1 else len(kernel),
                "bias": int(bias is not None),
                "frequency": 0,
            }
            made = self.emit(
                "conv2d", [self.flat(source)], [("weight", kernel), ("bias", bias)], joined, len(weight), op.rows
            )
            return self.emit("add", [made, begins(self, made, first)]) if bool(first.any()) else made
        return self.emit(
            "linear",
            [v],
            [("weight", weight), ("bias", bias)],
            {**(attributes or {}), "bias": int(bias is not None)},
            len(weight),
        )

    def _taps(self, v: int, weight: Tensor) -> tuple[int, Tensor, Tensor] | None:
        """A matrix of a row and rows before it, joined, as the value and the kernel [out, in, taps, 1] of a convolution, and what
        the first rows [taps - 1, out] have in addition. None: most taps would be zero, or the rows are of several values."""
        columns = self._delays(v)
        if columns is None or len({source for source, *_ in columns}) != 1:
            return None
        source, taps = columns[0][0], 1 + max(delay for _, delay, *_ in columns)
        width = self.ops[source].width
        if taps == 1 or 2 * len(columns) < taps * width:
            return None
        kernel = torch.zeros(len(weight), width, taps, 1, dtype=torch.float64)
        first = torch.zeros(taps - 1, len(weight), dtype=torch.float64)
        for k, (_, delay, feature, before) in enumerate(columns):
            kernel[:, feature, taps - 1 - delay, 0] += weight[:, k].to(torch.float64)
            first[:delay] += before[:, None] * weight[:, k].to(torch.float64)
        own = torch.arange(width)
        if len(weight) == width > 1 and int((kernel != 0).any(2).sum()) == int((kernel[own, own] != 0).any(1).sum()):
            kernel = kernel[own, own][:, None]  # each channel reads itself
        return source, kernel, first

    def _delays(self, v: int) -> list[tuple[int, int, int, Tensor]] | None:
        """For each feature: the value that it is an older row of, how much older, which feature of that, and the rows before its
        first. None: something else."""
        op = self.ops[v]
        if op.timeless:
            return None
        if op.kind == "concat":
            parts = [self._delays(i) for i in op.inputs]
            known = [part for part in parts if part is not None]
            return [column for part in known for column in part] if len(known) == len(parts) else None
        if (
            op.kind == "take"
            and (inner := self._delays(op.inputs[0])) is not None
            and bool((op.constant("index") >= 0).all())
        ):
            return [inner[i] for i in op.constant("index").long().tolist()]
        if op.kind == "shift" and (inner := self._delays(op.inputs[0])) is not None:
            by, before = op.attributes["rows"], op.given("before")
            before = torch.zeros(by, op.width, dtype=torch.float64) if before is None else before
            return [
                (source, delay + by, feature, torch.cat([before[:, i], more]))
                for i, (source, delay, feature, more) in enumerate(inner)
            ]
        return [(v, 0, i, torch.zeros(0, dtype=torch.float64)) for i in range(op.width)]

    def affine(self, v: int, scale: Tensor, shift: Tensor) -> int:
        return self.emit("affine", [v], [("scale", scale), ("shift", shift)])

    def folded(self, v: int) -> int:
        """A matrix that an affine op follows, as one matrix: `weight @ x + bias` is one linear op."""
        op = self.ops[v]
        if op.kind != "affine" or self.ops[op.inputs[0]].kind != "linear":
            return v
        made, scale = self.ops[op.inputs[0]], op.constant("scale")
        bias = made.given("bias")
        return self.linear(
            made.inputs[0],
            made.constant("weight") * scale[:, None],
            op.constant("shift") + (0 if bias is None else bias * scale),
            made.attributes,
        )

    def flat(self, v: int) -> int:
        """The value with rows of one dimension."""
        return v if len(self.ops[v].dims) == 1 else self.select(v, torch.arange(self.ops[v].width))

    def image(self, v: int, bands: int) -> int:
        """The value with rows of (bands, features of a band)."""
        op = self.ops[v]
        return self.emit(
            "take",
            [v],
            [("index", torch.arange(op.width))],
            {"bands": bands},
            op.width,
            op.rows,
            (bands, op.width // bands),
        )

    def arranged(self, v: int, order: Tensor) -> int:
        """Features `order` [bands, channels] of v as an image; below 0: zeros. v itself where it is that already."""
        (count, channels), op, index = order.shape, self.ops[v], order.reshape(-1)
        dims = (count,) if channels == 1 else (channels,) if count == 1 else (count, channels)
        if op.dims == dims and torch.equal(index, torch.arange(op.width)):
            return v
        if len(dims) == 1:
            return self.select(v, index)
        if self._of_takes(v) and torch.equal(index.sort().values, torch.arange(op.width)):
            return self.emit(op.kind, [self.arranged(i, order) for i in op.inputs], [], op.attributes)
        if op.kind == "take":
            v, index = op.inputs[0], torch.where(index < 0, index, op.constant("index").long()[index])
        return self.emit("take", [v], [("index", index)], {"bands": count}, index.numel(), dims=dims)

    def _of_takes(self, v: int) -> bool:
        """An op of elements that takes made, so that these may as well take them in another order. Few: each is made again."""
        paths, looked_at = [v], 0
        while paths:
            op = self.ops[paths.pop()]
            looked_at += 1
            if looked_at > MOST_REMADE or op.kind not in {*POINTWISE, *OF_VALUES}:
                return False
            paths += [i for i in op.inputs if self.ops[i].kind != "take"]
        return True

    def select(self, v: int, order: Tensor) -> int:
        """The features `order` of v, by an op of its own; below 0: zeros. A selection of a selection is one."""
        op = self.ops[v]
        if op.kind == "take":
            v, order = op.inputs[0], torch.where(order < 0, order, op.constant("index").long()[order])
        return self.emit("take", [v], [("index", order)], {"bands": 1}, len(order))

    def split(self, v: int, parts: int) -> int:
        """Each row as so many rows of its parts."""
        op = self.ops[v]
        return self.emit("split_rows", [v], [], {"parts": parts}, op.width // parts, op.rows * parts)

    def unframe(self, v: int, hop: int, ahead: int) -> int:
        """Rows as frames that are added where they overlap."""
        op = self.ops[v]
        return self.emit("unframe", [v], [], {"window": op.width, "hop": hop, "ahead": ahead}, hop, op.rows)

    def shift(self, v: int, rows: int) -> int:
        """The value so many rows later. A shift of a shift is one."""
        op = self.ops[v]
        if op.kind == "shift" and op.given("before") is None:
            v, rows = op.inputs[0], rows + op.attributes["rows"]
        return self.emit("shift", [v], [], {"rows": rows}, dims=op.dims)

    def concat(self, values: list[int]) -> int:
        """The features of several values side by side."""
        values = [self.flat(v) for v in values]
        while len(values) > 1:
            few = values[:16]
            values = [self.emit("concat", few, width=sum(self.ops[v].width for v in few)), *values[16:]]
        return values[0]

    def take(self, v: int, order: Tensor) -> int:
        """The features `order` of v. Selections move towards the inputs into the op that makes v, where that costs nothing."""
        op = self.ops[v]
        if len(order) == op.width and bool((order == torch.arange(op.width)).all()):
            return v
        key = (v, tuple(order.tolist()))
        if key not in self._taken:
            self._taken[key] = self._take(v, op, order)
        return self._taken[key]

    def _take(self, v: int, op: Op, order: Tensor) -> int:
        constants = dict(op.constants)
        if op.kind == "linear":
            bias = constants.get("bias")
            return self.linear(
                op.inputs[0], constants["weight"][order], None if bias is None else bias[order], op.attributes
            )
        if len(order.unique()) == len(order) and len(op.dims) == 1:
            if op.kind in POINTWISE:
                return self.emit(op.kind, [self.take(op.inputs[0], order)], [], op.attributes)
            if op.kind == "affine":
                return self.affine(self.take(op.inputs[0], order), constants["scale"][order], constants["shift"][order])
            if op.kind in OF_VALUES:
                return self.emit(op.kind, [self.take(i, order) for i in op.inputs])
            if op.kind == "mean":
                return self.emit("mean", [self.take(op.inputs[0], order)], [], op.attributes, timeless=True)
            if op.kind == "long_conv" and op.attributes["channels"] == 1:
                taps = constants["taps"][:, order]
                made = self.emit(
                    "long_conv",
                    [self.take(op.inputs[0], order)],
                    [("taps", taps), ("D", constants["D"][:, order])],
                    op.attributes,
                )
                self.ops[made].module, self.ops[made].source = op.module, op.source  # the report names its taps so
                return made
            if op.kind == "conv2d" and (
                op.attributes["groups"] == 1 or op.attributes["groups"] == op.width == self.ops[op.inputs[0]].width
            ):
                depthwise = op.attributes["groups"] != 1
                x = self.take(op.inputs[0], order) if depthwise else op.inputs[0]
                bias = constants.get("bias")
                attributes = op.attributes | {"groups": len(order) if depthwise else 1}
                return self.emit(
                    "conv2d",
                    [x],
                    [("weight", constants["weight"][order]), ("bias", None if bias is None else bias[order])],
                    attributes,
                    len(order),
                    op.rows,
                )
        return self.select(v, order)

    def tidy(self) -> None:
        """Folds affine ops and drops what no output needs."""
        self._add_beginnings()
        self._share_matrices()
        self._fold_affines()
        used = {o.value for o in self.outputs} | {i for i, op in enumerate(self.ops) if op.kind == "input"}
        for i in range(len(self.ops) - 1, -1, -1):
            if i in used:
                used.update(self.ops[i].inputs)
        kept = sorted(used)
        at = {old: new for new, old in enumerate(kept)}
        self.ops = [self.ops[old] for old in kept]
        for op in self.ops:
            op.inputs = [at[i] for i in op.inputs]
        for output in self.outputs:
            output.value = at[output.value]
        self._taken.clear()
        self._plain.clear()

    def _add_beginnings(self) -> None:
        """Rows behind others than zeros as rows behind zeros, and what the first ones have in addition."""
        if not any(op.given("before") is not None for op in self.ops):
            return
        before, self.ops = self.ops, []
        moved: dict[int, int] = {}
        self._taken.clear()
        self._plain.clear()
        for i, op in enumerate(before):
            op.inputs = [moved[j] for j in op.inputs]
            rows, op.constants = op.given("before"), [(key, t) for key, t in op.constants if key != "before"]
            self.ops.append(op)
            moved[i] = len(self.ops) - 1
            if rows is not None:
                self.here = (op.module, op.source)
                moved[i] = self.emit("add", [self.flat(moved[i]), begins(self, moved[i], rows)], dims=op.dims)
        for output in self.outputs:
            output.value = moved[output.value]

    def _share_matrices(self) -> None:
        """A linear op whose rows are all among those of an earlier one of the same input selects from its result."""
        before: dict[int, list[tuple[int, dict[bytes, int]]]] = {}
        for i, op in enumerate(self.ops):
            if op.kind != "linear" or set(op.attributes) != {"bias"} or self.ops[op.inputs[0]].width < FEW:
                continue
            weight, bias = op.constant("weight"), op.given("bias")
            rows_of = weight if bias is None else torch.cat([weight, bias[:, None]], 1)
            each = [row.numpy().tobytes() for row in rows_of]
            others = before.setdefault(op.inputs[0], [])
            found = next(((j, rows) for j, rows in others if all(row in rows for row in each)), None)
            if found is None:
                others.append((i, {row: at for at, row in enumerate(each)}))
                continue
            op.kind, op.inputs, op.attributes = "take", [found[0]], {"bands": 1}
            op.constants = [("index", torch.tensor([found[1][row] for row in each], dtype=torch.float64))]

    def _fold_affines(self) -> None:
        """Where nothing else reads between: two in a row become one, a linear op takes one in, and so does a convolution if the
        affine op treats all frequencies alike."""
        uses = [0] * len(self.ops)
        for v in [i for op in self.ops for i in op.inputs] + [output.value for output in self.outputs]:
            uses[v] += 1
        for op in self.ops:
            if op.kind != "affine" or uses[op.inputs[0]] > 1:
                continue
            made, scale, shift = self.ops[op.inputs[0]], op.constant("scale"), op.constant("shift")
            if made.kind == "linear":
                bias = made.given("bias")
                op.kind, op.inputs, op.attributes = "linear", list(made.inputs), made.attributes | {"bias": 1}
                op.constants = [
                    ("weight", made.constant("weight") * scale[:, None]),
                    ("bias", shift + (0 if bias is None else bias * scale)),
                ]
                op.module, op.source = made.module, made.source
            elif made.kind == "affine":
                op.constants = [
                    ("scale", scale * made.constant("scale")),
                    ("shift", made.constant("shift") * scale + shift),
                ]
                op.inputs = list(made.inputs)
            elif made.kind == "conv2d":
                weight, bias = made.constant("weight"), made.given("bias")
                scale, shift = scale.reshape(-1, len(weight)), shift.reshape(-1, len(weight))
                if not bool((scale == scale[0]).all() and (shift == shift[0]).all()):
                    continue
                op.kind, op.inputs, op.attributes = "conv2d", list(made.inputs), made.attributes | {"bias": 1}
                op.constants = [
                    ("weight", weight * scale[0][:, None, None, None]),
                    ("bias", shift[0] + (0 if bias is None else bias * scale[0])),
                ]
                op.module, op.source = made.module, made.source
