"""What became of each module, as data and as a table; and the story of one node."""

from __future__ import annotations

from typing import Any

import torch

from .match import Importer, Read
from .places import Placed
from .text import visible

LONGEST = 1 << 16  # characters of a line of the report


def report_of(importer: Importer, errors: dict[int, float], min_rows: int) -> dict[str, Any]:
    """`min_rows`: of a sequence, as the caller promised. `modules`: address -> ops of the file. `errors`: length -> largest difference from the module in float64, of the peak."""
    modules: dict[str, list[str]] = {}
    for op in importer.graph.ops:
        if op.kind != "input":
            modules.setdefault(op.module, []).append(op.kind)
    return {
        "torch": torch.__version__,
        "length": importer.exported.length,
        "min_rows": min_rows,
        "modules": modules,
        "convolutions": [
            {
                "where": c.where,
                "taps": c.lags.shape[1],
                "ahead": c.ahead.shape[1],
                "cut": c.cut,
                "form": c.form,
                "error": c.error,
            }
            for c in importer.convolutions
        ],
        "errors": {str(length): error for length, error in errors.items()},
        "warnings": importer.warnings,
    }


def with_file(report: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The report with `artifact`: bytes, kernels by layer, and the differences in float32 (compare.py)."""
    return {**report, "artifact": found}


def kernel_text(entries: dict[str, list[str]]) -> str:
    """The kernels of one layer: of the stream, and of the offline run where they differ."""
    run = ", ".join(entries.get("run", []))
    streams = [", ".join(names) for entry, names in entries.items() if entry.startswith("stream")]
    if not run and not streams:
        return "(part of the next or last kernel)"
    if not streams or streams[0] == run:
        return run
    return f"{run}; stream: {streams[0]}"


def loose(kernels: dict[str, dict[str, list[str]]], modules: dict[str, list[str]]) -> dict[str, list[str]]:
    """The kernels of operations in the outermost module: a layer of their own each."""
    found: dict[str, list[str]] = {}
    for layer, entries in kernels.items():
        if layer not in modules:
            for entry, names in entries.items():
                found.setdefault(entry, []).extend(names)
    return found


def table(report: dict[str, Any]) -> str:
    artifact = report.get("artifact")
    head = ["module", "layers"] + (["kernels"] if artifact else [])
    rows = [[module or "(model)", ", ".join(kinds)] for module, kinds in report["modules"].items()]
    if artifact:
        for row, module in zip(rows, report["modules"]):
            row.append(
                kernel_text(
                    loose(artifact["kernels"], report["modules"])
                    if module == ""
                    else artifact["kernels"].get(module, {})
                )
            )
    widths = [max(len(row[c]) for row in [head, *rows]) for c in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in [head, *rows]]
    lines += [f"{c['where']}: taps kept as {c['form']}" for c in report["convolutions"]]
    lines += [f"warning: {text}" for text in report["warnings"]]
    if state := report.get("state"):
        lines += [f"state {name} = {result}" for name, result in state["pairs"].items()] + state["found"]
        lines.append(
            f"{state['calls']} calls with the state that the last one returned: equal within {state['error']:.1e} of the peak"
        )
    if settled := report.get("settled"):
        lines.append(
            f"begins behind {settled['rows']:,} rows of zeros: equal within {settled['error']:.1e} of the peak"
        )
    worst = max(report["errors"].values())
    lines.append(f"equal to PyTorch in float64 within {worst:.1e} of the peak at lengths {', '.join(report['errors'])}")
    if "onnx" in report:
        from .onnx.peer import lines as of_onnx

        lines += of_onnx(report["onnx"]["other"])
    if artifact:
        ways = [
            f"{artifact[way]:.1e} {text}"
            for way, text in (("offline", "offline"), ("stream", "as a stream"))
            if way in artifact
        ]
        lines.append(
            f"the compiled file ({artifact['bytes']:,} bytes) differs from PyTorch in float32 by {', '.join(ways)}, of the peak"
        )
    return "\n".join(visible(line, LONGEST) for line in lines)


def explain(importer: Importer, name: str) -> str:
    """What is known about the node `name` ("blocks.0/fft_rfft" or "fft_rfft"), or about each node of the module `name`."""
    nodes = [n for n in importer.exported.nodes if n.op == "call_function"]
    found = [n for n in importer.exported.nodes if name in (n.name, importer.where(n))] or [
        n for n in nodes if importer.module(n) == name
    ]
    if not found:
        return "\n".join(
            visible(line) for line in (f"no node {name}; the nodes are:", *(importer.where(n) for n in nodes))
        )
    return "\n\n".join(story(importer, n) for n in found)


def story(importer: Importer, n: torch.fx.Node) -> str:
    val = n.meta.get("val")
    lines = [
        f"{importer.where(n)}: {importer.kind(n) if n.op == 'call_function' else n.op}",
        f"reads {', '.join(importer.where(a) for a in n.all_input_nodes) or 'nothing'}",
    ]
    if isinstance(val, torch.Tensor):
        lines.append(f"shape {tuple(val.shape)}, {val.dtype}")
    source = [
        line.strip() for line in (n.meta.get("stack_trace") or "").splitlines() if line.strip().startswith("File")
    ]
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
        lines.append("part of a convolution" if value is None else f"became {type(value).__name__}")
    lines += [str(p) for p in importer.problems if p.where == importer.where(n)]
    return "\n".join(visible(line, LONGEST) for line in lines)
