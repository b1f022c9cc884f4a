"""What a decision hears in long streams of scores: words found, events where no word is.

The scores of a stream are computed once (engine.py). Counting for another threshold then takes a moment.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from . import audio
from .decision import Decision, events, moving_average, smoothing_rows
from .engine import Engine
from .labels import SAMPLE_RATE, SILENCE
from .speakers import speaker_of
from .thresholds import SLOT

QUIET = 1.5  # seconds after each clip
QUIET_LEVEL = 0.05  # of smoothed scores
MARGIN = 60  # rows: more than the refractory time


def busy_parts(average: np.ndarray, words: int = SILENCE) -> list[np.ndarray]:
    """The parts of smoothed scores in which one of the first `words` classes can fire, each of them a stream of its own.

    Between two parts no command reaches QUIET_LEVEL for longer than the refractory time. So every word is released and
    every pause is over, and the events are those of the whole: for thresholds from QUIET_LEVEL / release on.
    """
    rows = np.flatnonzero(average[:, :words].max(1) >= QUIET_LEVEL)
    if not len(rows):
        return []
    cuts = np.flatnonzero(np.diff(rows) > 2 * MARGIN) + 1
    return [average[max(0, part[0] - MARGIN) : part[-1] + MARGIN] for part in np.split(rows, cuts)]


class Words:
    """Clips of commands, each followed by silence, in one stream."""

    def __init__(self, engine: Engine, clips: list[tuple[Path, int]]) -> None:
        order = np.random.default_rng(2026).permutation(len(clips))
        self.files = [clips[i][0] for i in order]
        self.label = np.array([clips[i][1] for i in order])
        self.speaker = np.array([speaker_of(file.name) for file in self.files])
        pad = int(QUIET * SAMPLE_RATE)
        parts = [np.pad(audio.fit(audio.read(file), SAMPLE_RATE), (0, pad)) for file in self.files]
        self.scores = engine.scores(np.concatenate(parts))
        self._average: np.ndarray | None = None

    def heard(self, decision: Decision) -> tuple[np.ndarray, int, int]:
        """Which clips had their event, the number of events of other words, and of events on clips that are no command."""
        right, wrong, others = np.zeros(len(self.label), bool), 0, 0
        if self._average is None:
            self._average = moving_average(self.scores, smoothing_rows(decision))
        for event in events(self._average, decision):
            slot = min(int(np.ceil(event.seconds / SLOT - 1e-9)) - 1, len(self.label) - 1)
            if event.word == self.label[slot]:
                right[slot] = True
            elif self.label[slot] < SILENCE:
                wrong += 1
            else:
                others += 1
        return right, wrong, others


class Negatives:
    """Streams without any command, by name."""

    def __init__(self, scores: dict[str, np.ndarray], words: int = SILENCE) -> None:
        self.scores, self.words = scores, words
        self.hours = {name: len(rows) * 0.02 / 3600 for name, rows in self.scores.items()}
        self._parts: dict[str, list[np.ndarray]] = {}

    def count(self, decision: Decision, names: list[str] | None = None) -> int:
        """Events in the streams of these names, or in all."""
        total = 0
        for name in names or self.scores:
            if name not in self._parts:
                self._parts[name] = busy_parts(moving_average(self.scores[name], smoothing_rows(decision)), self.words)
            total += sum(len(events(part, decision)) for part in self._parts[name])
        return total

    def by_word(self, decision: Decision) -> np.ndarray:
        """Events of each word in all streams."""
        counts = np.zeros(self.words, int)
        self.count(decision)  # makes the parts
        for parts in self._parts.values():
            for part in parts:
                np.add.at(counts, [event.word for event in events(part, decision)], 1)
        return counts

    def total_hours(self) -> float:
        return sum(self.hours.values())


class Isolated:
    """Single words that are no commands, each followed by half a second of silence, in one stream."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        parts, self.words, skipped = [], 0, 0
        for file in sorted(f for f in folder.rglob("*") if f.suffix in (".wav", ".flac")):
            try:
                samples = audio.read(file)
            except (ValueError, RuntimeError):  # another rate, several channels, no audio
                skipped += 1
                continue
            parts.append(np.pad(samples, (0, SAMPLE_RATE // 2)))
            self.words += 1
        print(f"{self.words} isolated words, {skipped} files that are no 16 kHz mono audio left out", file=sys.stderr)
        self.scores = engine.scores(np.concatenate(parts))
        self._parts: list[np.ndarray] | None = None

    def count(self, decision: Decision) -> int:
        if self._parts is None:
            self._parts = busy_parts(moving_average(self.scores, smoothing_rows(decision)))
        return sum(len(events(part, decision)) for part in self._parts)
