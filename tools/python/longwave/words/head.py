"""The trained part: SGConv blocks over the rows of the body, and one class per word besides `_other_`."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..kws.model import BN_EPS, Block, KwsConfig, channel_norm

__all__ = ["BN_EPS", "Head", "SMOOTH", "loss"]

SMOOTH = 15  # rows of the moving average in the decision layer: 300 ms
BEFORE, AFTER = 8, 14  # rows around the end of a word in which its class is wanted
TAIL = 40  # rows after the end in which it may still stand high
CHUNK = 32  # rows; in each the highest forbidden score is pushed down


class Head(nn.Module):
    """(channels, B, T) rows of the body -> logits (B, T, classes); the last class is `_other_`."""

    def __init__(self, words: int, blocks: int = 1) -> None:
        super().__init__()
        self.config = KwsConfig(dropout=0.1)
        self.classes = words + 1
        self.norm1 = nn.BatchNorm1d(self.config.width, eps=BN_EPS)
        self.blocks = nn.ModuleList(Block(self.config) for _ in range(blocks))
        self.norm2 = nn.BatchNorm1d(self.config.width, eps=BN_EPS)
        self.linear = nn.Linear(self.config.width, self.classes)

    def forward(self, hidden: Tensor) -> Tensor:
        x = channel_norm(self.norm1, hidden)
        for block in self.blocks:
            x = block(x)
        result: Tensor = self.linear(channel_norm(self.norm2, x.float()).permute(1, 2, 0))
        return result


def loss(logits: Tensor, ends: list[list[tuple[int, int, int]]], smoothing: float = 0.01) -> Tensor:
    """`ends`: for each row of the batch (first row, last row, class) of its words.

    Sum of: cross entropy around the ends of words and elsewhere, each averaged over its own rows; a low highest score of a
    word in its time (max-pooling, after Sun et al. 2016); high scores of words where they were not said.
    """
    count, rows, classes = logits.shape
    other = classes - 1
    target = torch.full((count, rows), other)
    allowed = torch.zeros(count, other, rows, dtype=torch.bool)
    spots = []
    for b, found in enumerate(ends):
        for first, last, word in found:
            target[b, max(0, first) : last + TAIL] = -1  # neither wanted nor forbidden
            target[b, max(0, last - BEFORE) : last + AFTER] = word
            allowed[b, word, max(0, first) : last + TAIL] = True
            if last + AFTER <= rows:
                spots.append((b, word, max(0, last - BEFORE), last + AFTER + SMOOTH // 2))
    each = F.cross_entropy(
        logits.flatten(0, 1), target.flatten(), ignore_index=-1, reduction="none", label_smoothing=smoothing
    ).view(count, rows)
    positive, negative = (target >= 0) & (target < other), target == other
    total = (each * negative).sum() / negative.sum().clamp(min=1) + (each * positive).sum() / positive.sum().clamp(
        min=1
    )
    scores = F.avg_pool1d(F.pad(F.softmax(logits, -1)[..., :other].transpose(1, 2), (SMOOTH - 1, 0)), SMOOTH, 1)
    if spots:
        best = torch.stack([scores[b, word, begin:end].amax() for b, word, begin, end in spots])
        total = total - 0.25 * torch.log(best + 1e-3).mean()
    peak = F.max_pool1d(scores.masked_fill(allowed, 0.0).amax(1), CHUNK)
    return total - 0.8 * torch.log(1.001 - peak).mean()
