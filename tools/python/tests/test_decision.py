"""The decision layer's rules on made-up scores."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.kws.decision import Decision, detect  # noqa: E402
from longwave.kws.intervals import poisson_upper, wilson  # noqa: E402

RULES = Decision({"default": 0.8, "no": 0.6}, smoothing_ms=20, min_count=3, release=0.5, refractory_ms=1000)


def stream(*runs: tuple[int, int, float]) -> np.ndarray:
    """Runs of (class, rows, probability); the rest of the probability goes to `_unknown_`."""
    rows = []
    for word, count, p in runs:
        row = np.zeros(12)
        row[11] = 1 - p
        row[word] += p
        rows += [row] * count
    return np.array(rows)


def test_one_event_for_one_run() -> None:
    found = detect(stream((0, 200, 0.9)), RULES)
    assert [(e.word, round(e.seconds, 3)) for e in found] == [(0, 0.06)]


def test_short_runs_and_ignored_classes_do_not_fire() -> None:
    assert detect(stream((0, 2, 0.9), (11, 50, 1.0), (10, 50, 1.0)), RULES) == []


def test_word_threshold() -> None:
    assert detect(stream((0, 10, 0.7)), RULES) == []
    assert len(detect(stream((1, 10, 0.7)), RULES)) == 1


def test_refractory_counts_from_the_end_of_the_run() -> None:
    early = stream((0, 100, 0.9), (11, 40, 1.0), (0, 5, 0.9), (11, 60, 1.0))
    late = stream((0, 100, 0.9), (11, 52, 1.0), (0, 5, 0.9), (11, 60, 1.0))
    assert len(detect(early, RULES)) == 1
    assert len(detect(late, RULES)) == 2


def test_hysteresis() -> None:
    assert len(detect(stream((0, 20, 0.9), (0, 200, 0.5), (0, 20, 0.9)), RULES)) == 1  # never below 0.4


def test_intervals() -> None:
    low, high = wilson(93, 100)
    assert abs(low - 0.8625) < 1e-3 and abs(high - 0.9657) < 1e-3
    assert abs(poisson_upper(0) - 2.9957) < 1e-3 and abs(poisson_upper(1) - 4.7439) < 1e-3


if __name__ == "__main__":
    for name, function in list(globals().items()):
        if name.startswith("test_"):
            function()
            print(name, "passed")
