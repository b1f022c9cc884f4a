"""Chooses the threshold of a compiled keyword model, and says what it costs on speakers that the model never heard.

    python -m longwave.kws.operating_point MODEL.lw DATA --reading FOLDER [--isolated FOLDER] [--longwave PROGRAM]
           [--cache FOLDER] [--compare model.json] [--record figures.json]

MODEL.lw is trained on the training split alone. So the 26 speakers of the validation split are left out, and so are the
held-out sentences and noise of DATA and the synthetic voices in FOLDER (longwave.kws.reading).

1. One threshold for all words: the lowest whose false accepts stay below --rate per hour, at the upper 95 % Poisson bound,
   over all left-out running speech and noise together. No spoken command takes part in this choice.
2. A word may differ by one step of 0.05 if four choices agree. Each of them sees three quarters of the speakers.
3. Missed words are counted on the left-out quarter of each choice. Intervals: bootstrap over speakers.

What the four folds mean: the model is the same in all of them. They test the choice of thresholds, not the training.
"""
from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from . import audio, datasets
from .decision import Decision, events, moving_average, smoothing_rows
from .engine import Engine
from .intervals import poisson_upper
from .labels import CLASSES, COMMANDS, SAMPLE_RATE, SILENCE
from .speakers import bootstrap, folds, speaker_of
from .thresholds import SLOT

GRID = [round(0.30 + 0.025 * i, 3) for i in range(28)] + [0.99]
STEP = 0.05
FOLDS = 4
QUIET = 1.5  # seconds after each clip
QUIET_LEVEL = 0.05  # of smoothed scores
MARGIN = 60  # rows: more than the refractory time


def busy_parts(average: np.ndarray) -> list[np.ndarray]:
    """The parts of smoothed scores in which something can happen, each of them a stream of its own.

    Between two parts no command reaches QUIET_LEVEL for longer than the refractory time. So every word is released and
    every pause is over, and the events are those of the whole: for thresholds from QUIET_LEVEL / release on.
    """
    rows = np.flatnonzero(average[:, :SILENCE].max(1) >= QUIET_LEVEL)
    if not len(rows):
        return []
    cuts = np.flatnonzero(np.diff(rows) > 2 * MARGIN) + 1
    return [average[max(0, part[0] - MARGIN):part[-1] + MARGIN] for part in np.split(rows, cuts)]


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

    def __init__(self, engine: Engine, streams: dict[str, np.ndarray]) -> None:
        self.scores = {name: engine.scores(samples) for name, samples in streams.items()}
        self.hours = {name: len(rows) * 0.02 / 3600 for name, rows in self.scores.items()}
        self._parts: dict[str, list[np.ndarray]] = {}

    def count(self, decision: Decision, names: list[str] | None = None) -> int:
        """Events in the streams of these names, or in all."""
        total = 0
        for name in names or self.scores:
            if name not in self._parts:
                self._parts[name] = busy_parts(moving_average(self.scores[name], smoothing_rows(decision)))
            total += sum(len(events(part, decision)) for part in self._parts[name])
        return total

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


def with_threshold(base: Decision, threshold: float, steps: dict[str, int] | None = None) -> Decision:
    """All words at `threshold`; `steps` moves single words by that many STEPs."""
    levels = {"default": threshold} | {w: round(threshold + STEP * n, 3) for w, n in (steps or {}).items() if n}
    return replace(base, thresholds=levels)


def bound(count: int, hours: float) -> float:
    return poisson_upper(count) / hours


def choose_threshold(negatives: Negatives, base: Decision, rate: float) -> float:
    """The lowest threshold of GRID from which on the bound stays at or below `rate` events per hour."""
    best = None
    for threshold in reversed(GRID):
        if bound(negatives.count(with_threshold(base, threshold)), negatives.total_hours()) > rate:
            break
        best = threshold
    if best:
        return best
    raise SystemExit(f"no threshold keeps the bound below {rate} per hour: the negatives are too short "
                     f"({negatives.total_hours():.2f} hours)")


def choose_steps(words: Words, part: np.ndarray, negatives: Negatives, base: Decision, threshold: float, rate: float
                 ) -> dict[str, int]:
    """Steps of -1, 0 or 1 per word: fewest missed clips of `part`, while the bound stays at or below `rate`.

    Words are moved one after the other, the one that gains most first. A step up is never a gain in missed words, so it
    is taken only for a word that gives more events of other words than it would lose clips.
    """
    def cost(steps: dict[str, int]) -> float:
        decision = with_threshold(base, threshold, steps)
        right, wrong, _ = words.heard(decision)
        if bound(negatives.count(decision), negatives.total_hours()) > rate:
            return np.inf
        return float((~right[part]).sum()) + wrong * part.mean()

    steps: dict[str, int] = {}
    best = cost(steps)
    while True:
        tries = [(cost(steps | {word: n}), word, n) for word in COMMANDS if word not in steps for n in (-1, 1)]
        if not tries or min(tries)[0] >= best:
            return steps
        best, word, n = min(tries)
        steps[word] = n


def missed_text(right: np.ndarray, speakers: np.ndarray) -> dict:
    low, high = bootstrap(~right, speakers)
    return {"missed": int((~right).sum()), "words": len(right), "percent": round(100 * float((~right).mean()), 2),
            "interval": [round(100 * low, 2), round(100 * high, 2)], "speakers": len(set(speakers))}


def curve(words: Words, negatives: Negatives, isolated: Isolated | None, base: Decision) -> list[dict]:
    """For each threshold of GRID: missed words, and events per hour in each stream."""
    command, rows = words.label < SILENCE, []
    for threshold in GRID:
        decision = with_threshold(base, threshold)
        right, wrong, others = words.heard(decision)
        row = {"threshold": threshold, **missed_text(right[command], words.speaker[command]), "wrong_word": wrong,
               "events_on_other_clips": others}
        for name in negatives.scores:
            row[f"events {name}"] = negatives.count(decision, [name])
        row["bound_per_hour"] = round(bound(negatives.count(decision), negatives.total_hours()), 3)
        if isolated:
            row["isolated_events"] = isolated.count(decision)
        rows.append(row)
    return rows


def left_out(words: Words, negatives: Negatives, base: Decision, threshold: float, rate: float
             ) -> tuple[dict[str, int], np.ndarray, list[dict[str, int]]]:
    """Steps on which all folds agree; which clips were heard with the steps of the folds that left their speaker out; the
    steps of each fold."""
    fold = folds(words.speaker, FOLDS)
    choices, heard = [], np.zeros(len(words.label), bool)
    command = words.label < SILENCE
    for number in range(FOLDS):
        steps = choose_steps(words, (fold != number) & command, negatives, base, threshold, rate)
        choices.append(steps)
        right = words.heard(with_threshold(base, threshold, steps))[0]
        heard[fold == number] = right[fold == number]
    agreed = {word: choices[0][word] for word in COMMANDS
              if choices[0].get(word) and all(c.get(word) == choices[0][word] for c in choices)}
    return agreed, heard, choices


def held_out_streams(data: Path, reading: Path | None) -> dict[str, np.ndarray]:
    """Running speech and noise that the model was not trained on."""
    def join(parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts)

    streams = {"sentences": join([audio.read(f) for f in datasets.negative_files(data, held_out=True)]),
               "noise": join(datasets.noise_halves(data, held_out=True))}
    for program in ("espeak", "flite"):
        files = sorted(reading.glob(f"{program}-*.flac")) if reading else []
        if files:
            streams[f"books, {program}"] = join([audio.read(f) for f in files])
    return streams


def describe(words: Words, negatives: Negatives, isolated: Isolated | None, decision: Decision) -> dict:
    """Figures of one setting."""
    command = words.label < SILENCE
    right, wrong, others = words.heard(decision)
    found = {"thresholds": decision.thresholds, **missed_text(right[command], words.speaker[command]), "wrong_word": wrong,
             "events_on_other_clips": others, "streams": {}}
    for name, hours in negatives.hours.items():
        count = negatives.count(decision, [name])
        found["streams"][name] = {"events": count, "hours": round(hours, 3), "bound_per_hour": round(bound(count, hours), 2)}
    count = negatives.count(decision)
    found["all_streams"] = {"events": count, "hours": round(negatives.total_hours(), 3),
                            "bound_per_hour": round(bound(count, negatives.total_hours()), 3)}
    if isolated:
        there = isolated.count(decision)
        found["isolated"] = {"events": there, "words": isolated.words, "per_1000": round(1000 * there / isolated.words, 1)}
    rate = [100 * float((~right[command & (words.speaker == s)]).mean()) for s in sorted(set(words.speaker[command]))]
    worst = sorted(rate, reverse=True)[:max(1, (len(rate) + 9) // 10)]
    found["worst_decile_percent"] = round(float(np.mean(worst)), 1)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--reading", type=Path, help="files of longwave.kws.reading")
    parser.add_argument("--isolated", type=Path, help="folder of clips of single words that are no commands")
    parser.add_argument("--longwave", type=Path, default=Path("longwave"))
    parser.add_argument("--cache", type=Path, default=Path("~/.cache/longwave/scores").expanduser())
    parser.add_argument("--rate", type=float, default=1.0, help="most false accepts per hour, upper bound")
    parser.add_argument("--compare", type=Path, help="model.json whose thresholds are described too")
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    engine = Engine(options.longwave, options.model, options.cache)
    base = Decision(smoothing_ms=300, min_count=3)
    words = Words(engine, datasets.clips(options.data, "val"))
    negatives = Negatives(engine, held_out_streams(options.data, options.reading))
    isolated = Isolated(engine, options.isolated) if options.isolated else None
    threshold = choose_threshold(negatives, base, options.rate)
    steps, heard, choices = left_out(words, negatives, base, threshold, options.rate)
    command = words.label < SILENCE
    record = {"rate": options.rate, "threshold": threshold, "steps": steps, "steps_of_folds": choices,
              "left_out": missed_text(heard[command], words.speaker[command]),
              "chosen": describe(words, negatives, isolated, with_threshold(base, threshold, steps)),
              "one_threshold": describe(words, negatives, isolated, with_threshold(base, threshold)),
              "curve": curve(words, negatives, isolated, base), "classes": CLASSES}
    if options.compare:
        thresholds = json.loads(options.compare.read_text())["decision"]["threshold"]
        record["compared"] = describe(words, negatives, isolated, replace(base, thresholds=thresholds))
    print(json.dumps({key: value for key, value in record.items() if key != "curve"}, indent=1))
    if options.record:
        options.record.write_text(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
