"""JSON of a file that is not trusted: every member that is missing, wrong or not known has a line."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from ..errors import ImportFailed, Problem
from .limits import DIGITS, FILE

AGAIN = "export the capture again"


class NotPlain(ValueError):
    """JSON that reads in more than one way, or is not JSON."""


def refuse_constant(text: str) -> NoReturn:
    raise NotPlain(f"{text} is not a number of JSON")


def whole_number(text: str) -> int:
    if len(text) > DIGITS:
        raise NotPlain(f"a number has {len(text)} digits, at most {DIGITS}")
    return int(text)


def members_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        raise NotPlain(f'"{next(name for name in names if names.count(name) > 1)}" is there twice')
    return members


def read_object(path: Path) -> dict[str, object]:
    """Raises ImportFailed and OSError."""

    def failed(reason: str, way_out: str = AGAIN) -> ImportFailed:
        return ImportFailed([Problem(str(path), "", reason, way_out)])

    with path.open("rb") as stream:
        content = stream.read(FILE + 1)
    if len(content) > FILE:
        raise failed(f"has more than {FILE:,} bytes", "give a capture, not a recording or an archive")
    try:
        found = json.loads(
            content.decode("utf-8-sig"),
            parse_constant=refuse_constant,
            parse_int=whole_number,
            object_pairs_hook=members_once,
        )
    except RecursionError:
        raise failed("is nested too deep") from None
    except ValueError as e:  # of JSON, UTF-8 and NotPlain
        raise failed(f"is not JSON that can be read: {e}") from e
    if not isinstance(found, dict):
        raise failed("is JSON, but not an object")
    return found


def kind(value: object) -> str:
    """What a message calls it."""
    if value is None or isinstance(value, (bool, int, float)):
        return json.dumps(value)
    if isinstance(value, str):
        return json.dumps(value[:40])
    return f"a list of {len(value)}" if isinstance(value, list) else "an object"


def is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass
class Fields:
    """The members of one object. What is wrong is noted in `problems`, and a value that fits takes its place."""

    where: str
    members: dict[str, object]
    problems: list[Problem]
    read: set[str] = field(default_factory=set)

    def wrong(self, name: str, reason: str, way_out: str = AGAIN) -> None:
        self.problems.append(Problem(f"{self.where}.{name}" if self.where else name, "", reason, way_out))

    def has(self, name: str) -> bool:
        """Whether it is there and not null."""
        self.read.add(name)
        return self.members.get(name) is not None

    def value(self, name: str) -> object:
        self.read.add(name)
        return self.members.get(name)

    def expected(self, name: str, what: str, value: object) -> None:
        found = kind(value) if name.partition("[")[0] in self.members else "none"
        self.wrong(name, f"expected {what}, found {found}")

    def checked_whole(self, name: str, value: object, low: int, high: int) -> int:
        if is_number(value) and isinstance(value, (int, float)) and low <= value <= high and value == int(value):
            return int(value)
        self.expected(name, f"a whole number from {low:,} to {high:,}", value)
        return low

    def whole(self, name: str, low: int, high: int, default: int | None = None) -> int:
        value = self.value(name)
        return default if default is not None and value is None else self.checked_whole(name, value, low, high)

    def wholes(self, name: str, low: int, high: int, most: int) -> list[int]:
        return [
            self.checked_whole(f"{name}[{i}]", value, low, high) for i, value in enumerate(self.several(name, most))
        ]

    def number(self, name: str, default: float | None = None) -> float:
        value = self.value(name)
        if default is not None and value is None:
            return default
        if isinstance(value, (int, float)) and is_number(value) and math.isfinite(value) and abs(value) < 1e30:
            return float(value)
        self.expected(name, "a number", value)
        return 0.0

    def flag(self, name: str, default: bool | None = None) -> bool:
        value = self.value(name)
        if default is not None and value is None:
            return default
        if not isinstance(value, bool):
            self.expected(name, "true or false", value)
        return value is True

    def word(self, name: str, known: Collection[str]) -> str:
        value = self.value(name)
        if isinstance(value, str) and value in known:
            return value
        self.expected(name, f"one of {', '.join(known)}", value)
        return next(iter(known))

    def several(self, name: str, most: int) -> list[object]:
        """A list of one to `most` values."""
        value = self.value(name)
        if isinstance(value, list) and 1 <= len(value) <= most:
            return value
        self.expected(name, f"a list of 1 to {most}", value)
        return []

    def part(self, name: str) -> Fields:
        return self.of(name, self.value(name))

    def of(self, name: str, value: object) -> Fields:
        if not isinstance(value, dict):
            self.expected(name, "an object", value)
            return Fields("", {}, [])  # what it lacks is a consequence
        return Fields(f"{self.where}.{name}" if self.where else name, value, self.problems)

    def parts(self, name: str, most: int) -> Iterator[Fields]:
        for i, value in enumerate(self.several(name, most)):
            yield self.of(f"{name}[{i}]", value)

    def each(self, name: str, count: int, one: Callable[[str, object], object]) -> list[object]:
        """For each of `count` layers: one value for all, or a list with a value for each."""
        value = self.value(name)
        if not isinstance(value, list):
            return [one(name, value)] * count
        if len(value) != count:
            self.wrong(name, f"has {len(value)} values for {count} layers")
            return [one(f"{name}[0]", value[0])] * count if value else [one(name, None)] * count
        return [one(f"{name}[{i}]", part) for i, part in enumerate(value)]

    def done(self) -> None:
        """Refuses what nobody read."""
        for name in self.members:
            if name not in self.read:
                self.wrong(name, "is not known", "update Longwave, or export the capture with an older trainer")
