"""Test streams: long runs of audio that go through the model without a reset.

Every network layer is causal with a finite kernel, so evaluating a whole run at once gives what frame-by-frame
execution with carried state gives (to rounding).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from ..layers.frontend import SAMPLE_RATE
from . import audio, datasets, features
from .labels import SILENCE
from .model import KwsNet

QUIET = 24000  # samples (1.5 s) after each command in the event test
ORDER_SEED = 2026


@torch.no_grad()
def logits(net: KwsNet, samples: np.ndarray) -> np.ndarray:
    """(T, 12) per 20 ms frame of one stream that starts from zero state."""
    return net.from_samples(torch.from_numpy(samples)[None])[0].numpy()


def softmax(rows: np.ndarray) -> np.ndarray:
    e = np.exp(rows - rows.max(-1, keepdims=True))
    result: np.ndarray = e / e.sum(-1, keepdims=True)
    return result


def val_clips(data: Path) -> tuple[np.ndarray, np.ndarray]:
    """(clips, 16000) samples and (clips,) classes of the validation split."""
    found = datasets.clips(data, "val")
    samples = [audio.fit(audio.read(file), features.CLIP) for file, _ in found]
    label = [c for _, c in found]
    if SILENCE not in label:
        cuts = datasets.silence_clips(data, "val", max(1, len(found) // 11))
        samples, label = samples + cuts, label + [SILENCE] * len(cuts)
    return np.stack(samples), np.array(label)


def carried_order(count: int, number: int = 0) -> np.ndarray:
    """The fixed shuffled order in which validation clips follow each other; 0 is the one quoted."""
    return np.random.default_rng(ORDER_SEED + number).permutation(count)


def command_stream(samples: np.ndarray, label: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All validation commands in shuffled order, each followed by 1.5 s of digital silence -> samples, classes."""
    at = np.where(label < SILENCE)[0]
    at = at[carried_order(len(at))]
    rows = np.pad(samples[at], ((0, 0), (0, QUIET)))
    return rows.ravel().astype(np.float32), label[at]


def join(parts: list[np.ndarray]) -> np.ndarray:
    """One after the other; a second of silence where a data folder has none of them."""
    return np.concatenate(parts) if parts else np.zeros(SAMPLE_RATE, np.float32)


def speech(data: Path, held_out: bool) -> np.ndarray:
    """Speech without commands: what was trained on, or what was held out."""
    return join([audio.read(f) for f in datasets.negative_files(data, held_out)])


def noise(data: Path, held_out: bool) -> np.ndarray:
    """First or second halves of the noise recordings."""
    return join(datasets.noise_halves(data, held_out))


def machine_noise(data: Path) -> np.ndarray:
    """Recordings never used as files in training (`_silence_` clips are cut from them, see datasets.py)."""
    names = ["gsc-doing_the_dishes", "gsc-exercise_bike", "gsc-running_tap"]
    files = [data / "noise" / f"{name}.flac" for name in names]
    return join([audio.read(file) for file in files if file.exists()])


def synthetic_quiet() -> np.ndarray:
    """6.5 min: digital silence 2 min; white, pink and brown noise at four levels, 3 min; tones 1.5 min."""
    rng = np.random.default_rng(777)
    parts: list[np.ndarray] = [np.zeros(120 * SAMPLE_RATE, np.float32)]
    for slope in (0.0, 1.0, 2.0):
        for rms in (0.001, 0.01, 0.05, 0.2):
            parts.append(features.coloured_noise(15, slope, rng) * (rms / 0.05))
    t = np.arange(3 * SAMPLE_RATE) / SAMPLE_RATE
    on = (t % 1.0 < 0.6).astype(np.float32)  # bursts as well as steady tones
    for low, high in (
        (440, 440),
        (1000, 1000),
        (2750, 2750),
        (697, 1209),
        (770, 1336),
        (852, 1477),
        (941, 1633),
        (350, 440),
        (261.6, 392),
        (5200, 5200),
    ):
        both = 0.1 * (np.sin(2 * np.pi * low * t) + np.sin(2 * np.pi * high * t))
        parts += [both, both * on]
    siren = np.sin(
        2
        * np.pi
        * np.cumsum(700 + 400 * np.sin(2 * np.pi * 0.5 * np.arange(30 * SAMPLE_RATE) / SAMPLE_RATE))
        / SAMPLE_RATE
    )
    parts.append(0.2 * siren)
    return np.concatenate(parts).astype(np.float32)
