"""Reading and altering clips: files, tar members, speed, length and an Opus round trip."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import resample_poly

from .labels import SAMPLE_RATE

# speed factor -> (up, down) of the resampler; 0.9 lasts longer
SPEEDS = {0.88: (25, 22), 0.94: (50, 47), 1.0: (1, 1), 1.06: (50, 53), 1.12: (25, 28)}


def read(path: Path | str | io.BytesIO) -> np.ndarray:
    """Mono float32 samples in [-1, 1]; refuses other sample rates instead of misreading them."""
    samples, rate = soundfile.read(path, dtype="float32")
    if rate != SAMPLE_RATE or samples.ndim != 1:
        raise ValueError(f"{path}: want {SAMPLE_RATE} Hz mono")
    result: np.ndarray = samples
    return result


def read_tar(path: Path) -> Iterator[tuple[str, np.ndarray]]:
    """(member name, samples) of every audio file in a tar archive, in archive order."""
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith((".opus", ".wav", ".flac")):
                content = archive.extractfile(member)
                assert content is not None  # it is a file
                yield member.name, read(io.BytesIO(content.read()))


def speed(samples: np.ndarray, factor: float) -> np.ndarray:
    """Plays faster (factor > 1) with the pitch rising accordingly."""
    if factor == 1.0:
        return samples
    result: np.ndarray = resample_poly(samples, *SPEEDS[factor]).astype(np.float32)
    return result


def fit(samples: np.ndarray, length: int) -> np.ndarray:
    """Cuts or mirrors both ends so that the clip has `length` samples with its middle in the middle."""
    if len(samples) >= length:
        start = (len(samples) - length) // 2
        return samples[start : start + length]
    left = (length - len(samples)) // 2
    return np.pad(samples, (left, length - len(samples) - left), mode="reflect")


def opus_round_trip(samples: np.ndarray) -> np.ndarray:
    """Encodes to Ogg Opus at about 20 kbit/s and decodes, so that the codec is no cue to the class."""
    buffer = io.BytesIO()
    soundfile.write(buffer, np.clip(samples, -1, 1), SAMPLE_RATE, format="OGG", subtype="OPUS", compression_level=0.93)
    buffer.seek(0)
    decoded = soundfile.read(buffer, dtype="float32")[0][: len(samples)]
    return np.pad(decoded, (0, len(samples) - len(decoded)))
