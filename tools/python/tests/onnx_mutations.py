"""Changes ONNX files in bytes and in fields, and opens each: it must open, or be refused in lines that can be printed.

    onnx_mutations.py --count 10000 [--seconds 3600] [--seed 1]

Prints each case that fails, with its seed, and ends with status 1. A case that takes more than 20 seconds of computing time or
4 GiB fails.
"""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import onnx
import torch
from google.protobuf.message import Message

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python"))
import mutations  # noqa: E402
import onnx_graphs  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.onnx.door import open_file  # noqa: E402

MEMORY, LENGTH = 4 << 30, 32
NUMBERS = (0, 1, -1, 2, 3, 7, 16, 255, 65536, 2**31 - 1, -(2**31), 2**31, 2**40, 2**62, 2**63 - 1, -(2**63))
TEXTS = (
    "",
    "x",
    "y",
    "w",
    "\0",
    "\x1b[31mred",
    "\u202egnp",
    "../../etc/passwd",
    "/etc/passwd",
    "a" * 5000,
    "Loop",
    "If",
    "Conv",
    "Reshape",
    "Expand",
    "Tile",
    "Pad",
    "ConstantOfShape",
    "Range",
    "Resize",
    "Einsum",
    "Gather",
    "Slice",
    "STFT",
    "GRU",
    "RNN",
    "LSTM",
    "MatMul",
    "QLinearConv",
    "com.microsoft",
    "location",
    "..\\x",
)


def fields(message: Message, found: list[tuple[Message, object]]) -> list[tuple[Message, object]]:
    for field, value in message.ListFields():
        found.append((message, field))
        if field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                fields(inner, found)
    return found


def other(field, rng: random.Random):
    if field.type == field.TYPE_STRING:
        return rng.choice(TEXTS)
    if field.type == field.TYPE_BYTES:
        return os.urandom(rng.choice((0, 1, 4, 64))) if rng.random() < 0.3 else rng.choice(TEXTS).encode()
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return rng.choice((0.0, 1.0, -1.0, float("nan"), float("inf"), 1e30, 1e9, 0.5))
    if field.type == field.TYPE_ENUM:
        return rng.choice([v.number for v in field.enum_type.values])
    number = rng.choice(NUMBERS) if rng.random() < 0.7 else rng.randrange(-8, 40)
    return (
        max(-(2**31), min(2**31 - 1, number))
        if field.type == field.TYPE_INT32
        else max(0, number)
        if field.type == field.TYPE_UINT64
        else number
    )


def changed_field(model: onnx.ModelProto, rng: random.Random) -> None:
    owner, field = rng.choice(fields(model, []))
    value = getattr(owner, field.name)
    if field.is_repeated:
        at, kind = rng.randrange(len(value)), rng.random()
        if kind < 0.25:
            del value[at]
        elif field.type == field.TYPE_MESSAGE:
            if kind < 0.6:
                value.add().CopyFrom(value[at])
            else:
                value[at].CopyFrom(value[rng.randrange(len(value))])
        elif kind < 0.4:
            value.extend([other(field, rng)] * rng.choice((1, 1, 3, 20)))
        else:
            value[at] = other(field, rng)
    elif field.type == field.TYPE_MESSAGE:
        owner.ClearField(field.name)
    else:
        setattr(owner, field.name, other(field, rng))


def nested(model: onnx.ModelProto, rng: random.Random) -> None:
    """Subgraphs within subgraphs."""
    for _ in range(rng.choice((1, 4, 15, 30))):
        inner = onnx.GraphProto()
        inner.CopyFrom(model.graph)
        del inner.input[:]
        node = onnx.helper.make_node(
            "If",
            [rng.choice(("x", "sr", "same", "w"))],
            ["y"],
            then_branch=inner,
            else_branch=onnx.helper.make_graph([], "e", [], list(inner.output)),
        )
        del model.graph.node[:]
        model.graph.node.append(node)


def mutated(data: bytes, rng: random.Random) -> bytes:
    kind = rng.random()
    if kind < 0.7:
        try:
            model = onnx.ModelProto.FromString(data)
            if rng.random() < 0.02:
                nested(model, rng)
            if rng.random() < 0.03 and model.graph.initializer:
                t = rng.choice(model.graph.initializer)
                t.data_location = onnx.TensorProto.EXTERNAL
                onnx.external_data_helper.set_external_data(
                    t, rng.choice(TEXTS) or "w", rng.choice((None, 0, 2**40)), rng.choice((None, 4, 2**40))
                )
            for _ in range(rng.choice((1, 1, 2, 4, 10))):
                changed_field(model, rng)
            return model.SerializeToString()
        except ValueError:
            return data
    made = bytearray(data)
    for _ in range(rng.choice((1, 2, 8, 40))):
        at, way = rng.randrange(len(made) + 1), rng.random()
        if way < 0.15:
            del made[at:]
        elif way < 0.3:
            del made[at : at + rng.randrange(1, 32)]
        elif way < 0.45:
            made[at:at] = os.urandom(0) + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 16)))
        elif way < 0.55:
            made[at:at] = made[: rng.randrange(1, 200)]
        elif at < len(made):
            made[at] ^= 1 << rng.randrange(8)
        if not made:
            break
    return bytes(made)


def outcome(data: bytes, inputs: list[str], fix: dict[str, str], folder: Path) -> str:
    """ "refused", "no memory" or "runs"; or what went wrong."""
    file = folder / "changed.onnx"
    file.write_bytes(data)
    try:
        opened = open_file(file, inputs, fix, length=LENGTH)
        with torch.no_grad():
            opened.module(*(e.example(LENGTH, torch.float32) for e in opened.inputs))
        return "runs"
    except (ImportFailed, OSError) as e:
        for line in str(e).splitlines():
            if not line.isprintable():
                return f"WRONG: unprintable {line!r}"
        return "refused"
    except RuntimeError as e:
        if "allocate memory" in str(e):
            return "no memory"  # within the limits of the importer, and one line
        if type(e).__name__ == "NodeFailed":
            return f"WRONG: opened, and then {e}"
        return f"WRONG: {type(e).__name__}: {e}"
    except BaseException as e:
        return f"WRONG: {type(e).__name__}: {e}"


def case(seed: int) -> tuple[bytes, list[str], dict[str, str]]:
    rng = random.Random(seed)
    data, inputs, fix = rng.choice(SEEDS)
    return mutated(data, rng), inputs, fix


SEEDS = onnx_graphs.seeds()


def tried(seed: int, folder: Path) -> str:
    data, inputs, fix = case(seed)
    return outcome(data, inputs, fix, folder)


if __name__ == "__main__":
    mutations.main(__doc__ or "", tried, MEMORY)
