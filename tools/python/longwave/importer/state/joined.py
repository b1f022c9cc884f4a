"""Rows of values, put together from rows of others that may be older."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Union

import torch
from torch import Tensor
from torch.fx.node import Node

Unit = Union[int, Node]  # what computes rows: a recurrence by number, or an operation


class Piece(NamedTuple):
    """An element of a value: the recurrence or operation whose rows hold it, its place there, and the rows before the first of
    them. Without a source: rows that end in zeros, or one number for ever."""

    source: Unit | None
    place: int
    first: tuple[float, ...]
    ends: bool = True


def units_of(read: Sequence[Node | Joined]) -> list[Unit]:
    return list(dict.fromkeys(unit for a in read for unit in (a.sources if isinstance(a, Joined) else [a])))


class Joined:
    """Rows put together from rows of several values, each some rows older: [T, *shape]."""

    def __init__(self, pieces: Sequence[Piece], shape: Sequence[int]) -> None:
        self.shape = tuple(shape)
        groups: dict[tuple[Unit | None, int], list[int]] = {}
        for i, piece in enumerate(pieces):
            groups.setdefault(
                (piece.source, len(piece.first) if piece.source is not None or piece.ends else 0), []
            ).append(i)
        self.parts = []
        for (source, delay), members in groups.items():
            places = [pieces[i].place for i in members]
            first = torch.tensor([pieces[i].first for i in members], dtype=torch.float64).reshape(len(members), -1).T
            self.parts.append(
                (source, delay, torch.tensor(places), places == list(range(len(places))), first.contiguous())
            )
        order = [i for members in groups.values() for i in members]
        self.order = None if order == sorted(order) else torch.argsort(torch.tensor(order))
        self.sources = [source for source, *_ in self.parts if source is not None]

    def __deepcopy__(self, memo: dict[int, object]) -> Joined:
        return self

    def __call__(self, values: dict[Unit, Tensor], count: int) -> Tensor:
        parts = [self._part(values, count, *part) for part in self.parts]
        joined = parts[0] if len(parts) == 1 else torch.cat(parts, 1)
        if self.order is not None:
            joined = joined.index_select(1, self.order)
        return joined.reshape(count, *self.shape)

    @staticmethod
    def _part(
        values: dict[Unit, Tensor],
        count: int,
        source: Unit | None,
        delay: int,
        places: Tensor,
        in_order: bool,
        first: Tensor,
    ) -> Tensor:
        if source is None:  # zeros behind the first rows, or what never changes
            return (
                torch.cat([first[:count], first.new_zeros(max(count - delay, 0), first.shape[1])])
                if delay
                else first[:1].expand(count, -1)
            )
        flat = values[source].reshape(count, -1)
        if not in_order or len(places) != flat.shape[1]:
            flat = flat.index_select(1, places)
        return torch.cat([first[:count], flat[: max(count - delay, 0)]]) if delay else flat
