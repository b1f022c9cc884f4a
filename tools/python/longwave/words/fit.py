"""Trains a head on stored rows of the body, and more often on what it took for a word by mistake."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch

from ..kws.precision import fast_products
from .head import Head, loss
from .mining import mistakes

WINDOW = 256  # rows: 5.12 s
BATCH = 16  # windows
MINED = 0.5  # share of the windows of a part that lie over a mistake, where it has some
ROUNDS = (0.35, 0.65)  # of the steps: when mistakes are looked for


@dataclass(frozen=True)
class Part:
    """Rows (T, channels) of one long stream, and the phrases in it."""

    rows: np.ndarray
    ends: list[tuple[int, int, int]]

    def window(self, start: int) -> tuple[np.ndarray, list[tuple[int, int, int]]]:
        inside = [(f - start, e - start, w) for f, e, w in self.ends if e > start and f < start + WINDOW]
        return self.rows[start : start + WINDOW], inside


def start_of(part: Part, wrong: np.ndarray | None, rng: np.random.Generator) -> int:
    """First row of a window: anywhere, or so that the window holds one of the rows `wrong` and what led to it."""
    last = len(part.rows) - WINDOW
    if wrong is not None and len(wrong) and rng.random() < MINED:
        return int(np.clip(wrong[rng.integers(len(wrong))] - rng.integers(WINDOW // 3, WINDOW - 20), 0, last - 1))
    return int(rng.integers(0, last))


def draw(
    parts: list[Part], shares: list[float], wrong: dict[int, np.ndarray], rng: np.random.Generator
) -> tuple[torch.Tensor, list[list[tuple[int, int, int]]]]:
    rows, ends = [], []
    for which in rng.choice(len(parts), BATCH, p=np.array(shares) / sum(shares)):
        part = parts[which]
        window, inside = part.window(start_of(part, wrong.get(int(which)), rng))
        rows.append(window)
        ends.append(inside)
    stacked = torch.from_numpy(np.stack(rows)).float()
    return stacked.permute(2, 0, 1).contiguous(), ends  # (channels, B, T)


def fit(
    parts: list[Part],
    shares: list[float],
    words: int,
    steps: int,
    seed: int,
    blocks: int = 1,
    rate: float = 4e-3,
    shown: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Head:
    """A head trained for `steps`; `shares`: of each part in a batch. Mistakes are looked for in the parts without words. `shown`
    hands on the steps, and may print their progress."""
    torch.manual_seed(seed)
    head = Head(words, blocks)
    wrong: dict[int, np.ndarray] = {}
    optimiser = torch.optim.AdamW(head.parameters(), lr=rate, weight_decay=0.02)
    head.train()
    for step in shown(range(steps)):
        if step in [round(share * steps) for share in ROUNDS]:
            head.eval()
            wrong = {i: mistakes(scores(head, part.rows), words) for i, part in enumerate(parts) if not part.ends}
            head.train()
        for group in optimiser.param_groups:
            group["lr"] = rate * min(1.0, (step + 1) / 30) * 0.5 * (1 + math.cos(math.pi * step / steps))
        hidden, ends = draw(parts, shares, wrong, np.random.default_rng([seed, step]))
        hidden = hidden * (1 + 0.05 * torch.randn(hidden.shape[0], hidden.shape[1], 1))
        with fast_products():
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
        hidden = torch.from_numpy(rows[start - before : start + piece].astype(np.float32)).t()[:, None].contiguous()
        found.append(torch.softmax(head(hidden)[0, before:], -1).numpy())
    return np.concatenate(found)
