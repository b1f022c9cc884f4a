"""The inputs and outputs of an ONNX graph: which are fixed, which are states, and where time is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx

from ..errors import ImportFailed, Problem, Refused
from ..inputs import Input, parse_input
from .limits import NUMBERS
from .tensors import TYPES, numpy_type, type_name

FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16, onnx.TensorProto.DOUBLE)
# Names of an extent that may change.
TIME = re.compile(r"time|seq|frame|len|row|step|sample|^t$", re.IGNORECASE)
BATCH = re.compile(r"batch|^b$|^bs$|^n$|^unk|^\?$", re.IGNORECASE)


@dataclass(frozen=True)
class Value:
    """`shape`: 0 or the name of an extent that may change."""

    name: str
    code: int
    shape: tuple[int | str, ...]

    @property
    def text(self) -> str:
        return f"{type_name(self.code)} [{', '.join(str(n or '?') for n in self.shape)}]"


def values_of(entries: Sequence[onnx.ValueInfoProto]) -> list[Value]:
    found = []
    for v in entries:
        if not v.name:
            raise ImportFailed(
                [Problem("graph", "", "an input or an output has no name", "the file is damaged: export it again")]
            )
        if not v.type.HasField("tensor_type"):
            raise ImportFailed([Problem(v.name, "", "is not a tensor", "let the graph read and give tensors")])
        dims = v.type.tensor_type.shape.dim
        found.append(
            Value(v.name, v.type.tensor_type.elem_type, tuple(d.dim_param or max(d.dim_value, 0) for d in dims))
        )
    return found


def fixed_of(texts: Mapping[str, str], values: Sequence[Value]) -> dict[str, np.ndarray]:
    """Arrays of the inputs that the user fixes. Raises ImportFailed."""
    made: dict[str, np.ndarray] = {}
    by_name = {v.name: v for v in values}
    for name, text in texts.items():
        where = f"--fix {name}={text}"
        if name not in by_name:
            raise ImportFailed(
                [Problem(where, "", f"the graph has no input {name}", f"its inputs are {', '.join(by_name)}")]
            )
        value = by_name[name]
        shape = [n if isinstance(n, int) and n else 1 for n in value.shape]
        try:
            numbers = np.array([number(part) for part in text.split(",")])
            if np.prod(shape, dtype=object) > NUMBERS:
                raise ValueError("it is too large")
            made[name] = np.array(
                np.broadcast_to(numbers.reshape(shape) if len(numbers) > 1 else numbers[0], shape),
                numpy_type(value.code),
            )
        except Refused as e:
            raise ImportFailed([Problem(where, "", str(e), e.way_out)]) from e
        except (ValueError, OverflowError) as e:
            raise ImportFailed(
                [
                    Problem(
                        where,
                        "",
                        f"is not a value of {value.text}",
                        "write one number, or as many as it has with commas between",
                    )
                ]
            ) from e
    return made


def number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def told(text: str) -> tuple[str, str]:
    """--fix sr=16000"""
    name, equals, value = text.partition("=")
    if not equals or not name or not value:
        raise ImportFailed([Problem(f"--fix {text}", "", "expected NAME=VALUE", "write sr=16000")])
    return name, value


def inputs_of(values: Sequence[Value], given: Sequence[str], states: Mapping[str, str]) -> list[Input]:
    """With the time axis of each, in the order of the graph. `given`: texts of --input for some or all of them. In a graph with
    states, what has no time axis is one row for each call."""
    by_name = {v.name: v for v in values}
    entries: dict[str, Input] = {}
    problems: list[Problem] = []
    for text in given:
        entry = parse_input(text, batchless=True)
        if entry.name not in by_name:
            problems.append(
                Problem(
                    f"--input {text}",
                    "",
                    "the graph has no such input that is not fixed",
                    f"its inputs are {', '.join(by_name) or 'all fixed'}",
                )
            )
        elif wrong := mismatch(entry, by_name[entry.name]):
            problems.append(Problem(f"--input {text}", "", *wrong))
        else:
            entries[entry.name] = samples_of_a_call(entry, by_name[entry.name]) if states else entry
    for v in values:
        if v.name in entries or problems and v.name in states:
            continue
        made = Input(v.name, still(v)) if v.name in states else guessed(v, bool(states))
        if isinstance(made, Problem):
            if not v.shape:
                others = ", ".join(f"{w.name} {w.text}" for w in values if w is not v)
                made = replace(made, way_out=f"{made.way_out}; the other inputs are {others or 'none'}")
            problems.append(made)
        else:
            entries[v.name] = made
    if problems:
        raise ImportFailed(problems)
    return [entries[v.name] for v in values]


RATES = {"sr", "fs", "rate", "sample_rate", "sampling_rate", "samplerate"}


def check_rates(fixed: Mapping[str, np.ndarray], entries: Sequence[Input]) -> None:
    """A graph may read its rate. Raises ImportFailed where that is another one than its audio has."""
    for name, value in fixed.items():
        for e in entries:
            if name.lower() in RATES and e.rate and value.size == 1 and value.item() != e.rate:
                raise ImportFailed(
                    [
                        Problem(
                            f"--fix {name}={value.item()}",
                            "",
                            f"is another rate than that of the audio {e.name}, {e.rate} Hz",
                            f"give both the rate of the graph: --fix {name}={e.rate}, or @{value.item()} in --input",
                        )
                    ]
                )


def samples_of_a_call(entry: Input, value: Value) -> Input:
    """audio=16000 of a graph with states that takes a fixed number of samples in each call."""
    fixed = (
        entry.rate
        and entry.timed
        and entry.shape[-1] == 0
        and len(value.shape) == len(entry.shape)
        and isinstance(value.shape[-1], int)
        and value.shape[-1] > 1
    )
    return Input(entry.name, (*entry.shape[:-1], int(value.shape[-1])), entry.rate) if fixed else entry


def still(v: Value) -> tuple[int, ...]:
    """Its shape with a batch of 1 and nothing that changes."""
    return tuple(n if isinstance(n, int) and n else 1 for n in v.shape)


LEAVE_OUT = "floating point numbers and token ids are read: leave the Cast out of the graph"


def is_read(v: Value) -> bool:
    return v.code in TYPES and TYPES[v.code][0] in (np.float32, np.float64, np.int32, np.int64)


def mismatch(entry: Input, value: Value) -> tuple[str, str] | None:
    if value.code not in TYPES:
        return f"the graph reads {value.text}", LEAVE_OUT
    whole = numpy_type(value.code) in (np.int32, np.int64)
    if whole != bool(entry.vocabulary):
        return (
            f"the graph reads {value.text}",
            "name token ids so: ids=1xT:256" if whole else "only integer inputs are token ids",
        )
    if len(entry.shape) != len(value.shape) or not (entry.timed or value.code in FLOATS):
        return f"the graph reads {value.text}", whole_form(entry, value) or "write as many extents, with T for time"
    for ours, theirs in zip(entry.shape, value.shape):
        if ours and isinstance(theirs, int) and theirs and ours != theirs:
            return f"the graph reads {value.text}", whole_form(entry, value) or "write its extents, with T for time"
    return None


def whole_form(entry: Input, value: Value) -> str:
    """For audio of a graph that takes so many samples in each call: its extents."""
    if not entry.rate or not all(isinstance(n, int) and n for n in value.shape):
        return ""
    return f"write its extents: --input {entry.name}={'x'.join(map(str, value.shape))}@{entry.rate}"


def guessed(v: Value, stepped: bool) -> Input | Problem:
    """The only extent that may change is time, beside a batch in front. With none, and states, a call is a row."""
    forms = ", ".join(shown(v, axis) for axis in range(len(v.shape)) if axis or len(v.shape) > 1)
    if not v.shape:
        return Problem(v.name, "", f"is {v.text}: it has no time axis", f"fix it: --fix {v.name}=VALUE")
    if not is_read(v):
        return Problem(v.name, "", f"is {v.text}", LEAVE_OUT)
    if v.code not in FLOATS:
        return Problem(
            v.name, "", f"is {v.text}", f"fix it: --fix {v.name}=VALUE, or name its token ids: --input {v.name}=1xT:256"
        )
    free = [d for d, n in enumerate(v.shape) if not isinstance(n, int) or n == 0]
    if free[:1] == [0] and not TIME.search(str(v.shape[0])) and (len(free) > 1 or BATCH.search(str(v.shape[0]))):
        free = free[1:]  # the batch
    if not free and stepped:
        return Input(v.name, still(v))
    if not free and not isinstance(v.shape[0], int):
        free = [0]
    if len(free) != 1 or free == [0] and not TIME.search(str(v.shape[0])):
        why = (
            "none of its extents may change"
            if not free
            else "more than one of its extents may change"
            if len(free) > 1
            else "its first extent may be a batch"
        )
        return Problem(
            v.name,
            "",
            f"is {v.text}: {why}, so time is not clear",
            f"say it: --input with one of {forms or 'its extents and T'}; or fix it: --fix {v.name}=VALUE",
        )
    return Input(v.name, tuple(0 if d == free[0] else n for d, n in enumerate(still(v))))


def shown(v: Value, time: int) -> str:
    return f"{v.name}=" + "x".join(
        "T" if d == time else str(n if isinstance(n, int) and n else 1) for d, n in enumerate(v.shape)
    )
