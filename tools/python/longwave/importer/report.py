"""What became of each module, as data and as a table; and the story of one node."""
from __future__ import annotations

import torch

from .match import Importer, Read
from .places import Placed


def report_of(importer: Importer, errors: dict[int, float]) -> dict:
    modules: dict[str, list[str]] = {}
    for op in importer.graph.ops:
        if op.kind != "input":
            modules.setdefault(op.module, []).append(op.kind)
    return {
        "torch": torch.__version__,
        "length": importer.exported.length,
        "modules": modules,
        "convolutions": [{"where": c.where, "taps": c.lags.shape[1], "ahead": c.ahead.shape[1], "cut": c.cut} for c in importer.convolutions],
        "errors": {str(length): error for length, error in errors.items()},
        "warnings": importer.warnings,
    }


def table(report: dict) -> str:
    rows = [(module or "(model)", ", ".join(kinds)) for module, kinds in report["modules"].items()]
    width = max([len(module) for module, _ in rows] + [6])
    lines = [f"{'module':<{width}}  ops", *(f"{module:<{width}}  {kinds}" for module, kinds in rows)]
    lines += [f"warning: {text}" for text in report["warnings"]]
    worst = max(report["errors"].values())
    lines.append(f"equal to PyTorch in float64 within {worst:.1e} of the peak at lengths {', '.join(report['errors'])}")
    return "\n".join(lines)


def explain(importer: Importer, name: str) -> str:
    """What is known about the node `name` ("blocks.0/fft_rfft" or "fft_rfft")."""
    found = [n for n in importer.exported.nodes if name in (n.name, importer.where(n))]
    if not found:
        near = [importer.where(n) for n in importer.exported.nodes if n.op == "call_function"]
        return f"no node {name}; the nodes are:\n" + "\n".join(near)
    n = found[0]
    val = n.meta.get("val")
    lines = [f"{importer.where(n)}: {importer.kind(n) if n.op == 'call_function' else n.op}",
             f"reads {', '.join(importer.where(a) for a in n.all_input_nodes) or 'nothing'}"]
    if isinstance(val, torch.Tensor):
        lines.append(f"shape {tuple(val.shape)}, {val.dtype}")
    source = [line.strip() for line in (n.meta.get("stack_trace") or "").splitlines() if line.strip().startswith("File")]
    if source:
        lines.append(source[-1])
    if not importer.varies(n):
        lines.append("constant: no input reaches it")
    value = importer.values.get(n)
    if isinstance(value, (Placed, Read)):
        op = importer.graph.ops[value.value]
        refused = " (stands in for a refused node)" if value.value in importer.opaque else ""
        lines.append(f"became {op.kind} of {op.rows} rows of {op.width}{refused}")
    elif n in importer.values:
        lines.append("part of a convolution" if value is None else f"became {value}")
    lines += [str(p) for p in importer.problems if p.where == importer.where(n)]
    return "\n".join(lines)
