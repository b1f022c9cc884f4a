"""--initial: a state before the first row."""

from __future__ import annotations

import numpy

from ..errors import ImportFailed, Problem


def value(text: str) -> tuple[str, object]:
    """h=FILE.npy, h=zeros, h=settle:4096 or settle:4096 for all, as `import_module` takes it."""

    def fail(
        reason: str,
        way_out: str = "write h=FILE.npy, h=zeros, h=settle:4096, or settle:4096 for all that the module remembers",
    ) -> ImportFailed:
        return ImportFailed([Problem(f"--initial {text}", "", reason, way_out)])

    name, equals, given = text.partition("=")
    if text.startswith("settle:"):
        name, equals, given = "", "=", text
    elif not equals or not name or not given:
        raise fail("expected INPUT=VALUE")
    if given == "zeros":
        return name, given
    if given.startswith("settle:"):
        if not given[7:].isdigit():
            raise fail("expected a number of rows")
        return name, ("settle", int(given[7:]))
    try:
        return name, numpy.load(given, allow_pickle=False)
    except (OSError, ValueError) as e:
        raise fail(f"cannot be read: {e}") from e
