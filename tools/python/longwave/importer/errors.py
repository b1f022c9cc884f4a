"""What the importer says when it cannot import."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .text import visible


def retrain(advice: str) -> str:
    """Advice after which a trained module computes something else."""
    return f"{advice} (that changes the model: train it again)"


class Refused(Exception):
    """One node that has no counterpart: the reason, and what to do about it."""

    def __init__(self, reason: str, way_out: str = "") -> None:
        super().__init__(reason)
        self.reason, self.way_out = reason, way_out


class NoOp(Refused):
    """Whatever the operation reads, it is refused. Other refusals may follow from one before."""


class UnclearLength(Refused):
    """The example's length equals another extent, so the time axis cannot be told: another length may do."""


@dataclass(frozen=True)
class Problem:
    where: str  # module address and node, "blocks.0.layer/fft_rfft"
    op: str
    reason: str
    way_out: str

    def __str__(self) -> str:
        parts = [visible(part) for part in (self.where, self.op, self.reason) if part]
        return ": ".join(parts) + (f"; {visible(self.way_out)}" if self.way_out else "")


def merged(problems: list[Problem]) -> list[Problem]:
    """One line for what is refused at several places of a module for one reason, such as the parts of a loop."""
    found: dict[tuple[str, ...], list[Problem]] = {}
    for p in problems:
        found.setdefault((p.where.rpartition("/")[0], p.op, p.reason, p.way_out), []).append(p)
    return [
        one if len(all) == 1 else replace(one, reason=f"{one.reason} (at {len(all)} places)")
        for all in found.values()
        for one in all[:1]
    ]


class ImportFailed(Exception):
    """Everything that stands between a module and a package. `ways`: lines that tell how to go on, whichever the reader likes."""

    def __init__(self, problems: list[Problem], ways: tuple[str, ...] = ()) -> None:
        super().__init__("\n".join([*map(str, problems), *ways]))
        self.problems, self.ways = problems, ways
