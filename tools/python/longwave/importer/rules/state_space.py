"""Diagonal state spaces as recurrences: a kernel that is a sum of few exponentials keeps its poles, not its taps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from ..recovered import Recovered

REMEMBERS = 4096  # rows: poles that remember more keep their state in float64


def state_space(
    graph: Recovered,
    value: int,
    poles: Tensor,
    c: Tensor,
    d: Tensor | None = None,
    *,
    imaginary: int | None = None,
    logarithms: bool = False,
) -> int:
    """y[t] = Re sum_n c[n] s_n[t] + D x[t] with s_n[t] = poles[n] s_n[t-1] + x[t], for each channel of `value`.

    `poles` complex [H, N]: the factor of one row, or with `logarithms` its logarithm, which is exact for poles near 1.
    `c` complex [H, N], or [copies, H, N] for several results per channel. One of a pair of conjugates stands for both if
    its c is doubled. `d` [H] or [copies, H]; None: zeros. `imaginary`: a value with the imaginary parts of x. The kernel is
    the taps `taps(poles, c, count)`. Returns the value {copies, H} or {H}.
    """
    constants, attributes = operands(poles if logarithms else torch.log(poles), c, d, imaginary is not None)
    copies, heads = attributes["channels"], len(poles)
    dims = (copies, heads) if copies > 1 and heads > 1 else (copies * heads,)
    return graph.emit(
        "state_space",
        [value] if imaginary is None else [value, imaginary],
        constants,
        attributes,
        copies * heads,
        dims=dims,
    )


def operands(
    logarithms: Tensor, c: Tensor, d: Tensor | None, imaginary: bool = False
) -> tuple[list[tuple[str, Tensor]], dict[str, int]]:
    """Constants and attributes of the op, from what `state_space` takes."""
    exact, c = logarithms.to(torch.complex128), c.to(torch.complex128).reshape(-1, *c.shape[-2:])
    copies, heads, _ = c.shape
    d = torch.zeros(copies, heads, dtype=torch.float64) if d is None else d.to(torch.float64).reshape(copies, heads)
    parts = torch.view_as_real(exact).clamp(min=-200.0)  # e^-200 is 0 beside float32
    high = parts.to(torch.float32).to(torch.float64)
    low = (parts - high).to(torch.float32).to(torch.float64)
    slowest = float(exact.real.max())
    attributes = {"channels": copies, "complex": int(imaginary), "state": 64 if slowest > -1.0 / REMEMBERS else 32}
    return [("poles", torch.cat([high, low], -1)), ("c", torch.view_as_real(c)), ("D", d)], attributes


def taps(poles: Tensor, c: Tensor, count: int, *, logarithms: bool = False) -> Tensor:
    """The kernel [..., count] of these poles, lag 0 first."""
    exact = (poles if logarithms else torch.log(poles)).to(torch.complex128)
    powers = torch.exp(exact[..., None] * torch.arange(count))
    return (c.to(torch.complex128)[..., None] * powers).sum(-2).real
