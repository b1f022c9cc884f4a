"""A step as a module of whole sequences: each row is what one step reads.

Operations of a step run over all rows at once. States become older rows of values, recurrences one operation over all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx.node import Node
from torch.utils._pytree import tree_map

from ..errors import ImportFailed, Problem, Refused, retrain
from ..export import Exported, address, call, module_of, op_name
from ..match import KEEPS
from ..rules.unary import TABLE
from .cell import Held
from .cells import recognised
from .cycles import UNCHANGED, name_of, size, states_of
from .joined import Joined, Piece, Unit, units_of
from .origins import Origins
from .pairs import Pair
from .region import Region

WHOLE = {"linear", "layer_norm", "rms_norm", *TABLE, *KEEPS}  # they treat leading axes alike
# Their first axis is the batch, which may be rows.
BATCHED = set(
    "conv1d conv2d conv_transpose1d conv_transpose2d pad constant_pad_nd reflection_pad1d replication_pad1d batch_norm group_norm instance_norm "
    "_native_batch_norm_legit_no_training avg_pool1d max_pool1d avg_pool2d max_pool2d adaptive_avg_pool1d adaptive_max_pool1d".split()
)
MOST_PRODUCTS = 1 << 22  # of a convolution that is written as a matrix


class Place(nn.Module):
    """Stands for a part of the original module, so that operations keep their address."""

    def forward(self, function: Callable[..., Any], values: Sequence[Tensor]) -> Any:
        return function(*values)


def inner(part: nn.Module, key: str) -> nn.Module:
    """A part by name, which an attribute of the module may have too."""
    found = part._modules[key]
    assert found is not None
    return found


class Rows(nn.Module):
    """`first`: the states before the first row. All numbers are float64."""

    def __init__(self, exported: Exported, pairs: Sequence[Pair], first: Sequence[Tensor]) -> None:
        super().__init__()
        self.numbers = nn.Parameter(torch.zeros(1, dtype=torch.float64), requires_grad=False)  # tells the type
        self.exported, self.pairs = exported, list(pairs)
        self.origins = Origins(exported)
        self.states = states_of(self.origins, self.pairs, list(first))
        self.held: list[Held] = []
        self.solved: dict[int, tuple[int, int]] = {}  # number of an element -> recurrence, unit
        self.within: set[int] = set()  # numbers of the elements inside of recurrences
        self.cycles = self.states.cycles
        self.found: list[str] = []
        self._recognise()
        arguments = {p.argument for p in pairs}
        self.inputs = [a for i, a in enumerate(exported.arguments) if i not in arguments]
        states = {p.result for p in pairs}
        self.results = [r for i, r in enumerate(exported.results) if i not in states]
        for name in {module_of(n) for n in exported.nodes} - {""}:
            self._place(name)
        self._matrices: dict[Node, tuple[Tensor, Tensor] | None] = {}
        self.answers = [self._read(r) for r in self.results]
        self.steps = self._ordered(self.answers)

    def __deepcopy__(self, memo: dict[int, object]) -> Rows:
        return self

    def _place(self, name: str) -> None:
        part: nn.Module = self
        for key in name.split("."):
            if key not in part._modules:
                part._modules[key] = Place()
            part = inner(part, key)

    def _recognise(self) -> None:
        problems = []
        for cycle in self.cycles:
            names, operations = name_of(self.origins, self.states, self.pairs, cycle)
            try:
                cell = recognised(Region(self.origins, cycle))
            except Refused as e:
                problems.append(
                    Problem(
                        names,
                        "state",
                        f"{e.reason}; found {operations}",
                        e.way_out or "states may be those of an LSTM, GRU or RNN, older rows, and h = a * h + b * x",
                    )
                )
                continue
            place = {int(n): i for i, n in enumerate(self.states.numbers)}
            first = torch.stack([self.states.first[place[int(n)]] for n in cycle.states])
            cell.first = tuple(first[part] for part in cell.states)
            self.solved |= {int(n): (len(self.held), k) for k, n in enumerate(cell.units)}
            for n in cycle.nodes:
                self.within.update(range(self.origins.first[n], self.origins.first[n] + size(n)))
            self.held.append(Held(cell))
            self.found.append(f"{names}: {cell.kind} of {len(cell.units)} units")
        if problems:
            raise ImportFailed(problems)
        self.within -= self.solved.keys()

    # ---- the order of the work
    def _plain(self, a: Node) -> bool:
        """Whether no state and no recurrence is in a value."""
        at = self.origins.at[a]
        flat = torch.cat([t.flatten() for t in at]) if isinstance(at, list) else at.flatten()
        return not bool(self.states.is_state(flat).any()) and not any(
            int(n) in self.solved or int(n) in self.within for n in flat.unique()
        )

    def _piece(self, number: int) -> Piece:
        end, first = (number, []) if number < 0 else self.states.chain(number)
        if end == UNCHANGED:
            return Piece(None, 0, tuple(first[:1]), False)
        if end < 0:
            return Piece(None, 0, tuple(first) or (0.0,), bool(first))
        if end in self.solved:
            return Piece(*self.solved[end], tuple(first))
        source = self.origins.source(end)
        if end in self.within:
            raise ImportFailed(
                [
                    Problem(
                        address(source),
                        op_name(source),
                        "a value inside of a recurrence is read elsewhere: only its new state has rows",
                        retrain("read the new state h alone"),
                    )
                ]
            )
        return Piece(source, end - self.origins.first[source], tuple(first))

    def _read(self, a: Node) -> Node | Joined:
        return (
            a
            if self._plain(a)
            else Joined([self._piece(n) for n in self.origins.flat(a).tolist()], a.meta["val"].shape)
        )

    def _reads(self, unit: Unit) -> list[Node | Joined]:
        if isinstance(unit, int):
            numbers = self.cycles[unit].inputs.tolist()
            return [Joined([self._piece(n) for n in numbers], (len(numbers),))]
        return [self._read(a) for a in self.origins.reads(unit)]

    def _ordered(self, answers: list[Node | Joined]) -> list[tuple[Unit, list[Node | Joined]]]:
        """What to compute, each after what it reads."""
        order: list[tuple[Unit, list[Node | Joined]]] = []
        done: set[Unit] = set(self.inputs)
        waiting: list[tuple[Unit, list[Node | Joined] | None]] = [(unit, None) for unit in units_of(answers)]
        while waiting:
            unit, read = waiting.pop()
            if unit in done:
                continue
            if read is not None:
                done.add(unit)
                order.append((unit, read))
                continue
            read = self._reads(unit)
            waiting.append((unit, read))
            waiting += [(need, None) for need in units_of(read) if need not in done]
        return order

    # ---- the work
    def forward(self, *rows: Tensor) -> Any:
        values: dict[Unit, Tensor] = dict(zip(self.inputs, rows, strict=True))
        count = rows[0].shape[0]
        for unit, read in self.steps:
            arguments = [values[a] if isinstance(a, Node) else a(values, count) for a in read]
            values[unit] = self._at(unit, *self._call(unit, arguments))
        found = [values[r] if isinstance(r, Node) else r(values, count) for r in self.answers]
        return found[0] if len(found) == 1 else tuple(found)

    def _at(self, unit: Unit, function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        part: nn.Module = self
        for key in filter(None, module_of(self.cycles[unit].nodes[-1] if isinstance(unit, int) else unit).split(".")):
            part = inner(part, key)
        return function(*arguments) if part is self else part(function, arguments)

    def _matrix(self, unit: Node, read: list[Node]) -> Callable[[Tensor], Tensor] | None:
        if unit not in self._matrices:
            self._matrices[unit] = matrix_of(unit, read, self.exported.constants)
        if (found := self._matrices[unit]) is None:
            return None
        shape = unit.meta["val"].shape
        return lambda x: torch.nn.functional.linear(x.flatten(1), *found).reshape(-1, *shape)

    def _call(self, unit: Unit, arguments: Sequence[Tensor]) -> tuple[Callable[..., Any], Sequence[Any]]:
        if isinstance(unit, int):
            return torch.ops.longwave.recurrence, (*arguments, self.held[unit].number)
        read, constants = self.origins.reads(unit), self.exported.constants
        if (matrix := self._matrix(unit, read)) is not None:
            return matrix, arguments

        def one(*given: Tensor) -> Any:
            return call(unit, {**constants, **dict(zip(read, given))})

        if (
            op_name(unit) in BATCHED
            and len(read) == 1
            and read[0].meta["val"].dim() > 1
            and read[0].meta["val"].shape[0] == 1
        ):
            return lambda x: tree_map(lambda t: t.unsqueeze(1), one(x.squeeze(1))), arguments
        return (one if op_name(unit) in WHOLE else torch.vmap(one)), arguments


def matrix_of(n: Node, read: list[Node], constants: dict[Node, Tensor]) -> tuple[Tensor, Tensor] | None:
    """A convolution with one place for its kernel as a matrix of what it reads, and its bias."""
    val, x = n.meta["val"], read[0].meta["val"]
    if (
        op_name(n) not in ("conv1d", "conv2d")
        or len(read) != 1
        or val.numel() != val.shape[1]
        or x.numel() * val.numel() > MOST_PRODUCTS
    ):
        return None
    bias = call(n, {**constants, read[0]: torch.zeros(x.shape, dtype=torch.float64)}).flatten()
    units = torch.eye(x.numel(), dtype=torch.float64).reshape(x.numel(), *x.shape[1:])
    return (call(n, {**constants, read[0]: units}).flatten(1) - bias).T.contiguous(), bias
