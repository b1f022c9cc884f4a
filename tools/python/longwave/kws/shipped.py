"""The network of a model folder, to go on training or to score it."""

from __future__ import annotations

from pathlib import Path

from .. import package
from .model import KwsConfig, KwsNet


def load_folder(folder: Path) -> KwsNet:
    """Weights that training alone needs (the auxiliary head) are not in the folder: they stay random."""
    net = KwsNet(KwsConfig())
    _, weights = package.read(folder)
    own = net.state_dict()
    missing = [
        key
        for key in own
        if key not in weights and not key.startswith("auxiliary.") and not key.endswith("num_batches_tracked")
    ]
    if missing:
        raise ValueError(f"{folder}: not a keyword model, {missing[0]} is missing")
    net.load_state_dict(own | {key: value.to(own[key].dtype) for key, value in weights.items() if key in own})
    return net.eval()
