"""Chooses the threshold of a compiled keyword model, and says what it costs on speakers that the model never heard.

    python -m longwave.kws.operating_point MODEL.lw DATA --reading FOLDER [--isolated FOLDER] [--longwave PROGRAM]
           [--cache FOLDER] [--rate 1] [--per-1000 15] [--compare model.json] [--record figures.json]

MODEL.lw is trained on the training split alone. So the 26 speakers of the validation split are left out, and so are the
held-out sentences and noise of DATA and the synthetic voices in FOLDER (longwave.kws.reading).

1. One threshold for all words: the lowest whose false accepts stay below --rate per hour, at the upper 95 % Poisson bound,
   over all left-out running speech and noise together. No spoken command takes part in this choice.
   With --isolated also the lowest threshold with at most --per-1000 events on 1000 isolated unknown words, at the same bound.
2. Missed words are counted at both thresholds. Nothing was fitted to them, so every speaker of the validation split is left
   out of the choice as well as of the training. Intervals: bootstrap over speakers.

Models that are trained anew for each fold of speakers: longwave.kws.crossval.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import output_files
from . import audio, datasets
from .decision import Decision
from .engine import Engine
from .heard import Isolated, Negatives, Words
from .intervals import poisson_upper
from .labels import CLASSES, SILENCE
from .speakers import bootstrap

# All but the thresholds. Half a second: two folds missed 11.0 and 12.0 % at one false accept per hour, and 14.8 and 18.8 %
# at 0.3 s. 0.6 s was no better.
BASE = Decision(smoothing_ms=500, min_count=3)
STEP = 0.05
# Of two networks (pair.py) 37 to 59 % of the false accepts of a fold are "no". A word leaves the common threshold by a step
# where its share of them is below, or above, an even one in all four folds (crossval.py: shares).
PAIR = replace(
    BASE, thresholds={"default": 0.7, "no": 0.7 + STEP, **dict.fromkeys(("up", "left", "off", "go"), 0.7 - STEP)}
)
GRID = [round(0.30 + 0.01 * i, 3) for i in range(60)] + [round(0.90 + 0.005 * i, 3) for i in range(17)] + [0.99]


def with_threshold(base: Decision, threshold: float) -> Decision:
    """The threshold as default. Words of `base` with their own keep their distance from it."""
    shift = threshold - base.thresholds["default"]
    return replace(base, thresholds={word: round(value + shift, 3) for word, value in base.thresholds.items()})


def bound(count: int, hours: float) -> float:
    return poisson_upper(count) / hours


def lowest(allowed: Callable[[Decision], bool], base: Decision) -> float | None:
    """The lowest threshold of GRID from which on `allowed` holds; None if it does not hold at the highest one."""
    best = None
    for threshold in reversed(GRID):
        if not allowed(with_threshold(base, threshold)):
            break
        best = threshold
    return best


def choose_threshold(negatives: Negatives, base: Decision, rate: float) -> float:
    """The lowest threshold whose bound is at most `rate` events per hour of running speech and noise."""
    best = lowest(lambda decision: bound(negatives.count(decision), negatives.total_hours()) <= rate, base)
    if best is None:
        raise SystemExit(
            f"no threshold keeps the bound below {rate} per hour: the negatives are too short "
            f"({negatives.total_hours():.2f} hours)"
        )
    return best


def missed_text(right: np.ndarray, speakers: np.ndarray) -> dict[str, Any]:
    low, high = bootstrap(~right, speakers)
    return {
        "missed": int((~right).sum()),
        "words": len(right),
        "percent": round(100 * float((~right).mean()), 2),
        "interval": [round(100 * low, 2), round(100 * high, 2)],
        "speakers": len(set(speakers)),
    }


def curve(words: Words, negatives: Negatives, isolated: Isolated | None, base: Decision) -> list[dict[str, Any]]:
    """For each threshold of GRID: missed words, and events per hour in each stream."""
    command, rows = words.label < SILENCE, []
    for threshold in GRID:
        decision = with_threshold(base, threshold)
        right, wrong, others = words.heard(decision)
        row = {
            "threshold": threshold,
            **missed_text(right[command], words.speaker[command]),
            "wrong_word": wrong,
            "events_on_other_clips": others,
        }
        for name in negatives.scores:
            row[f"events {name}"] = negatives.count(decision, [name])
        row["bound_per_hour"] = round(bound(negatives.count(decision), negatives.total_hours()), 3)
        if isolated:
            row["isolated_events"] = isolated.count(decision)
        rows.append(row)
    return rows


def held_out_streams(data: Path, reading: Path | None) -> dict[str, np.ndarray]:
    """Running speech and noise that the model was not trained on."""

    def join(parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate(parts)

    streams = {
        "sentences": join([audio.read(f) for f in datasets.negative_files(data, held_out=True)]),
        "noise": join(datasets.noise_halves(data, held_out=True)),
    }
    for program in ("espeak", "flite"):
        files = sorted(reading.glob(f"{program}-*.flac")) if reading else []
        if files:
            streams[f"books, {program}"] = join([audio.read(f) for f in files])
    return streams


def describe(words: Words, negatives: Negatives, isolated: Isolated | None, decision: Decision) -> dict[str, Any]:
    """Figures of one setting."""
    command = words.label < SILENCE
    right, wrong, others = words.heard(decision)
    found = {
        "thresholds": decision.thresholds,
        **missed_text(right[command], words.speaker[command]),
        "wrong_word": wrong,
        "events_on_other_clips": others,
        "streams": {},
    }
    for name, hours in negatives.hours.items():
        count = negatives.count(decision, [name])
        found["streams"][name] = {
            "events": count,
            "hours": round(hours, 3),
            "bound_per_hour": round(bound(count, hours), 2),
        }
    count = negatives.count(decision)
    found["all_streams"] = {
        "events": count,
        "hours": round(negatives.total_hours(), 3),
        "bound_per_hour": round(bound(count, negatives.total_hours()), 3),
    }
    if isolated:
        there = isolated.count(decision)
        found["isolated"] = {
            "events": there,
            "words": isolated.words,
            "per_1000": round(1000 * there / isolated.words, 1),
        }
    rate = [100 * float((~right[command & (words.speaker == s)]).mean()) for s in sorted(set(words.speaker[command]))]
    worst = sorted(rate, reverse=True)[: max(1, (len(rate) + 9) // 10)]
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
    parser.add_argument("--per-1000", type=float, default=15, help="most events on 1000 isolated words, upper bound")
    parser.add_argument("--pair", action="store_true", help="of two networks, whose words differ in their thresholds")
    parser.add_argument("--compare", type=Path, help="model.json whose thresholds are described too")
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    engine = Engine(options.longwave, options.model, options.cache)
    words = Words(engine, datasets.clips(options.data, "val"))
    negatives = Negatives(
        {name: engine.scores(samples) for name, samples in held_out_streams(options.data, options.reading).items()}
    )
    isolated = Isolated(engine, options.isolated) if options.isolated else None
    base = PAIR if options.pair else BASE
    threshold = choose_threshold(negatives, base, options.rate)
    record = {
        "rate": options.rate,
        "threshold": threshold,
        "chosen": describe(words, negatives, isolated, with_threshold(base, threshold)),
        "curve": curve(words, negatives, isolated, base),
        "classes": CLASSES,
    }
    if isolated:
        limit = options.per_1000 * isolated.words / 1000
        other = lowest(lambda decision: poisson_upper(isolated.count(decision)) <= limit, base)
        record["threshold_isolated"] = other
        record["chosen_isolated"] = describe(words, negatives, isolated, with_threshold(base, other)) if other else None
    if options.compare:
        thresholds = json.loads(options.compare.read_text())["decision"]["threshold"]
        record["compared"] = describe(words, negatives, isolated, replace(BASE, thresholds=thresholds))
    print(json.dumps({key: value for key, value in record.items() if key != "curve"}, indent=1))
    if options.record:
        output_files.write_text(options.record, json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
