"""The module against onnxruntime on the same numbers: each call goes on with the states that the last one gave.

The tolerance is the importer's for two ways to compute in float32 (as_it_is.ROUNDED).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from ... import cleanup
from ..as_it_is import ROUNDED
from ..errors import ImportFailed, Problem
from ..text import visible
from .door import Opened

PATIENCE = 120  # seconds
STEPS, CHUNKS = 48, 3  # calls of one row, or of all rows, with states


def calls_of(opened: Opened, length: int) -> tuple[list[list[Tensor]], str]:
    """Rows of each call, and how that is called."""
    if not any(e.timed for e in opened.rows):
        return [
            [e.example(1, torch.float32, seed=11 + k) for e in opened.rows] for k in range(STEPS)
        ], f"{STEPS} calls of one row"
    extents = {n for e in opened.rows if isinstance(n := opened.declared[e.name].shape[e.shape.index(0)], int) and n}
    rows = min(extents) if extents else length
    count = CHUNKS if opened.states else 1
    return (
        [[e.example(rows, torch.float32, seed=11 + k) for e in opened.rows] for k in range(count)],
        f"{count} calls of {rows} rows" if count > 1 else f"{rows} rows",
    )


@torch.no_grad()
def compared(opened: Opened, length: int) -> dict[str, Any]:
    """`name` of the other program, `how`, and `error`, the largest difference of the peak; or `missing`, why there is none.

    Raises ImportFailed where they differ by more than rounding.
    """
    calls, how = calls_of(opened, length)
    try:
        expected = own(opened, calls)
    except RuntimeError as e:
        return {"missing": f"the module does not run with {how}: {visible(str(e).splitlines()[0])}"}
    name, found = run(opened, calls)
    if found is None:
        return {"missing": name}
    worst = max(
        difference(torch.from_numpy(f).to(torch.float64), e.to(torch.float64))
        for f, e in zip(found, expected, strict=True)
    )
    if not worst <= ROUNDED:
        raise ImportFailed(
            [
                Problem(
                    opened.model.path.name,
                    how,
                    f"the module differs from {name} by {worst:.1e} of the peak",
                    "please report this with the file",
                )
            ]
        )
    return {"name": name, "how": how, "error": worst}


def own(opened: Opened, calls: Sequence[Sequence[Tensor]]) -> list[Tensor]:
    """All results of the module, call by call, with its states."""
    states = {e.name: torch.zeros(e.shape) for e in opened.inputs if e.name in opened.states}
    found = []
    for x in calls:
        given = states | {e.name: t for e, t in zip(opened.rows, x)}
        made = dict(
            zip(opened.outputs, tree_leaves(opened.module(*(given[e.name] for e in opened.inputs))), strict=True)
        )
        states = {name: made[result] for name, result in opened.states.items()}
        found += list(made.values())
    return found


def difference(found: Tensor, expected: Tensor) -> float:
    if found.shape != expected.shape:
        return float("inf")
    if not expected.numel():
        return 0.0
    worst = float((found - expected).abs().max() / expected.abs().max().clamp(min=1e-30))
    return worst if worst == worst else float("inf")


def run(opened: Opened, calls: Sequence[Sequence[Tensor]]) -> tuple[str, list[np.ndarray] | None]:
    """The name of the program, and all results, call by call; or why there are none."""
    given: dict[str, Any] = {f"state.{name}": np.array(result) for name, result in opened.states.items()}
    for number, x in enumerate(calls):
        given.update({f"{number}.{e.name}": t.numpy() for e, t in zip(opened.rows, x)})
        given.update({f"{number}.{name}": array for name, array in opened.fixed.items()})
    given.update({f"0.{e.name}": np.zeros(e.shape, np.float32) for e in opened.inputs if e.name in opened.states})
    with cleanup.temporary_folder() as folder:
        np.savez(folder / "calls.npz", **given)
        command = [
            sys.executable,
            "-m",
            "longwave.importer.onnx.other_runtime",
            str(opened.model.path),
            str(folder / "calls.npz"),
            str(folder / "results.npz"),
        ]
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=PATIENCE,
                stdin=subprocess.DEVNULL,
                env=environment(),
            )
        except subprocess.TimeoutExpired:
            return f"took more than {PATIENCE} seconds", None
        if done.returncode:
            return visible(
                done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"ended with status {done.returncode}"
            ), None
        results = np.load(folder / "results.npz", allow_pickle=False)
        return done.stdout.strip(), [
            results[f"{number}.{output}"] for number in range(len(calls)) for output in opened.outputs
        ]


def environment() -> dict[str, str]:
    """The same packages as here."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).resolve().parents[3]), *filter(None, sys.path)]),
    }


def lines(report: dict[str, Any]) -> list[str]:
    """For the table of the report."""
    if "missing" in report:
        return [f"not compared with onnxruntime: {report['missing']}"]
    return [
        f"equal to {report['name']} in float32 within {report['error']:.1e} of the peak, {report['how']}; up to {ROUNDED:.0e} is rounding"
    ]
