"""Adaptive input and output embeddings (Baevski and Auli 2019; Grave et al. 2017) under fairseq's state-dict
names.

Words are sorted by frequency and cut into clusters at `cutoffs`; those of cluster i have width / factor^i
features.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def edges_of(vocabulary: int, cutoffs: Sequence[int]) -> list[tuple[int, int]]:
    """(first, end) of each cluster."""
    return list(zip([0, *cutoffs], [*cutoffs, vocabulary]))


class AdaptiveEmbedding(nn.Module):
    """ids (...) -> (..., width): a row of the cluster's table, then its projection; times `scale`."""

    def __init__(
        self, vocabulary: int, width: int, cutoffs: Sequence[int], factor: int = 4, scale: float = 1.0
    ) -> None:
        super().__init__()
        self.width, self.scale, self.edges = width, scale, edges_of(vocabulary, cutoffs)
        self.embeddings = nn.ModuleList(
            nn.Sequential(
                nn.Embedding(end - first, width // factor**i), nn.Linear(width // factor**i, width, bias=False)
            )
            for i, (first, end) in enumerate(self.edges)
        )

    def forward(self, ids: Tensor) -> Tensor:
        first_cluster: Any = self.embeddings[0]
        rows = first_cluster[1].weight.new_zeros(*ids.shape, self.width)
        for (first, end), cluster in zip(self.edges, self.embeddings):
            inside = (ids >= first) & (ids < end)
            rows[inside] = cluster(ids[inside] - first)
        result: Tensor = self.scale * rows
        return result


class AdaptiveHead(nn.Module):
    def __init__(self, width: int, words: int, classes: int, bias: bool) -> None:
        super().__init__()
        self.word_proj, self.class_proj = nn.Linear(width, words, bias=bias), nn.Linear(width, classes, bias=bias)


class AdaptiveSoftmax(nn.Module):
    """(..., width) -> (..., vocabulary) log-probabilities: the head has the words of the first cluster and a
    class for each other one."""

    def __init__(
        self, vocabulary: int, width: int, cutoffs: Sequence[int], factor: int = 4, bias: bool = False
    ) -> None:
        super().__init__()
        (_, words), *tails = edges_of(vocabulary, cutoffs)
        self.head = AdaptiveHead(width, words, len(tails), bias)
        self.tail = nn.ModuleList(
            nn.Sequential(
                nn.Linear(width, width // factor ** (i + 1), bias=False),
                nn.Identity(),
                nn.Linear(width // factor ** (i + 1), end - first, bias=bias),
            )
            for i, (first, end) in enumerate(tails)
        )

    def forward(self, x: Tensor) -> Tensor:
        head = F.log_softmax(torch.cat([self.head.word_proj(x), self.head.class_proj(x)], -1), -1)
        words, classes = head.split([self.head.word_proj.out_features, len(self.tail)], -1)
        return torch.cat(
            [words] + [F.log_softmax(tail(x), -1) + classes[..., i : i + 1] for i, tail in enumerate(self.tail)], -1
        )
