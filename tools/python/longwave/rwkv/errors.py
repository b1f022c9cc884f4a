"""What the reader says of a file that it does not take."""

from __future__ import annotations


class Refused(Exception):
    """One line: what is wrong, what was expected, what to do."""


def shown(text: object, most: int = 100) -> str:
    """Text of a file, as it may be printed: one line of ASCII."""
    line = ascii(text)
    return line if len(line) <= most else f"{line[:most]}..."
