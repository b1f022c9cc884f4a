"""The work of `longwave words train`: clips, scenes, rows of the body, heads, threshold, card."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .. import programs
from ..kws.engine import Engine
from . import body, card, fit, phrases, scenes, sounds, voices
from .errors import WordsError
from .measured import COMPILED, Measured
from .progress import Progress
from .sounds import RATE, Clip

SYNTHETIC = 160  # clips per word
PIECE = 1800  # seconds of audio that are in memory at a time
MOST_TRAINING = 3 * 3600  # seconds of negatives that are learned from


@dataclass(frozen=True)
class Options:
    words: list[str]
    recordings: Path
    negatives: Path
    work: Path  # the result: model.lw, and the folder `model`
    rate: float = 1.0
    steps: int = 700
    seed: int = 0
    folds: int = 4


def spoken(texts: list[str], seed: int, progress: Progress, what: str) -> list[Clip]:
    """Each text in a voice of its own; what comes out too short to be a word is left out."""
    found = voices.draw(len(texts), False, seed)

    def one(pair: tuple[str, voices.Voice]) -> Clip | None:
        try:
            return sounds.trimmed(voices.say(*pair), pair[0], pair[1].label())
        except WordsError as error:
            if "too short" in str(error) or "silent" in str(error):
                return None
            raise

    with ThreadPoolExecutor(2) as pool:
        said = pool.map(one, zip(texts, found))
        return [clip for clip in progress.through(said, len(texts), f"synthetic voices say {what}") if clip]


def pieces(files: Iterable[Path], most: float) -> Iterator[np.ndarray]:
    """Samples of `files`, one after the other, in pieces of at most PIECE seconds."""
    batch: list[np.ndarray] = []
    length, total = 0, 0
    for file in files:
        samples = sounds.read(file)
        batch.append(samples)
        length += len(samples)
        total += len(samples)
        if length >= PIECE * RATE or total >= most * RATE:
            yield np.concatenate(batch)
            batch, length = [], 0
        if total >= most * RATE:
            return
    if batch:
        yield np.concatenate(batch)


def fold_of(clips: list[Clip], folds: int) -> np.ndarray:
    """Speakers are dealt out in turn, so that nobody is in two folds."""
    groups = sorted({clip.group for clip in clips})
    return np.array([groups.index(clip.group) % folds for clip in clips])


def make_scenes(
    options: Options, recorded: list[list[Clip]], backgrounds: list[np.ndarray], progress: Progress
) -> list[scenes.Scene]:
    """One of the synthetic voices, and one per fold of the recordings."""
    rng = np.random.default_rng([options.seed, 1])
    other = len(options.words)
    made = [
        (clip, w)
        for w, word in enumerate(options.words)
        for clip in spoken([word] * SYNTHETIC, options.seed * 100 + w, progress, repr(word))
    ]
    near = spoken(
        phrases.near_misses(options.words, SYNTHETIC + 60 * len(options.words), rng),
        options.seed * 100 + 99,
        progress,
        "what must not fire",
    )
    found = [scenes.compose([*made, *made, *[(clip, other) for clip in near * 2]], backgrounds, other, rng)]
    repeat = max(4, 320 // max(len(clips) for clips in recorded))
    for fold in range(options.folds):
        mine = [
            (clip, w)
            for w, clips in enumerate(recorded)
            for clip, f in zip(clips, fold_of(clips, options.folds))
            if f == fold
        ]
        some = [(near[i], other) for i in rng.integers(0, len(near), max(1, len(mine) * repeat // 3))]
        found.append(scenes.compose(mine * repeat + some, backgrounds, other, rng))
    return found


def train(options: Options, recorded: list[list[Clip]], found: sounds.Negatives, progress: Progress) -> card.Card:
    options.work.mkdir(parents=True, exist_ok=True)
    progress.line("compile the body")
    body.write_body(options.work / "body")
    body.compile_model(options.work / "body", options.work / "body.lw")
    engine = Engine(Path(programs.program()), options.work / "body.lw", options.work / "rows")

    def rows_of(samples: np.ndarray) -> np.ndarray:
        return engine.scores(samples, "hidden").astype(np.float16)

    backgrounds, quiet_parts = [], []
    for samples in pieces(
        progress.through(found.training, len(found.training), "rows of the negatives for training, files"),
        MOST_TRAINING,
    ):
        backgrounds += [samples[i : i + 20 * RATE] for i in range(0, len(samples) - 20 * RATE, 180 * RATE)]
        quiet_parts.append(rows_of(samples))
    made = make_scenes(options, recorded, backgrounds, progress)
    parts = [
        fit.Part(rows_of(scene.samples), scene.ends)
        for scene in progress.through(
            made, len(made), f"rows of {sum(len(s.samples) for s in made) / RATE / 60:.0f} minutes of phrases"
        )
    ]
    parts.append(fit.Part(np.concatenate(quiet_parts), []))

    def shown(what: str) -> Callable[[Iterable[int]], Iterable[int]]:
        return lambda steps: progress.through(steps, options.steps, f"train {what}, steps")

    measured = Measured(options.words, found.held_out, options.rate, options.work)
    missed, delays, wrong, fold_figures = [], [], 0, []
    for fold in range(options.folds):
        clips = [
            (clip, w) for w, cs in enumerate(recorded) for clip, f in zip(cs, fold_of(cs, options.folds)) if f == fold
        ]
        if not clips:
            continue
        some = [p for i, p in enumerate(parts) if i != fold + 1]
        head = fit.fit(
            some,
            [0.35, *[0.25 / (options.folds - 1)] * (options.folds - 1), 0.4],
            len(options.words),
            options.steps,
            options.seed * 10 + fold + 1,
            shown=shown(f"head {fold + 1} of {options.folds + 1}"),
        )
        figures = measured(head, clips)
        fold_figures.append(figures)
        missed += [(options.words[w], clip.group, ms is None) for (clip, w), ms in zip(clips, figures.latency)]
        delays += [ms for ms in figures.latency if ms is not None]
        wrong += figures.wrong
        count = sum(ms is None for ms in figures.latency)
        progress.line(f"head {fold + 1}: threshold {figures.threshold:g}, {count} of {len(clips)} missed")
    head = fit.fit(
        parts,
        [0.35, *[0.25 / options.folds] * options.folds, 0.4],
        len(options.words),
        options.steps,
        options.seed * 10,
        shown=shown("the last head"),
    )
    progress.line("choose the threshold of the finished model")
    figures = measured(head)
    measured.write(head, figures.threshold)
    progress.line(f"threshold {figures.threshold:g}: {figures.events} events in {figures.hours:.2f} h")
    return card.Card(
        options.words,
        [len(c) for c in recorded],
        found,
        figures,
        fold_figures,
        missed,
        delays,
        wrong,
        body.block_microseconds(options.work / COMPILED),
        (options.work / COMPILED).stat().st_size,
        progress.seconds(),
        options.rate,
    )
