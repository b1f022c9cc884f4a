"""The decision layer: rows of class probabilities in, events out.  Same rules as tools/cli/spotter.cc.

Each row is averaged with those before it (zeros before the start); a word fires when its average is the highest and at
its threshold for `min_count` rows in a row.  Then nothing fires until that word's average has fallen below
`release` times its threshold and `refractory_ms` more have passed.  Ignored classes can be on top but never fire.
"""
from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .labels import CLASSES, SILENCE

ROW_SECONDS = 0.02


@dataclass(frozen=True)
class Decision:
    thresholds: dict[str, float] = field(default_factory=lambda: {"default": 0.8})
    smoothing_ms: float = 300
    min_count: int = 3
    release: float = 0.5
    refractory_ms: float = 1000

    def threshold(self) -> np.ndarray:
        """(12,); the ignored classes get infinity."""
        levels = [self.thresholds.get(word, self.thresholds["default"]) for word in CLASSES]
        return np.array(levels[:SILENCE] + [np.inf, np.inf])

    def to_json(self) -> dict:
        """The "decision" entry of model.json."""
        return {"output": "probabilities", "ignore": CLASSES[SILENCE:], "threshold": self.thresholds,
                "smoothing_ms": self.smoothing_ms, "min_count": self.min_count, "release": self.release,
                "refractory_ms": self.refractory_ms}


@dataclass(frozen=True)
class Event:
    word: int  # class
    seconds: float  # end of the row at which it fired
    score: float


def moving_average(probabilities: np.ndarray, rows: int) -> np.ndarray:
    """(T, 12) -> (T, 12): mean of the last `rows` rows, rows before the start being zero."""
    total = np.cumsum(np.concatenate([np.zeros((rows, probabilities.shape[1])), probabilities.astype(np.float64)]), 0)
    total = np.concatenate([np.zeros((1, probabilities.shape[1])), total])
    return (total[rows + 1:] - total[1:-rows]) / rows


def events(average: np.ndarray, decision: Decision) -> list[Event]:
    """Events of one stream; `average` (T, 12) comes from `moving_average`."""
    threshold = decision.threshold()
    top = average.argmax(1)
    strong = average[np.arange(len(top)), top] >= threshold[top]
    found: list[Event] = []
    count, last = 0, -1
    holding, quiet_until = -1, -1.0
    for row in range(len(top)):
        word = int(top[row])
        count = 0 if not strong[row] else count + 1 if word == last else 1
        last = word
        seconds = (row + 1) * ROW_SECONDS
        if holding >= 0:
            if average[row, holding] >= decision.release * threshold[holding]:
                continue
            holding, quiet_until = -1, seconds + decision.refractory_ms / 1000
        if seconds < quiet_until or count < max(1, decision.min_count):
            continue
        holding = word
        found.append(Event(word, seconds, float(average[row, word])))
    return found


def smoothing_rows(decision: Decision) -> int:
    return max(1, round(decision.smoothing_ms / 1000 / ROW_SECONDS))


def detect(probabilities: np.ndarray, decision: Decision) -> list[Event]:
    """Events of (T, 12) probabilities per 20 ms row."""
    return events(moving_average(probabilities, smoothing_rows(decision)), decision)
