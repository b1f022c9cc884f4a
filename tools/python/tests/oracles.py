"""Reference tensors for the tests of layers, computed in float64: `oracles/` in $LONGWAVE_SHARED (default: shared/ beside the repository), or those of the
repository where that is missing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import torch
from safetensors.torch import load_file

LIMIT = 1e-6  # float64 against references stored in float32: largest difference relative to the peak
ROOT = Path(__file__).resolve().parents[3]
ALL = Path(os.environ.get("LONGWAVE_SHARED") or ROOT.parent / "shared") / "oracles"
FOLDER = ALL if ALL.is_dir() else ROOT / "tests/oracles/published"


def cases(*prefixes: str) -> list[str]:
    """Names of the cases that begin with one of `prefixes`."""
    found = sorted(path.stem for path in FOLDER.glob("*.json") if path.stem.startswith(prefixes))
    assert found, f"no {prefixes} in {FOLDER}"
    return found


def load(case: str) -> tuple[dict, dict[str, torch.Tensor]]:
    """What the case says of itself (`operator`, `config`, ...), and its tensors in float64."""
    tensors = {key: value.double() for key, value in load_file(FOLDER / f"{case}.safetensors").items()}
    return json.loads((FOLDER / f"{case}.json").read_text(encoding="utf-8")), tensors


def weights(tensors: dict[str, torch.Tensor], prefix: str = "w.") -> dict[str, torch.Tensor]:
    return {key[len(prefix) :]: value for key, value in tensors.items() if key.startswith(prefix)}


def difference(found: torch.Tensor, wanted: torch.Tensor) -> float:
    assert found.shape == wanted.shape, (found.shape, wanted.shape)
    return ((found - wanted).abs().max() / wanted.abs().max()).item()
