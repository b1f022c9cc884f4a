"""Traced and scripted modules, as a module of Python operations."""
from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

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
    failed: BaseException | None = None
    for length in (LENGTH, *(i.rate for i in inputs if i.rate)):
        examples = tuple(i.example(length, floats) for i in inputs)
        try:
            with torch.no_grad(), quiet():
                module.eval()(*examples)
                return TS2EPConverter(module, examples).convert().module()
        except Exception as e:  # torch raises many types here
            failed = e
    raise ImportFailed([Problem(type(module).__name__, "", f"is a TorchScript module that PyTorch cannot convert: {first_line(failed)}",
                                "import the Python module that it was made from")])
