"""Training audio: phrases one after the other with gaps, at random levels, over noise and over other speech.

A scene is minutes long, so the state of the body is never that of a clip's start alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..kws import audio
from ..kws.features import coloured_noise, hum
from .sounds import RATE, Clip

SPEEDS = list(audio.SPEEDS)
ROW = 320


@dataclass
class Scene:
    samples: np.ndarray
    ends: list[tuple[int, int, int]] = field(default_factory=list)  # first and last row of a phrase, class


def level(samples: np.ndarray) -> float:
    return float(np.sqrt(np.mean(samples**2)) + 1e-9)


def noise_bed(count: int, backgrounds: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """`count` samples of coloured noise, hum, or recorded sound in a loop; rms 1."""
    kind, seconds = rng.random(), count // RATE + 1
    if kind < 0.35 and backgrounds:
        bed = np.roll(np.resize(backgrounds[rng.integers(len(backgrounds))], count), int(rng.integers(1 << 20)))
    elif kind < 0.9:
        bed = coloured_noise(seconds, float(rng.uniform(0, 2)), rng)
    else:
        bed = hum(seconds, float(rng.choice([50, 60, 120])), rng)
    return bed[:count] / level(bed)


def vary(clip: Clip, rng: np.random.Generator) -> Clip:
    """Another speed, and a random tilt of the spectrum."""
    factor = SPEEDS[rng.integers(len(SPEEDS))]
    samples = audio.speed(clip.samples, factor)
    tilt = float(rng.uniform(-0.5, 0.5))
    samples = samples + tilt * np.concatenate([samples[:1] * 0, samples[:-1]])
    return Clip(samples, int(clip.begin / factor), int(clip.end / factor), clip.group)


def compose(
    clips: list[tuple[Clip, int]], backgrounds: list[np.ndarray], other: int, rng: np.random.Generator
) -> Scene:
    """All `clips` in random order, each with its class (`other`: no word); a noise bed under every ten or so."""
    order = rng.permutation(len(clips))
    parts: list[np.ndarray] = []
    scene = Scene(np.zeros(0, np.float32))
    at = 0
    for start in range(0, len(order), 10):
        group: list[np.ndarray] = []
        marks, length = [], 0
        for i in order[start : start + 10]:
            clip, word = vary(clips[i][0], rng), clips[i][1]
            gain = 10 ** (rng.uniform(-40, -12) / 20) / level(clip.samples[clip.begin : clip.end])
            gap = int(RATE * (rng.uniform(0.0, 0.25) if rng.random() < 0.25 else rng.uniform(0.5, 1.3)))
            group += [np.zeros(gap, np.float32), clip.samples * gain]
            if word != other:
                marks.append(((at + length + gap + clip.begin) // ROW, (at + length + gap + clip.end) // ROW, word))
            length += gap + len(clip.samples)
        group.append(np.zeros(int(1.2 * RATE), np.float32))
        mix = np.concatenate(group)
        length = len(mix)
        speech = level(mix[mix != 0]) if mix.any() else 0.05
        depth = rng.uniform(-30, -3) if rng.random() < 0.7 else rng.uniform(-60, -35)
        mix = mix + noise_bed(length, backgrounds, rng) * speech * 10 ** (depth / 20)
        parts.append(np.clip(mix, -1, 1).astype(np.float32))
        scene.ends += marks
        at += length
    scene.samples = np.concatenate(parts)
    return scene
