"""Feature preparation: every clip is altered, framed and stored once as log-mel power (float16) in `.npy` files.

    python -m longwave.kws.features DATA CACHE [--part commands|auxiliary|arabic|background] [--folds 4]

Stored arrays (all without normalisation; log(p + 1e-5), p for samples in [-1, 1]):
  commands.npy  (clips, 8, 120, 40) + commands_label.npy   five speeds and three Opus round trips, 1.2 s each
  auxiliary.npy (clips, 4, 120, 40) + auxiliary_label.npy  bed, cat, happy of training speakers
  arabic.npy    (clips, 2, 120, 40) + arabic_label.npy     40 Arabic command words
  negatives.npy (frames, 40)   speech without commands at three speeds, one after the other
  noise.npy     (frames, 40)   recorded, synthetic and babble noise
  val.npy       (clips, 100, 40) + val_label.npy           for a quick figure during training
The clips last 1.2 s so that training can shift them by up to 0.2 s.

With --folds the commands are those of both splits. commands_fold.npy and auxiliary_fold.npy then hold the fold of each
clip's speaker, and -1 for speakers who say no command. `batches.Material` leaves one fold out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from .. import output_files
from ..layers.frontend import SAMPLE_RATE, LogMel
from . import audio, datasets
from .labels import SILENCE
from .speakers import folds as speaker_folds, speaker_of

LONG = 19200  # samples, 1.2 s
CLIP = 16000
AUXILIARY_WORDS = ["bed", "cat", "happy"]
_front_end = LogMel()


def encode(samples: np.ndarray) -> np.ndarray:
    """(..., n) samples -> float16 (..., n // 160, 40)."""
    return _front_end.log_power(torch.from_numpy(np.ascontiguousarray(samples, np.float32))).numpy().astype(np.float16)


def variants(samples: np.ndarray, speeds: list[float], opus: int, rng: np.random.Generator) -> np.ndarray:
    """float16 (len(speeds) + opus, 120, 40): each speed, then Opus round trips of randomly chosen speeds."""
    copies = [audio.fit(audio.speed(samples, s), LONG) for s in speeds]
    copies += [audio.opus_round_trip(copies[rng.integers(len(speeds))]) for _ in range(opus)]
    return encode(np.stack(copies))


def command_clips(data: Path, folds: int) -> list[tuple[Path, int]]:
    return datasets.clips(data, "train") + (datasets.clips(data, "val") if folds else [])


def fold_of_speakers(data: Path, number: int) -> dict[str, int]:
    names = np.array([speaker_of(file.name) for file, _ in command_clips(data, number)])
    return dict(zip(names.tolist(), speaker_folds(names, number).tolist()))


def prepare_commands(data: Path, cache: Path, folds: int = 0) -> None:
    rng = np.random.default_rng(0)
    found = command_clips(data, folds)
    samples = [audio.read(file) for file, _ in found]
    labels = [label for _, label in found]
    if SILENCE not in labels and not folds:
        cuts = datasets.silence_clips(data, "train", max(1, len(found) // 11))
        samples, labels = samples + cuts, labels + [SILENCE] * len(cuts)
    output_files.write_array(
        cache / "commands.npy", np.stack([variants(s, list(audio.SPEEDS), 3, rng) for s in samples])
    )
    output_files.write_array(cache / "commands_label.npy", np.array(labels))
    if folds:
        fold = fold_of_speakers(data, folds)
        output_files.write_array(
            cache / "commands_fold.npy", np.array([fold[speaker_of(file.name)] for file, _ in found])
        )


def prepare_val(data: Path, cache: Path) -> None:
    found = datasets.clips(data, "val")
    samples = [audio.fit(audio.read(file), CLIP) for file, _ in found]
    labels = [label for _, label in found]
    if SILENCE not in labels:
        cuts = datasets.silence_clips(data, "val", max(1, len(found) // 11))
        samples, labels = samples + cuts, labels + [SILENCE] * len(cuts)
    output_files.write_array(cache / "val.npy", encode(np.stack(samples)))
    output_files.write_array(cache / "val_label.npy", np.array(labels))


def prepare_auxiliary(data: Path, cache: Path, folds: int = 0) -> None:
    """Only speakers of the prepared splits (the same people speak in both releases of Speech Commands)."""
    rng = np.random.default_rng(1)
    rows, labels, fold = [], [], []
    fold_of = fold_of_speakers(data, folds) if folds else {}
    for name, samples in audio.read_tar(data / "pretrain" / "gsc-aux.tar"):
        _, word, file = name.split("/")
        if datasets.speaker_bucket(file) < (72 if folds else 60):
            rows.append(variants(samples, [0.94, 1.0, 1.06], 1, rng))
            labels.append(AUXILIARY_WORDS.index(word))
            fold.append(fold_of.get(speaker_of(file), -1))
    output_files.write_array(cache / "auxiliary.npy", np.stack(rows))
    output_files.write_array(cache / "auxiliary_label.npy", np.array(labels))
    if folds:
        output_files.write_array(cache / "auxiliary_fold.npy", np.array(fold))


def prepare_arabic(data: Path, cache: Path, folds: int = 0) -> None:
    rng = np.random.default_rng(2)
    rows, words = [], []
    for name, samples in audio.read_tar(data / "pretrain" / "asc40.tar"):
        other = [0.88, 0.94, 1.06, 1.12][rng.integers(4)]
        rows.append(variants(samples, [1.0, other], 0, rng))
        words.append(name.split("/")[1])
    names = sorted(set(words))
    output_files.write_array(cache / "arabic.npy", np.stack(rows))
    output_files.write_array(cache / "arabic_label.npy", np.array([names.index(w) for w in words]))


def coloured_noise(seconds: float, slope: float, rng: np.random.Generator) -> np.ndarray:
    """Gaussian noise whose amplitude spectrum falls as f^(-slope/2) above 40 Hz, rms 0.05."""
    count = int(SAMPLE_RATE * seconds)
    spectrum = np.fft.rfft(rng.standard_normal(count))
    hertz = np.arange(len(spectrum)) / seconds
    noise = np.fft.irfft(spectrum / np.maximum(hertz, 40.0) ** (slope / 2), count)
    result: np.ndarray = (0.05 * noise / noise.std()).astype(np.float32)
    return result


def hum(seconds: float, base_hz: float, rng: np.random.Generator) -> np.ndarray:
    """Eleven harmonics falling as 1/k over a little white noise."""
    t = np.arange(int(SAMPLE_RATE * seconds)) / SAMPLE_RATE
    tone = sum(0.05 / k * np.sin(2 * np.pi * base_hz * k * t + 6.3 * rng.random()) for k in range(1, 12))
    return (tone + 1e-3 * rng.standard_normal(len(t))).astype(np.float32)


def pure_tones(seconds: float, rng: np.random.Generator) -> np.ndarray:
    """Random steady tones and glides of 0.1 to 1.5 s, one after the other, over a little white noise."""
    pieces, total = [], 0
    while total < seconds * SAMPLE_RATE:
        count = int(rng.uniform(0.1, 1.5) * SAMPLE_RATE)
        start, end = np.exp(rng.uniform(np.log(80), np.log(7000), 2))
        hertz = np.linspace(start, end if rng.random() < 0.4 else start, count)
        pieces.append(
            rng.uniform(0.01, 0.3) * np.sin(2 * np.pi * np.cumsum(hertz) / SAMPLE_RATE) * (rng.random() < 0.8)
        )
        total += count
    tone = np.concatenate(pieces)
    return (tone + 10 ** rng.uniform(-5, -2) * rng.standard_normal(len(tone))).astype(np.float32)


def babble(utterances: list[np.ndarray], seconds: float, voices: int, rng: np.random.Generator) -> np.ndarray:
    """Several speakers at once, equally loud, rms 0.05."""
    count = int(SAMPLE_RATE * seconds)
    mix = np.zeros(count, np.float32)
    for _ in range(voices):
        voice = np.concatenate([utterances[i] for i in rng.integers(0, len(utterances), 12)])
        voice = np.resize(voice, count)
        mix += voice / (voice.std() + 1e-6)
    result: np.ndarray = (0.05 * mix / mix.std()).astype(np.float32)
    return result


def prepare_background(data: Path, cache: Path, folds: int = 0) -> None:
    rng = np.random.default_rng(3)
    speech = [audio.read(f) for f in datasets.negative_files(data, held_out=False)]
    if speech:
        paced = [audio.speed(s, f) for f in (1.0, 0.88, 1.12) for s in speech]
        output_files.write_array(cache / "negatives.npy", np.concatenate([encode(s) for s in paced]))
    noises = datasets.noise_halves(data, held_out=False)
    noises += [coloured_noise(30, slope, rng) for slope in (0, 0.5, 1, 1.5, 2)]
    noises += [hum(15, base, rng) for base in (50, 60, 120, 180)]
    noises += [pure_tones(60, rng)]
    if speech:
        noises += [babble(speech, 40, voices, rng) for voices in (4, 6, 8)]
    output_files.write_array(cache / "noise.npy", np.concatenate([encode(s) for s in noises]))
    prepare_val(data, cache)


PARTS = {
    "commands": prepare_commands,
    "auxiliary": prepare_auxiliary,
    "arabic": prepare_arabic,
    "background": prepare_background,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--part", choices=list(PARTS), help="only this part (default: all that the data folder has)")
    parser.add_argument("--folds", type=int, default=0, help="prepare both splits for so many folds by speaker")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.folds and not datasets.is_small_pack(options.data):
        parser.error("--folds takes the small pack: gsc12/{train,val}, see datasets.py")
    options.cache.mkdir(parents=True, exist_ok=True)
    has_pretrain = (options.data / "pretrain").is_dir()
    for name, prepare in PARTS.items():
        if options.part in (None, name) and (has_pretrain or name not in ("auxiliary", "arabic")):
            prepare(options.data, options.cache, options.folds)
            print(f"{name} done", flush=True)


if __name__ == "__main__":
    main()
