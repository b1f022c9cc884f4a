"""Bytes of a text folder and their fixed split.

Of every file of n bytes, taken by itself, the first 90 % (n * 90 // 100) are for training, the next 3 % (up to
n * 93 // 100) are for validation, which choices are made on, and the rest is held out: read once, for the figures of
the model cards.  The parts of all files stand one behind the other in the order of their paths, compared as bytes.
Nothing is decoded, cut or changed; a token is a byte.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

TRAIN_PERCENT, VALIDATION_END_PERCENT = 90, 93
PARTS = ("train", "validation", "held_out")


def files(folder: Path) -> list[Path]:
    """Every file below `folder`, ordered by the bytes of its path in it."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    if not found:
        raise ValueError(f"{folder}: a folder of text files was expected, found none")
    return sorted(found, key=lambda path: path.relative_to(folder).as_posix().encode())


def cut(text: bytes, part: str) -> bytes:
    """The bytes of one file that belong to `part`."""
    first, second = len(text) * TRAIN_PERCENT // 100, len(text) * VALIDATION_END_PERCENT // 100
    return {"train": text[:first], "validation": text[first:second], "held_out": text[second:]}[part]


def read(folder: Path, part: str) -> bytes:
    """`part` of all files."""
    return b"".join(cut(path.read_bytes(), part) for path in files(folder))


class Streams:
    """`rows` readers of a text that go on where they stopped, window by window, so that state can be carried.

    A reader starts at a random place, reads 2^u windows of `length` bytes, u uniform in [0, `longest`], and then goes on
    elsewhere; behind the end of the text it goes on at its beginning.  With the chance `kept` the state stays as it is
    when the place changes: a state that cannot forget must serve a text of another kind too.  All draws come from
    (seed, step).
    """

    def __init__(self, text: bytes, rows: int, length: int, seed: int, longest: float = 8, kept: float = 0.8) -> None:
        self.text = np.frombuffer(text, np.uint8).astype(np.int64)
        self.rows, self.length, self.seed, self.longest, self.kept = rows, length, seed, longest, kept
        self.place, self.left = np.zeros(rows, np.int64), np.zeros(rows, np.int64)

    def window(self, step: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Inputs and targets (rows, length), and which rows start with a fresh state (rows), at `step` (steps in order)."""
        rng = np.random.default_rng([self.seed, step])
        starts, lengths = rng.integers(0, len(self.text), self.rows), 2 ** rng.uniform(0, self.longest, self.rows)
        over = self.left <= 0
        fresh = over & ((rng.uniform(0, 1, self.rows) >= self.kept) | (step == 0))
        self.place = np.where(over, starts, self.place)
        self.left = np.where(over, lengths.astype(np.int64), self.left) - 1
        index = (self.place[:, None] + np.arange(self.length + 1)) % len(self.text)
        self.place = self.place + self.length
        rows = self.text[index]
        return rows[:, :-1], rows[:, 1:], fresh

    def state(self) -> dict[str, np.ndarray]:
        return {"place": self.place.copy(), "left": self.left.copy()}

    def load(self, state: dict[str, np.ndarray]) -> None:
        self.place, self.left = np.array(state["place"]), np.array(state["left"])
