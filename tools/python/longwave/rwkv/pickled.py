"""The pickle of a file of weights, read as data: a small part of the language, which imports and calls nothing.

A pickle may name any function and call it. This reader knows the names and operations that tensors of torch.save need, gives
each a meaning of its own, and refuses the rest by name.
"""

from __future__ import annotations

import pickletools
import struct
from dataclasses import dataclass
from typing import Any

from .errors import Refused, shown

LARGEST = 16 << 20  # bytes
MOST_STEPS = 1 << 20
MOST_TENSORS = 1 << 15
MOST_ELEMENTS = 1 << 40
BYTES = {"BF16": 2, "F16": 2, "F32": 4}
# The name in a pickle, and what it is here.
STORAGES = {"torch BFloat16Storage": "BF16", "torch HalfStorage": "F16", "torch FloatStorage": "F32"}
TENSOR, DICTIONARY = "torch._utils _rebuild_tensor_v2", "collections OrderedDict"
KNOWN = (*STORAGES, TENSOR, DICTIONARY)
SAVE_AGAIN = "save a dict of its tensors with torch.save"
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
NUMBERS_AND_TEXTS = {"BININT", "BININT1", "BININT2", "LONG1", "BINUNICODE", "SHORT_BINUNICODE"}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


@dataclass(frozen=True)
class Name:
    """A function or class that a pickle names."""

    text: str


@dataclass(frozen=True)
class Storage:
    """Numbers of one file in the archive."""

    kind: str  # of BYTES
    file: str
    count: int


@dataclass(frozen=True)
class Stored:
    """A tensor: elements of a storage from `first` on, row by row."""

    storage: Storage
    first: int
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        product = 1
        for extent in self.shape:
            product *= extent
        return product


class Mark:
    pass


def whole(value: Any, most: int) -> bool:
    return type(value) is int and 0 <= value <= most


def storage_of(parts: Any) -> Storage:
    """What torch.save writes in place of numbers: ("storage", kind, file, device, count)."""
    if isinstance(parts, tuple) and len(parts) == 5 and parts[0] == "storage":
        _, kind, file, _, count = parts
        if isinstance(kind, Name) and kind.text in STORAGES and isinstance(file, str) and whole(count, MOST_ELEMENTS):
            return Storage(STORAGES[kind.text], file, count)
    raise Refused("the pickle has a reference that is not a storage of bfloat16, float16 or float32 numbers")


def tensor_of(parts: tuple[Any, ...]) -> Stored:
    """The arguments of _rebuild_tensor_v2: storage, first element, sizes, strides, and what only training reads."""
    if len(parts) not in (6, 7) or not isinstance(parts[0], Storage):
        raise Refused("the pickle makes a tensor of something that is not a storage")
    storage, first, shape, strides = parts[:4]
    sizes_fit = isinstance(shape, tuple) and len(shape) <= 8 and all(whole(n, MOST_ELEMENTS) for n in shape)
    if not sizes_fit or not isinstance(strides, tuple) or len(strides) != len(shape) or not whole(first, MOST_ELEMENTS):
        raise Refused("the pickle has a tensor whose sizes are no whole numbers")
    stored = Stored(storage, first, shape)
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != step:
            raise Refused("the pickle has a tensor whose rows do not follow each other; save it with .contiguous()")
        step *= extent
    if stored.count > MOST_ELEMENTS or first + stored.count > storage.count:
        raise Refused("the pickle has a tensor that reaches beyond its storage")
    return stored


class Machine:
    """The stack and the memo of a pickle."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def pop(self) -> Any:
        if not self.stack:
            raise Refused("the pickle is damaged: it takes more than it has made")
        return self.stack.pop()

    def top(self) -> Any:
        value = self.pop()
        self.stack.append(value)
        return value

    def since_mark(self) -> list[Any]:
        items: list[Any] = []
        while not isinstance(value := self.pop(), Mark):
            items.append(value)
        return items[::-1]

    def put(self, items: list[Any]) -> None:
        target = self.top()
        if not isinstance(target, dict) or len(items) % 2:
            raise Refused("the pickle is damaged: it adds entries to something that is not a dict")
        for key, value in zip(items[::2], items[1::2]):
            if not isinstance(key, str):
                raise Refused(f"the pickle has a key that is not a text; {SAVE_AGAIN}")
            target[key] = value

    def call(self) -> None:
        parts, what = self.pop(), self.pop()
        if not isinstance(what, Name) or not isinstance(parts, tuple):
            raise Refused("the pickle calls something that has no name")
        if what.text == DICTIONARY and not parts:
            self.stack.append({})
        elif what.text == TENSOR:
            self.stack.append(tensor_of(parts))
        else:
            raise Refused(f"the pickle calls {shown(what.text)} in a way that no file of weights needs; {SAVE_AGAIN}")

    def step(self, name: str, value: Any) -> None:
        if name == "GLOBAL":
            if value not in KNOWN:
                raise Refused(
                    f"the pickle names {shown(value)}; expected only tensors of bfloat16, float16 or float32; {SAVE_AGAIN}"
                )
            self.stack.append(Name(value))
        elif name in NUMBERS_AND_TEXTS:
            self.stack.append(value)
        elif name in CONSTANTS:
            self.stack.append(CONSTANTS[name])
        elif name == "EMPTY_TUPLE":
            self.stack.append(())
        elif name in TUPLES:
            self.stack.append(tuple([self.pop() for _ in range(TUPLES[name])][::-1]))
        elif name == "TUPLE":
            self.stack.append(tuple(self.since_mark()))
        elif name == "EMPTY_DICT":
            self.stack.append({})
        elif name == "MARK":
            self.stack.append(Mark())
        elif name in ("BINPUT", "LONG_BINPUT"):
            self.memo[value] = self.top()
        elif name in ("BINGET", "LONG_BINGET"):
            if value not in self.memo:
                raise Refused("the pickle is damaged: it reads what it has not kept")
            self.stack.append(self.memo[value])
        elif name == "SETITEM":
            value, key = self.pop(), self.pop()
            self.put([key, value])
        elif name == "SETITEMS":
            self.put(self.since_mark())
        elif name == "BINPERSID":
            self.stack.append(storage_of(self.pop()))
        elif name == "REDUCE":
            self.call()
        elif name == "BUILD":  # of an OrderedDict: versions of modules, which no tensor depends on
            self.pop()
            if not isinstance(self.top(), dict):
                raise Refused("the pickle sets attributes of something that is not a dict")
        elif name != "PROTO":
            raise Refused(f"the pickle has the operation {name}, which no file of weights needs; {SAVE_AGAIN}")


def tensors(data: bytes) -> dict[str, Stored]:
    """The tensors of a pickle, by name. Raises Refused."""
    if len(data) > LARGEST:
        raise Refused(f"the pickle has {len(data)} bytes; expected at most {LARGEST}")
    machine = Machine()
    try:
        for steps, (operation, value, _) in enumerate(pickletools.genops(data)):
            if operation.name == "STOP":
                break
            if steps >= MOST_STEPS:
                raise Refused(f"the pickle has more than {MOST_STEPS} operations")
            machine.step(operation.name, value)
    except (ValueError, OverflowError, struct.error) as error:
        raise Refused(f"the pickle is damaged: {shown(str(error))}") from error
    found = machine.pop()
    if machine.stack or not isinstance(found, dict) or not 0 < len(found) <= MOST_TENSORS:
        raise Refused(f"the pickle holds no dict of tensors; {SAVE_AGAIN}")
    for name, value in found.items():
        if not isinstance(value, Stored):
            raise Refused(f"the pickle has {shown(name)}, which is not a tensor; {SAVE_AGAIN}")
    return found
