"""Who speaks in a clip, folds by speaker, and intervals that count speakers rather than clips."""

from __future__ import annotations

import hashlib

import numpy as np


def speaker_of(file_name: str) -> str:
    """The field before `_nohash_`: the first of a command's name, the second of an `_unknown_` clip's.

    Names without that field (`_silence_`) are their own speaker.
    """
    stem = file_name.rsplit(".", 1)[0]
    return stem.split("_nohash_")[0].rsplit("_", 1)[-1] if "_nohash_" in stem else stem


def folds(speakers: np.ndarray, number: int) -> np.ndarray:
    """(clips,) fold of each clip: speakers in the order of their hash, dealt out in turn. No speaker is in two folds."""
    order = sorted(set(speakers.tolist()), key=lambda name: hashlib.sha1(name.encode()).hexdigest())
    of = {name: i % number for i, name in enumerate(order)}
    return np.array([of[name] for name in speakers])


def bootstrap(hits: np.ndarray, speakers: np.ndarray, draws: int = 10000, seed: int = 1) -> tuple[float, float]:
    """95 % interval of the mean of `hits` (0 or 1 a clip) when speakers, with all their clips, are drawn anew."""
    names, index = np.unique(speakers, return_inverse=True)
    total = np.bincount(index, minlength=len(names))
    found = np.bincount(index, weights=hits.astype(float), minlength=len(names))
    picks = np.random.default_rng(seed).integers(0, len(names), (draws, len(names)))
    rates = found[picks].sum(1) / total[picks].sum(1)
    return float(np.quantile(rates, 0.025)), float(np.quantile(rates, 0.975))
