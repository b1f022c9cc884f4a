"""Features of the material of hard.py, and of words of people that are no commands, for the last stage of training.

    python -m longwave.kws.hard_features HARD CACHE MODEL [--isolated FOLDER...]

CACHE holds the features of longwave.kws.features; this adds:
  speech.npy (frames, 40)                           the running speech of HARD
  near.npy   (clips, 120, 40)                       its near words, and the clips of the isolated words
  spoken.npy (clips, 120, 40) + spoken_label.npy    its commands, where MODEL (a model folder) finds the right word: not every voice
                                                    can be understood
  chains.npy (frames, 40)                           words of people without gaps: Arabic, auxiliary and isolated words

--isolated: folders of clips of words that are no commands.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch

from .. import output_files
from . import audio
from .features import LONG, encode
from .labels import COMMANDS
from .losses import smoothed_scores
from .model import KwsNet
from .shipped import load_folder

UNDERSTOOD = 0.3  # smoothed score of the right word
CHAINED = 4000  # clips of each bank
LOUD = 2.5  # of the natural logarithm of power: frames further below the peak of a clip do not belong to its word


def centred(samples: np.ndarray, length: int = LONG) -> np.ndarray:
    """The clip with the middle of its energy in the middle, silence around it."""
    energy = np.cumsum(samples.astype(np.float64) ** 2)
    middle = int(np.searchsorted(energy, energy[-1] / 2))
    padded = np.pad(samples, length)
    start = middle + length - length // 2
    return padded[start : start + length]


def clips_of(files: Iterable[Path]) -> np.ndarray:
    return np.stack([encode(centred(audio.read(file))) for file in files])


@torch.no_grad()
def understood(net: KwsNet, clips: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Whether the smoothed score of the right word reaches UNDERSTOOD."""
    quiet = np.full((len(clips), 80, clips.shape[2]), np.log(1e-5), np.float16)
    found = []
    for at in range(0, len(clips), 64):
        part = np.concatenate([quiet[at : at + 64], clips[at : at + 64], quiet[at : at + 64, :40]], 1)
        scores = smoothed_scores(net(net.front_end.normalise(torch.from_numpy(part).float()))).amax(2).numpy()
        found.append(scores[np.arange(len(part)), label[at : at + 64]] >= UNDERSTOOD)
    return np.concatenate(found)


def loud_part(clip: np.ndarray) -> np.ndarray:
    """(frames, 40) -> the frames of the word."""
    level = clip.astype(np.float32).mean(1)
    loud = np.flatnonzero(level > level.max() - LOUD)
    return clip[loud[0] : loud[-1] + 1]


def chain(cache: Path, isolated: list[Path], rng: np.random.Generator) -> np.ndarray:
    words = []
    for name in ("arabic", "auxiliary"):
        file = cache / f"{name}.npy"
        if file.exists():
            bank = np.load(file, mmap_mode="r")
            fold = cache / f"{name}_fold.npy"  # each fold leaves its speakers out, and a chain has no speaker
            usable = np.flatnonzero(np.load(fold) < 0) if fold.exists() else np.arange(len(bank))
            words += [loud_part(bank[i, rng.integers(bank.shape[1])]) for i in rng.permutation(usable)[:CHAINED]]
    words += [encode(audio.read(file)) for file in isolated]
    return np.concatenate([words[i] for i in rng.permutation(len(words))])


def audio_files(folders: Iterable[Path]) -> list[Path]:
    """The mono files of 16 kHz in these folders."""
    found = []
    for folder in folders:
        for file in sorted(f for f in folder.rglob("*") if f.suffix in (".wav", ".flac")):
            try:
                audio.read(file)
            except (ValueError, RuntimeError):
                continue
            found.append(file)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hard", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("model", type=Path)
    parser.add_argument("--isolated", type=Path, nargs="*", default=[])
    options = parser.parse_args()
    torch.set_num_threads(1)
    spoken = [(file, i) for i, word in enumerate(COMMANDS) for file in sorted((options.hard / word).glob("*.flac"))]
    label = np.array([i for _, i in spoken])
    clips = clips_of(file for file, _ in spoken)
    kept = understood(load_folder(options.model), clips, label)
    print(
        ", ".join(f"{word} {kept[label == i].sum()} of {(label == i).sum()}" for i, word in enumerate(COMMANDS)),
        flush=True,
    )
    output_files.write_array(options.cache / "spoken.npy", clips[kept])
    output_files.write_array(options.cache / "spoken_label.npy", label[kept])
    isolated = audio_files(options.isolated)
    near = clips_of([*sorted((options.hard / "near").glob("*.flac")), *isolated])
    output_files.write_array(options.cache / "near.npy", near)
    chains = chain(options.cache, isolated, np.random.default_rng(4))
    output_files.write_array(options.cache / "chains.npy", chains)
    speech = np.concatenate([encode(audio.read(file)) for file in sorted((options.hard / "speech").glob("*.flac"))])
    output_files.write_array(options.cache / "speech.npy", speech)
    print(
        f"{kept.sum()} commands, {len(near)} near and isolated words, {len(chains) / 360000:.2f} h of chained words, "
        f"{len(speech) / 360000:.2f} h of running speech"
    )


if __name__ == "__main__":
    main()
