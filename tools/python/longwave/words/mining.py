"""Hard negatives: where a half-trained head takes speech for a word. Training goes there more often afterwards."""

from __future__ import annotations

import numpy as np

from ..kws.decision import moving_average
from .head import SMOOTH

SCORE = 0.05  # of a mistake
APART = 40  # rows between two mistakes
MOST = 400  # the highest ones


def mistakes(scores: np.ndarray, words: int) -> np.ndarray:
    """Rows with the highest smoothed scores of one of the first `words` classes in a stream (T, classes) without words: at most
    MOST, each at least APART rows from the next."""
    top = moving_average(scores, SMOOTH)[:, :words].max(1)
    found: list[int] = []
    taken = np.zeros(len(top), bool)
    candidates = np.flatnonzero(top >= SCORE)
    for row in candidates[np.argsort(-top[candidates], kind="stable")]:
        if len(found) == MOST:
            break
        if not taken[row]:
            found.append(int(row))
            taken[max(0, row - APART) : row + APART] = True
    return np.array(found, int)
