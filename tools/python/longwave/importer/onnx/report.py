"""What the report of an import tells about an ONNX file."""
from __future__ import annotations

from typing import Any

from ..api import Imported
from .door import Opened, facts
from .peer import compared


def described(imported: Imported, opened: Opened) -> dict[str, Any]:
    """Adds `onnx` to the report: facts of the file, and the comparison with another program. Raises ImportFailed."""
    imported.report["onnx"] = {**facts(opened), "other": compared(opened, imported.model["length"])}
    return imported.report
