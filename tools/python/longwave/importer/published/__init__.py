"""Published models by name, from files that the user has. Nothing is downloaded: docs/onnx.md#models-by-name."""
from __future__ import annotations

from collections.abc import Callable

from . import dtln, gtcrn, gtcrn_weights, silero_vad
from .found import Published

NAMES: dict[str, Callable[[list[str], int | None], Published]] = {
    silero_vad.NAME: silero_vad.published, dtln.NAME: dtln.published, gtcrn.NAME: gtcrn_weights.published}
