"""What `train` says on the way: a line per stage, and within a stage a line every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

EVERY = 5.0  # seconds between two lines of a stage

Item = TypeVar("Item")


class Progress:
    def __init__(self, print_line: Callable[[str], None]) -> None:
        self.print_line = print_line
        self.begin = time.monotonic()

    def line(self, text: str) -> None:
        self.print_line(f"{self.seconds():6.1f} s  {text}")

    def seconds(self) -> float:
        return time.monotonic() - self.begin

    def through(self, items: Iterable[Item], count: int, text: str) -> Iterator[Item]:
        """The items, of which there are `count`; `text` is what is done with them."""
        self.line(text)
        last = self.seconds()
        for number, item in enumerate(items):
            if self.seconds() - last >= EVERY:
                self.line(f"{text}: {number} of {count}")
                last = self.seconds()
            yield item
