"""Where each element of each value of a step comes from.

Views, joins and zeros around values only move elements. All else makes new ones. So a state that is packed, split, stacked
or shifted in any spelling is a list of the elements that the next step reads.
"""

from __future__ import annotations

import bisect

import torch
from torch import Tensor
from torch.fx.node import Node

from ..errors import ImportFailed, Problem
from ..export import Exported, address, call, op_name
from ..match import KEEPS, MOVES
from ..nodes import args_of, kwargs_of

ZERO = -1  # an element that is zero in each step
JOINS = {"cat", "stack"}


class Origins:
    """`at`: node -> the number of the origin of each element. Elements of inputs and of computed values have numbers of
    their own, in the order of the nodes."""

    def __init__(self, exported: Exported) -> None:
        self.exported = exported
        self.at: dict[Node, Tensor | list[Tensor]] = {}
        self.first: dict[Node, int] = {}  # of the elements of a source
        self.sources: list[Node] = []
        self._starts: list[int] = []
        self.total = 0
        for n in exported.nodes:
            if n in exported.varying:
                self.at[n] = self._of(n)

    def varies(self, a: object) -> bool:
        return isinstance(a, Node) and a in self.exported.varying

    def reads(self, n: Node) -> list[Node]:
        return [a for a in n.all_input_nodes if self.varies(a)]

    def source(self, number: int) -> Node:
        return self.sources[bisect.bisect_right(self._starts, number) - 1]

    def sources_of(self, a: Node) -> list[Node]:
        """The sources of a value, in order."""
        at = self.at[a]
        numbers = (torch.cat([t.flatten() for t in at]) if isinstance(at, list) else at.flatten()).unique()
        numbers = numbers[numbers >= 0]
        if not len(numbers):
            return []
        index = torch.bucketize(numbers, torch.tensor(self._starts), right=True) - 1
        return [self.sources[i] for i in index.unique().tolist()]

    def flat(self, a: Node) -> Tensor:
        at = self.at[a]
        if isinstance(at, list):
            raise ImportFailed(
                [Problem(address(a), op_name(a), "several values where one is read", "name one of them")]
            )
        return at.flatten()

    def _new(self, n: Node) -> Tensor | list[Tensor]:
        self.first[n] = self.total
        self.sources.append(n)
        self._starts.append(self.total)
        val = n.meta["val"]
        made = []
        for t in val if isinstance(val, (tuple, list)) else [val]:
            made.append(torch.arange(self.total, self.total + t.numel()).reshape(t.shape))
            self.total += t.numel()
        return made if isinstance(val, (tuple, list)) else made[0]

    def _of(self, n: Node) -> Tensor | list[Tensor]:
        kind, read = op_name(n), self.reads(n)
        if n.op == "placeholder" or not read:
            return self._new(n)
        before = self.at[read[0]]
        if kind == "getitem" and isinstance(before, list):
            part: Tensor = before[args_of(n)[1]]
            return part
        if isinstance(before, list):
            return self._new(n)
        val = n.meta["val"]
        if kind in KEEPS and len(read) == 1 and isinstance(val, Tensor) and val.is_floating_point():
            return before
        if kind in ("view", "_unsafe_view"):
            return before.reshape(args_of(n)[1])
        if kind in MOVES and len(read) == 1:
            moved = call(n, {**self.exported.constants, read[0]: before})
            return moved if isinstance(moved, Tensor) else list(moved)
        if kind in ("pad", "constant_pad_nd") and len(read) == 1:
            value = (
                args_of(n)[3]
                if kind == "pad" and len(args_of(n)) > 3
                else args_of(n)[2]
                if kind != "pad" and len(args_of(n)) > 2
                else 0
            )
            if (kind != "pad" or len(args_of(n)) < 3 or args_of(n)[2] == "constant") and not value:
                return torch.nn.functional.pad(before, list(args_of(n)[1]), value=ZERO)
        if kind in JOINS and not any(isinstance(self.at.get(a), list) for a in read):
            return self._joined(n)
        return self._new(n)

    def _joined(self, n: Node) -> Tensor | list[Tensor]:
        parts = []
        for a in args_of(n)[0]:
            if self.varies(a):
                at = self.at[a]
                assert isinstance(at, Tensor)  # as the caller has seen
                parts.append(at)
            elif bool(self.exported.constants[a].any()):
                return self._new(n)
            else:
                parts.append(torch.full(self.exported.constants[a].shape, ZERO))
        dim = args_of(n)[1] if len(args_of(n)) > 1 else kwargs_of(n).get("dim", 0)
        return (torch.cat if op_name(n) == "cat" else torch.stack)(parts, dim)
