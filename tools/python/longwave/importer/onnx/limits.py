"""What an ONNX file may ask for. A file from someone else must end in a model or in a message, soon and in little memory."""

from __future__ import annotations

from ..errors import ImportFailed, Problem

OPSETS = (7, 22)  # of the default domain
FILE = (1 << 31) - 1  # bytes: protobuf's own limit
EXTERNAL = 1 << 34  # bytes of all external data
NODES = 50_000  # with those of subgraphs and of functions that are written out
DEPTH = 16  # subgraphs within each other
RANK = 8  # axes of a tensor
NUMBERS = 1 << 28  # of one tensor: 1 GiB of float32
ALL_NUMBERS = 1 << 31  # of all constants, and of all results of a run at the example's length
WORK = 1 << 38  # multiply-adds of a run at the example's length
NAME = 160  # bytes of a node's name: longer ones are cut
INPUTS = 256  # of the graph, and as many outputs


def too_much(where: str, what: str, found: int, most: int, way_out: str = "give a smaller model") -> ImportFailed:
    return ImportFailed([Problem(where, "", f"{what}: {found:,}; at most {most:,}", way_out)])
