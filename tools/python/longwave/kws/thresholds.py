"""Per-word thresholds, chosen on validation commands and on negatives; nothing here sees the held-out negatives.

Coordinate search over a grid: starting from one threshold for all, each word in turn takes the value with the lowest
cost, where the cost counts missed commands, wrong-word events, and events on clips and speech without commands.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .decision import Decision, Event, events, moving_average, smoothing_rows
from .labels import COMMANDS

GRID = [0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.84, 0.88, 0.91, 0.94, 0.96, 0.975]
SLOT = 2.5  # seconds from the start of one command to the start of the next


@dataclass(frozen=True)
class Score:
    commands: int
    missed: int  # no event of the right word from the clip's start until 1.5 s after its end
    wrong: int  # events of another word in that time


def score_commands(found: list[Event], label: np.ndarray) -> Score:
    """Counts on `streams.command_stream`; an event at exactly the end of a slot belongs to that slot."""
    right, wrong = set(), 0
    for event in found:
        slot = int(np.ceil(event.seconds / SLOT - 1e-9)) - 1
        if event.word == label[slot]:
            right.add(slot)
        else:
            wrong += 1
    return Score(len(label), len(label) - len(right), wrong)


def search(
    commands: np.ndarray,
    label: np.ndarray,
    negatives: list[np.ndarray],
    base: Decision,
    false_cost: float = 6.0,
    wrong_cost: float = 1.0,
    caution: float = 20.0,
) -> Decision:
    """`commands` (T, 12) probabilities of the command stream, `negatives` of streams where every event is false.

    `caution`: raising one word's threshold by 0.1 may cost this many tenths of a missed command.  The negatives were
    trained on, so their scores are too good; without caution the thresholds would sit at the edge.
    """
    rows = smoothing_rows(base)
    command_average = moving_average(commands, rows)
    negative_averages = [moving_average(p, rows) for p in negatives]

    def cost(thresholds: dict[str, float]) -> float:
        decision = replace(base, thresholds=thresholds)
        score = score_commands(events(command_average, decision), label)
        false = sum(len(events(a, decision)) for a in negative_averages)
        height = sum(thresholds[word] for word in COMMANDS)
        return score.missed + wrong_cost * score.wrong + false_cost * false - caution * height

    best = min(({"default": t} | dict.fromkeys(COMMANDS, t) for t in GRID), key=cost)
    for _ in range(2):
        for word in COMMANDS:
            best = min((best | {word: t} for t in GRID), key=cost)
    best["default"] = max(best[w] for w in COMMANDS)
    return replace(base, thresholds=best)
