"""Recordings and negatives from folders: found, checked, trimmed to the word."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from .errors import WordsError

RATE = 16000
FORMATS = (".wav", ".flac", ".ogg", ".opus")
SHORTEST, LONGEST = 0.2, 4.0  # seconds of a word
WORD_DB = 25  # a word ends with the last 10 ms within so many dB of its loudest 10 ms, as in `longwave eval`
NEGATIVES_SHORTEST = 600.0  # seconds


@dataclass(frozen=True)
class Clip:
    """One spoken phrase."""

    samples: np.ndarray  # with up to 0.1 s around the word
    begin: int  # samples of the word in it
    end: int
    group: str  # who speaks: clips of one group are left out together


def files_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise WordsError(f"{folder}: no such folder")
    return sorted(f for f in folder.rglob("*") if f.suffix.lower() in FORMATS)


def read(file: Path) -> np.ndarray:
    try:
        samples, rate = soundfile.read(file, dtype="float32", always_2d=True)
    except (RuntimeError, OSError) as error:
        raise WordsError(f"{file}: no audio file that can be read: {error}") from error
    if rate != RATE:
        raise WordsError(
            f"{file}: {rate} Hz, but {RATE} Hz are needed. Convert it first, for example: "
            f"ffmpeg -i {file.name} -ar {RATE} -ac 1 new.wav"
        )
    if samples.shape[1] != 1:
        raise WordsError(
            f"{file}: {samples.shape[1]} channels, but one is needed. Convert it first, for example: "
            f"ffmpeg -i {file.name} -ar {RATE} -ac 1 new.wav"
        )
    bad = np.flatnonzero(~np.isfinite(samples[:, 0]))
    if len(bad):
        raise WordsError(
            f"{file}: sample {bad[0]} is {samples[bad[0], 0]}, not a number that can be played: record the file again, or leave it out"
        )
    result: np.ndarray = samples[:, 0]
    return result


def trimmed(samples: np.ndarray, name: str, group: str) -> Clip:
    """Cuts off what is quiet before and after the word."""
    tens = len(samples) // 160
    if tens * 0.01 < SHORTEST:
        raise WordsError(f"{name}: {len(samples) / RATE:.2f} s is too short: a word takes at least {SHORTEST} s")
    power = (samples[: 160 * tens].reshape(tens, 160) ** 2).mean(1)
    if power.max() < 1e-8:
        raise WordsError(f"{name}: silent")
    loud = np.flatnonzero(power >= power.max() * 10 ** (-WORD_DB / 10))
    begin, end = 160 * int(loud[0]), 160 * int(loud[-1] + 1)
    if (end - begin) / RATE < SHORTEST:
        raise WordsError(
            f"{name}: its word takes {(end - begin) / RATE:.2f} s: too short, a word takes at least {SHORTEST} s"
        )
    if (end - begin) / RATE > LONGEST:
        raise WordsError(
            f"{name}: its word takes {(end - begin) / RATE:.1f} s: one word or short phrase per file, "
            f"at most {LONGEST:g} s"
        )
    first, last = max(0, begin - 1600), min(len(samples), end + 1600)
    return Clip(samples[first:last], begin - first, end - first, group)


def group_of(file: Path) -> str:
    """The speaker: the name up to the first "_", or the whole name where it has none."""
    return file.stem.split("_")[0]


def recordings(folder: Path, words: list[str]) -> list[list[Clip]]:
    """The clips of each word: FOLDER/WORD/*, or for a single word FOLDER/*. Spaces in WORD may be "_"."""
    found = []
    for word in words:
        places = [folder / name for name in (word, word.replace(" ", "_"), word.replace(" ", "-"))]
        place = next((p for p in places if p.is_dir()), folder if len(words) == 1 else None)
        if place is None:
            raise WordsError(
                f'{folder}: no folder "{word}" in it: with several words, each has a folder of its recordings'
            )
        files = files_in(place)
        if len(files) < 4:
            raise WordsError(
                f'{place}: {len(files) or "no"} recordings of "{word}": record at least 4, better 20, as '
                f"{', '.join(FORMATS)}, {RATE} Hz, one channel"
            )
        found.append([trimmed(read(file), str(file), group_of(file)) for file in files])
    return found


@dataclass(frozen=True)
class Negatives:
    training: list[Path]
    held_out: list[Path]
    training_seconds: float
    held_out_seconds: float


def negatives(folder: Path) -> Negatives:
    """Two of five files, in the order of their names, are for training; the threshold is chosen on the others."""
    files = files_in(folder)
    if not files:
        raise WordsError(f"{folder}: no audio files: give hours of speech and noise in which nobody says the words")
    seconds = []
    for file in files:
        try:
            info = soundfile.info(file)
        except (RuntimeError, OSError) as error:
            raise WordsError(f"{file}: no audio file that can be read: {error}") from error
        if info.samplerate != RATE or info.channels != 1:
            read(file)  # says what is wrong
        seconds.append(info.duration)
    total = sum(seconds)
    if total < NEGATIVES_SHORTEST or len(files) < 5:
        raise WordsError(
            f"{folder}: {total / 60:.1f} minutes in {len(files)} files are too few: at least "
            f"{NEGATIVES_SHORTEST / 60:.0f} minutes in 5 files, and 5 hours to show one false accept per hour"
        )
    share = [i % 5 in (1, 3) for i in range(len(files))]
    return Negatives(
        [f for f, s in zip(files, share) if s],
        [f for f, s in zip(files, share) if not s],
        sum(t for t, s in zip(seconds, share) if s),
        sum(t for t, s in zip(seconds, share) if not s),
    )
