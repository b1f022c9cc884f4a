"""Embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.fx.node import Node

from ..errors import Refused
from ..nodes import args_of
from ..places import Placed, features

if TYPE_CHECKING:
    from ..match import Importer


def embedding(importer: Importer, n: Node) -> Placed:
    table, x = importer.constant(args_of(n)[0]), importer.placed(args_of(n)[1])
    if importer.op(x).kind != "input":
        raise Refused("its ids are not an input", "give the ids of the sequence as an input")
    features(importer.graph, x.moved(x.at.unsqueeze(-1)), x.at.dim())
    out = importer.graph.emit("embedding", [x.value], [("table", table)], {}, table.shape[1])
    return Placed(out, torch.arange(x.at.numel() * table.shape[1]).reshape(*x.at.shape, table.shape[1]))


RULES = {"embedding": embedding}
