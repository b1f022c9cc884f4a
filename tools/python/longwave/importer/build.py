"""From a module to a .lw file that was compared with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import nn

from .api import Imported, import_module
from .compare import compared
from .example import inputs_of, inputs_with_state
from .export import prepare
from .inputs import Input, parse_input
from .report import with_file
from .settle import Settled
from .state.step import Called
from .torchscript import python_module
from .wrappers import unwrapped


def build(
    module: nn.Module,
    example: Any,
    inputs: Sequence[str],
    outputs: Sequence[str],
    sample_rate: int,
    folder: Path,
    file: Path,
    compile: Callable[[], None],
    exact: bool = True,
    state: Mapping[str, str | int] | None = None,
    initial: Mapping[str, Any] | None = None,
    min_rows: int = 1,
) -> dict[str, Any]:
    """Writes the model folder, calls `compile`, which makes `file` of it, and returns the report. `exact`: compare both.

    Raises ImportFailed. The folder is written only after the import has succeeded.
    """
    if example is not None and inputs:
        raise ValueError("example and inputs: give one of both")
    if example is None and not inputs:
        raise ValueError('example: a module needs one, such as torch.zeros(1, 1000, 64), or inputs=["x=1xTx64"]')
    length = None
    if example is not None:
        entries, length = (
            inputs_with_state(module, example, sample_rate, state) if state else inputs_of(module, example, sample_rate)
        )
    else:
        entries = [parse_input(text) for text in inputs]
        module = python_module(module, entries)
    imported = import_module(
        module,
        entries,
        length=length,
        outputs=list(outputs) or None,
        name=type(unwrapped(module)).__name__,
        min_rows=min_rows,
        state=state,
        initial=initial,
    )
    imported.write(folder)
    compile()
    return checked(imported, module, entries, file) if exact else imported.report


def checked(imported: Imported, module: nn.Module, inputs: Sequence[Input], file: Path) -> dict[str, Any]:
    """The report of the import with the compiled file in it."""
    length = imported.model["length"]
    if made := imported.stepped:
        original = Called(made) if made.by_rows else made.module
        return with_file(
            imported.report, compared(file, original, made.inputs, imported.importer.graph.outputs, length)
        )
    ready, outputs = prepare(module, inputs, length), imported.importer.graph.outputs
    if imported.settled:
        ready = Settled(ready, inputs, outputs, imported.settled)
    return with_file(imported.report, compared(file, ready, inputs, outputs, length))
