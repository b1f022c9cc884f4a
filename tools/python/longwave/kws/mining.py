"""Where a model takes running speech for a command: training goes there more often."""

from __future__ import annotations

import torch
from torch import Tensor

from .batches import ROW
from .losses import smoothed_scores
from .model import KwsNet

SCORE = 0.1  # of a mistake
APART = 40  # 20 ms frames between two mistakes
PIECE = 12000  # 10 ms frames
COPIES = 8  # rows of a mistake with score 1


@torch.no_grad()
def mistakes(net: KwsNet, speech: Tensor, pieces: int = 90) -> Tensor:
    """First 10 ms frames of rows of `speech` (frames, 40) in which a command scores SCORE or more: more rows for higher scores.

    Looks at so many random pieces of two minutes.
    """
    net.eval()
    starts: list[int] = []
    for begin in (PIECE * torch.randperm(len(speech) // PIECE)[:pieces]).tolist():
        top = smoothed_scores(net(net.front_end.normalise(speech[None, begin : begin + PIECE].float())))[0].amax(0)
        while True:
            score, at = top.max(0)
            if score < SCORE:
                break
            top[max(0, int(at) - APART) : int(at) + APART] = 0
            frame = begin + 2 * int(at)
            for _ in range(max(1, round(COPIES * float(score)))):
                starts.append(frame - int(torch.randint(150, ROW - 30, ())))
    return torch.tensor(starts).clamp(0, len(speech) - ROW - 1)
