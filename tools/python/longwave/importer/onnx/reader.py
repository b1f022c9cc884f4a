"""A .onnx file as a checked model: bytes, protobuf, opset, sizes, functions written out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import onnx
import onnx.inliner
from google.protobuf.message import DecodeError, Message

from ..errors import ImportFailed, Problem
from ..files import BEGINNINGS, START, text_of
from .limits import DEPTH, FILE, INPUTS, NODES, OPSETS, too_much

DEFAULT = ("", "ai.onnx")
CUT = "the file is cut or damaged: fetch it again"


@dataclass
class Model:
    path: Path
    graph: onnx.GraphProto
    opset: int
    domains: dict[str, int]  # the others


def read(path: str | Path) -> Model:
    """Raises ImportFailed and OSError."""
    where = str(path)
    proto = parsed(where)
    domains = {o.domain: o.version for o in proto.opset_import}
    opset = next((domains[d] for d in DEFAULT if d in domains), None)
    if not proto.HasField("graph"):
        raise ImportFailed([Problem(where, "", "holds no ONNX graph", CUT)])
    if opset is None:
        raise ImportFailed([Problem(where, "", "names no opset of ONNX", "export the model again")])
    if any(not 0 <= v < 1 << 31 for v in domains.values()):
        raise ImportFailed([Problem(where, "", "an opset has no valid version", CUT)])
    if not OPSETS[0] <= opset <= OPSETS[1]:
        raise ImportFailed(
            [
                Problem(
                    where,
                    "",
                    f"is of opset {opset}; the importer reads {OPSETS[0]} to {OPSETS[1]}",
                    "convert it: onnx.version_converter.convert_version(model, 17)",
                )
            ]
        )
    if proto.functions:
        proto = written_out(where, proto)
    counted(where, proto.graph)
    return Model(Path(path), proto.graph, opset, {d: v for d, v in domains.items() if d not in DEFAULT})


def parsed(where: str) -> onnx.ModelProto:
    with open(where, "rb") as file:
        head = file.read(START)
        for beginning, reason, way_out in BEGINNINGS:
            if head.startswith(beginning):
                raise ImportFailed([Problem(where, "", reason, way_out)])
        if not head:
            raise ImportFailed([Problem(where, "", "is empty", "the download or the save was cut: fetch it again")])
        data = head + file.read(FILE + 1 - len(head))
    if len(data) > FILE:
        raise too_much(where, "bytes", len(data), FILE, "save its weights as external data")
    try:
        proto: onnx.ModelProto = onnx.ModelProto.FromString(data)
    except (DecodeError, RecursionError, ValueError) as e:
        raise ImportFailed([Problem(where, "", text_of(head) or "is not an ONNX file, or is damaged", CUT)]) from e
    texts(where, proto)
    return proto


def texts(where: str, proto: Message) -> None:
    """Names and texts of attributes are UTF-8: protobuf gives others as bytes."""
    waiting = [proto]
    while waiting:
        for field, value in waiting.pop().ListFields():
            if field.type == field.TYPE_MESSAGE:
                waiting += value if field.is_repeated else [value]
            elif field.type == field.TYPE_STRING and any(
                isinstance(v, bytes) for v in (value if field.is_repeated else [value])
            ):
                raise ImportFailed([Problem(where, "", f"its field {field.name} holds bytes that are no text", CUT)])


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    for a in node.attribute:
        if a.HasField("g"):
            yield a.g
        yield from a.graphs


def counted(where: str, graph: onnx.GraphProto) -> None:
    """Nodes of all levels, and the depth of subgraphs."""
    if len(graph.input) > INPUTS or len(graph.output) > INPUTS:
        raise too_much(where, "inputs or outputs", max(len(graph.input), len(graph.output)), INPUTS)
    waiting, count = [(graph, 0)], 0
    while waiting:
        g, depth = waiting.pop()
        if depth > DEPTH:
            raise too_much(where, "subgraphs within each other", depth, DEPTH)
        count += len(g.node)
        if count > NODES:
            raise too_much(where, "nodes", count, NODES)
        waiting += [(inner, depth + 1) for node in g.node for inner in subgraphs(node)]


def written_out(where: str, proto: onnx.ModelProto) -> onnx.ModelProto:
    """Functions of the file, in place of their calls. It counts them first, because calls of calls multiply."""
    functions = {(f.domain, f.name, f.overload): f for f in proto.functions}
    sizes: dict[tuple[str, str, str], int] = {}

    def size(nodes: Iterable[onnx.NodeProto], above: tuple[tuple[str, str, str], ...]) -> int:
        total = 0
        for n in nodes:
            key = (n.domain, n.op_type, n.overload)
            if key in functions:
                if key in above or len(above) > DEPTH:
                    raise ImportFailed(
                        [
                            Problem(
                                where,
                                "",
                                f"its function {n.op_type} calls itself, or calls lie more than {DEPTH} deep",
                                "export it without functions",
                            )
                        ]
                    )
                if key not in sizes:
                    sizes[key] = size(functions[key].node, (*above, key))
                total += sizes[key]
            total += 1 + sum(size(g.node, above) for g in subgraphs(n))
            if total > NODES:
                raise too_much(where, "nodes of functions", total, NODES)
        return total

    size(proto.graph.node, ())
    try:
        return onnx.inliner.inline_local_functions(proto)
    except Exception as e:  # the onnx package raises several types
        raise ImportFailed(
            [
                Problem(
                    where,
                    "",
                    f"its functions cannot be written out: {str(e).splitlines()[0] if str(e) else type(e).__name__}",
                    "export it without functions",
                )
            ]
        ) from e
