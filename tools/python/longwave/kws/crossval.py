"""Four folds by speaker: a model per fold with the fixed recipe, and figures from speakers that it never heard.

    python -m longwave.kws.features DATA CACHE --folds 4
    python -m longwave.kws.crossval DATA CACHE OUT --reading FOLDER [--isolated FOLDER] [--harden] [--pair]
           [--longwave PROGRAM] [--only 0,1] [--share 1.0]

Train and validation speakers are pooled. Fold K trains on the others (pre-training too), in OUT/foldK. A stopped run goes on
with the same command. Each fold's threshold is chosen on running speech and noise alone (`longwave eval --per-hour`), so
nothing is fitted on its speakers. --harden adds the last stage; longwave.kws.hard_features has prepared CACHE for it. --pair trains a
second network per fold, in OUT/foldK/second, with other random numbers. The model is then both (pair.py), in OUT/foldK/pair.
OUT/figures.json, or figures-pair.json: streamed top-1 and missed words over all folds that are there, with bootstrap over speakers. --share
shortens the schedule, to try the command: such figures are not those of the recipe.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import cleanup, output_files
from .engine import evaluate
from .features import command_clips
from .held_out import place_clips, place_negatives
from .labels import COMMANDS, SILENCE, UNKNOWN
from .speakers import bootstrap, folds, speaker_of

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


def compiled(options: argparse.Namespace, runs: list[Path], folder: Path) -> Path:
    model = folder / "model.lw"
    if not model.exists():
        subprocess.run(
            [sys.executable, "-m", "longwave.kws.export", *map(str, runs), str(folder / "model")], check=True
        )
        subprocess.run([options.longwave, "compile", folder / "model", "-o", model, "--stream", "--quiet"], check=True)
    return model


def home(options: argparse.Namespace, folder: Path) -> Path:
    """Of the model of a fold and its figures."""
    return folder / "pair" if options.pair else folder


def thresholds(found: dict[str, Any], less: float = 0) -> str:
    """Those of a result of `longwave eval`, for its next call."""
    return ",".join(f"{word}={value - less:.3f}" for word, value in found["decision"]["thresholds"].items())


def source(event: dict[str, Any]) -> str:
    """Of a false accept, by the name of its file."""
    program = event["file"].split("-")[0]
    return program if program in ("espeak", "flite", "noise") else "sentences"


def measured(options: argparse.Namespace, model: Path, clips: list[tuple[Path, int]], folder: Path) -> dict[str, Any]:
    place_negatives(options.data, folder / "negatives")
    negatives = ["--negatives", folder / "negatives", *([options.reading] if options.reading else [])]
    wanted = ["--per-hour", str(options.rate)]
    placed = place_clips(clips, folder / "clips")
    found = evaluate(options.longwave, model, "--clips", folder / "clips", "--predictions", *negatives, *wanted)
    point = found["operating_point"]
    if not point["shown"]:
        raise SystemExit(
            f"no threshold keeps the bound below {options.rate} per hour: the negatives are too short "
            f"({found['hours']:.2f} hours)"
        )
    isolated = {"events_on_other_clips": 0, "clips": 0}
    if options.isolated:
        files = sorted(f for f in options.isolated.rglob("*") if f.suffix in (".wav", ".flac"))
        place_clips([(file, UNKNOWN) for file in files], folder / "isolated")
        isolated = evaluate(options.longwave, model, "--clips", folder / "isolated", "--threshold", thresholds(found))
    # Many events, with one threshold for all words.
    even = evaluate(options.longwave, model, *negatives, *wanted, "--threshold", "0.8")
    many = evaluate(options.longwave, model, *negatives, "--threshold", thresholds(even, 0.1))
    clip = [found["predictions"][str(file)] for file in placed]
    label, speaker = [c for _, c in clips], [speaker_of(file.name) for file in placed]
    return {
        "thresholds": found["decision"]["thresholds"],
        "events_by_word": [sum(e["word"] == word for e in many["false_accept_events"]) for word in COMMANDS],
        "isolated_words": isolated["clips"],
        "isolated_events": isolated["events_on_other_clips"],
        "events": dict(Counter(map(source, found["false_accept_events"]))),
        "hours": round(found["hours"], 3),
        "bound_per_hour": round(point["per_hour_bound"], 3),
        "wrong_word": found["wrong_word_events"],
        "events_on_other_clips": found["events_on_other_clips"],
        "top1": [one["predicted"] == one["label"] for one in clip],
        "label": label,
        "speaker": speaker,
        "heard": [one["latency_ms"] is not None for one in clip if "latency_ms" in one],
        "heard_speaker": [name for name, c in zip(speaker, label) if c < SILENCE],
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
        "thresholds": [entry["thresholds"][COMMANDS[0]] for entry in found],
        "bounds_per_hour": [entry["bound_per_hour"] for entry in found],
        "streamed_top1": percent(right, speaker),
        "streamed_top1_without_silence": percent(right[speech], speaker[speech]),
        "missed": percent(~join("heard"), join("heard_speaker")),
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
            model = compiled(options, trained(options, fold, folder), home(options, folder))
            with cleanup.temporary_folder() as scratch:
                output_files.write_text(found, json.dumps(measured(options, model, mine, scratch)))
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
