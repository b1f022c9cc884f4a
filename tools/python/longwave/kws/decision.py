"""The decision layer: rows of class probabilities in, events out.  Same rules as tools/cli/audio/spotter.cc.

Each row is averaged with those before it (zeros before the start); a word fires when its average is the highest and at
its threshold for `min_count` rows in a row.  Then nothing fires until that word's average has fallen below
`release` times its threshold and `refractory_ms` more have passed.  Ignored classes can be on top but never fire.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .labels import CLASSES

ROW_SECONDS = 0.02


@dataclass(frozen=True)
class Decision:
    thresholds: dict[str, float] = field(default_factory=lambda: {"default": 0.8})
    smoothing_ms: float = 300
    min_count: int = 3
    release: float = 0.5
    refractory_ms: float = 1000
    classes: tuple[str, ...] = tuple(CLASSES)  # those whose names begin with "_" never fire

    def threshold(self) -> np.ndarray:
        """One per class; the ignored classes get infinity."""
        return np.array(
            [
                np.inf if word.startswith("_") else self.thresholds.get(word, self.thresholds["default"])
                for word in self.classes
            ]
        )

    def to_json(self) -> dict[str, Any]:
        """The "decision" entry of model.json."""
        ignored = [word for word in self.classes if word.startswith("_")]
        return {
            "output": "probabilities",
            "ignore": ignored,
            "threshold": self.thresholds,
            "smoothing_ms": self.smoothing_ms,
            "min_count": self.min_count,
            "release": self.release,
            "refractory_ms": self.refractory_ms,
        }


@dataclass(frozen=True)
class Event:
    word: int  # class
    seconds: float  # end of the row at which it fired
    score: float


def moving_average(probabilities: np.ndarray, rows: int) -> np.ndarray:
    """(T, classes) -> (T, classes): mean of the last `rows` rows, rows before the start being zero."""
    total = np.cumsum(np.concatenate([np.zeros((rows, probabilities.shape[1])), probabilities.astype(np.float64)]), 0)
    total = np.concatenate([np.zeros((1, probabilities.shape[1])), total])
    result: np.ndarray = (total[rows + 1 :] - total[1:-rows]) / rows
    return result


def run_lengths(top: np.ndarray, strong: np.ndarray) -> np.ndarray:
    """(T,): for how many rows up to this one the same word has been on top and strong without a break."""
    row = np.arange(len(top))
    starts = ~strong | np.r_[True, (top[1:] != top[:-1]) | ~strong[:-1]]
    return np.where(strong, row - np.maximum.accumulate(np.where(starts, row, 0)) + 1, 0)


def events(average: np.ndarray, decision: Decision) -> list[Event]:
    """Events of one stream; `average` (T, classes) comes from `moving_average`."""
    threshold = decision.threshold()
    top = average.argmax(1)
    strong = average[np.arange(len(top)), top] >= threshold[top]
    ready = np.flatnonzero(run_lengths(top, strong) >= max(1, decision.min_count))
    found: list[Event] = []
    first = 0  # no event before this row
    while True:
        at = np.searchsorted(ready, first)
        if at == len(ready):
            return found
        row = int(ready[at])
        word = int(top[row])
        found.append(Event(word, (row + 1) * ROW_SECONDS, float(average[row, word])))
        low = np.flatnonzero(average[row + 1 :, word] < decision.release * threshold[word])
        if not len(low):
            return found
        first = row + 1 + int(low[0]) + int(np.ceil(decision.refractory_ms / 1000 / ROW_SECONDS - 1e-9))


def smoothing_rows(decision: Decision) -> int:
    return max(1, round(decision.smoothing_ms / 1000 / ROW_SECONDS))


def detect(probabilities: np.ndarray, decision: Decision) -> list[Event]:
    """Events of (T, classes) probabilities per 20 ms row."""
    return events(moving_average(probabilities, smoothing_rows(decision)), decision)
