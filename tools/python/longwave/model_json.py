"""What stands in `model.json` of a model package (docs/model-format.md): entries of "layers" and the
text of the file."""

from __future__ import annotations

import json
from typing import Any

Layer = dict[str, Any]


def layer(kind: str, name: str, prefix: str | None = None, **attributes: Any) -> Layer:
    """One layer; `prefix` only where the tensors are not named after the layer."""
    entry: Layer = {"type": kind, "name": name}
    if prefix is not None and prefix != name:
        entry["prefix"] = prefix
    return entry | attributes


def residual(name: str, norm: Layer | None, inner: list[Layer], prenorm: bool = True) -> Layer:
    """x + f(norm(x)), or norm(x + f(x)) when not `prenorm`."""
    if norm is not None:
        norm = {key: value for key, value in norm.items() if key != "name"}
    return {"type": "residual", "name": name, "prenorm": prenorm, "norm": norm, "layers": inner}


def document(
    name: str,
    inputs: list[dict[str, Any]],
    layers: list[Layer],
    outputs: list[dict[str, str]],
    labels: list[str] | None = None,
    decision: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The whole of model.json."""
    whole: dict[str, Any] = {
        "format": "longwave-model",
        "version": 1,
        "name": name,
        "inputs": inputs,
        "layers": layers,
        "outputs": outputs,
    }
    if labels:
        whole["labels"] = labels
    if decision is not None:
        whole["decision"] = decision
    return whole


def pretty(value: Any, indent: str = "") -> str:
    """JSON with one line per innermost object, so that a list of layers reads as a list."""
    flat = json.dumps(value)
    if not isinstance(value, (dict, list)) or not value or len(indent + flat) <= 160:
        return flat
    deeper = indent + "  "
    if isinstance(value, dict):
        rows = [f"{deeper}{json.dumps(key)}: {pretty(item, deeper)}" for key, item in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + pretty(item, deeper) for item in value) + f"\n{indent}]"
