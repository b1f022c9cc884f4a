"""The graph under recovery: Longwave ops with float64 constants. One row of a value is one time step."""
from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from .rules.unary import FLOAT64 as POINTWISE


@dataclass
class Op:
    kind: str
    inputs: list[int]
    constants: list[tuple[str, Tensor]]  # operands after the inputs, in the op's order
    attributes: dict
    width: int
    rows: int  # at the example length; 1 where `timeless`
    dims: tuple[int, ...]
    timeless: bool
    module: str  # address of the module that it came from
    source: str  # name of the torch operation

    def constant(self, name: str) -> Tensor | None:
        return next((t for key, t in self.constants if key == name), None)


@dataclass
class Output:
    name: str
    value: int
    axis: int | None  # of time in the module's result; None: the value has no time axis


@dataclass
class Recovered:
    ops: list[Op] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    here: tuple[str, str] = ("", "")  # module and source of what is emitted now
    _taken: dict = field(default_factory=dict)

    def emit(self, kind: str, inputs: list[int], constants=(), attributes: dict | None = None, width: int = 0, rows: int = 0,
             dims: tuple[int, ...] | None = None, timeless: bool = False) -> int:
        first = self.ops[inputs[0]] if inputs else None
        width = width or first.width
        if dims is None:
            dims = first.dims if first and first.width == width and kind in {*POINTWISE, "add", "mul", "affine"} else (width,)
        timeless = timeless or bool(first and first.timeless)
        constants = [(key, t.detach().to(torch.float64)) for key, t in constants if t is not None]
        self.ops.append(Op(kind, inputs, constants, attributes or {}, width, 1 if timeless else rows or first.rows, dims, timeless, *self.here))
        return len(self.ops) - 1

    def linear(self, v: int, weight: Tensor, bias: Tensor | None = None) -> int:
        return self.emit("linear", [v], [("weight", weight), ("bias", bias)], {"bias": int(bias is not None)}, len(weight))

    def affine(self, v: int, scale: Tensor, shift: Tensor) -> int:
        return self.emit("affine", [v], [("scale", scale), ("shift", shift)])

    def folded(self, v: int) -> int:
        """A matrix that an affine op follows, as one matrix: `weight @ x + bias` is one linear op."""
        op = self.ops[v]
        if op.kind != "affine" or self.ops[op.inputs[0]].kind != "linear":
            return v
        made, scale = self.ops[op.inputs[0]], op.constant("scale")
        bias = made.constant("bias")
        return self.linear(made.inputs[0], made.constant("weight") * scale[:, None], op.constant("shift") + (0 if bias is None else bias * scale))

    def flat(self, v: int) -> int:
        """The value with rows of one dimension: a matrix of ones on the diagonal, because no op changes dims alone."""
        return v if len(self.ops[v].dims) == 1 else self.linear(v, torch.eye(self.ops[v].width, dtype=torch.float64))

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
            return self.linear(op.inputs[0], constants["weight"][order], None if bias is None else bias[order])
        if len(order.unique()) == len(order) and len(op.dims) == 1:
            if op.kind in POINTWISE:
                return self.emit(op.kind, [self.take(op.inputs[0], order)], [], op.attributes)
            if op.kind == "affine":
                return self.affine(self.take(op.inputs[0], order), constants["scale"][order], constants["shift"][order])
            if op.kind in ("add", "mul"):
                return self.emit(op.kind, [self.take(i, order) for i in op.inputs])
            if op.kind == "mean":
                return self.emit("mean", [self.take(op.inputs[0], order)], [], op.attributes, timeless=True)
            if op.kind == "long_conv" and op.attributes["channels"] == 1:
                taps = constants["taps"][:, order]
                return self.emit("long_conv", [self.take(op.inputs[0], order)], [("taps", taps), ("D", constants["D"][:, order])], op.attributes)
            if op.kind == "conv2d" and (op.attributes["groups"] == 1 or op.attributes["groups"] == op.width == self.ops[op.inputs[0]].width):
                depthwise = op.attributes["groups"] != 1
                x = self.take(op.inputs[0], order) if depthwise else op.inputs[0]
                bias = constants.get("bias")
                attributes = op.attributes | {"groups": len(order) if depthwise else 1}
                return self.emit("conv2d", [x], [("weight", constants["weight"][order]), ("bias", None if bias is None else bias[order])],
                                 attributes, len(order), op.rows)
        choice = torch.zeros(len(order), op.width, dtype=torch.float64)
        choice[torch.arange(len(order)), order] = 1
        return self.linear(v, choice)

    def tidy(self) -> None:
        """Gives each glu a linear op of its own, whose kernel computes it, and drops what no output needs."""
        self._own_linears()
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

    def _own_linears(self) -> None:
        ops, moved = [], {}
        for i, op in enumerate(self.ops):
            op.inputs = [moved[j] for j in op.inputs]
            if op.kind == "glu":
                made = ops[op.inputs[0]]
                ops.append(Op(**{**made.__dict__, "inputs": list(made.inputs)}))
                op.inputs = [len(ops) - 1]
            ops.append(op)
            moved[i] = len(ops) - 1
        self.ops = ops
        for output in self.outputs:
            output.value = moved[output.value]
