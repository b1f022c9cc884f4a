"""Resize and Upsample that repeat each number: whole factors, nearest."""

from __future__ import annotations

from torch import Tensor

from ...errors import Refused, retrain
from ..call import Call
from .shape import small

WAY_OUT = retrain("repeat each row a whole number of times: mode=nearest with whole scales")
REPEATS = {
    ("asymmetric", "floor"),
    ("half_pixel", "round_prefer_floor"),
    ("half_pixel", "round_prefer_ceil"),
    ("half_pixel_symmetric", "round_prefer_floor"),
}


def repeated(x: Tensor, scales: list[float]) -> Tensor:
    if len(scales) != x.dim() or any(s < 1 or s != int(s) for s in scales):
        raise Refused(f"scales {scales}", WAY_OUT)
    small(n * int(s) for n, s in zip(x.shape, scales))
    for axis, s in enumerate(scales):
        if s > 1:
            x = x.repeat_interleave(int(s), axis)
    return x


def upsample(c: Call) -> Tensor:
    if c.attr("mode", "nearest") != "nearest":
        raise Refused(f"mode={c.attr('mode')}", WAY_OUT)
    scales = c.attr("scales") or [float(v) for v in c.known(1, "scales").reshape(-1)]
    return repeated(c.tensor(0), list(scales))


def resize(c: Call) -> Tensor:
    x, mode = c.tensor(0), c.attr("mode", "nearest")
    at, rounding = (
        (c.attr("coordinate_transformation_mode", "half_pixel"), c.attr("nearest_mode", "round_prefer_floor"))
        if c.opset > 10
        else ("asymmetric", "floor")
    )
    axes = c.ints("axes", default=list(range(x.dim())))
    first = 1 if c.opset == 10 else 2
    if c.has(first) and c.known(first, "scales").size:
        given = [float(v) for v in c.known(first, "scales").reshape(-1)]
    elif c.has(3):
        given = [n / max(x.shape[d], 1) for n, d in zip(c.ints("sizes", 3), axes)]
    else:
        raise Refused("names neither scales nor sizes", "the file is damaged: export it again")
    if len(given) != len(axes):
        raise Refused(f"{len(given)} scales for {len(axes)} axes", "the file is damaged: export it again")
    scales = [1.0] * x.dim()
    for d, s in zip(axes, given):
        scales[d] = s
    if all(s == 1 for s in scales):
        return x
    if mode != "nearest" or (at, rounding) not in REPEATS:
        raise Refused(f"mode={mode}, {at}, {rounding}", WAY_OUT)
    return repeated(x, scales)


TABLE = {"Resize": resize, "Upsample": upsample}
