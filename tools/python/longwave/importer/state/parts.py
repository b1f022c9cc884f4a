"""What a recurrence computes with the results of its gates replaced by numbers that differ."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.fx.node import Node

from ..export import op_name
from .region import Region, jacobian

EXACT = 1e-12  # beside numbers of about 1


class Parts:
    """What a recurrence computes with its gates replaced."""

    def __init__(self, region: Region) -> None:
        self.region = region
        random = torch.Generator().manual_seed(3)

        def numbers(count: int, low: float) -> Tensor:
            return low + (0.9 - low) * torch.rand(count, dtype=torch.float64, generator=random)

        self.sigmoids = [n for n in region.gates if op_name(n) == "sigmoid"]
        self.tanhs = [n for n in region.gates if op_name(n) == "tanh"]
        self.u, self.h = numbers(region.n_inputs, -0.9), numbers(region.n_states, -0.9)
        read = region.run(self.u, self.h)
        self.s_places, self.s_map = distinct(read, self.read_by(self.sigmoids))
        self.t_places, self.t_map = distinct(read, self.read_by(self.tanhs))
        self.s, self.t = numbers(len(self.s_places), 0.1), numbers(len(self.t_places), -0.9)
        self.places = torch.cat([self.s_places, self.t_places])
        self.row = torch.full((len(read),), -1)
        self.row[self.places] = torch.arange(len(self.places))
        self._read: dict[str, tuple[Tensor, Tensor, Tensor]] = {}

    def given(self, s: Tensor, t: Tensor) -> dict[Node, Tensor]:
        found, shapes = {}, self.region.shapes
        for nodes, values in ((self.sigmoids, s[self.s_map]), (self.tanhs, t[self.t_map])):
            at = 0
            for n in nodes:
                found[n] = values[at : at + shapes[n].numel()].reshape(shapes[n])
                at += shapes[n].numel()
        return found

    def after(self, h: Tensor, s: Tensor, t: Tensor) -> Tensor:
        return self.region.result(self.u, h, self.given(s, t))

    def read(self, with_gates: str) -> tuple[Tensor, Tensor, Tensor]:
        """All that gates read: matrix, bias, and where it is not affine. Each is computed once: it takes long for many units."""
        if with_gates not in self._read:
            s, t = {
                "random": (self.s, self.t),
                "other": (1 - self.s, -self.t),
                "closed": (0 * self.s, self.t),
                "open": (0 * self.s + 1, self.t),
            }[with_gates]
            region, given, n = self.region, self.given(s, t), self.region.n_inputs

            def rows(x: Tensor) -> Tensor:
                return region.run(x[:n], x[n:], given)[self.places]

            x = torch.cat([self.u, self.h])
            bias, matrix, full = rows(torch.zeros_like(x)), jacobian(rows, x), rows(x)
            self._read[with_gates] = matrix, bias, (matrix @ x + bias - full).abs() > EXACT * (1 + full.abs().max())
        return self._read[with_gates]

    def read_by(self, nodes: Sequence[Node]) -> Tensor:
        """Places of what these gates read, in the order of their elements."""
        return torch.cat([self.region.before(n) for n in nodes]) if nodes else torch.zeros(0, dtype=torch.long)


def distinct(read: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
    """Places of gates that read different numbers, and for each gate which of them it is: a gate may be written twice."""
    first: dict[float, int] = {}
    index = [first.setdefault(float(value), len(first)) for value in read[places]]
    kept = torch.zeros(len(first), dtype=torch.long)
    for place, i in zip(reversed(places.tolist()), reversed(index)):
        kept[i] = place
    return kept, torch.tensor(index, dtype=torch.long)
