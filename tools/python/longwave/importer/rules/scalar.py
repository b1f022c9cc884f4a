"""Numbers that the host changes while a stream runs: longwave.layers.scalar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch.fx.node import Node

from ..nodes import args_of
from ..places import Placed
from .pointwise import kept_zero

if TYPE_CHECKING:
    from ..match import Importer


def scalar(importer: Importer, n: Node) -> Placed:
    given, name, unit, initial, low, high, smoothed = args_of(n)
    x = importer.settled(given)
    kept_zero(x, False)
    attributes = {"name": name, "initial": initial, "low": low, "high": high, "smoothed": int(smoothed)}
    if unit:
        attributes["unit"] = unit
    return Placed(importer.graph.emit("scalar", [x.value], [], attributes), x.at)


RULES = {"scalar": scalar}
