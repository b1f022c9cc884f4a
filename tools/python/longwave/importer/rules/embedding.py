"""Embeddings."""

from __future__ import annotations

import torch

from ..errors import Refused
from ..places import Placed, features


def embedding(importer, n) -> Placed:
    table, x = importer.constant(n.args[0]), importer.placed(n.args[1])
    if importer.op(x).kind != "input":
        raise Refused("its ids are not an input", "give the ids of the sequence as an input")
    features(importer.graph, x.moved(x.at.unsqueeze(-1)), x.at.dim())
    out = importer.graph.emit("embedding", [x.value], [("table", table)], {}, table.shape[1])
    return Placed(out, torch.arange(x.at.numel() * table.shape[1]).reshape(*x.at.shape, table.shape[1]))


RULES = {"embedding": embedding}
