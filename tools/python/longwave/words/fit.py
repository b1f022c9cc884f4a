"""Trains a head on stored rows of the body."""
from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from .head import Head, loss

WINDOW = 256  # rows: 5.12 s
BATCH = 16  # windows


@dataclass(frozen=True)
class Part:
    """Rows (T, channels) of one long stream, and the phrases in it."""
    rows: np.ndarray
    ends: list[tuple[int, int, int]]

    def window(self, start: int) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
        inside = [(f - start, e - start, w) for f, e, w in self.ends if e > start and f < start + WINDOW]
        return self.rows[start:start + WINDOW], inside


def draw(parts: list[Part], shares: list[float], rng: np.random.Generator) -> tuple[torch.Tensor, list]:
    rows, ends = [], []
    for which in rng.choice(len(parts), BATCH, p=np.array(shares) / sum(shares)):
        part = parts[which]
        window, inside = part.window(int(rng.integers(0, len(part.rows) - WINDOW)))
        rows.append(window)
        ends.append(inside)
    stacked = torch.from_numpy(np.stack(rows)).float()
    return stacked.permute(2, 0, 1).contiguous(), ends  # (channels, B, T)


def fit(parts: list[Part], shares: list[float], words: int, steps: int, seed: int, blocks: int = 1, rate: float = 4e-3) -> Head:
    """A head trained for `steps`; `shares`: of each part in a batch."""
    torch.manual_seed(seed)
    head = Head(words, blocks)
    optimiser = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=0.02)
    head.train()
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 30) * 0.5 * (1 + math.cos(math.pi * step / steps))
        hidden, ends = draw(parts, shares, np.random.default_rng([seed, step]))
        hidden = hidden * (1 + 0.05 * torch.randn(hidden.shape[0], hidden.shape[1], 1))
        with torch.autocast("cpu", torch.bfloat16):
            logits = head(hidden)
        value = loss(logits.float(), ends)
        optimiser.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(head.parameters(), 2.0)
        optimiser.step()
    return head.eval()


@torch.no_grad()
def scores(head: Head, rows: np.ndarray, piece: int = 16384, overlap: int = 256) -> np.ndarray:
    """(T, classes) probabilities of one stream: what the finished model gives, to rounding."""
    found = []
    for start in range(0, len(rows), piece):
        before = min(start, overlap)
        hidden = torch.from_numpy(rows[start - before:start + piece].astype(np.float32)).t()[:, None].contiguous()
        found.append(torch.softmax(head(hidden)[0, before:], -1).numpy())
    return np.concatenate(found)
