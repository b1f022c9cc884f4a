"""Operations that are several accepted ones, written with these.

Export writes them out, so each needs no rule of its own. A form that returns NotImplemented leaves the operation as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Union

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.node import Node

aten = torch.ops.aten
Dims = Union[Sequence[int], None]
Forms = dict[str, Callable[..., Any]]  # overload of an operation -> its form


def times(x: Tensor, number: float | Tensor) -> Tensor:
    """Without an operation for 1."""
    return x if isinstance(number, (int, float)) and number == 1 else number * x


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    return torch.cat([t.unsqueeze(dim) for t in tensors], dim % (tensors[0].dim() + 1))


def lerp(start: Tensor, end: Tensor, weight: float | Tensor) -> Tensor:
    return start + weight * (end - start)


def addcmul(x: Tensor, a: Tensor, b: Tensor, *, value: float = 1) -> Tensor:
    return x + times(a * b, value)


def addcdiv(x: Tensor, a: Tensor, b: Tensor, *, value: float = 1) -> Tensor:
    return x + times(a / b, value)


def added_product(x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """addmm, baddbmm and addmv. With beta=0 torch does not read x."""
    product = times(torch.matmul(a, b), alpha)
    return product if beta == 0 else times(x, beta) + product


def added_sum(x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    return added_product(x, a.transpose(0, 1).flatten(1), b.flatten(0, 1), beta=beta, alpha=alpha)


def deviations(x: Tensor, dim: Dims, correction: float | None, keepdim: bool) -> tuple[Tensor, Tensor]:
    """Variance and mean. `correction` None means 1."""
    dims = list(range(x.dim())) if dim is None or dim == [] else list(dim)
    mean = x.mean(dims, True)
    squares, count = (x - mean).square(), math.prod(x.shape[d] for d in dims)
    rest = count - (1 if correction is None else correction)
    variance = (
        squares.mean(dims, keepdim)
        if rest == count
        else squares.sum(dims, keepdim) * (1 / rest if rest > 0 else math.nan)
    )
    return variance, mean if keepdim else x.mean(dims)


def var(x: Tensor, dim: Dims = None, *, correction: float | None = None, keepdim: bool = False) -> Tensor:
    return NotImplemented if x.is_complex() else deviations(x, dim, correction, keepdim)[0]


def std(x: Tensor, dim: Dims = None, *, correction: float | None = None, keepdim: bool = False) -> Tensor:
    return NotImplemented if x.is_complex() else deviations(x, dim, correction, keepdim)[0].sqrt()


def var_mean(x: Tensor, dim: Dims = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    return NotImplemented if x.is_complex() else deviations(x, dim, correction, keepdim)


def std_mean(x: Tensor, dim: Dims = None, *, correction: float | None = None, keepdim: bool = False) -> Any:
    if x.is_complex():
        return NotImplemented
    variance, mean = deviations(x, dim, correction, keepdim)
    return variance.sqrt(), mean


def unbiased(function: Callable[..., Any]) -> Forms:
    """The older forms with a flag: (x, unbiased) and (x, dim, unbiased, keepdim)."""
    return {
        "default": lambda x, unbiased=True: function(x, correction=int(unbiased)),
        "dim": lambda x, dim, unbiased=True, keepdim=False: function(x, dim, correction=int(unbiased), keepdim=keepdim),
        "correction": function,
    }


def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: int | list[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    if x.is_complex() or dtype is not None or ord not in (1, 2):
        return NotImplemented
    dims = list(range(x.dim())) if dim is None else dim
    return x.abs().sum(dims, keepdim) if ord == 1 else x.square().sum(dims, keepdim).sqrt()


def selu(x: Tensor) -> Tensor:
    return 1.0507009873554805 * F.elu(x, 1.6732632423543772)


def as_strided(x: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Any:
    """Windows of samples that lie one after another, as torchaudio's Kaldi features cut them."""
    if x.dim() != 1 or x.stride(0) != 1 or len(size) != 2 or stride[1] != 1:
        return NotImplemented
    if stride[0] < 1 or storage_offset not in (None, x.storage_offset()):
        return NotImplemented
    windows = x.unfold(0, size[1], stride[0]) if size[1] <= x.shape[0] else x.new_zeros(0, size[1])
    return NotImplemented if size[0] > windows.shape[0] else windows[: size[0]]


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    result: Tensor = x.unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2)
    return result


def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    transposed: bool,
    output_padding: list[int],
    groups: int,
) -> Any:
    """As traced modules call it."""
    dims = weight.dim() - 2
    if dims not in (1, 2):
        return NotImplemented
    if transposed:
        transpose: Callable[..., Tensor] = aten.conv_transpose1d if dims == 1 else aten.conv_transpose2d.input
        return transpose(x, weight, bias, stride, padding, output_padding, groups, dilation)
    forward: Callable[..., Tensor] = aten.conv1d if dims == 1 else aten.conv2d
    return forward(x, weight, bias, stride, padding, dilation, groups)


def fft_of_axes(one: Callable[..., Tensor], many: Callable[..., Tensor], *, first: bool) -> Forms:
    """A transform of several axes as transforms of one axis each. `one`: of the last axis, which may begin or end with real numbers."""

    def transform(x: Tensor, s: Sequence[int] | None = None, dim: Dims = None, norm: str | None = None) -> Tensor:
        dims = list(
            range(x.dim() - len(s), x.dim())
            if dim is None and s is not None
            else range(x.dim())
            if dim is None
            else dim
        )
        sizes = [None if size == -1 else size for size in s] if s is not None else [None] * len(dims)
        steps = [
            (one, sizes[-1], dims[-1]),
            *((many, size, d) for size, d in zip(reversed(sizes[:-1]), reversed(dims[:-1]))),
        ]
        for function, size, d in steps if first else reversed(steps):
            x = function(x, size, d, norm)
        return x

    return {"default": transform}


def fft_forms() -> dict[str, Forms]:
    forms = {
        "rfft": (aten.fft_rfft, aten.fft_fft, True),
        "fft": (aten.fft_fft, aten.fft_fft, True),
        "irfft": (aten.fft_irfft, aten.fft_ifft, False),
        "ifft": (aten.fft_ifft, aten.fft_ifft, False),
    }

    def of_two(function: Callable[..., Tensor]) -> Forms:
        return {"default": lambda x, s=None, dim=(-2, -1), norm=None: function(x, s, dim, norm)}

    made = {f"fft_{name}n": fft_of_axes(one, many, first=first) for name, (one, many, first) in forms.items()}
    return made | {f"fft_{name}2": of_two(made[f"fft_{name}n"]["default"]) for name in forms}


def truncated(x: Tensor) -> Tensor:
    return x.sign() * x.abs().floor()


def threshold(x: Tensor, threshold: float, value: float) -> Tensor:
    return torch.where(x > threshold, x, value)


def logsumexp(x: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    largest = x.amax(dim, True)
    total = (x - largest).exp().sum(dim, True).log() + largest
    result: Tensor = total if keepdim else total.squeeze(dim)
    return result


def logaddexp(x: Tensor, y: Tensor) -> Tensor:
    return torch.maximum(x, y) + (-(x - y).abs()).exp().log1p()


FORMS = fft_forms() | {
    "logsumexp": {"default": logsumexp},
    "logaddexp": {"default": logaddexp},
    "sgn": {"default": lambda x: NotImplemented if x.is_complex() else x.sign()},
    "heaviside": {"default": lambda x, y: torch.where(x == 0, y, (x > 0).to(x.dtype))},
    "ceil": {"default": lambda x: -(-x).floor()},
    "trunc": {"default": truncated},
    "frac": {"default": lambda x: x - truncated(x)},
    "tan": {"default": lambda x: x.sin() / x.cos()},
    "cosh": {"default": lambda x: 0.5 * (x.exp() + (-x).exp())},
    "sinh": {"default": lambda x: 0.5 * (x.exp() - (-x).exp())},
    "expm1": {"default": lambda x: x.exp() - 1},
    "erfc": {"default": lambda x: 1 - x.erf()},
    "threshold": {"default": threshold},
    "softshrink": {"default": lambda x, lambd=0.5: (x - lambd).relu() - (-x - lambd).relu()},
    "hardshrink": {"default": lambda x, lambd=0.5: torch.where(x.abs() > lambd, x, 0.0)},
    "remainder": {"Scalar": lambda x, y: x - (x / y).floor() * y, "Tensor": lambda x, y: x - (x / y).floor() * y},
    "fmod": {"Scalar": lambda x, y: x - truncated(x / y) * y, "Tensor": lambda x, y: x - truncated(x / y) * y},
    "floor_divide": {"default": lambda x, y: (x / y).floor(), "Scalar": lambda x, y: (x / y).floor()},
    "hypot": {"default": lambda x, y: (x.square() + y.square()).sqrt()},
    "convolution": {"default": convolution},
    "stack": {"default": stack},
    "as_strided": {"default": as_strided},
    "channel_shuffle": {"default": channel_shuffle},
    "lerp": {"Scalar": lerp, "Tensor": lerp},
    "addcmul": {"default": addcmul},
    "addcdiv": {"default": addcdiv},
    "addmm": {"default": added_product},
    "baddbmm": {"default": added_product},
    "addmv": {"default": added_product},
    "addbmm": {"default": added_sum},
    "var": unbiased(var),
    "std": unbiased(std),
    "var_mean": unbiased(var_mean),
    "std_mean": unbiased(std_mean),
    "linalg_vector_norm": {"default": vector_norm},
    "mish": {"default": lambda x: x * F.softplus(x).tanh()},
    "hardsigmoid": {"default": lambda x: (x * (1 / 6) + 0.5).clamp(0, 1)},
    "log_sigmoid": {"default": lambda x: -F.softplus(-x)},
    "selu": {"default": selu},
    "celu": {"default": lambda x, alpha=1.0: alpha * F.elu(x / alpha)},
    "exp2": {"default": lambda x: (x * math.log(2)).exp()},
    "log2": {"default": lambda x: x.log() * (1 / math.log(2))},
    "log10": {"default": lambda x: x.log() * (1 / math.log(10))},
}
TABLE = {
    getattr(getattr(aten, name), overload): function
    for name, forms in FORMS.items()
    for overload, function in forms.items()
}


def written(n: Node) -> tuple[str, str] | None:
    """Name and operation that a node was a part of, as the module writes it."""
    for source in reversed(n.meta.get("from_node") or []):
        name = str(source.target).removeprefix("aten.").split(".")[0]
        if name in FORMS:
            return source.name, name
    return None
