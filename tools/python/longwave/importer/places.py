"""Where the elements of a tensor come from.

Each element of a torch tensor has its address in a value of the recovered graph: row * width + feature. Views, transposes,
splits, pads and windows only move addresses, so layouts are compared and not guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .errors import Refused, retrain
from .recovered import Recovered

MOST_SELECTED = 1 << 24  # numbers of a kernel that only selects
ZERO, NONE = -1, -2  # an element that is zero; one that the value does not hold


@dataclass(frozen=True)
class Placed:
    value: int
    at: Tensor  # int64, in the shape of the torch tensor

    def moved(self, at: Tensor) -> Placed:
        return Placed(self.value, at)


def natural(value: int, extents: Sequence[int], axis: int | None) -> Placed:
    """Every element of a value in order: time at `axis`, the other axes are the features."""
    shape = list(extents)
    if axis is None:
        return Placed(value, torch.arange(torch.Size(shape).numel()).reshape(shape))
    rest = shape[:axis] + shape[axis + 1 :]
    return Placed(value, torch.arange(torch.Size(shape).numel()).reshape(shape[axis], *rest).movedim(0, axis))


def features(graph: Recovered, placed: Placed, dim: int) -> Tensor:
    """The order of the features along `dim`, where every row of the value is there, one after the other."""
    op = graph.ops[placed.value]
    p = placed.at.movedim(dim, -1).flatten(0, -2)
    order = p[0] % op.width
    if (
        len(p) == op.rows
        and bool((p[0] >= 0).all())
        and torch.equal(p, torch.arange(len(p))[:, None] * op.width + order)
    ):
        return order
    other_rows(op.rows, placed.at)
    if int(placed.at.min()) < 0:
        raise Refused(
            "reads zeros before the start or after the end as rows", retrain("pad only in front of a convolution")
        )
    raise Refused("its rows are not one time step each", "keep one axis of time and one of features")


def groups(graph: Recovered, value: int, p: Tensor) -> tuple[int, int, Tensor]:
    """Places [groups of all rows, features of a group]: the value with the groups of each row side by side, how many these are, and
    the places in it."""
    op = graph.ops[value]
    each = (p[:, 0] // op.width).argsort(stable=True)
    if len(p) % max(op.rows, 1) or int(p.min()) < 0:
        other_rows(op.rows, p)
        raise Refused("its rows are not one time step each", "keep one axis of time and one of features")
    order = p[each].reshape(op.rows, -1)
    if not torch.equal(order, torch.arange(op.rows)[:, None] * op.width + order[0] % op.width):
        raise Refused("its rows are not one time step each", "keep one axis of time and one of features")
    made = graph.take(graph.flat(value), order[0] % op.width)
    at = torch.empty(len(p), dtype=torch.long).index_copy(0, each, torch.arange(len(p)))
    return made, len(p) // op.rows, at[:, None] * p.shape[1] + torch.arange(p.shape[1])


def all_features(graph: Recovered, placed: Placed) -> tuple[Tensor, int | None, int]:
    """The order of all features of a result in torch's order, the axis of time, and the time steps of a row."""
    op, at = graph.ops[placed.value], placed.at
    if op.timeless:
        order = at.flatten()
        if bool((order >= 0).all()):
            return order, None, 1
    for axis in range(at.dim()):
        steps = at.shape[axis] // max(op.rows, 1)
        if steps == 0 or at.shape[axis] != steps * op.rows:
            continue
        p = at.movedim(axis, 0).reshape(op.rows, -1)
        if bool((p[0] >= 0).all()) and torch.equal(p, torch.arange(op.rows)[:, None] * op.width + p[0] % op.width):
            return p[0] % op.width, axis, steps
    other_rows(op.rows, placed.at)
    raise Refused("its rows are not one time step each", "return all rows of the sequence, or one result for all of it")


def other_rows(rows: int, at: Tensor) -> None:
    """Refuses places that are not `rows` time steps, where it knows why. Pools and convolutions with a stride may give one row
    more where the rows are no multiple of it; padding in time adds rows of zeros."""
    if int(at.min()) == NONE:
        raise Refused(
            f"has more rows than the {rows} that are complete",
            retrain("cut the result to rows // stride, and rows * stride after a transposed convolution"),
        )
    zeros = at == ZERO
    if any(at.shape[d] > rows and bool(zeros.movedim(d, 0).flatten(1).all(1).any()) for d in range(at.dim())):
        raise Refused(
            "reads the zeros that pad the time axis",
            retrain("pad behind it, right before the convolution, or let the convolution pad"),
        )


def separate(graph: Recovered, placed: Placed) -> Placed:
    """Features that come several times in a row as features of their own, which constants may treat differently."""
    op, at = graph.ops[placed.value], placed.at
    first = at[at >= 0]
    row = first[first // op.width == first.min() // op.width] % op.width if first.numel() else first
    if len(row) == len(row.unique()):
        return placed
    for axis in range(at.dim()):
        p = at.movedim(axis, 0).reshape(at.shape[axis], -1)
        if (
            at.shape[axis] == op.rows
            and bool((p >= 0).all())
            and torch.equal(p, torch.arange(op.rows)[:, None] * op.width + p[0] % op.width)
        ):
            value = graph.take(graph.flat(placed.value), p[0] % op.width)
            return natural(value, at.shape, axis)
    return placed


def per_feature(graph: Recovered, placed: Placed, constant: Tensor, missing: float) -> Tensor:
    """A constant that is spread over the elements, as one number per feature."""
    width = graph.ops[placed.value].width
    full = constant.expand(placed.at.shape).to(torch.float64)
    there = placed.at >= 0
    at, full = placed.at[there] % width, full[there]
    per = torch.full((width,), missing, dtype=torch.float64).index_copy(0, at, full)
    if not torch.equal(per[at], full):
        raise Refused("a constant that changes with time", "give it as features of an input")
    return per


def settled(graph: Recovered, placed: Placed) -> Placed:
    """One row of a sequence, the first or the last, becomes a value without a time axis."""
    op = graph.ops[placed.value]
    if op.timeless or op.rows == 1 or placed.at.numel() == 0:
        return placed
    if (windows := framed(graph, placed)) is not None:
        return windows
    placed = split(graph, placed)
    op = graph.ops[placed.value]
    if int(placed.at.min()) < 0:
        return filled(graph, delayed(graph, placed))
    if (joined := folded(graph, placed)) is not None:
        return joined
    first, last = int(placed.at.min()) // op.width, int(placed.at.max()) // op.width
    if first != last or first not in (0, op.rows - 1):
        return placed
    pooled = graph.emit("mean", [graph.flat(placed.value)], [], {"mode": "last" if first else "first"}, timeless=True)
    return Placed(pooled, placed.at % op.width)


def delayed(graph: Recovered, placed: Placed) -> Placed:
    """Zeros before the rows, and as many rows cut off at the end: all rows come later. A row may be several rows of the value."""
    op = graph.ops[placed.value]
    for axis in range(placed.at.dim()):
        rows = placed.at.shape[axis]
        steps = op.rows // max(rows, 1)
        if not rows or op.rows != steps * rows:
            continue
        p = placed.at.movedim(axis, 0).reshape(rows, -1)
        by = int((p == ZERO).all(1).cumprod(0).sum())
        if not 0 < by < rows or bool((p[by:] < 0).any()) or bool((p[by] >= steps * op.width).any()):
            continue
        if torch.equal(p[by:], torch.arange(rows - by)[:, None] * steps * op.width + p[by]):
            shape = [e for d, e in enumerate(placed.at.shape) if d != axis]
            at = torch.arange(rows)[:, None] * steps * op.width + p[by]
            made = Placed(graph.shift(placed.value, by * steps), at.reshape(rows, *shape).movedim(0, axis))
            return made if steps == 1 else settled(graph, made)
    return placed


def split(graph: Recovered, placed: Placed) -> Placed:
    """Rows that hold several time steps, as an upsampling makes them, become that many rows. Zeros around them stay zeros."""
    op, at = graph.ops[placed.value], placed.at
    if op.timeless or op.rows == 0:
        return placed
    for axis in range(at.dim()):
        p = at.movedim(axis, 0).reshape(at.shape[axis], -1)
        there = (p != ZERO).any(1)
        first, last = int(there.int().argmax()), len(p) - int(there.flip(0).int().argmax())
        inner = p[first:last]
        steps = len(inner) // op.rows
        if steps < 2 or len(inner) != steps * op.rows:
            continue
        row = inner[:steps].flatten()
        if (
            int(row.min()) < 0
            or int(row.max()) >= op.width
            or not torch.equal(inner.reshape(op.rows, -1), torch.arange(op.rows)[:, None] * op.width + row)
        ):
            continue
        value = graph.split(graph.take(graph.flat(placed.value), row), steps)
        made = torch.full_like(p, ZERO)
        made[first:last] = torch.arange(inner.numel()).reshape(inner.shape)
        shape = [e for d, e in enumerate(at.shape) if d != axis]
        return Placed(value, made.reshape(len(p), *shape).movedim(0, axis))
    return placed


def framed(graph: Recovered, placed: Placed) -> Placed | None:
    """Windows of samples, one after the other at even distances, that may overlap. Samples inside a window may lie in any order,
    as a reflected pad makes them."""
    op, at = graph.ops[placed.value], placed.at
    for axis in range(at.dim() if op.width == 1 else 0):
        rows = at.shape[axis]
        p = at.movedim(axis, 0).reshape(rows, -1)
        if rows < 2 or p.shape[1] < 2 or not bool((there := p[-1] >= 0).any()):
            continue
        hop = int((p[-1] - p[-2])[there].max())
        if hop < 1 or rows != op.rows // hop:
            continue
        place = p[-1] - (rows - 1) * hop  # in window 0: below 0 before the first sample
        every = torch.arange(rows)[:, None] * hop + place
        if not torch.equal(p, torch.where(there & (every >= 0), every, ZERO)):
            continue
        first, last = int(place[there].min()), int(place[there].max())
        if last == first and hop == 1:
            continue
        if last >= hop:
            ahead = last - hop + 1
            raise Refused(
                f"its windows reach {ahead} samples ahead",
                retrain(f"pad {ahead} zeros in front of the samples, and cut them at the end"),
            )
        value = graph.shift(placed.value, hop - 1 - last) if last < hop - 1 else placed.value
        size = last - first + 1
        value = graph.emit("frame", [value], [("window", torch.ones(size))], {"window": size, "hop": hop}, size, rows)
        order = torch.where(there, place - first, ZERO)
        return natural(graph.take(value, order), at.shape, axis)
    return None


def folded(graph: Recovered, placed: Placed) -> Placed | None:
    """Rows of several time steps each, one after the other, as a reshape makes them: a convolution that only selects."""
    op, at = graph.ops[placed.value], placed.at
    for axis in range(at.dim()):
        rows = at.shape[axis]
        p = at.movedim(axis, 0).reshape(rows, -1)
        if rows < 2 or rows == op.rows:
            continue
        steps = int(p[1, 0] - p[0, 0]) // op.width
        if (
            steps < 2
            or rows != op.rows // steps
            or bool((p[0] >= steps * op.width).any())
            or len(p[0].unique()) != p.shape[1]
            or not torch.equal(p, torch.arange(rows)[:, None] * steps * op.width + p[0])
        ):
            continue
        count = p.shape[1]
        if count * op.width * steps > MOST_SELECTED or count == op.width * steps == 1:
            continue
        kernel = torch.zeros(count, op.width, steps, 1, dtype=torch.float64)
        kernel[torch.arange(count), p[0] % op.width, p[0] // op.width, 0] = 1
        attributes = {"stride_t": steps, "stride_f": 1, "groups": 1, "bias": 0, "frequency": 0}
        value = graph.emit("conv2d", [graph.flat(placed.value)], [("weight", kernel)], attributes, count, rows)
        return natural(value, at.shape, axis)
    return None


def filled(graph: Recovered, placed: Placed) -> Placed:
    """Features that are zero in all rows, such as a pad along the features adds, become features of a value."""
    op = graph.ops[placed.value]
    for axis in range(placed.at.dim()):
        p = placed.at.movedim(axis, 0).reshape(placed.at.shape[axis], -1)
        if len(p) != op.rows or not bool((p[0] == ZERO).any()):
            continue
        order = torch.where(p[0] == ZERO, ZERO, p[0] % op.width)
        if torch.equal(p, torch.where(order < 0, ZERO, torch.arange(op.rows)[:, None] * op.width + order)):
            return natural(graph.select(graph.flat(placed.value), order), placed.at.shape, axis)
    return placed


def paired(graph: Recovered, kind: str, *operands: Placed) -> Placed:
    """An op on two or more values, element by element, however they are laid out, split or repeated.

    Where one of them is an image with just these elements, the result is such an image."""
    if len({graph.ops[x.value].rows for x in operands}) > 1:  # one may hold several time steps in a row
        operands = tuple(split(graph, x) for x in operands)
    shape = torch.broadcast_shapes(*(x.at.shape for x in operands))
    places, ops = [x.at.expand(shape) for x in operands], [graph.ops[x.value] for x in operands]
    if len({op.timeless for op in ops}) > 1:
        raise Refused("one operand has a time axis, the other has none", retrain("pool both, or none"))
    none = torch.stack([p == NONE for p in places]).any(0)
    rows, parts = (
        [(p // op.width)[~none] for p, op in zip(places, ops)],
        [(p % op.width)[~none] for p, op in zip(places, ops)],
    )
    if (
        any(bool((p == ZERO).logical_and(~none).any()) for p in places)
        or not all(torch.equal(rows[0], other) for other in rows[1:])
        or len({op.rows for op in ops}) > 1
    ):
        raise Refused("its operands do not lie in step", "both must have the same rows, without shift in time")
    if len({op.width for op in ops}) == 1 and all(torch.equal(parts[0], other) for other in parts[1:]):
        whole = torch.arange(ops[0].width)
        values, dims = in_layout(graph, [x.value for x in operands], [whole for _ in ops])
        return Placed(graph.emit(kind, values, dims=dims), torch.where(none, NONE, places[0]))
    key = torch.zeros_like(rows[0])
    for part, op in zip(parts, ops):
        key = key * op.width + part
    found = torch.tensor(list(dict.fromkeys(key[rows[0] == rows[0].min()].tolist())))
    orders: list[Tensor] = []
    rest = found
    for op in reversed(ops):
        orders.insert(0, rest % op.width)
        rest = rest // op.width
    for order, op in zip(orders, ops):
        if len(op.dims) == 2 and len(order) == op.width and torch.equal(order.sort().values, torch.arange(op.width)):
            at = order.argsort()
            found, orders = found[at], [other[at] for other in orders]
            break
    ordered, number = found.sort()
    index = torch.searchsorted(ordered, key).clamp(max=len(found) - 1)
    if not torch.equal(ordered[index], key):
        raise Refused("its operands do not lie in step", "combine the same features in every row")
    values, dims = in_layout(graph, [x.value for x in operands], orders)
    at = torch.full(shape, NONE)
    at[~none] = rows[0] * len(ordered) + number[index]
    return Placed(graph.emit(kind, values, width=len(found), dims=dims), at)


def in_layout(graph: Recovered, values: list[int], orders: list[Tensor]) -> tuple[list[int], tuple[int, ...]]:
    """The features `orders` of each value, in rows of one kind: as an image where one of them is just that."""
    for v, order in zip(values, orders):
        dims = graph.ops[v].dims
        if len(dims) == 2 and torch.equal(order, torch.arange(graph.ops[v].width)):
            return [graph.arranged(other, o.reshape(dims)) for other, o in zip(values, orders)], dims
    return [graph.flat(graph.take(v, order)) for v, order in zip(values, orders)], (len(orders[0]),)
