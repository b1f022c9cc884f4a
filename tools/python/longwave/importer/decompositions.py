"""Operations that are several accepted ones, written with these.

Export writes them out, so each needs no rule of its own.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.node import Node

aten = torch.ops.aten


def times(x, number):
    """Without an operation for 1."""
    return x if isinstance(number, (int, float)) and number == 1 else number * x


def stack(tensors, dim=0):
    return torch.cat([t.unsqueeze(dim) for t in tensors], dim % (tensors[0].dim() + 1))


def lerp(start, end, weight):
    return start + weight * (end - start)


def addcmul(x, a, b, *, value=1):
    return x + times(a * b, value)


def addcdiv(x, a, b, *, value=1):
    return x + times(a / b, value)


def added_product(x, a, b, *, beta=1, alpha=1):
    """addmm, baddbmm and addmv. With beta=0 torch does not read x."""
    product = times(torch.matmul(a, b), alpha)
    return product if beta == 0 else times(x, beta) + product


def added_sum(x, a, b, *, beta=1, alpha=1):
    return added_product(x, a.transpose(0, 1).flatten(1), b.flatten(0, 1), beta=beta, alpha=alpha)


def deviations(x: Tensor, dim, correction, keepdim: bool) -> tuple[Tensor, Tensor]:
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


def var(x, dim=None, *, correction=None, keepdim=False):
    return NotImplemented if x.is_complex() else deviations(x, dim, correction, keepdim)[0]


def std(x, dim=None, *, correction=None, keepdim=False):
    return NotImplemented if x.is_complex() else deviations(x, dim, correction, keepdim)[0].sqrt()


def var_mean(x, dim=None, *, correction=None, keepdim=False):
    return NotImplemented if x.is_complex() else deviations(x, dim, correction, keepdim)


def std_mean(x, dim=None, *, correction=None, keepdim=False):
    if x.is_complex():
        return NotImplemented
    variance, mean = deviations(x, dim, correction, keepdim)
    return variance.sqrt(), mean


def unbiased(function):
    """The older forms with a flag: (x, unbiased) and (x, dim, unbiased, keepdim)."""
    return {
        "default": lambda x, unbiased=True: function(x, correction=int(unbiased)),
        "dim": lambda x, dim, unbiased=True, keepdim=False: function(x, dim, correction=int(unbiased), keepdim=keepdim),
        "correction": function,
    }


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if x.is_complex() or dtype is not None or ord not in (1, 2):
        return NotImplemented
    dims = list(range(x.dim())) if dim is None else dim
    return x.abs().sum(dims, keepdim) if ord == 1 else x.square().sum(dims, keepdim).sqrt()


def selu(x):
    return 1.0507009873554805 * F.elu(x, 1.6732632423543772)


def channel_shuffle(x, groups):
    return x.unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2)


def convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    """As traced modules call it."""
    dims = weight.dim() - 2
    if dims not in (1, 2):
        return NotImplemented
    if transposed:
        call = aten.conv_transpose1d if dims == 1 else aten.conv_transpose2d.input
        return call(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return (aten.conv1d if dims == 1 else aten.conv2d)(x, weight, bias, stride, padding, dilation, groups)


def fft_of_axes(one, many, *, first: bool):
    """A transform of several axes as transforms of one axis each. `one`: of the last axis, which may begin or end with real numbers."""

    def transform(x, s=None, dim=None, norm=None):
        dims = list(
            range(x.dim() - len(s), x.dim())
            if dim is None and s is not None
            else range(x.dim())
            if dim is None
            else dim
        )
        sizes = list(s) if s is not None else [None] * len(dims)
        sizes = [None if size == -1 else size for size in sizes]
        steps = [
            (one, sizes[-1], dims[-1]),
            *((many, size, d) for size, d in zip(reversed(sizes[:-1]), reversed(dims[:-1]))),
        ]
        for function, size, d in steps if first else reversed(steps):
            x = function(x, size, d, norm)
        return x

    return {"default": transform}


def fft_forms() -> dict:
    forms = {
        "rfft": (aten.fft_rfft, aten.fft_fft, True),
        "fft": (aten.fft_fft, aten.fft_fft, True),
        "irfft": (aten.fft_irfft, aten.fft_ifft, False),
        "ifft": (aten.fft_ifft, aten.fft_ifft, False),
    }

    def of_two(function):
        return {"default": lambda x, s=None, dim=(-2, -1), norm=None: function(x, s, dim, norm)}

    made = {f"fft_{name}n": fft_of_axes(one, many, first=first) for name, (one, many, first) in forms.items()}
    return made | {f"fft_{name}2": of_two(made[f"fft_{name}n"]["default"]) for name in forms}


def truncated(x):
    return x.sign() * x.abs().floor()


def threshold(x, threshold, value):
    return torch.where(x > threshold, x, value)


def logsumexp(x, dim, keepdim=False):
    largest = x.amax(dim, True)
    total = (x - largest).exp().sum(dim, True).log() + largest
    return total if keepdim else total.squeeze(dim)


def logaddexp(x, y):
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
