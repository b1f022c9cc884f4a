"""The decision layer of a model folder: settings, and the average that it looks at (runtime/kws/decision.h)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def decision(labels: Sequence[str], thresholds: dict[str, float], smoothing_ms: float) -> dict[str, Any]:
    """The "decision" entry of model.json. Labels that begin with "_" never fire."""
    return {
        "output": "probabilities",
        "ignore": [label for label in labels if label.startswith("_")],
        "threshold": thresholds,
        "smoothing_ms": smoothing_ms,
        "min_count": 3,
        "release": 0.5,
        "refractory_ms": 1000,
    }


def moving_average(probabilities: np.ndarray, rows: int) -> np.ndarray:
    """(T, classes) -> (T, classes): mean of the last `rows` rows, rows before the start being zero."""
    total = np.cumsum(np.concatenate([np.zeros((rows, probabilities.shape[1])), probabilities.astype(np.float64)]), 0)
    total = np.concatenate([np.zeros((1, probabilities.shape[1])), total])
    result: np.ndarray = (total[rows + 1 :] - total[1:-rows]) / rows
    return result
