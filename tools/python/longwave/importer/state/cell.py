"""A recurrence of gates, or of a state that decays, as one operation over all rows."""

from __future__ import annotations

import itertools
import weakref
from dataclasses import dataclass, field

import torch
from torch import Tensor

OPEN = 40.0  # a sigmoid of it is 1 in float32, and of the negative 0 beside any state


@dataclass
class Cell:
    """One layer of `kind`. `w` [gates, inputs], `bias` [gates], `u` [gates, units], `inside` [units] of a GRU.

    A `scan` is h = decay * h + w x + bias. What a kind has not is empty. `units`: numbers of the elements whose rows it makes."""

    kind: str
    w: Tensor
    bias: Tensor
    u: Tensor
    units: Tensor
    inside: Tensor = field(default_factory=lambda: torch.empty(0))
    decay: Tensor = field(default_factory=lambda: torch.empty(0))
    resets_after: bool = True  # of a GRU: its reset gate multiplies the product with the state, not the state
    states: tuple[list[int], ...] = ()  # h, and c of an LSTM: places among the states of the cycle
    first: tuple[Tensor, ...] = ()  # their values before the first row

    def step(self, x: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        a, h = x @ self.w.T + self.bias, state[0]
        if self.kind == "scan":
            return (self.decay * h + a,)
        if self.kind == "lstm":
            i, f, g, o = (a + self.u @ h).chunk(4)
            c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
            return o.sigmoid() * c.tanh(), c
        (xr, xz, xn), (ur, uz, un) = a.chunk(3), self.u.chunk(3)
        r, z = (xr + ur @ h).sigmoid(), (xz + uz @ h).sigmoid()
        inside = r * (un @ h + self.inside) if self.resets_after else un @ (r * h) + self.inside
        return ((1 - z) * (xn + inside).tanh() + z * h,)


_numbers = itertools.count()
_cells: weakref.WeakValueDictionary[int, Held] = weakref.WeakValueDictionary()


class Held:
    """A cell that operations name by number. Copies of a module share it."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self.number = cell, next(_numbers)
        _cells[self.number] = self

    def __deepcopy__(self, memo: dict[int, object]) -> Held:
        return self


@torch.library.custom_op("longwave::recurrence", mutates_args=())
def recurrence(x: Tensor, number: int) -> Tensor:
    """Rows [T, inputs] to rows [T, units] of the cell."""
    cell, rows = _cells[number].cell, []
    state = cell.first
    for row in x.to(torch.float64):
        state = cell.step(row, state)
        rows.append(state[0])
    return torch.stack(rows).to(x.dtype) if rows else x.new_zeros(0, len(cell.units))


@recurrence.register_fake
def _(x: Tensor, number: int) -> Tensor:
    return x.new_empty(x.shape[0], len(_cells[number].cell.units))


def cell_of(number: int) -> Cell:
    return _cells[number].cell
