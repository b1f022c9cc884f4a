"""Scores of a compiled model over long audio, by the engine, kept in a cache.

The stream that the product runs gives the scores: `longwave run --stream`. A score file is named after the model and the
audio, so a second call reads it back.
"""
from __future__ import annotations

import hashlib
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import soundfile

from .labels import SAMPLE_RATE

PIECE = 1800 * SAMPLE_RATE  # samples of one run: half an hour
OVERLAP = 8 * SAMPLE_RATE  # heard before a piece: the scores depend on the last 7.7 s


class Engine:
    """`program`: the longwave command. `model`: a compiled model whose outputs have a row per 20 ms."""

    def __init__(self, program: Path, model: Path, cache: Path) -> None:
        self.program, self.model, self.cache = program, model, cache
        self.identity = hashlib.blake2b(model.read_bytes(), digest_size=8).hexdigest()
        cache.mkdir(parents=True, exist_ok=True)

    def scores(self, samples: np.ndarray, output: str = "probabilities") -> np.ndarray:
        """(n // 320, width) rows of one stream over mono samples in [-1, 1], which are rounded to 16 bits."""
        heard = (np.clip(samples, -1, 1) * 32767).astype("<i2")
        name = hashlib.blake2b(heard.tobytes() + output.encode(), digest_size=12).hexdigest()
        file = self.cache / f"{self.identity}-{name}.npy"
        if not file.exists():
            parts = []
            for start in range(0, len(heard), PIECE):
                before = min(start, OVERLAP)
                rows = self._run(heard[start - before:start + PIECE], output)
                parts.append(rows[before // 320:])
            np.save(file, np.concatenate(parts).astype(np.float16))
        return np.load(file).astype(np.float32)

    def _run(self, heard: np.ndarray, output: str) -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            audio, rows = Path(folder) / "audio.wav", Path(folder) / "rows.npy"
            soundfile.write(audio, heard, SAMPLE_RATE, subtype="PCM_16")
            subprocess.run([self.program, "run", self.model, "--stream", "--input", f"audio=@{audio}",
                            "-o", f"{output}={rows}"], check=True, stdout=subprocess.DEVNULL)
            return np.load(rows)
