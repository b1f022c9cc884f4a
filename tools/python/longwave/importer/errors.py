"""What the importer says when it cannot import."""
from __future__ import annotations

from dataclasses import dataclass

from .text import visible


def retrain(advice: str) -> str:
    """Advice after which a trained module computes something else."""
    return f"{advice} (that changes the model: train it again)"


class Refused(Exception):
    """One node that has no counterpart: the reason, and what to do about it."""

    def __init__(self, reason: str, way_out: str = "") -> None:
        super().__init__(reason)
        self.reason, self.way_out = reason, way_out


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


class ImportFailed(Exception):
    """Everything that stands between a module and a package."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems
