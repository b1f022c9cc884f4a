"""Modules that became one layer of the package (known/)."""

from __future__ import annotations

import torch

from ..known import entry
from ..places import Placed, features, natural


def layer(importer, n) -> Placed:
    known, x = entry(n.args[1]).known, importer.settled(n.args[0])
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
