"""From a .onnx file to a .lw file that was compared with it, and what the report tells about the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..api import Imported, import_module
from ..build import checked
from ..inputs import mark_audio
from .door import Opened, facts, open_file
from .peer import compared


def described(imported: Imported, opened: Opened) -> dict[str, Any]:
    """Marks the outputs that are audio, and adds `onnx` to the report: facts of the file, and the comparison with another program.

    Raises ImportFailed.
    """
    mark_audio(imported.model, opened.lags)
    imported.report["onnx"] = {**facts(opened), "other": compared(opened, imported.model["length"])}
    return imported.report


def build_file(
    path: str,
    fix: Mapping[str, str],
    inputs: Sequence[str],
    outputs: Sequence[str],
    folder: Path,
    file: Path,
    compile: Callable[[], None],
    exact: bool = True,
    state: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    min_rows: int = 1,
) -> dict[str, Any]:
    """Writes the model folder, calls `compile`, which makes `file` of it, and returns the report. `exact`: compare both.

    Raises ImportFailed and OSError. The folder is written only after the import has succeeded.
    """
    opened = open_file(path, inputs, fix, state, outputs or None)
    imported = import_module(
        opened.module,
        opened.inputs,
        length=opened.length,
        outputs=opened.outputs,
        name=Path(path).stem,
        min_rows=min_rows,
        state=opened.states or None,
        initial=initial,
    )
    described(imported, opened)
    imported.write(folder)
    compile()
    return checked(imported, opened.module, opened.inputs, file) if exact else imported.report
