"""Modules that became one layer of the package (known/)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.fx.node import Node

from ..known import entry
from ..nodes import args_of
from ..places import Placed, features, natural

if TYPE_CHECKING:
    from ..match import Importer


def layer(importer: Importer, n: Node) -> Placed:
    known, x = entry(args_of(n)[1]).known, importer.settled(args_of(n)[0])
    axis = 2 if known.features_first else 1
    order = features(importer.graph, x, 3 - axis)
    value = importer.graph.flat(importer.graph.take(x.value, order))
    out = importer.graph.emit(
        known.type,
        [value],
        list(known.tensors.items()),
        known.attributes,
        torch.Size(known.dims).numel(),
        dims=known.dims,
    )
    importer.graph.ops[out].form = known
    if known.looks_ahead:
        importer.looks_ahead(n)
    return natural(out, n.meta["val"].shape, axis)


RULES = {"known_layer": layer}
