"""Sequences of associative recall, made as they are needed.

A sequence of L ids: (L - 2) / 2 pairs of a key and its value, a separator, and one of those keys again; the answer is the value that stood behind it. Keys are
drawn with repetition from the first half of the vocabulary, and each sequence has a dictionary of its own from keys to values of the second half. So chance is
2 / vocabulary, and ids go to `vocabulary` inclusive: the separator is the last one.
"""

from __future__ import annotations

import torch
from torch import Tensor


def batch(size: int, length: int, vocabulary: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """ids (size, length), answers (size)."""
    if length < 4 or length % 2 or vocabulary < 4 or vocabulary % 2:
        raise ValueError(f"length and vocabulary expected even and at least 4, found {length} and {vocabulary}")
    half, pairs = vocabulary // 2, (length - 2) // 2
    dictionary = half + torch.randint(half, (size, half), generator=generator)
    keys = torch.randint(half, (size, pairs), generator=generator)
    values = dictionary.gather(1, keys)
    asked = keys.gather(1, torch.randint(pairs, (size, 1), generator=generator))
    separator = torch.full((size, 1), vocabulary)
    ids = torch.cat([torch.stack([keys, values], -1).flatten(1), separator, asked], 1)
    return ids, dictionary.gather(1, asked)[:, 0]
