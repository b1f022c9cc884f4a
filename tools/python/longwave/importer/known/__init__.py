"""Published layers that become one layer of the package, with their own parameters, and not a graph of operations.

A module is recognised by its attributes and the shapes of its parameters, not by its name or where it was imported from. It
counts only if our own layer with its parameters gives its results in float64.
"""

from __future__ import annotations

import copy
import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ...package import tensor_keys

EXACT = 1e-10  # of the peak, in float64
_LONGEST = 160  # rows of the comparison; the proof of the whole model takes all


@dataclass
class Known:
    type: str  # of the layer in the package
    attributes: dict[str, Any]
    tensors: dict[str, Tensor]  # by parameter of the layer
    reference: Callable[[Tensor], Tensor]  # (1, T, width) -> (1, T, features) in float64: our layer
    width: int  # of its input
    dims: tuple[int, ...]  # of a row of its result
    features_first: bool = False  # the module takes and gives (1, features, T)
    looks_ahead: bool = False

    def __deepcopy__(self, memo: dict[int, object]) -> Known:
        return self

    def shape(self, shape: Sequence[int]) -> list[int]:
        features = torch.Size(self.dims).numel()
        return [1, features, shape[2]] if self.features_first else [1, shape[1], features]


class Wide(TorchFunctionMode):
    """Modules that compute a part in float32, whatever they are given, compute it in float64."""

    def __enter__(self) -> Wide:
        self.before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *exception: object) -> None:
        torch.set_default_dtype(self.before)
        super().__exit__(*exception)  # type: ignore[no-untyped-call]

    def __torch_function__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if function is Tensor.float:
            return args[0].double()
        if function is Tensor.to:
            args = tuple(torch.float64 if a is torch.float32 else a for a in args)
        if kwargs.get("dtype") is torch.float32:
            kwargs["dtype"] = torch.float64
        return function(*args, **kwargs)


class Entry:
    """A recognised module, run in the type of its input."""

    def __init__(self, module: nn.Module, known: Known) -> None:
        self.module, self.known, self.number = module, known, next(_numbers)
        self._wide: nn.Module | None = None
        _entries[self.number] = self

    def __deepcopy__(self, memo: dict[int, object]) -> Entry:
        return self

    def run(self, x: Tensor) -> Tensor:
        if x.dtype != torch.float64:
            return first(self.module(x)).contiguous().clone()
        self._wide = self._wide or copy.deepcopy(self.module).double()
        with Wide():
            return first(self._wide(x)).contiguous().clone()


def leaf(entry: Entry, result: Any) -> Callable[..., Any]:
    """In place of the forward of a recognised module: one operation in what torch.export sees. The module keeps its parts, because
    others may use them. `result`: what the module returns besides its rows is returned again."""
    kind = None if isinstance(result, Tensor) else type(result)
    others = () if kind is None else tuple(result[1:])

    def forward(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        y = torch.ops.longwave.known_layer(x, entry.number)
        return y if kind is None else kind((y, *others))

    return forward


_numbers = itertools.count()
_entries: weakref.WeakValueDictionary[int, Entry] = weakref.WeakValueDictionary()


@torch.library.custom_op("longwave::known_layer", mutates_args=())
def known_layer(x: Tensor, number: int) -> Tensor:
    with torch.no_grad():
        return _entries[number].run(x)


@known_layer.register_fake
def _(x: Tensor, number: int) -> Tensor:
    return x.new_empty(_entries[number].known.shape(x.shape))


def entry(number: int) -> Entry:
    return _entries[number]


def first(result: Any) -> Tensor:
    rows: Tensor = result[0] if isinstance(result, (tuple, list)) else result
    return rows


def own_tensors(kind: str, module: nn.Module) -> dict[str, Tensor]:
    """The tensors of a module that the layer reads under the same names."""
    state = module.state_dict()
    return {key: state[key].detach() for key in tensor_keys([{"type": kind, "name": "x", "prefix": ""}], state)}


def difference(module: nn.Module, known: Known, length: int) -> tuple[float, Any]:
    """Of the module and our layer, relative to the peak, and what the module returns."""
    x = torch.randn(1, length, known.width, dtype=torch.float64, generator=torch.Generator().manual_seed(length))
    with Wide(), torch.no_grad():
        result = module(x.mT.contiguous() if known.features_first else x)
    y, expected = first(result), known.reference(x)
    y = y.mT if known.features_first else y
    if y.shape != expected.shape:
        return float("inf"), result
    return float((y - expected).abs().max() / expected.abs().max().clamp(min=1e-300)), result


def recognised(module: nn.Module, length: int) -> Callable[..., Any] | None:
    from . import lightnet, orchid, sgconv

    for kind in (sgconv, orchid, lightnet):
        try:
            for known in kind.find(module):
                wide, n = copy.deepcopy(module).double(), min(length, _LONGEST)
                found = [difference(wide, known, rows) for rows in (n, n // 2 + 1)]
                others = found[0][1][1:] if isinstance(found[0][1], (tuple, list)) else ()
                if max(error for error, _ in found) <= EXACT and not any(isinstance(other, Tensor) for other in others):
                    return leaf(Entry(copy.deepcopy(module), known), found[0][1])
        except Exception:  # whatever a module raises that only looks like one of these
            continue
    return None


def mark(module: nn.Module, length: int) -> None:
    """Gives the recognised parts of a module a leaf as their forward."""
    if forward := recognised(module, length):
        module.forward = forward
        return
    for part in module.children():
        mark(part, length)


def marked(module: nn.Module) -> bool:
    return any(getattr(part.__dict__.get("forward"), "__module__", "") == __name__ for part in module.modules())
