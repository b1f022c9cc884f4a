"""Numbers that the host changes while a stream runs: longwave.layers.scalar."""

from __future__ import annotations

from ..places import Placed
from .pointwise import kept_zero


def scalar(importer, n) -> Placed:
    x = importer.settled(n.args[0])
    kept_zero(x, False)
    name, unit, initial, low, high, smoothed = n.args[1:]
    attributes = {"name": name, "initial": initial, "low": low, "high": high, "smoothed": int(smoothed)}
    if unit:
        attributes["unit"] = unit
    return Placed(importer.graph.emit("scalar", [x.value], [], attributes), x.at)


RULES = {"scalar": scalar}
