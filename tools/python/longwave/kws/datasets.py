"""Finds the material in a data folder.  Two layouts are accepted.

Small pack:      gsc12/{train,val}/<class>/*.flac, pretrain/asc40.tar, pretrain/gsc-aux.tar, negatives/*.opus, noise/*.flac
Speech Commands: <word>/*.wav, validation_list.txt, testing_list.txt, _background_noise_/*.wav   (Warden 2018, v0.01/v0.02)

Split of the negatives and noise of the small pack (names sorted; all fixed here and nowhere else):
  training: negatives[:90], the first half of each noise file that is not gsc-*
  held out: negatives[90:], the second half of these noise files
  never trained on: noise/gsc-* (but the `_silence_` clips of gsc12 are cut from those very recordings)
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

from . import audio
from .labels import CLASSES, COMMANDS, UNKNOWN

TRAIN_NEGATIVES = 90
Clip = tuple[Path, int]


def is_small_pack(root: Path) -> bool:
    return (root / "gsc12").is_dir()


def speaker_bucket(file_name: str) -> int:
    """sha1(speaker) mod 100; the gsc12 split is < 60 train, < 72 val, the rest kept back."""
    return int(hashlib.sha1(file_name.split("_")[0].encode()).hexdigest(), 16) % 100


def clips(root: Path, split: str, seed: int = 0) -> list[Clip]:
    """(file, class) of every clip of `split` ("train" or "val"), classes in order, names sorted.

    In the full layout `_unknown_` is a fixed random tenth of the other words (about as many as one command);
    `_silence_` has no files there, see `silence_clips`.
    """
    if is_small_pack(root):
        return [
            (file, label)
            for label, name in enumerate(CLASSES)
            for file in sorted((root / "gsc12" / split / name).glob("*.flac"))
        ]
    validation = set((root / "validation_list.txt").read_text().split())
    testing = set((root / "testing_list.txt").read_text().split())
    found: list[Clip] = []
    others: list[Clip] = []
    for folder in sorted(p for p in root.iterdir() if p.is_dir() and not p.name.startswith("_")):
        for file in sorted(folder.glob("*.wav")):
            name = f"{folder.name}/{file.name}"
            if name in testing or (name in validation) != (split == "val"):
                continue
            if folder.name in COMMANDS:
                found.append((file, COMMANDS.index(folder.name)))
            else:
                others.append((file, UNKNOWN))
    picked = np.random.default_rng(seed).permutation(len(others))[: max(1, len(found) // 10)]
    return sorted(found, key=lambda clip: clip[1]) + [others[i] for i in sorted(picked)]


def silence_clips(root: Path, split: str, count: int) -> list[np.ndarray]:
    """One-second cuts of _background_noise_ for the full layout: the last quarter of each file is for "val"."""
    files = [audio.read(f) for f in sorted((root / "_background_noise_").glob("*.wav"))]
    rng = np.random.default_rng(1)
    cuts = []
    for i in range(count):
        samples = files[i % len(files)]
        edge = int(0.75 * len(samples))
        part = samples[edge:] if split == "val" else samples[:edge]
        start = int(rng.integers(0, max(1, len(part) - 16000)))
        cuts.append(part[start : start + 16000] * float(rng.uniform(0, 1)))
    return cuts


def negative_files(root: Path, held_out: bool) -> list[Path]:
    """Speech without command words; empty where the data folder has none."""
    files = sorted((root / "negatives").glob("*.opus")) if (root / "negatives").is_dir() else []
    return files[TRAIN_NEGATIVES:] if held_out else files[:TRAIN_NEGATIVES]


def noise_files(root: Path) -> list[Path]:
    """Noise recordings of which the first half is for training and the second half is held out."""
    if is_small_pack(root):
        return [f for f in sorted((root / "noise").glob("*.flac")) if not f.name.startswith("gsc-")]
    return sorted((root / "_background_noise_").glob("*.wav"))


def noise_halves(root: Path, held_out: bool) -> list[np.ndarray]:
    halves = []
    for file in noise_files(root):
        samples = audio.read(file)
        middle = len(samples) // 2
        halves.append(samples[middle:] if held_out else samples[:middle])
    return halves
