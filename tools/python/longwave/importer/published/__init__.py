"""Published models by name, from files that the user has. Nothing is downloaded: docs/onnx.md#models-by-name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Name -> the module of it. They need the onnx package, which importing a PyTorch module does not.
NAMES = {"silero-vad": "silero_vad", "dtln": "dtln", "gtcrn": "gtcrn_weights"}


def published(name: str, given: list[str], rate: int | None) -> Any:
    """A found.Published. Raises ImportFailed and OSError."""
    return import_module(f".{NAMES[name]}", __name__).published(given, rate)
