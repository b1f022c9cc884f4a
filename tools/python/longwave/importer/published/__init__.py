"""Published models by name, from files that the user has. Nothing is downloaded: docs/onnx.md#models-by-name."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..source import Source

# Name -> the module of it. They need the onnx package, which importing a PyTorch module does not.
NAMES = {"silero-vad": "silero_vad", "dtln": "dtln", "gtcrn": "gtcrn_weights"}


def known_file(path: str) -> str | None:
    """The name of the published model that one file holds as a whole. Raises OSError."""
    from .found import digest
    from .silero_vad import FORMS, NAME

    form = FORMS.get(digest(Path(path)))
    return NAME if form and not form.refused else None


def published(name: str, given: list[str], rate: int | None) -> Source:
    """Raises ImportFailed and OSError."""
    made: Source = import_module(f".{NAMES[name]}", __name__).published(given, rate)
    return made
