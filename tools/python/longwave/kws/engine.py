"""The engine from Python: what `longwave eval` finds, and scores of a compiled model over long audio, kept in a cache.

The stream that the product runs gives the scores: `longwave run --stream`. A score file is named after the model and the
audio, so a second call reads it back. A file that is not what was written, such as a cut one, is computed again.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from .. import cleanup, output_files
from .labels import SAMPLE_RATE

PIECE = 1800 * SAMPLE_RATE  # samples of one run: half an hour
DIGEST = 32  # bytes before the array in a score file: of the rest
OVERLAP = 8 * SAMPLE_RATE  # heard before a piece: the scores depend on the last 7.7 s


class EngineError(Exception):
    """A command failed. The message is its own."""


def run(program: Path, command: str, *arguments: str | Path) -> bytes:
    """What the command prints."""
    with cleanup.started(
        [str(program), command, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        printed, error = process.communicate()
    if process.returncode:
        said = error.decode(errors="replace").strip()
        raise EngineError(f"longwave {command}: {said or f'exit status {process.returncode}'}")
    result: bytes = printed
    return result


def evaluate(program: Path, model: Path, *arguments: str | Path) -> dict[str, Any]:
    """The figures of `longwave eval`."""
    result: dict[str, Any] = json.loads(run(program, "eval", model, *arguments))
    return result


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
        kept = read(file)
        if kept is None:
            parts = []
            for start in range(0, len(heard), PIECE):
                before = min(start, OVERLAP)
                rows = self._run(heard[start - before : start + PIECE], output)
                parts.append(rows[before // 320 :])
            kept = np.concatenate(parts).astype(np.float16)
            write(file, kept)
        return kept.astype(np.float32)

    def _run(self, heard: np.ndarray, output: str) -> np.ndarray:
        with cleanup.temporary_folder() as folder:
            audio, rows = folder / "audio.wav", folder / "rows.npy"
            soundfile.write(audio, heard, SAMPLE_RATE, subtype="PCM_16")
            given = ("--stream", "--input", f"audio=@{audio}", "-o", f"{output}={rows}")
            run(self.program, "run", self.model, *given)
            result: np.ndarray = np.load(rows)
            return result


def write(file: Path, rows: np.ndarray) -> None:
    buffer = io.BytesIO()
    np.save(buffer, rows)
    output_files.write_file(file, hashlib.blake2b(buffer.getvalue(), digest_size=DIGEST).digest() + buffer.getvalue())


def read(file: Path) -> np.ndarray | None:
    """None: there is no such file, or it is not as it was written."""
    if not file.is_file():
        return None
    data = file.read_bytes()
    digest, array = data[:DIGEST], data[DIGEST:]
    if hashlib.blake2b(array, digest_size=DIGEST).digest() != digest:
        return None
    result: np.ndarray = np.load(io.BytesIO(array))
    return result
