"""The module against onnxruntime on the same numbers: all rows at once, and row by row where the graph has states.

Only the second tells that the states of a sequence are those that the steps hand on. The tolerance is the importer's for two
ways to compute in float32 (prove.ROUNDED).
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
from ..errors import ImportFailed, Problem
from ..inputs import Input
from ..prove import ROUNDED
from ..text import visible
from .door import Opened

PATIENCE = 120  # seconds
STEPS = 48  # rows of a comparison row by row


def cut(x: Tensor, entry: Input, first: int, count: int) -> np.ndarray:
    return x.narrow(entry.shape.index(0), first, count).numpy()


def ways(opened: Opened, length: int) -> list[tuple[str, int, int]]:
    """What the declared shapes allow: (name, rows in all, rows of a call)."""
    extents = {n for e in opened.inputs if isinstance(n := opened.declared[e.name].shape[e.shape.index(0)], int) and n}
    found = []
    if not extents or extents == {length}:
        found.append(("all rows at once", length, length))
    elif not opened.states:
        found.append(("the rows of its shape at once", min(extents), min(extents)))
    if opened.states:
        each = min(extents) if extents else 1
        found.append(("row by row" if each == 1 else f"{each} rows at a time", max(min(length, STEPS) // each, 2) * each, each))
    return found


@torch.no_grad()
def compared(opened: Opened, length: int) -> dict[str, Any]:
    """`name` of the other program and the largest differences, of the peak; or `missing`, the reason why there are none.

    Raises ImportFailed where they differ by more than rounding.
    """
    report: dict[str, Any] = {}
    for how, rows, each in ways(opened, length):
        x = [e.example(rows, torch.float32, seed=11) for e in opened.inputs]
        try:
            expected = [t.to(torch.float64) for t in tree_leaves(opened.module(*x)) if isinstance(t, Tensor)]
        except RuntimeError as e:
            report[how] = {"missing": visible(str(e).splitlines()[0])}
            continue
        name, found = run(opened, x, rows, each)
        if found is None:
            report[how] = {"missing": name}
            continue
        report["name"] = name
        worst = max(difference(joined(parts, e, rows // each), e) for parts, e in zip(found, expected, strict=True))
        report[how] = {"rows": rows, "error": worst}
        if not worst <= ROUNDED:
            why = "the graph means something else in one call than in several, so its states are not those of a sequence" if rows > each else "please report this with the file"
            raise ImportFailed([Problem(opened.model.path.name, how, f"the module differs from {name} by {worst:.1e} of the peak", why)])
    return report or {"missing": "no declared shape allows a call"}


def joined(parts: Sequence[np.ndarray], like: Tensor, calls: int) -> Tensor:
    """The results of several calls, one after the other."""
    tensors = [torch.from_numpy(np.asarray(p)).to(torch.float64) for p in parts]
    if len(tensors) == 1:
        return tensors[0]
    axis = next((d for d in range(like.dim()) if tensors[0].dim() == like.dim() and like.shape[d] == calls * tensors[0].shape[d]), None)
    return torch.cat(tensors, axis) if axis is not None else tensors[-1]


def difference(found: Tensor, expected: Tensor) -> float:
    if found.shape != expected.shape:
        return float("inf")
    if not expected.numel():
        return 0.0
    worst = float((found - expected).abs().max() / expected.abs().max().clamp(min=1e-30))
    return worst if worst == worst else float("inf")


def run(opened: Opened, x: Sequence[Tensor], rows: int, each: int) -> tuple[str, list[list[np.ndarray]] | None]:
    """The name of the program, and the results of each output by call; or why there are none."""
    given: dict[str, Any] = {f"state.{name}": np.array(result) for name, result in opened.states.items()}
    for number in range(rows // each):
        given.update({f"{number}.{e.name}": cut(t, e, number * each, each) for e, t in zip(opened.inputs, x)})
        given.update({f"{number}.{name}": array for name, array in {**opened.fixed, **opened.start}.items()})
    with cleanup.temporary_folder() as folder:
        np.savez(folder / "steps.npz", **given)
        command = [sys.executable, "-m", "longwave.importer.onnx.other_runtime", str(opened.model.path), str(folder / "steps.npz"), str(folder / "results.npz")]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE, stdin=subprocess.DEVNULL, env=environment())
        except subprocess.TimeoutExpired:
            return f"took more than {PATIENCE} seconds", None
        if done.returncode:
            return visible(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"ended with status {done.returncode}"), None
        results = np.load(folder / "results.npz", allow_pickle=False)
        return done.stdout.strip(), [[results[f"{number}.{output}"] for number in range(rows // each)] for output in opened.outputs]


def environment() -> dict[str, str]:
    """The same packages as here."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).resolve().parents[3]), *filter(None, sys.path)])}


def lines(report: dict[str, Any]) -> list[str]:
    """For the table of the report."""
    if "missing" in report:
        return [f"not compared with onnxruntime: {report['missing']}"]
    found = [f"equal to {report['name']} in float32 within {way['error']:.1e} of the peak, {how} ({way['rows']} rows); at most {ROUNDED:.0e} is rounding"
             for how, way in report.items() if isinstance(way, dict) and "error" in way]
    return found + [f"not compared {how}: {way['missing']}" for how, way in report.items() if isinstance(way, dict) and "missing" in way]
