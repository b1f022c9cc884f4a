"""The threshold: one for all words, the lowest that the held-out negatives allow."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..kws.decision import Decision
from ..kws.heard import Negatives
from ..kws.intervals import poisson_upper

GRID = [round(0.30 + 0.025 * i, 3) for i in range(24)] + [round(0.90 + 0.005 * i, 3) for i in range(17)] + [0.99]


@dataclass(frozen=True)
class Point:
    decision: Decision
    events: int
    hours: float
    shown: bool  # whether the upper bound is at or below the wanted rate

    def bound(self) -> float:
        """Most events per hour, at 95 %."""
        return poisson_upper(self.events) / self.hours


def lowest_threshold(negatives: Negatives, base: Decision, rate: float) -> Point:
    """The lowest threshold from which on the 95 % Poisson bound stays at or below `rate` events per hour.

    Where the negatives are too few to show that, or too hard: the lowest from which on the events are as few as at 0.99.
    """
    hours = negatives.total_hours()

    def at(threshold: float) -> Point:
        decision = replace(base, thresholds={"default": threshold})
        count = negatives.count(decision)
        return Point(decision, count, hours, poisson_upper(count) / hours <= rate)

    points = [at(GRID[-1])]
    for threshold in reversed(GRID[:-1]):
        point = at(threshold)
        worse = point.events > points[0].events if not points[0].shown else not point.shown
        if worse:
            break
        points.append(point)
    return points[-1]
