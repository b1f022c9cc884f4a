"""Attention in any spelling: queries times keys of all rows, masks, a softmax, times values. In between, tensors are scores."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.fx.node import Node

from ..beginnings import ones
from ..errors import NoOp, Refused, retrain
from ..export import call
from ..nodes import args_of, kwargs_of
from ..places import Placed
from .pointwise import affine

if TYPE_CHECKING:
    from ..match import Importer

OVER_TIME = retrain(
    "keep time in both operands and in the result; causal attention is F.scaled_dot_product_attention(..., is_causal=True)"
)
MOST = 1 << 27  # scores of an example
HIDDEN = -1e4  # a score that is so much lower has no weight: e^-10000 is 0, in float64 too
MOVES = set(
    "view reshape _unsafe_view transpose permute t mT unsqueeze squeeze movedim flatten unflatten expand slice select".split()
)
KEEPS = set("to _to_copy dropout detach alias clone contiguous type_as".split())


@dataclass(frozen=True)
class Scores:
    """What the query of each row gives with the key of each row."""

    at: Tensor  # (head * rows + row of the query) * rows + row of the key, in the shape of the torch tensor
    q: Placed  # [heads, rows, features]
    k: Placed  # [heads, rows, features]
    factor: Tensor  # of each head
    seen: Tensor  # [rows, rows]: which keys a query sees
    softmax: bool = False
    weight: Tensor | None = None  # [heads, rows, rows]: factors of scores without softmax

    @property
    def heads(self) -> int:
        return self.q.at.shape[0]

    @property
    def rows(self) -> int:
        return self.q.at.shape[1]

    def moved(self, at: Tensor) -> Scores:
        return replace(self, at=at)

    def table(self, given: Tensor | float) -> Tensor:
        """A constant that is spread over the tensor, as [heads, rows, rows]."""
        c = torch.as_tensor(given, dtype=torch.float64)
        if (
            torch.broadcast_shapes(self.at.shape, c.shape) != self.at.shape
            or self.at.numel() != self.heads * self.rows**2
        ):
            raise Refused("changes a part of the scores", "change all scores of an attention alike")
        spread = c.expand(self.at.shape).flatten()
        return (
            torch.empty(self.at.numel(), dtype=torch.float64)
            .index_copy(0, self.at.flatten(), spread)
            .reshape(self.heads, self.rows, self.rows)
        )


def scores_of(importer: Importer, x: Placed, y: Placed) -> Scores | None:
    """[heads, rows, features] times [heads, features, rows], each row with all others. None: something else."""
    (first, second), (heads, rows, _), columns = (importer.op(x), importer.op(y)), x.at.shape, y.at.shape[2]
    if first.timeless or not rows == columns == first.rows == second.rows > 1:
        return None
    t = torch.arange(rows)
    if not torch.equal(x.at // first.width, t[:, None].expand(x.at.shape)) or not torch.equal(
        y.at // second.width, t.expand(y.at.shape)
    ):
        return None
    if heads * rows * rows > MOST:
        raise Refused(f"an attention over {rows} rows of the example", "use a shorter example: --length")
    seen = torch.ones(rows, rows, dtype=torch.bool)
    return Scores(
        torch.arange(heads * rows * rows).reshape(heads, rows, rows),
        x,
        y.moved(y.at.mT),
        torch.ones(heads, dtype=torch.float64),
        seen,
    )


def step(importer: Importer, n: Node) -> Scores:
    """A step between two products."""
    kind, sources = importer.kind(n).rstrip("_"), importer.variables(n)
    s = next(v for a in sources if isinstance(v := importer.values[a], Scores))
    if kind in KEEPS:
        return s
    if len(sources) > 1:
        raise NoOp(
            "combines scores of an attention with values that depend on the input",
            retrain("keep constant masks and factors between both products"),
        )
    if kind in MOVES:
        return s.moved(
            s.at.reshape(args_of(n)[1])
            if kind in ("view", "_unsafe_view", "reshape")
            else call(n, {**importer.constants, sources[0]: s.at})
        )
    if kind in ("softmax", "safe_softmax", "_softmax", "_safe_softmax"):
        return softmax(n, s)
    if kind in ("mul", "div", "neg"):
        other = None if kind == "neg" else importer.constant(args_of(n)[1 if args_of(n)[0] is sources[0] else 0])
        if kind == "div" and args_of(n)[0] is not sources[0]:
            raise NoOp("divides by scores of an attention", OVER_TIME)
        return scaled(
            s,
            s.table(
                -1.0 if other is None else other if kind == "mul" else 1 / torch.as_tensor(other, dtype=torch.float64)
            ),
        )
    if kind in ("add", "sub", "rsub"):
        return added(importer, n, s, kind, sources[0])
    if kind == "masked_fill":
        return filled(s, s.table(importer.constant(args_of(n)[1])) != 0, s.table(importer.constant(args_of(n)[2])))
    if (
        kind == "where"
        and importer.varies(args_of(n)[1]) != importer.varies(args_of(n)[2])
        and not importer.varies(args_of(n)[0])
    ):
        mask, other = (
            s.table(importer.constant(args_of(n)[0])) != 0,
            importer.constant(args_of(n)[2 if importer.varies(args_of(n)[1]) else 1]),
        )
        return filled(s, ~mask if importer.varies(args_of(n)[1]) else mask, s.table(other))
    if kind in ("tril", "triu"):
        kept = call(n, {**importer.constants, sources[0]: torch.ones(s.at.shape, dtype=torch.float64)})
        return filled(s, s.table(kept) == 0, torch.zeros(s.heads, s.rows, s.rows, dtype=torch.float64))
    raise NoOp("multiplies each row with all others", OVER_TIME)


def softmax(n: Node, s: Scores) -> Scores:
    dim = args_of(n)[1] % s.at.dim()
    along = s.at.movedim(dim, -1)
    if (
        s.softmax
        or s.weight is not None
        or not torch.equal(along, along[..., :1] // s.rows * s.rows + torch.arange(s.rows))
    ):
        raise NoOp(
            "a softmax of scores that does not go over the keys of a query", retrain("use softmax(dim=-1) of q @ k.mT")
        )
    return weights(s)


def weights(s: Scores) -> Scores:
    return replace(s, softmax=True)


def scaled(s: Scores, c: Tensor) -> Scores:
    """Times a factor of each head; of scores without softmax, also times factors of each pair of rows."""
    one = c[:, -1, 0]
    if torch.equal(c, one[:, None, None].expand(c.shape)) and not s.softmax:
        if not bool(s.seen.all()) and not bool((one > 0).all()):
            raise NoOp("turns around scores that are masked", "mask behind it")
        return replace(s, factor=s.factor * one)
    if s.softmax or not bool(s.seen.all()):
        raise NoOp("changes the weights of an attention", retrain("mask scores before the softmax"))
    return replace(s, weight=c if s.weight is None else s.weight * c)


def added(importer: Importer, n: Node, s: Scores, kind: str, varying: Node) -> Scores:
    if (
        s.softmax
        or s.weight is not None
        or kind == "rsub"
        or kind == "sub"
        and args_of(n)[0] is not varying
        or kwargs_of(n).get("alpha", 1) != 1
    ):
        raise NoOp("adds to the weights of an attention", OVER_TIME)
    c = s.table(importer.constant(args_of(n)[1 if args_of(n)[0] is varying else 0]))
    return masked(s, -c if kind == "sub" else c)


def masked(s: Scores, c: Tensor) -> Scores:
    """Plus [heads, rows, rows]."""
    hidden = c <= HIDDEN
    if bool((hidden != hidden[:1]).any()):
        raise NoOp("a mask of its own for each head", retrain("mask all heads alike"))
    rest = torch.where(hidden, torch.nan, c)  # a softmax does not change with a number that all keys of a query have
    first = rest.nanmedian(-1, keepdim=True).values
    if bool(((rest - first).nan_to_num(0.0) != 0).any()):
        raise NoOp(
            f"adds numbers of its own to the scores of each pair of rows{of_distance(rest)}",
            retrain("use rotary positions, or a mask only"),
        )
    return replace(s, seen=s.seen & ~hidden[0])


def of_distance(c: Tensor) -> str:
    """What numbers [heads, rows, rows] say about pairs of rows; NaN where nothing is added."""
    steps = c.diff(dim=-1)
    slope = steps.abs().flatten(1).nanmedian(-1).values[:, None, None]
    same = (steps.abs() - slope).abs() <= 1e-3 * slope  # of a table in float32 too
    if bool((same | steps.isnan()).all()):
        return ": a slope times their distance (ALiBi)"
    lags = [c.diagonal(-lag, 1, 2) for lag in range(c.shape[-1])]
    alike = all(bool(((d - d[:, :1]).nan_to_num(0.0) == 0).all()) for d in lags)
    return ": a number for each distance" if alike else ""


def filled(s: Scores, mask: Tensor, value: Tensor) -> Scores:
    inside = value[mask]
    if not s.softmax and s.weight is None and bool((inside <= HIDDEN).all()):
        if bool((mask != mask[:1]).any()):
            raise NoOp("a mask of its own for each head", retrain("mask all heads alike"))
        return replace(s, seen=s.seen & ~mask[0])
    if bool((inside == 0).all()):
        return scaled(s, (~mask).to(torch.float64)) if bool(mask.any()) else s
    raise NoOp("fills scores of an attention with numbers that have a weight", 'mask with float("-inf")')


def attend(importer: Importer, s: Scores, y: Placed) -> Placed:
    """[heads, rows, rows] times values [heads, rows, columns]: [heads, rows, columns]."""
    graph, op, rows = importer.graph, importer.op(y), s.rows
    heads, count, columns = y.at.shape
    own = s.at[:, 0, 0] // rows**2 if s.at.dim() == 3 and s.at.numel() else None
    if (
        own is None
        or s.at.shape != (heads, rows, rows)
        or not torch.equal(s.at, own[:, None, None] * rows**2 + torch.arange(rows**2).reshape(rows, rows))
        or count != op.rows
        or op.timeless
        or not torch.equal(y.at // op.width, torch.arange(rows)[None, :, None].expand(y.at.shape))
    ):
        raise NoOp("multiplies each row with all others", OVER_TIME)
    of_queries, of_keys, width = s.q.at[own], s.k.at[own], s.q.at.shape[2]
    group = sharing(of_keys, y.at) if s.softmax else 1
    q, k, v = (
        in_order(importer, x) for x in (s.q.moved(of_queries), s.k.moved(of_keys[::group]), y.moved(y.at[::group]))
    )
    factor = s.factor[own].repeat_interleave(width)
    if s.softmax:
        window, causal = reach(importer, s.seen)
        query = affine(importer, q, factor * math.sqrt(width), 0.0).value
        joined = graph.concat([k.value, v.value, ones(graph, k.value)])
        value = graph.emit(
            "softmax_attention",
            [joined, query],
            [],
            {"heads": heads, "window": window, "causal": causal} | ({"key_heads": heads // group} if group > 1 else {}),
            heads * columns,
        )
    else:
        query = affine(importer, q, factor, 0.0).value
        value = unweighted(importer, s, own, query, k.value, v.value, heads * columns)
    at = torch.arange(rows)[:, None] * (heads * columns) + torch.arange(columns)
    return Placed(value, at[None] + torch.arange(heads)[:, None, None] * columns)


def sharing(keys: Tensor, values: Tensor) -> int:
    """How many heads in a row have the same keys and values, both [heads, rows, features]."""
    heads = len(keys)
    for group in range(heads, 1, -1):
        if heads % group == 0 and all(torch.equal(x, x[::group].repeat_interleave(group, 0)) for x in (keys, values)):
            return group
    return 1


def in_order(importer: Importer, x: Placed) -> Placed:
    """[heads, rows, features] as a value whose rows are heads and their features in order."""
    graph, op = importer.graph, importer.op(x)
    rows = x.at.movedim(1, 0).flatten(1)
    order = rows[0] % op.width
    if not torch.equal(rows, torch.arange(len(rows))[:, None] * op.width + order):
        raise Refused(
            "its rows are not one time step each", "keep one axis of time, and the same features in every row"
        )
    return Placed(graph.flat(graph.take(graph.flat(x.value), order)), torch.arange(rows.numel()).reshape(rows.shape))


def reach(importer: Importer, seen: Tensor) -> tuple[int, int]:
    """How many rows each query sees, 0 for all, and whether they are those before it."""
    rows, whole = len(seen), torch.ones_like(seen)
    if bool(seen.all()):
        importer.no_stream("attends to later rows")
        return 0, 0
    window = int(seen[-1].sum())
    if torch.equal(seen, whole.tril()):
        importer.no_stream("attends to every row before it, more than any state holds")
        importer.masked = True
        return 0, 1
    if window < rows and torch.equal(seen, whole.tril() & whole.triu(1 - window)):
        return window, 1
    raise NoOp(
        "a mask that is neither that of all rows, nor of the rows so far, nor of a window of them",
        retrain("use a causal mask"),
    )


def unweighted(importer: Importer, s: Scores, own: Tensor, q: int, k: int, v: int, width: int) -> int:
    """Scores without a softmax: causal sums of k v^T, also those that decay by a factor of each head."""
    graph, heads = importer.graph, len(own)
    rows = s.rows
    weight = torch.ones(heads, rows, rows, dtype=torch.float64) if s.weight is None else s.weight[own]
    if not bool(s.seen.all()):
        raise NoOp("masks scores, and takes no softmax of them", "fill the masked ones with 0")
    if s.weight is None:
        importer.no_stream("sums over later rows")
        return graph.emit("linear_attention_offline", [q, k, v], [], {"heads": heads}, width)
    decay = weight[:, 1, 0] / weight[:, 0, 0]
    lag = torch.arange(rows)[:, None] - torch.arange(rows)
    expected = weight[:, :1, :1] * torch.where(lag >= 0, decay[:, None, None] ** lag.clamp(min=0), 0.0)
    if not bool((weight[:, 0, 0] == 1).all()) or not bool(((weight - expected).abs() <= 1e-12).all()):
        raise NoOp(
            "factors of scores that are neither a causal mask nor a decay with the distance",
            retrain("use a causal mask"),
        )
    if bool((decay == 1).all()):
        return graph.emit("linear_attention", [q, k, v], [], {"heads": heads}, width)
    keys = graph.ops[k].width // heads
    if keys % 2:  # the op has two halves of keys that fade alike
        order = torch.arange(heads * (keys + 1)).reshape(heads, -1)
        order = torch.where(order % (keys + 1) == keys, -1, order - torch.arange(heads)[:, None]).flatten()
        q, k = graph.select(q, order), graph.select(k, order)
    fade = (1 - decay).repeat_interleave((keys + 1) // 2)
    constant = graph.linear(ones(graph, k), fade[:, None])
    return graph.emit("decaying_attention", [q, constant, v, k], [], {"heads": heads}, width)
