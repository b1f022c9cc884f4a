"""Operations that move numbers: PyTorch's views, so that the importer sees moves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import SupportsInt

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import Refused
from ..call import Call, axis_of
from ..limits import NUMBERS, RANK

DAMAGED = "the file is damaged: export it again"


def small(extents: Iterable[SupportsInt]) -> list[int]:
    shape = [int(n) for n in extents]
    if len(shape) > RANK or math.prod(shape) > NUMBERS:
        raise Refused(f"makes a tensor of shape {shape[: RANK + 1]}", f"at most {RANK} axes and {NUMBERS:,} numbers")
    return shape


def reshape(c: Call) -> Tensor:
    x, shape = c.tensor(0), c.ints("shape", 1)
    if not c.integer("allowzero", 0):
        shape = [x.shape[d] if n == 0 and d < x.dim() else n for d, n in enumerate(shape)]
    return x.reshape(shape)


def flatten(c: Call) -> Tensor:
    x, axis = c.tensor(0), c.integer("axis", 1)
    axis = axis + x.dim() if axis < 0 else axis
    return (
        x.reshape(math.prod(x.shape[:axis]), -1)
        if x.numel()
        else x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
    )


def squeeze(c: Call) -> Tensor:
    x, axes = c.tensor(0), c.ints("axes", 1)
    chosen = [d for d in range(x.dim()) if x.shape[d] == 1] if axes is None else [axis_of(a, x.dim()) for a in axes]
    for d in sorted(set(chosen), reverse=True):
        if x.shape[d] != 1:
            raise Refused(f"squeezes axis {d} of {x.shape[d]}", "give the axis of batch 1")
        x = x.squeeze(d)
    return x


def unsqueeze(c: Call) -> Tensor:
    x, axes = c.tensor(0), c.ints("axes", 1)
    if axes is None:
        raise Refused("names no axes", DAMAGED)
    for d in sorted(axis_of(a, x.dim() + len(axes)) for a in axes):
        x = x.unsqueeze(d)
    return x


def transpose(c: Call) -> Tensor:
    x = c.tensor(0)
    return x.permute(c.ints("perm") or list(range(x.dim()))[::-1])


def concat(c: Call) -> Tensor:
    tensors = c.tensors()
    return tensors[0] if len(tensors) == 1 else torch.cat(tensors, axis_of(c.integer("axis", 1), tensors[0].dim()))


def split(c: Call) -> list[Tensor]:
    x = c.tensor(0)
    axis, sizes = axis_of(c.integer("axis", 0), x.dim()), c.ints("split", 1)
    if sizes is None:
        count = c.integer("num_outputs", c.outputs)
        each = -(-x.shape[axis] // count) if count > 0 else 0
        sizes = [each] * (count - 1) + [x.shape[axis] - each * (count - 1)]
    return list(x.split(sizes, axis))


def sliced(c: Call) -> Tensor:
    x = c.tensor(0)
    starts, ends = c.ints("starts", 1), c.ints("ends", 2)
    axes = c.ints("axes", 3, list(range(len(starts))))
    steps = c.ints("steps", 4, [1] * len(starts))
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise Refused(f"slices from {starts} to {ends} of axes {axes} in steps of {steps}", DAMAGED)
    for start, end, axis, step in zip(starts, ends, axes, steps):
        x = part(x, axis_of(axis, x.dim()), range(*slice(start, end, step).indices(x.shape[axis])))
    return x


def part(x: Tensor, axis: int, at: range) -> Tensor:
    """The places `at` of an axis, in any order."""
    if at.step < 0:
        return part(x, axis, range(at[-1], at[0] + 1, -at.step)).flip(axis) if len(at) else x.narrow(axis, 0, 0)
    if len(at) == x.shape[axis] or not len(at):
        return x.narrow(axis, 0, len(at)) if not len(at) else x
    return x[(slice(None),) * axis + (slice(at[0], at[-1] + 1, at.step),)]


def gather(c: Call) -> Tensor:
    x = c.tensor(0)
    axis = axis_of(c.integer("axis", 0), x.dim())
    if not c.is_known(1):
        if axis == 0 and x.dim() == 2 and c.is_known(0):
            return F.embedding(c.tensor(1).long(), x)
        raise Refused(
            "its indices depend on the data", "only a table of embeddings, with tokens as an input, may be read so"
        )
    indices = c.known(1, "indices")
    if indices.size and not (-x.shape[axis] <= indices.min() and indices.max() < x.shape[axis]):
        raise Refused(
            f"reads place {indices.max()} of {x.shape[axis]}", "give a longer example, or export the model again"
        )
    places = [int(i) % x.shape[axis] for i in indices.reshape(-1)]
    if indices.ndim == 0:
        return x.select(axis, places[0])
    steps = progression(places)
    picked = (
        part(x, axis, steps) if steps is not None else x.index_select(axis, torch.as_tensor(places, device=x.device))
    )
    return (
        picked
        if indices.ndim == 1
        else picked.unflatten(axis, indices.shape)
        if picked.numel()
        else picked.reshape(*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
    )


def progression(places: list[int]) -> range | None:
    """Places with one distance, as a range."""
    step = places[1] - places[0] if len(places) > 1 else 1
    if not places or step == 0 or any(b - a != step for a, b in zip(places, places[1:])):
        return None
    return range(places[0], places[-1] + (1 if step > 0 else -1), step)


def expand(c: Call) -> Tensor:
    x = c.tensor(0)
    return x.expand(small(torch.broadcast_shapes(tuple(x.shape), tuple(c.ints("shape", 1)))))


def tile(c: Call) -> Tensor:
    x, repeats = c.tensor(0), c.ints("repeats", 1)
    small(n * r for n, r in zip(x.shape, repeats))
    return x.repeat(repeats)


MODES = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}


def pad(c: Call) -> Tensor:
    x, pads, mode = c.tensor(0), c.ints("pads", 1), c.attr("mode", "constant")
    axes = c.ints("axes", 3, list(range(x.dim())))
    if pads is None or len(pads) != 2 * len(axes) or mode not in MODES:
        raise Refused(f"pads {len(axes)} axes by {pads} with {mode}", DAMAGED)
    around = [(0, 0)] * x.dim()
    for d, before, after in zip(axes, pads, pads[len(axes) :]):
        around[axis_of(d, x.dim())] = (before, after)
    small(n + a + b for n, (a, b) in zip(x.shape, around))
    value = c.attr("value", 0.0) if c.opset < 11 else c.number(2, "value", 0.0)
    return padded(x, around, MODES[mode], value)


def padded(x: Tensor, around: list[tuple[int, int]], mode: str = "constant", value: float = 0.0) -> Tensor:
    """`around`: numbers before and after each axis."""
    first = next((d for d, both in enumerate(around) if any(both)), None)
    if first is None:
        return x
    flat = [n for both in reversed(around[first:]) for n in both]
    if mode == "constant":
        return F.pad(x, flat, value=value)
    if x.dim() - first > 3:
        raise Refused(f"pads more than 3 axes with {mode}", "pad the last axes only")
    shape = x.shape  # torch takes one or two axes before those that it pads
    made = F.pad(x.reshape(1, -1, *shape[first:]), flat, mode)
    return made.reshape(*shape[:first], *made.shape[2:])


def depth_to_space(c: Call) -> Tensor:
    x, b = c.tensor(0), c.integer("blocksize", 1)
    n, channels, h, w = x.shape
    if c.attr("mode", "DCR") == "CRD":
        return (
            x.reshape(n, channels // b**2, b, b, h, w)
            .permute(0, 1, 4, 2, 5, 3)
            .reshape(n, channels // b**2, h * b, w * b)
        )
    return (
        x.reshape(n, b, b, channels // b**2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, channels // b**2, h * b, w * b)
    )


def space_to_depth(c: Call) -> Tensor:
    x, b = c.tensor(0), c.integer("blocksize", 1)
    n, channels, h, w = x.shape
    return (
        x.reshape(n, channels, h // b, b, w // b, b)
        .permute(0, 3, 5, 1, 2, 4)
        .reshape(n, channels * b * b, h // b, w // b)
    )


def triangle(c: Call) -> Tensor:
    k = c.number(1, "diagonal", 0)
    return torch.triu(c.tensor(0), k) if c.integer("upper", 1) else torch.tril(c.tensor(0), k)


TABLE = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Concat": concat,
    "Split": split,
    "Slice": sliced,
    "Gather": gather,
    "Expand": expand,
    "Tile": tile,
    "Pad": pad,
    "DepthToSpace": depth_to_space,
    "SpaceToDepth": space_to_depth,
    "Trilu": triangle,
}
