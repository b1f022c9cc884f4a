"""Recurrences, selections and pools in float64, from their definitions in docs/ops.md."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from .recovered import Op


def state_space(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    poles, c, d = op.constant("poles"), torch.view_as_complex(op.constant("c").contiguous()), op.constant("D")
    poles = poles[..., :2] + (poles[..., 2:] if poles.shape[-1] == 4 else 0)
    factor = torch.exp(torch.view_as_complex(poles.contiguous()))
    u = torch.complex(x[0], x[1] if op.attributes["complex"] else torch.zeros_like(x[0]))
    state, rows = torch.zeros_like(factor), []
    for row in u:
        state = factor * state + row[:, None]
        rows.append(((c * state).sum(-1).real + d * row.real).flatten())
    return torch.stack(rows) if rows else x[0].new_zeros(0, op.width)


def steps(x: Tensor, op: Op, dims: tuple[int, ...]) -> Tensor:
    """[steps, sequences, gates]: over time, a sequence for each band; over bands, one for each row."""
    image = x.reshape(len(x), dims[0] if len(dims) == 2 else 1, dims[-1])
    return image.transpose(0, 1) if op.attributes.get("over_bands") else image


def in_rows(made: list[Tensor], x: Tensor, op: Op) -> Tensor:
    if not made or len(x) == 0:
        return x.new_zeros(0, op.width)
    image = torch.stack(made)
    return (image.transpose(0, 1) if op.attributes.get("over_bands") else image).reshape(len(x), -1)


def lstm_states(x: Tensor, op: Op, dims: tuple[int, ...]) -> tuple[list[Tensor], tuple[Tensor, Tensor]]:
    """Its rows, and h and c behind the last one."""
    u, sequence = op.constant("weight"), steps(x, op, dims)
    zeros = x.new_zeros(2, sequence.shape[1], u.shape[1])
    h, c = state.reshape(zeros.shape) if (state := op.given("initial")) is not None else zeros
    rows = []
    for row in sequence:
        i, f, g, o = (row + h @ u.T).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        rows.append(h)
    return rows, (h, c)


def lstm(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    return in_rows(lstm_states(x[0], op, dims)[0], x[0], op)


def gru(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    (ur, uz, un), bias, initial = op.constant("weight").chunk(3), op.constant("bias"), op.given("initial")
    sequence = steps(x[0], op, dims)
    h, rows = x[0].new_zeros(sequence.shape[1], ur.shape[1]), []
    h = h if initial is None else initial.reshape(h.shape)
    for row in sequence:
        xr, xz, xn = row.chunk(3, 1)
        r, z = (xr + h @ ur.T).sigmoid(), (xz + h @ uz.T).sigmoid()
        inside = r * (h @ un.T + bias) if op.attributes.get("reset_after", 1) else (r * h) @ un.T + bias
        h = (1 - z) * (xn + inside).tanh() + z * h
        rows.append(h)
    return in_rows(rows, x[0], op)


def exponential_scan(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    state, rows = torch.zeros_like(op.constant("lambda")), []
    for row in x[0]:
        state = op.constant("lambda") * state + row[:, None]
        rows.append((op.constant("c") * state).sum(-1))
    return torch.stack(rows) if rows else x[0]


def take(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    index = op.constant("index").long()
    return torch.where(index >= 0, x[0][:, index.clamp(min=0)], 0.0)


def shift(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    by = min(op.attributes["rows"], len(x[0]))
    return F.pad(x[0], (0, 0, by, 0))[: len(x[0])]


def unframe(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    window, hop, ahead = (op.attributes[name] for name in ("window", "hop", "ahead"))
    rows = len(x[0])
    if rows == 0:
        return x[0].new_zeros(0, hop)
    added = F.fold(x[0].T[None], (1, (rows - 1) * hop + window), (1, window), stride=(1, hop))[0, 0, 0, ahead * hop :]
    return F.pad(added, (0, max(0, rows * hop - len(added))))[: rows * hop].reshape(rows, hop)


def pool(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    a, channels = op.attributes, dims[-1]
    kt, st, kf, sf, pf = (a[name] for name in ("time", "stride_t", "frequency", "stride_f", "pad_f"))
    image = x[0].reshape(len(x[0]), -1, channels)
    image, there = (
        F.pad(t, (0, 0, pf, pf, kt, 0), value=value)
        for t, value in ((image, -torch.inf if a["mode"] == "max" else 0.0), (torch.ones_like(image), 0.0))
    )
    rows = []
    for m in range(len(x[0]) // st):
        first = (m + 1) * st - a["lag"]  # in the padded image
        window, inside = (
            t[first : first + kt].unfold(1, kf, sf) for t in (image, there)
        )  # (time, band, channel, taps)
        if a["mode"] == "max":
            rows.append(window.amax((0, 3)).flatten())
        else:
            count = kt * kf if a["count_outside"] else inside.sum((0, 3))
            rows.append((window.sum((0, 3)) / count).flatten())
    return torch.stack(rows) if rows else x[0].new_zeros(0, op.width)


def group_norm(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    image = x[0].reshape(len(x[0]), -1, dims[-1]).permute(2, 1, 0)[None]
    y = F.group_norm(image, op.attributes["groups"], op.given("weight"), op.given("bias"), op.attributes["eps"])
    return y[0].permute(2, 1, 0).reshape(len(x[0]), -1)


def in_heads(x: Tensor, heads: int) -> Tensor:
    """[heads, rows, features]"""
    return x.reshape(len(x), heads, -1).transpose(0, 1)


def softmax_attention(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    heads, window, rows = op.attributes["heads"], op.attributes["window"], len(x[0])
    groups = op.attributes.get("key_heads", heads)
    keys, values = x[0][:, :-1].split([x[1].shape[1] // heads * groups, op.width // heads * groups], 1)
    q, k, v = in_heads(x[1], heads), in_heads(keys, groups), in_heads(values, groups)
    k, v = (t.repeat_interleave(heads // groups, 0) for t in (k, v))
    seen = torch.ones(rows, rows, dtype=torch.bool)
    seen = seen.tril() if op.attributes["causal"] else seen
    seen = seen.triu(1 - window) if window else seen
    scores = (q @ k.mT / k.shape[2] ** 0.5).masked_fill(~seen, -torch.inf)
    result: Tensor = (scores.softmax(-1) @ v).transpose(0, 1).reshape(rows, -1)
    return result


def linear_attention(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    q, k, v = (in_heads(t, op.attributes["heads"]) for t in x)
    weights = q @ k.mT
    return ((weights.tril() if op.kind == "linear_attention" else weights) @ v).transpose(0, 1).reshape(len(x[0]), -1)


def decaying_attention(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    q, w, v, k = (in_heads(t, op.attributes["heads"]) for t in x)
    state, rows = q.new_zeros(len(q), q.shape[2], v.shape[2]), []
    for t in range(len(x[0])):
        state = (1 - w[:, t]).repeat(1, 2)[..., None] * state + k[:, t, :, None] * v[:, t, None]
        rows.append((q[:, t, None] @ state).flatten())
    return torch.stack(rows) if rows else x[2].new_zeros(0, op.width)


def rotary(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    """Of one head, with pairs in halves."""
    a, b = x[0].chunk(2, 1)
    phase = torch.arange(len(a), dtype=torch.float64)[:, None] * op.constant("theta")
    return torch.cat([a * phase.cos() - b * phase.sin(), b * phase.cos() + a * phase.sin()], 1)


def positions(x: list[Tensor], op: Op, dims: tuple[int, ...]) -> Tensor:
    table = op.constant("table")[: len(x[0])]
    return F.pad(table, (0, 0, 0, len(x[0]) - len(table)))


DEFINED: dict[str, Callable[[list[Tensor], Op, tuple[int, ...]], Tensor]] = {
    "rotary": rotary,
    "positions": positions,
    "sequence_softmax": lambda x, op, dims: x[0].softmax(0),
    "softmax_attention": softmax_attention,
    "linear_attention": linear_attention,
    "linear_attention_offline": linear_attention,
    "decaying_attention": decaying_attention,
    "state_space": state_space,
    "lstm": lstm,
    "gru": gru,
    "exponential_scan": exponential_scan,
    "take": take,
    "shift": shift,
    "pool": pool,
    "group_norm": group_norm,
    "unframe": unframe,
    "split_rows": lambda x, op, dims: x[0].reshape(len(x[0]) * op.attributes["parts"], -1),
    "repeat": lambda x, op, dims: x[1].expand(len(x[0]), -1),
    "concat": lambda x, op, dims: torch.cat(x, 1),
    "cumulative_softmax": lambda x, op, dims: torch.logcumsumexp(x[0], 0),
}
