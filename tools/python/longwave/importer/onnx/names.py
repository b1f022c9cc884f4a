"""Names of nodes as addresses of modules: printable, short, and one for each node."""

from __future__ import annotations

from ..text import UNSEEN
from .limits import NAME


def address(name: str, op_type: str, taken: set[str]) -> str:
    """A module's address has no dots."""
    made = "".join(c if c.isprintable() and c not in UNSEEN and c != "." else "_" for c in name.lstrip("/")) or op_type
    made = made.encode("utf-8", "replace")[:NAME].decode("utf-8", "ignore") or "node"
    found, count = made, 1
    while found in taken:
        count += 1
        found = f"{made}_{count}"
    taken.add(found)
    return found
