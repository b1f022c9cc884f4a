"""A .onnx file as a model, and from there to a .lw file that was compared with it, with what the report tells about the file."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..api import Imported, import_module
from ..build import checked
from ..errors import ImportFailed, Problem
from ..files import no_model
from ..inputs import mark_audio
from ..published import known_file, published
from ..source import Source
from .door import Opened, facts, open_file
from .kept import streamed
from .peer import compared

TOLD = (
    "is TorchScript of a published model, of which the weights alone are read",
    "leave the options out, or give the .onnx file",
)


def source_of(
    path: str,
    inputs: Sequence[str] = (),
    fix: Mapping[str, str] | None = None,
    states: Mapping[str, Any] | None = None,
    outputs: Sequence[str] | None = None,
    length: int | None = None,
    rate: int | None = None,
) -> Source:
    """The graph of a file. One of a published model becomes that model, unless the caller says how to read the graph; `rate` is for it.

    Raises ImportFailed and OSError.
    """
    known, notes = known_file(path), []
    if known and not (inputs or fix or states or outputs):
        made = published(known, [path], rate)
        said = f"{path} is a file of {known}: imported as that model; as its graph alone: --input NAME=SHAPE"
        made.notes.insert(0, said)
        return made
    if not path.endswith(".onnx"):
        raise ImportFailed([Problem(path, "", *TOLD)]) if known else no_model(path)
    if known:
        notes = [f"{path} is a file of {known}, for which a stream of audio needs no options: longwave import {path}"]
    if rate is not None:
        raise ImportFailed([Problem("--rate", "", "is for a published model", "write it into --input: audio=16000")])
    opened = open_file(path, inputs, fix, states, outputs, length)
    read = streamed(opened)
    return Source(
        read.module,
        read.inputs,
        read.outputs,
        notes + opened.notes,
        read.states,
        opened,
        length=opened.length,
        warnings=opened.warnings,
    )


def described(imported: Imported, opened: Opened) -> dict[str, Any]:
    """Marks the outputs that are audio, and adds `onnx` to the report: facts of the file, and the comparison with another program.

    Raises ImportFailed.
    """
    mark_audio(imported.model, opened.lags)
    if opened.warnings:
        imported.importer.warnings += opened.warnings
    imported.report["onnx"] = {**facts(opened), "other": compared(opened, imported.model["length"])}
    return imported.report


def build_file(
    path: str,
    fix: Mapping[str, str],
    inputs: Sequence[str],
    outputs: Sequence[str],
    folder: Path,
    file: Path,
    compile: Callable[[Sequence[str]], None],
    exact: bool = True,
    state: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    min_rows: int = 1,
) -> dict[str, Any]:
    """Writes the model folder, calls `compile`, which makes `file` of it with such options for a stream, and returns the report.
    `exact`: compare both.

    Raises ImportFailed and OSError. The folder is written only after the import has succeeded.
    """
    source = source_of(path, inputs, fix, state, outputs or None)
    for text in source.warnings:
        warnings.warn(text, stacklevel=6)  # of longwave.compile
    imported = import_module(
        source.module,
        source.inputs,
        length=source.length,
        outputs=source.outputs,
        name=Path(path).stem,
        min_rows=min_rows,
        state=source.states or None,
        initial=initial,
    )
    if source.opened:
        described(imported, source.opened)
    source.mark(imported.model)
    imported.write(folder)
    compile(source.options)
    return checked(imported, source.module, source.inputs, file) if exact else imported.report
