"""Losses: the class of each clip, and a detection loss on the smoothed posteriors that the decision layer looks at."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .batches import CLIP, NOT_A_COMMAND
from .labels import SILENCE

READ = 15  # 20 ms frames (0.3 s) at the end of a clip whose mean is the decision
SMOOTH = 15  # 20 ms frames of the moving average in the decision layer
TAIL = 35  # 20 ms frames after a clip during which its word may still stand high
CHUNK = 32  # 20 ms frames; in each the highest forbidden score is pushed down


def class_loss(logits: Tensor, label: Tensor, smoothing: float) -> Tensor:
    """(n, 12), (n,) -> (n,) cross entropy; NOT_A_COMMAND accepts `_silence_` and `_unknown_`."""
    log_p = F.log_softmax(logits, -1)
    target = log_p.gather(1, label.clamp(min=0)[:, None])[:, 0]
    plain = -(1 - smoothing) * target - smoothing * log_p.mean(1)
    return torch.where(label == NOT_A_COMMAND, -torch.logsumexp(log_p[:, SILENCE:], 1), plain)


def clip_loss(
    logits: Tensor, auxiliary_logits: Tensor, label: Tensor, auxiliary: Tensor, weight: Tensor, smoothing: float = 0.05
) -> Tensor:
    """Weighted mean over all slots (n of them) plus the cross entropy of the auxiliary classes where there is one."""
    loss = (class_loss(logits, label, smoothing) * weight).sum() / weight.sum().clamp(min=1)
    known = auxiliary >= 0
    if known.any():
        extra = F.cross_entropy(auxiliary_logits[known], auxiliary[known], label_smoothing=smoothing)
        loss = loss + extra * known.float().mean()
    return loss


def smoothed_scores(logits: Tensor) -> Tensor:
    """Per-frame logits (B, T, 12) -> causal moving average of the ten command probabilities, (B, 10, T)."""
    p = F.softmax(logits, -1)[..., :SILENCE].transpose(1, 2)
    return F.avg_pool1d(F.pad(p, (SMOOTH - 1, 0)), SMOOTH, 1)


def allowed_words(ends: Tensor, label: Tensor, frames: int) -> Tensor:
    """(B, 10, T): where a word may be reported, from the start of its clip until TAIL frames after it."""
    allowed = torch.zeros(ends.shape[0], SILENCE, frames, dtype=torch.bool)
    frame = torch.arange(frames)
    for slot in range(ends.shape[1]):
        rows = torch.where((label[:, slot] >= 0) & (label[:, slot] < SILENCE))[0]
        end = ends[rows, slot, None] // 2
        allowed[rows, label[rows, slot]] |= (frame >= end - CLIP // 2) & (frame < end + TAIL)
    return allowed


def detection_loss(logits: Tensor, ends: Tensor, label: Tensor, allowed: Tensor) -> tuple[Tensor, Tensor]:
    """(missed, false): each word's highest score in its own time must be high (max-pooling, after Sun et al. 2016,
    "Max-pooling loss training of LSTM networks for small-footprint keyword spotting"); in every chunk the highest
    score of a word that is not allowed there must be low.

    `missed` is a vector with one loss per command slot in the order of `torch.where(is command)`.
    """
    scores = smoothed_scores(logits)
    frames = scores.shape[2]
    row, slot = torch.where((label >= 0) & (label < SILENCE))
    end = ends[row, slot, None] // 2
    frame = torch.arange(frames)
    inside = (frame >= end - CLIP // 2 + 10) & (frame < end + 8)
    best = scores[row, label[row, slot]].masked_fill(~inside, 0.0).amax(1)
    missed = -torch.log(best + 1e-3)
    forbidden = scores.masked_fill(allowed, 0.0).amax(1)  # (B, T)
    peak = F.max_pool1d(forbidden, CHUNK)
    false = -torch.log(1.001 - peak).mean()
    return missed, false
