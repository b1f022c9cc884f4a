"""What a node of an exported graph holds."""

from __future__ import annotations

from typing import Any

from torch.fx.node import Node


def args_of(node: Node) -> tuple[Any, ...]:
    """Its arguments. The schema of its operation says what each of them is, and the type of `Node.args` does not."""
    return node.args


def kwargs_of(node: Node) -> dict[str, Any]:
    return node.kwargs
