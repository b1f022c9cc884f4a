"""A slope for negative numbers that is a weight: one for all, or one for each channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch.fx.node import Node

from ..nodes import args_of
from ..places import Placed, paired
from .pointwise import affine, applied, negated

if TYPE_CHECKING:
    from ..match import Importer


def prelu(importer: Importer, n: Node) -> Placed:
    """prelu, and _prelu_kernel, whose slopes have the shape of the value."""
    x, slopes = importer.settled(args_of(n)[0]), importer.constant(args_of(n)[1]).to(torch.float64)
    if bool((slopes == slopes.flatten()[0]).all()):
        return applied(importer, "leaky_relu", x, slope=float(slopes.flatten()[0]))
    if slopes.dim() == 1 and x.at.dim() > 1:
        slopes = slopes.reshape(-1, *[1] * (x.at.dim() - 2))
    below = affine(importer, applied(importer, "relu", negated(importer, x)), -slopes, 0.0)
    return paired(importer.graph, "add", applied(importer, "relu", x), below)


RULES = {"prelu": prelu, "_prelu_kernel": prelu}
