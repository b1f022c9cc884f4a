"""The compiled file against the module in float32, and the kernels of each layer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from .. import cleanup, programs
from .as_it_is import ROUNDED, rows_of
from .errors import ImportFailed, Problem
from .inputs import Input
from .match import LATE, NO_STREAM
from .prove import error
from .recovered import Output

MEMORY = "64G"  # for a file that was compiled just now: an offline run of a wide model needs more than the limit for files of others


def compared(
    file: Path, module: nn.Module, inputs: Sequence[Input], outputs: Sequence[Output], length: int
) -> dict[str, Any]:
    """Runs the module and the file on the same noise of `length` rows, or fewer if the file takes fewer.

    `module`: as `export.prepare` returns it.

    Returns bytes, the largest errors relative to the peak (offline, and as a stream if the file has one), and kernels by layer.
    Raises ImportFailed if the file differs by more than rounding.
    """
    inspected = json.loads(ran(["inspect", str(file), "--json"]))
    length = min(
        [length, *(entry["block"] for entry in inspected["entries"] if entry["kind"] == "run")]
    )  # its longest run
    floats = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
    x = [i.example(length, floats, seed=11) for i in inputs]
    with torch.no_grad():
        expected = [t for t in tree_leaves(module(*x)) if isinstance(t, Tensor)]
    found: dict[str, Any] = {"bytes": inspected["bytes"], "kernels": kernels(inspected["report"])}
    kinds = {entry["kind"] for entry in inspected["entries"]}
    for name, kind, flags in (("offline", "run", []), ("stream", "stream", ["--stream"])):
        if kind not in kinds:
            continue
        errors = [error(f, e) for f, e in run(file, inputs, outputs, x, expected, flags)]
        found[name] = max(errors, default=0.0)
        if not found[name] <= ROUNDED:
            raise ImportFailed(
                [
                    Problem(
                        str(file),
                        name,
                        f"differs from the module by {found[name]:.1e} of the peak",
                        "please report this with the module",
                    )
                ]
            )
    return found


def run(
    file: Path,
    inputs: Sequence[Input],
    outputs: Sequence[Output],
    x: Sequence[Tensor],
    expected: Sequence[Tensor],
    flags: list[str],
) -> Iterator[tuple[Tensor, Tensor]]:
    """Pairs of rows: of the file, and of the module. A stream gives the last of the rows that a whole sequence gives at once."""
    with cleanup.temporary_folder() as folder:
        command = ["run", str(file), "--memory", MEMORY, *flags]
        for i, t in zip(inputs, x):
            rows = i.rows(t).contiguous().numpy().astype("<i4" if i.vocabulary else "<f4")
            numpy.save(f"{folder}/in-{i.name}.npy", rows)
            command += ["--input", f"{i.name}=@{folder}/in-{i.name}.npy"]
        for o in outputs:
            command += ["--output", f"{o.name}={folder}/out-{o.name}.npy"]
        ran(command)
        for o, e in zip(outputs, expected):
            wanted = rows_of(o, e)
            found = torch.from_numpy(numpy.load(f"{folder}/out-{o.name}.npy")).to(torch.float64)
            found = found.reshape(-1, wanted.shape[1])
            yield found[-1:] if o.axis is None else found[: len(wanted)], wanted


def ran(command: list[str]) -> str:
    done = programs.run(command)
    if done.returncode:
        raise ImportFailed(
            [
                Problem(f"longwave {command[0]}", "", line, "")
                for line in (done.stderr.strip() or "no message").splitlines()
            ]
        )
    return done.stdout


def compile_folder(folder: Path, file: Path, warnings: list[str], options: Sequence[str] = ()) -> None:
    """`options`: of the stream. As a stream too, where the model has one. Else offline only, and the compiler's reason becomes a warning."""
    if not any(NO_STREAM in text for text in warnings):
        done = programs.run(["compile", str(folder), "-o", str(file), "--stream", *options])
        if not done.returncode:
            return
        reasons = [line.removeprefix("error: ") for line in done.stderr.splitlines() if line.startswith("error: ")] or [
            "no message"
        ]
    else:
        reasons = []
    ran(["compile", str(folder), "-o", str(file), "--no-stream"])
    warnings[:] = [text.partition(LATE)[0] for text in warnings]  # only streams come late
    warnings += [f"{NO_STREAM}: {reason}" for reason in reasons]


def kernels(report: dict[str, Any]) -> dict[str, dict[str, list[str]]]:
    """Layer -> entry -> kernels, of a compile report. A layer without kernels is part of the kernel of a neighbour."""
    return {
        layer["layer"]: {entry["entry"]: entry["names"] for entry in layer.get("kernels", [])}
        for layer in report["layers"]
    }
