"""Traced and scripted modules, as a module of Python operations."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from .blame import first_line
from .errors import ImportFailed, Problem
from .export import quiet
from .inputs import Input
from .wrappers import unwrapped

LENGTH = 96  # rows of the conversion: many divisors, so that strides fit


def python_module(module: nn.Module, inputs: Sequence[Input]) -> nn.Module:
    """The operations of a TorchScript module with its weights; another module as it is. Raises ImportFailed."""
    module = unwrapped(module)
    if not isinstance(module, torch.jit.ScriptModule):
        return module
    from torch._export.converter import TS2EPConverter

    floats = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
    failed = ""
    for length in (LENGTH, *(i.rate for i in inputs if i.rate)):
        try:
            with torch.no_grad(), quiet():
                made = (
                    TS2EPConverter(module.eval(), examples(inputs, length, floats)).convert().module(check_guards=False)
                )
                if same(
                    module, made, [examples(inputs, rows, floats) for rows in (length, 2 * length, length // 2 * 3)]
                ):
                    return made
        except Exception as e:  # torch raises many types here
            failed = f"PyTorch cannot convert it: {first_line(e)}"
    raise ImportFailed(
        [
            Problem(
                type(module).__name__,
                "",
                f"is a TorchScript module; {failed or 'it means what it was traced with at one length only'}",
                "import the Python module that it was made from",
            )
        ]
    )


def examples(inputs: Sequence[Input], length: int, floats: torch.dtype) -> tuple[Tensor, ...]:
    return tuple(i.example(length, floats) for i in inputs)


def same(module: nn.Module, made: nn.Module, arguments: list[tuple[Tensor, ...]]) -> bool:
    for x in arguments:
        pairs = zip(tree_leaves(module(*x)), tree_leaves(made(*x)), strict=True)
        if not all(
            a.shape == b.shape and torch.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
            for a, b in pairs
            if isinstance(a, Tensor)
        ):
            return False
    return True
