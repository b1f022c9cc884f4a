"""The recovered graph as a model folder of version 2 (docs/model-format.md)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from .. import output_files
from ..model_json import pretty
from ..package import weights_file
from .inputs import Input
from .known import Known
from .recovered import Op, Recovered
from .taps import Dyadic


def names_of(graph: Recovered) -> list[str]:
    """A name per op: its module's address and the kind, numbered where a module has several."""
    names, seen = [], {}
    for op in graph.ops:
        if op.kind == "input":
            names.append(op.source)
            seen[op.source] = 1
            continue
        stem = f"{op.module}/{op.kind}" if op.module else op.kind
        if isinstance(op.form, Known):
            stem = op.module or op.kind
        seen[stem] = seen.get(stem, 0) + 1
        names.append(stem if seen[stem] == 1 else f"{stem}_{seen[stem]}")
    return names


def expanded(own: str, op: Op, form: Dyadic, tensors: dict[str, torch.Tensor]) -> dict[str, Any]:
    """The node that makes the taps of `op` from the numbers of its form."""
    pieces, shape = form.pieces, op.constant("taps").shape[:2]
    tensors[f"{own}.scales"] = form.numbers.reshape(pieces.count, *shape, pieces.dim).to(torch.float32).contiguous()
    return {
        "name": f"{own}_taps",
        "op": "expand_scales",
        "inputs": [{"tensor": f"{own}.scales"}],
        "attributes": {"nearest": int(pieces.nearest), "init_scale": pieces.init, "taps": form.taps},
    }


def document(
    name: str, graph: Recovered, inputs: Sequence[Input], length: int
) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    names = names_of(graph)
    nodes: list[dict[str, Any]] = []
    tensors: dict[str, torch.Tensor] = {}
    for op, own in zip(graph.ops, names):
        if op.kind == "input":
            continue
        operands: list[str | dict[str, str]] = [names[i] for i in op.inputs]
        if isinstance(op.form, Known):
            tensors |= {f"{own}.{key}": constant.to(torch.float32).contiguous() for key, constant in op.constants}
            nodes.append({"type": op.kind, "name": own, "input": operands[0]} | op.attributes)
            continue
        for key, constant in op.constants:
            if key == "taps" and op.form:
                nodes.append(expanded(own, op, op.form, tensors))
                operands.append(nodes[-1]["name"])
                continue
            if key == "D" and op.form:
                constant = constant + op.form.first[: constant.numel()].reshape(constant.shape)
            tensors[f"{own}.{key}"] = constant.to(torch.float32).contiguous()
            operands.append({"tensor": f"{own}.{key}"})
        node = {"name": own, "op": op.kind, "inputs": operands}
        nodes.append(node | ({"attributes": op.attributes} if op.attributes else {}))
    return {
        "format": "longwave-model",
        "version": 2,
        "name": name,
        "inputs": [i.document() for i in inputs],
        "length": length,
        "graph": nodes,
        "outputs": [{"name": output.name, "from": names[output.value]} for output in graph.outputs],
    }, tensors


def write(folder: Path, model: dict[str, Any], tensors: dict[str, torch.Tensor], report: dict[str, Any]) -> None:
    output_files.write_folder(
        folder,
        {
            "weights.safetensors": weights_file(tensors),
            "model.json": (pretty(model) + "\n").encode(),
            "import.json": (json.dumps(report, indent=1) + "\n").encode(),
        },
    )
