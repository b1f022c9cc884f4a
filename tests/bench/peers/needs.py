"""How a benchmark in Python ends: one line that says what is missing or wrong, and an exit code as of `longwave`."""

from __future__ import annotations

import importlib.util
import sys
from typing import Callable

WRONG, FAILED = 1, 4


class Failed(Exception):
    """The benchmark could not run."""


def needs(program: str, *modules: str) -> None:
    """Call it before these are imported."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        print(
            f"error: {program}: {sys.executable} has no {', '.join(missing)}; set LONGWAVE_PYTHON to a Python that has "
            f"{', '.join(modules)} (docs/import.md, Install)",
            file=sys.stderr,
        )
        sys.exit(FAILED)


def finish(program: str, main: Callable[[], list[str]]) -> None:
    """Runs `main`, which returns what differs from the peer."""
    try:
        wrong = main()
    except (Failed, OSError) as error:
        print(f"error: {program}: {error}", file=sys.stderr)
        sys.exit(FAILED)
    if wrong:
        print(f"error: {program}: {'; '.join(wrong)}", file=sys.stderr)
        sys.exit(WRONG)
