"""Products of two values that both depend on the input, in each row: matmul, bmm, einsum. Time is one of their batch axes."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.fx.node import Node

from ..errors import NoOp, Refused, retrain
from ..nodes import args_of, kwargs_of
from ..places import Placed, paired
from . import attention, linear
from .attention import OVER_TIME, Scores
from .reduce import over_time, reduced

if TYPE_CHECKING:
    from ..match import Importer


def product(importer: Importer, n: Node) -> Placed | Scores:
    operands = args_of(n)[1] if importer.kind(n) == "einsum" else args_of(n)[:2]
    if any(isinstance(importer.values.get(a), Scores) for a in operands) and not all(
        importer.varies(a) for a in operands
    ):
        raise NoOp(
            "combines the scores of heads or rows with constants",
            retrain("keep masks and factors between both products of an attention"),
        )
    if sum(importer.varies(a) for a in operands) < 2:
        return linear.matrix(importer, n)
    if not all(importer.varies(a) for a in operands):
        raise NoOp(
            "combines several values that depend on the input with constants",
            "multiply two at a time: `*` multiplies element by element, matmul and einsum rows",
        )
    parts = [value if isinstance(value := importer.values.get(x), Scores) else importer.settled(x) for x in operands]
    ranks = [part.at.dim() for part in parts]
    sides, out = labels(args_of(n)[0], ranks) if importer.kind(n) == "einsum" else of_matrices(*ranks)
    made, left = parts[0], sides[0]
    for i, (part, right) in enumerate(zip(parts[1:], sides[1:]), 2):
        later = set(out).union(*sides[i:])
        result = out if i == len(parts) else "".join(c for c in dict.fromkeys(left + right) if c in later)
        made, left = multiplied(importer, made, part, left, right, result), result
    return made


def multiplied(
    importer: Importer, a: Placed | Scores, b: Placed | Scores, left: str, right: str, out: str
) -> Placed | Scores:
    if not isinstance(a, Scores) and not isinstance(b, Scores) and importer.op(a).timeless != importer.op(b).timeless:
        raise Refused("one operand has a time axis, the other has none", "multiply them by `*`, and sum")
    return contracted(importer, a, b, left, right, out)


def of_matrices(a: int, b: int) -> tuple[list[str], str]:
    """The axes of a matmul as einsum names them: batches A, B ... from the last one on, rows m, sums k, columns n."""
    batches = string.ascii_uppercase[: max(a, b) - 2][::-1] if max(a, b) > 2 else ""
    left = "k" if a == 1 else batches[len(batches) - (a - 2) :] + "mk"
    right = "k" if b == 1 else batches[len(batches) - (b - 2) :] + "kn"
    return [left, right], batches + ("m" if a > 1 else "") + ("n" if b > 1 else "")


def labels(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """Of an einsum, without an ellipsis and with a result."""
    operands, arrow, out = equation.replace(" ", "").partition("->")
    sides = operands.split(",")
    free = [c for c in string.ascii_letters if c not in equation]
    counts = [rank - len(side.replace("...", "")) if "..." in side else 0 for side, rank in zip(sides, ranks)]
    dots = "".join(free[: max(counts)])
    sides = [side.replace("...", dots[len(dots) - count :]) for side, count in zip(sides, counts)]
    if not arrow:
        every = "".join(sides)
        out = dots + "".join(c for c in sorted(set(every)) if every.count(c) == 1 and c not in dots)
    return sides, out.replace("...", dots)


def contracted(
    importer: Importer, a: Placed | Scores, b: Placed | Scores, left: str, right: str, out: str
) -> Placed | Scores:
    if isinstance(b, Scores):
        a, b, left, right = b, a, right, left
    if (
        len(set(left)) < len(left)
        or len(set(right)) < len(right)
        or set(left + right) - set(out) - set(left) & set(right)
    ):
        raise NoOp(
            "takes a diagonal, or sums an axis of one operand",
            "write the diagonal or the sum as an operation of its own",
        )
    (p, q), sizes = spread(a.at, b.at, left, right)
    batch, inner = [c for c in left if c in right and c in out], [c for c in left if c in right and c not in out]
    rows, columns = [c for c in left if c not in right], [c for c in right if c not in left]
    count = [torch.Size(sizes[c] for c in axes).numel() for axes in (batch, rows, inner, columns)]
    x = p.permute([left.index(c) for c in (*batch, *rows, *inner)]).reshape(count[0], count[1], count[2])
    y = q.permute([right.index(c) for c in (*batch, *inner, *columns)]).reshape(count[0], count[2], count[3])
    made = in_rows(importer, a.moved(x), b.moved(y))
    at = made.at.reshape([sizes[c] for c in (*batch, *rows, *columns)])
    return made.moved(at.permute([[*batch, *rows, *columns].index(c) for c in out]))


def spread(p: Tensor, q: Tensor, left: str, right: str) -> tuple[tuple[Tensor, Tensor], dict[str, int]]:
    """Axes of one element as long as those of the other operand."""
    sizes: dict[str, int] = {}
    for labels_of, at in ((left, p), (right, q)):
        for c, size in zip(labels_of, at.shape):
            sizes[c] = max(size, sizes.get(c, 1))
    return (p.expand([sizes[c] for c in left]), q.expand([sizes[c] for c in right])), sizes


def in_rows(importer: Importer, x: Placed | Scores, y: Placed | Scores) -> Placed | Scores:
    """[batch, rows, inner] times [batch, inner, columns]."""
    if isinstance(y, Scores):
        raise NoOp("multiplies each row with all others", OVER_TIME)
    if isinstance(x, Scores):
        return attention.attend(importer, x, y)
    if (scores := attention.scores_of(importer, x, y)) is not None:
        return scores
    graph, (first, second) = importer.graph, (importer.op(x), importer.op(y))
    (count, left, inner), columns = x.at.shape, y.at.shape[2]
    if min(int(x.at.min()), int(y.at.min())) < 0:
        raise Refused("multiplies zeros that a pad added", "pad after it")
    t, s = x.at // first.width, y.at // second.width
    row = t[:, 0, 0]
    alike = first.rows == second.rows and all(
        torch.equal(part, row[:, None, None].expand(part.shape)) for part in (t, s)
    )
    if not alike or inner == 1 and min(left, columns) == 1:
        return as_sums(importer, x, y)
    order = row.argsort(stable=True)
    batches = count // first.rows
    places = [(at[order] % op.width).reshape(first.rows, -1) for at, op in ((x.at, first), (y.at, second))]
    if (
        batches * first.rows != count
        or not torch.equal(row[order], torch.arange(first.rows).repeat_interleave(batches))
        or any(not torch.equal(p, p[:1].expand(p.shape)) for p in places)
    ):
        raise Refused(
            "its rows are not one time step each", "keep one axis of time, and the same features in every row"
        )
    values = [graph.flat(graph.take(operand.value, p[0])) for operand, p in zip((x, y), places)]
    value = graph.emit(
        "row_product",
        values,
        [],
        {"batches": batches, "rows": left, "inner": inner, "columns": columns},
        batches * left * columns,
    )
    at = torch.empty(count, left, columns, dtype=torch.long)
    at[order] = torch.arange(at.numel()).reshape(at.shape)
    return Placed(value, at)


def as_sums(importer: Importer, x: Placed, y: Placed) -> Placed:
    """Element by element, then sums: over all rows, or of one term."""
    try:
        made = paired(importer.graph, "mul", x.moved(x.at[:, :, :, None]), y.moved(y.at[:, None]))
    except Refused as e:
        raise NoOp("multiplies each row with all others", OVER_TIME) from e
    if x.at.shape[2] == 1:
        return made.moved(made.at[:, :, 0])
    if over_time(importer, made, [2]):
        return reduced(importer, made, [2], "sum", False)
    raise Refused("its rows are not one time step each", OVER_TIME)


def fused(importer: Importer, n: Node) -> Placed | Scores:
    """scaled_dot_product_attention: (..., rows, features)."""
    names = "query key value attn_mask dropout_p is_causal".split()
    a: dict[str, Any] = dict.fromkeys(names) | dict(zip(names, args_of(n))) | kwargs_of(n)
    if a["dropout_p"]:
        raise NoOp("dropout that stays on in eval mode", "pass dropout_p=0.0 in eval mode")
    if not all(importer.varies(a[name]) for name in names[:3]):
        raise NoOp("an attention to constants", retrain("attend to rows of the input"))
    q, k, v = (importer.settled(a[name]) for name in names[:3])
    if a.get("enable_gqa") and k.at.dim() > 2:
        k, v = (x.moved(x.at.repeat_interleave(q.at.shape[-3] // x.at.shape[-3], -3)) for x in (k, v))
    batch = string.ascii_uppercase[: q.at.dim() - 2]
    scores = contracted(importer, q, k, batch + "td", batch + "sd", batch + "ts")
    if not isinstance(scores, Scores):
        raise NoOp("an attention inside each row, or of one row to others", OVER_TIME)
    scale = a.get("scale")
    scores = attention.scaled(scores, scores.table(q.at.shape[-1] ** -0.5 if scale is None else scale))
    rows = scores.rows
    if a["is_causal"]:
        scores = attention.filled(
            scores, scores.table(~torch.ones(rows, rows, dtype=torch.bool).tril()) != 0, scores.table(float("-inf"))
        )
    elif a["attn_mask"] is not None:
        if importer.varies(a["attn_mask"]):
            raise NoOp("a mask that depends on the input", retrain("use a constant mask"))
        mask = importer.constant(a["attn_mask"])
        shown = torch.where(mask, 0.0, -torch.inf) if mask.dtype == torch.bool else mask
        scores = attention.masked(scores, scores.table(shown))
    return contracted(importer, attention.weights(scores), v, batch + "ts", batch + "sd", batch + "td")


RULES = {"scaled_dot_product_attention": fused} | dict.fromkeys(["matmul", "mm", "bmm", "mv", "einsum", "dot"], product)
