"""One node of a graph as a torch module, named as the node, so that each message and report has that name."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes

from ..blame import first_line
from ..errors import Refused
from .call import Call, Held
from .limits import NUMBERS
from .ops import TABLE
from .refusals import no_rule


def broken(title: str, kind: str, opset: int, writes: list[str], e: Refused) -> Step:
    """In place of what cannot be read: a tensor, a node, a result."""
    made = Step(title, kind, "", {}, opset, [], writes)
    made.broken = e
    return made


class NodeFailed(RuntimeError):
    """What a node raises at some length, with its name. `reason`: without it."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.reason = reason


def results(made: Any) -> list[Any]:
    return list(made) if isinstance(made, (list, tuple)) else [made]


# Operations whose tensors all have one type, which PyTorch does not check where it tells shapes alone.
ONE_TYPE = {
    "MatMul",
    "Gemm",
    "Conv",
    "ConvTranspose",
    "Einsum",
    "PRelu",
    "BatchNormalization",
    "InstanceNormalization",
    "LayerNormalization",
    "GroupNormalization",
}


def one_type(call: Call) -> None:
    types = sorted({str(t.dtype).removeprefix("torch.") for t in call.tensors()})
    if len(types) > 1 or types and not types[0].startswith("float"):
        raise Refused(f"reads {' and '.join(types)}", "give it floating point numbers of one type: add Cast")


class Step(nn.Module):
    """`reads`, `writes`: names of values; "" where an optional one is left out."""

    def __init__(
        self,
        name: str,
        op_type: str,
        domain: str,
        attributes: dict[str, Any],
        opset: int,
        reads: list[str],
        writes: list[str],
    ) -> None:
        super().__init__()
        self.title, self.op_type, self.domain, self.attributes, self.opset, self.reads, self.writes = (
            name,
            op_type,
            domain,
            attributes,
            opset,
            reads,
            writes,
        )
        self.broken: Refused | None = None  # why it never runs

    @property
    def full_type(self) -> str:
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type

    @property
    def kind(self) -> str:
        return f"{self.full_type} of opset {self.opset}" if self.opset else self.full_type

    def refused(self) -> Refused | None:
        return self.broken or (no_rule(self.op_type, self.domain) if self.domain or self.op_type not in TABLE else None)

    def forward(self, values: list[Any], device: str = "cpu") -> list[Any]:
        """Raises Refused, NodeFailed."""
        if refused := self.refused():
            raise refused
        if values and not any(isinstance(v, Tensor) for v in values) or not self.reads:
            return known(self, values)
        return self.run(values, device)

    def run(self, values: list[Any], device: str) -> list[Any]:
        call = Call(self.attributes, self.opset, len(self.writes), values, device)
        try:
            if self.op_type in ONE_TYPE:
                one_type(call)
            return results(TABLE[self.op_type](call))
        except Refused:
            raise
        except (
            RuntimeError,
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            AttributeError,
            NotImplementedError,
            ZeroDivisionError,
            OverflowError,
        ) as e:
            raise NodeFailed(f"{self.title} ({self.kind})", first_line(e)) from e


def known(step: Step, values: list[Any]) -> list[Any]:
    """Of values that are known: computed now, also while torch traces. Their sizes are told first."""
    arrays = [v.array if isinstance(v, Held) else v for v in values]
    with _disable_current_modes(), torch._C.DisableTorchFunction(), torch.no_grad():
        for made in step.run(arrays, "meta"):
            if isinstance(made, Tensor) and made.numel() > NUMBERS:
                raise Refused(f"makes a tensor of shape {list(made.shape)}", f"at most {NUMBERS:,} numbers")
        return [
            np.array(made.numpy(), order="C") if isinstance(made, Tensor) else np.asarray(made)
            for made in step.run(arrays, "cpu")
        ]
