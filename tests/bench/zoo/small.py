"""One small model of each kind of host that the zoo has, for its tests."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[3]

LONGWAVE = Path(os.environ.get("LONGWAVE_BUILD") or ROOT / "build") / "longwave"

# one small model of each kind of host, with options of its row changed
SMALL = {
    "sgconv-listops": {"length": 64, "width": 8, "depth": 2, "num_scales": 7},
    "sgconv-retrieval": {"length": 64, "width": 8, "depth": 1, "num_scales": 7},
    "sgconv-sc10": {"length": 512, "width": 8, "depth": 1, "num_scales": 5},
    "chela-text": {"length": 64, "width": 8, "depth": 1, "ffn_width": 12, "kernel_dim": 4},
    "chela-sc10": {"length": 512, "width": 8, "depth": 1, "value_width": 16, "ffn_width": 12, "kernel_dim": 8},
    "chela-enwik8": {"length": 64, "width": 8, "depth": 1, "ffn_width": 12, "taps": 32},
    "chela-scifar": {"length": 64, "width": 8, "depth": 1, "ffn_width": 12, "kernel_dim": 4},
    "chela-wikitext103": {
        "length": 64,
        "width": 16,
        "depth": 1,
        "ffn_width": 12,
        "taps": 16,
        "vocabulary": 60,
        "cutoffs": (20, 37),
    },
    "orchid-bert-base": {"length": 12, "width": 16, "depth": 1, "mlp": 32, "vocabulary": 30, "filter_order": 8},
    "orchid-vit-cifar": {"length": 20, "width": 16, "depth": 1, "mlp": 32, "filter_order": 8, "emb_dim": 5},
    "lightnet-t": {
        "length": 12,
        "shape": (3, 4),
        "width": 12,
        "depth": 1,
        "heads": 2,
        "hidden": 24,
        "gate_rank": 4,
        "patch": 2,
        "modes": 3,
    },
    "lightnet-wikitext103": {
        "width": 16,
        "depth": 1,
        "heads": 2,
        "hidden": 24,
        "gate_rank": 4,
        "vocabulary": 30,
        "modes": 3,
    },
    "lightnet-1b": {"width": 16, "depth": 1, "heads": 2, "hidden": 24, "gate_rank": 4, "vocabulary": 30, "modes": 3},
    "lightnet-dit-b": {"length": 18, "width": 12, "depth": 1, "heads": 2, "hidden": 24, "gate_rank": 4, "classes": 7},
    "lightnet-dit-b-adaln": {
        "length": 16,
        "width": 12,
        "depth": 1,
        "heads": 2,
        "hidden": 24,
        "gate_rank": 4,
        "classes": 7,
    },
    "sgconv-convnext-t": {"length": 64, "widths": (8, 12), "depths": (1, 2), "classes": 5},
    "sgconv-wikitext16": {
        "length": 128,
        "pattern": "AC",
        "width": 16,
        "heads": 2,
        "hidden": 24,
        "memory": 20,
        "vocabulary": 60,
        "cutoffs": (20, 37),
        "kernel_dim": 4,
    },
    "sgconv-wikitext18": {
        "length": 128,
        "pattern": "CA",
        "width": 16,
        "heads": 2,
        "hidden": 24,
        "memory": 20,
        "vocabulary": 60,
        "cutoffs": (20, 37),
        "kernel_dim": 4,
    },
    "sgconv-bert": {
        "length": 64,
        "pattern": "AC",
        "width": 16,
        "heads": 2,
        "hidden": 24,
        "vocabulary": 60,
        "kernel_dim": 4,
    },
}


def read(folder: Path) -> tuple[dict, dict[str, np.ndarray]]:
    from safetensors.numpy import load_file

    return json.loads((folder / "model.json").read_text()), load_file(folder / "weights.safetensors")
