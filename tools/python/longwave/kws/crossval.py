"""Four folds by speaker: a model per fold with the fixed recipe, and figures from speakers that it never heard.

    python -m longwave.kws.features DATA CACHE --folds 4
    python -m longwave.kws.crossval DATA CACHE OUT --reading FOLDER [--isolated FOLDER] [--harden]
           [--longwave PROGRAM] [--only 0,1] [--share 1.0]

Train and validation speakers are pooled. Fold K trains on the others (pre-training too), in OUT/foldK. A stopped run goes on
with the same command. Each fold's threshold is chosen on running speech and noise alone (operating_point.py), so nothing is
fitted on its speakers. --harden adds the last stage; longwave.kws.hard_features has prepared CACHE for it.
OUT/figures.json: streamed top-1 and missed words over all folds that are there, with bootstrap over speakers. --share
shortens the schedule, to try the command: such figures are not those of the recipe.
"""
from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from . import audio, datasets
from .engine import Engine
from .features import command_clips
from .heard import Isolated, Negatives, Words
from .labels import SAMPLE_RATE, SILENCE
from .operating_point import BASE, bound, choose_threshold, held_out_streams, missed_text, with_threshold
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


def train(options: argparse.Namespace, fold: int, folder: Path) -> Path:
    """Runs all stages; each goes on where it was stopped."""
    before: Path | None = None
    for stage in RECIPE + [HARDEN] * options.harden:
        run = folder / stage.name
        if not (run / "final.pt").exists():
            steps, stop = (max(2, round(options.share * n)) for n in (stage.steps, stage.stop))
            command = [sys.executable, "-m", "longwave.train_kws", str(options.data), "--cache", str(options.cache), "--out", str(run),
                       "--stage", stage.name, "--steps", str(steps), "--stop", str(stop),
                       "--cooldown", str(round(options.share * stage.cooldown)), "--rate", str(stage.rate),
                       "--missed", str(stage.missed), "--seed", str(fold), "--fold", str(fold), *(["--init", str(before)] if before else [])]
            subprocess.run(command, check=True)
        before = run
    return before


def compiled(options: argparse.Namespace, run: Path, folder: Path) -> Engine:
    model = folder / "model.lw"
    if not model.exists():
        subprocess.run([sys.executable, "-m", "longwave.kws.export", str(run), str(folder / "model")], check=True)
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


def score(options: argparse.Namespace, fold: int, folder: Path, clips: list[tuple[Path, int]]) -> dict:
    engine = compiled(options, train(options, fold, folder), folder)
    streams = held_out_streams(options.data, options.reading)
    negatives = Negatives({name: engine.scores(samples) for name, samples in streams.items()})
    threshold = choose_threshold(negatives, BASE, options.rate)
    words = Words(engine, clips)
    decision = with_threshold(BASE, threshold)
    right, wrong, others = words.heard(decision)
    command = words.label < SILENCE
    count = negatives.count(decision)
    isolated = Isolated(engine, options.isolated) if options.isolated else None
    return {"threshold": threshold, "isolated_words": isolated.words if isolated else 0,
            "isolated_events": isolated.count(decision) if isolated else 0, "events": {name: negatives.count(decision, [name]) for name in streams},
            "hours": round(negatives.total_hours(), 3), "bound_per_hour": round(bound(count, negatives.total_hours()), 3),
            "wrong_word": wrong, "events_on_other_clips": others,
            "top1": streamed_top1(engine, clips).tolist(), "label": [c for _, c in clips],
            "speaker": [speaker_of(file.name) for file, _ in clips],
            "heard": right[command].tolist(), "heard_speaker": words.speaker[command].tolist()}


def percent(hits: np.ndarray, speakers: np.ndarray) -> dict:
    low, high = bootstrap(hits, speakers)
    return {"percent": round(100 * float(hits.mean()), 2), "interval": [round(100 * low, 2), round(100 * high, 2)],
            "clips": len(hits), "speakers": len(set(speakers.tolist()))}


def pooled(found: list[dict]) -> dict:
    """Figures over the folds in `found`; every clip was heard by a model that did not know its speaker."""
    def join(name: str) -> np.ndarray:
        return np.concatenate([np.array(entry[name]) for entry in found])

    def total(name: str) -> int:
        return sum(entry.get(name, 0) for entry in found)

    right, label, speaker = join("top1"), join("label"), join("speaker")
    speech = label != SILENCE
    return {"folds": len(found), "thresholds": [entry["threshold"] for entry in found],
            "bounds_per_hour": [entry["bound_per_hour"] for entry in found],
            "streamed_top1": percent(right, speaker), "streamed_top1_without_silence": percent(right[speech], speaker[speech]),
            "missed": missed_text(join("heard"), join("heard_speaker")), "wrong_word": total("wrong_word"),
            "isolated_per_1000": round(1000 * total("isolated_events") / max(1, total("isolated_words")), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("cache", type=Path, help="made by longwave.kws.features --folds 4")
    parser.add_argument("out", type=Path)
    parser.add_argument("--reading", type=Path, help="files of longwave.kws.reading")
    parser.add_argument("--isolated", type=Path, help="folder of clips of single words that are no commands")
    parser.add_argument("--longwave", type=Path, default=Path("longwave"))
    parser.add_argument("--rate", type=float, default=1.0, help="most false accepts per hour, upper bound")
    parser.add_argument("--harden", action="store_true", help="with the last stage, on the material of longwave.kws.hard_features")
    parser.add_argument("--only", default=",".join(map(str, range(FOLDS))), help="folds to run now, such as 0,1")
    parser.add_argument("--share", type=float, default=1.0)
    options = parser.parse_args()
    clips = command_clips(options.data, FOLDS)
    fold_of = folds(np.array([speaker_of(file.name) for file, _ in clips]), FOLDS)
    for fold in map(int, options.only.split(",")):
        folder = options.out / f"fold{fold}"
        if not (folder / "figures.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            mine = [clip for clip, f in zip(clips, fold_of) if f == fold]
            (folder / "figures.json").write_text(json.dumps(score(options, fold, folder, mine)))
    there = [json.loads(file.read_text()) for file in sorted(options.out.glob("fold*/figures.json"))]
    figures = pooled(there)
    (options.out / "figures.json").write_text(json.dumps(figures, indent=1))
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
