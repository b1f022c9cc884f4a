"""Writes the folder: config.json and model.safetensors, one tensor in memory at a time."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy

from .. import output_files
from .archive import Archive
from .names import Wanted, plan
from .pickled import BYTES

TYPES = {2: "<u2", 4: "<u4"}  # bits that move as they are


def header_of(archive: Archive, wanted: Mapping[str, Wanted]) -> bytes:
    entries, at = {}, 0
    for name, tensor in wanted.items():
        stored = archive.tensors[tensor.source]
        end = at + stored.count * BYTES[stored.storage.kind]
        entries[name] = {"dtype": stored.storage.kind, "shape": tensor.shape, "data_offsets": [at, end]}
        at = end
    text = json.dumps(entries).encode()
    return text + b" " * (-len(text) % 8)


def write_tensors(archive: Archive, wanted: Mapping[str, Wanted], file: BinaryIO) -> None:
    header = header_of(archive, wanted)
    file.write(struct.pack("<Q", len(header)) + header)
    for tensor in wanted.values():
        numbers = archive.numbers(tensor.source)
        if tensor.turned:
            width = BYTES[archive.tensors[tensor.source].storage.kind]
            rows = numpy.frombuffer(numbers, TYPES[width]).reshape(tensor.shape[::-1])
            numbers = rows.T.tobytes()
        file.write(numbers)


def write(archive: Archive, folder: Path) -> int:
    """Returns the number of tensors. Raises Refused and OSError."""
    wanted, config = plan(archive.tensors)
    output_files.write_folder(
        folder,
        {
            "config.json": (json.dumps(config, indent=2) + "\n").encode(),
            "model.safetensors": output_files.opened(lambda file: write_tensors(archive, wanted, file)),
        },
    )
    return len(wanted)
