"""What the models are measured beside: `xz -9` and an n-gram of bytes.

    python -m longwave.text.baselines DATA

Prints bits per byte of the held-out text (longwave/text/data.py) as one JSON object.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
from pathlib import Path

import numpy as np

from . import data

LONGEST = 7  # bytes of context: context and next byte share 64 bits


def xz_bits(held_out: bytes) -> float:
    """`xz -9` on the held-out text alone, its container included."""
    return 8 * len(lzma.compress(held_out, preset=9)) / len(held_out)


def xz_bits_after(train: bytes, held_out: bytes) -> float:
    """What the held-out text adds to the file when the training text stands in front of it; the dictionary of -9, 64 MiB,
    holds both."""
    return 8 * (len(lzma.compress(train + held_out, preset=9)) - len(lzma.compress(train, preset=9))) / len(held_out)


def contexts(text: np.ndarray, order: int) -> np.ndarray:
    """The `order` bytes before position order, order + 1, ... as one number."""
    count = len(text) - order
    packed = np.zeros(count, np.uint64)
    for j in range(order):
        packed = packed * np.uint64(256) + text[j : j + count].astype(np.uint64)
    return packed


class Counts:
    """How often contexts of one length were seen, with how many different next bytes, and with which."""

    def __init__(self, text: np.ndarray, order: int) -> None:
        before = contexts(text, order)
        self.pairs, self.pair_count = np.unique(
            before * np.uint64(256) + text[order:].astype(np.uint64), return_counts=True
        )
        self.contexts, first = np.unique(self.pairs // np.uint64(256), return_index=True)
        self.kinds = np.diff(np.append(first, len(self.pairs)))
        self.total = np.add.reduceat(self.pair_count, first)

    @staticmethod
    def _find(keys: np.ndarray, values: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[at] == wanted, values[at], 0)

    def of(self, before: np.ndarray, following: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each context and its next byte: count of both, count of the context, different bytes seen behind it."""
        both = self._find(self.pairs, self.pair_count, before * np.uint64(256) + following.astype(np.uint64))
        return both, self._find(self.contexts, self.total, before), self._find(self.contexts, self.kinds, before)


def ngram_bits(train: bytes, held_out: bytes, longest: int) -> list[float]:
    """Bits per byte for contexts of up to 0, 1, ..., `longest` bytes, counted in `train` alone and interpolated after
    Witten and Bell (1991): p_n(c | h) = (count(h c) + kinds(h) p_{n-1}(c | h')) / (count(h) + kinds(h)), p_{-1} = 1/256.
    The first bytes of the held-out text have the shorter contexts that exist."""
    if not 0 <= longest <= LONGEST:
        raise ValueError(f"contexts of 0 to {LONGEST} bytes, found {longest}")
    seen, text = np.frombuffer(train, np.uint8), np.frombuffer(held_out, np.uint8)
    probability, bits = np.full(len(text), 1 / 256), []
    for order in range(longest + 1):
        both, total, kinds = Counts(seen, order).of(contexts(text, order), text[order:])
        shorter = probability[order:]
        probability[order:] = np.where(total > 0, (both + kinds * shorter) / np.maximum(total + kinds, 1), shorter)
        bits.append(float(-np.log(probability).sum() / math.log(2) / len(text)))
    return bits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder of text files")
    parser.add_argument("--longest", type=int, default=LONGEST, help="bytes of the longest context of the n-gram")
    options = parser.parse_args()
    train, held_out = data.read(options.data, "train"), data.read(options.data, "held_out")
    print(
        json.dumps(
            {
                "train_bytes": len(train),
                "held_out_bytes": len(held_out),
                "xz": xz_bits(held_out),
                "xz_after_training_text": xz_bits_after(train, held_out),
                "ngram_by_context_bytes": ngram_bits(train, held_out, options.longest),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
