"""Four folds by speaker: a model per fold with the fixed recipe, and figures from speakers that it never heard.

    python -m longwave.kws.features DATA CACHE --folds 4
    python -m longwave.kws.crossval DATA CACHE OUT --reading FOLDER [--isolated FOLDER] [--harden] [--pair]
           [--longwave PROGRAM] [--only 0,1] [--share 1.0]

Train and validation speakers are pooled. Fold K trains on the others (pre-training too), in OUT/foldK. A stopped run goes on
with the same command. Each fold's threshold is chosen on running speech and noise alone (operating_point.py), so nothing is
fitted on its speakers. --harden adds the last stage; longwave.kws.hard_features has prepared CACHE for it. --pair trains a
second network per fold, in OUT/foldK/second, with other random numbers. The model is then both (pair.py), in OUT/foldK/pair.
OUT/figures.json, or figures-pair.json: streamed top-1 and missed words over all folds that are there, with bootstrap over speakers. --share
shortens the schedule, to try the command: such figures are not those of the recipe.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import output_files
from . import audio
from .engine import Engine
from .features import command_clips
from .heard import Isolated, Negatives, Words
from .labels import COMMANDS, SAMPLE_RATE, SILENCE
from .operating_point import BASE, PAIR, bound, choose_threshold, held_out_streams, missed_text, with_threshold
from .speakers import bootstrap, folds, speaker_of
from .streams import carried_order

FOLDS = 4


@dataclass(frozen=True)
class Stage:
    """A run of longwave.train_kws; docs/training.md."""

    name: str
    steps: int
    stop: int
    cooldown: int
    rate: float
    missed: float = 0.25


RECIPE = [Stage("pretrain", 4500, 3000, 0, 4e-3), Stage("finetune", 5000, 2750, 500, 3e-3)]
HARDEN = Stage("harden", 1500, 1500, 0, 2e-3, missed=0.5)


SECOND = 10  # more than the seed of the first network of a fold


def train(options: argparse.Namespace, fold: int, folder: Path, seed: int) -> Path:
    """Runs all stages; each goes on where it was stopped."""
    before: Path | None = None
    for stage in RECIPE + [HARDEN] * options.harden:
        run = folder / stage.name
        if not (run / "final.pt").exists():
            steps, stop = (max(2, round(options.share * n)) for n in (stage.steps, stage.stop))
            command = [
                sys.executable,
                "-m",
                "longwave.train_kws",
                str(options.data),
                "--cache",
                str(options.cache),
                "--out",
                str(run),
                "--stage",
                stage.name,
                "--steps",
                str(steps),
                "--stop",
                str(stop),
                "--cooldown",
                str(round(options.share * stage.cooldown)),
                "--rate",
                str(stage.rate),
                "--missed",
                str(stage.missed),
                "--seed",
                str(seed),
                "--fold",
                str(fold),
                *(["--init", str(before)] if before else []),
            ]
            subprocess.run(command, check=True)
        before = run
    assert before is not None  # there are stages
    return before


def trained(options: argparse.Namespace, fold: int, folder: Path) -> list[Path]:
    runs = [train(options, fold, folder, fold)]
    return runs + [train(options, fold, folder / "second", fold + SECOND)] if options.pair else runs


def compiled(options: argparse.Namespace, runs: list[Path], folder: Path) -> Engine:
    model = folder / "model.lw"
    if not model.exists():
        subprocess.run(
            [sys.executable, "-m", "longwave.kws.export", *map(str, runs), str(folder / "model")], check=True
        )
        subprocess.run([options.longwave, "compile", folder / "model", "-o", model, "--stream", "--quiet"], check=True)
    return Engine(options.longwave, model, folder / "scores")


def streamed_top1(engine: Engine, clips: list[tuple[Path, int]]) -> np.ndarray:
    """Whether each clip's class is right at its end; all of them in one stream without a reset, in a fixed shuffled order."""
    order = carried_order(len(clips))
    parts = [audio.fit(audio.read(clips[i][0]), SAMPLE_RATE) for i in order]
    rows = engine.scores(np.concatenate(parts), "logits").reshape(len(clips), 50, -1)[:, -1]
    right = np.empty(len(clips), bool)
    right[order] = rows.argmax(1) == np.array([clips[i][1] for i in order])
    return right


def home(options: argparse.Namespace, folder: Path) -> Path:
    """Of the model of a fold and its figures."""
    return folder / "pair" if options.pair else folder


def score(options: argparse.Namespace, fold: int, folder: Path, clips: list[tuple[Path, int]]) -> dict[str, Any]:
    engine = compiled(options, trained(options, fold, folder), home(options, folder))
    streams = held_out_streams(options.data, options.reading)
    negatives = Negatives({name: engine.scores(samples) for name, samples in streams.items()})
    base = PAIR if options.pair else BASE
    threshold = choose_threshold(negatives, base, options.rate)
    words = Words(engine, clips)
    decision = with_threshold(base, threshold)
    right, wrong, others = words.heard(decision)
    command = words.label < SILENCE
    count = negatives.count(decision)
    isolated = Isolated(engine, options.isolated) if options.isolated else None
    # Many events, with one threshold for all words.
    many = with_threshold(BASE, round(choose_threshold(negatives, BASE, options.rate) - 0.1, 3))
    return {
        "threshold": threshold,
        "events_by_word": negatives.by_word(many).tolist(),
        "isolated_words": isolated.words if isolated else 0,
        "isolated_events": isolated.count(decision) if isolated else 0,
        "events": {name: negatives.count(decision, [name]) for name in streams},
        "hours": round(negatives.total_hours(), 3),
        "bound_per_hour": round(bound(count, negatives.total_hours()), 3),
        "wrong_word": wrong,
        "events_on_other_clips": others,
        "top1": streamed_top1(engine, clips).tolist(),
        "label": [c for _, c in clips],
        "speaker": [speaker_of(file.name) for file, _ in clips],
        "heard": right[command].tolist(),
        "heard_speaker": words.speaker[command].tolist(),
    }


def percent(hits: np.ndarray, speakers: np.ndarray) -> dict[str, Any]:
    low, high = bootstrap(hits, speakers)
    return {
        "percent": round(100 * float(hits.mean()), 2),
        "interval": [round(100 * low, 2), round(100 * high, 2)],
        "clips": len(hits),
        "speakers": len(set(speakers.tolist())),
    }


def shares(found: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Of each word its share of the false accepts of each fold."""
    rows = np.array([entry["events_by_word"] for entry in found], float)
    return dict(zip(COMMANDS, (rows / rows.sum(1, keepdims=True).clip(1)).round(3).T.tolist()))


def pooled(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Figures over the folds in `found`; every clip was heard by a model that did not know its speaker."""

    def join(name: str) -> np.ndarray:
        return np.concatenate([np.array(entry[name]) for entry in found])

    def total(name: str) -> int:
        return sum(entry.get(name, 0) for entry in found)

    right, label, speaker = join("top1"), join("label"), join("speaker")
    speech = label != SILENCE
    return {
        "folds": len(found),
        "shares_of_false_accepts": shares(found),
        "thresholds": [entry["threshold"] for entry in found],
        "bounds_per_hour": [entry["bound_per_hour"] for entry in found],
        "streamed_top1": percent(right, speaker),
        "streamed_top1_without_silence": percent(right[speech], speaker[speech]),
        "missed": missed_text(join("heard"), join("heard_speaker")),
        "wrong_word": total("wrong_word"),
        "isolated_per_1000": round(1000 * total("isolated_events") / max(1, total("isolated_words")), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("cache", type=Path, help="made by longwave.kws.features --folds 4")
    parser.add_argument("out", type=Path)
    parser.add_argument("--reading", type=Path, help="files of longwave.kws.reading")
    parser.add_argument("--isolated", type=Path, help="folder of clips of single words that are no commands")
    parser.add_argument("--longwave", type=Path, default=Path("longwave"))
    parser.add_argument("--rate", type=float, default=1.0, help="most false accepts per hour, upper bound")
    parser.add_argument(
        "--harden", action="store_true", help="with the last stage, on the material of longwave.kws.hard_features"
    )
    parser.add_argument("--pair", action="store_true", help="a model of two networks per fold")
    parser.add_argument("--only", default=",".join(map(str, range(FOLDS))), help="folds to run now, such as 0,1")
    parser.add_argument("--share", type=float, default=1.0)
    options = parser.parse_args()
    clips = command_clips(options.data, FOLDS)
    fold_of = folds(np.array([speaker_of(file.name) for file, _ in clips]), FOLDS)
    for fold in map(int, options.only.split(",")):
        folder = options.out / f"fold{fold}"
        found = home(options, folder) / "figures.json"
        if not found.exists():
            found.parent.mkdir(parents=True, exist_ok=True)
            mine = [clip for clip, f in zip(clips, fold_of) if f == fold]
            output_files.write_text(found, json.dumps(score(options, fold, folder, mine)))
    there = [
        json.loads(file.read_text())
        for file in sorted(options.out.glob(str(home(options, Path("fold*")) / "figures.json")))
    ]
    figures = pooled(there)
    output_files.write_text(
        options.out / ("figures-pair.json" if options.pair else "figures.json"), json.dumps(figures, indent=1)
    )
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
