"""The module behind its wrappers, as a copy that can be exported; and what cannot be imported, by name."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from .errors import ImportFailed, Problem, retrain

HALF = (torch.float16, torch.bfloat16)


def unwrapped(module: nn.Module) -> nn.Module:
    """The module inside torch.compile, DataParallel and DistributedDataParallel."""
    while True:
        if isinstance(inner := getattr(module, "_orig_mod", None), nn.Module):
            module = inner
        elif isinstance(module, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            module = module.module
        else:
            return module


def copied(module: nn.Module) -> nn.Module:
    """A copy in eval mode: wrappers removed inside too, computed weights stored, float32 in place of half precision.

    The module itself stays as it is. Raises ImportFailed with one problem per part that no import can take.
    """
    module = unwrapped(module)
    refuse(module)
    refuse_tensors(module)
    memo = {
        id(t): t.detach().clone()
        for part in module.modules()
        for t in vars(part).values()
        if isinstance(t, Tensor) and not t.is_leaf
    }
    module = copy.deepcopy(module, memo).eval().requires_grad_(False)
    for part in module.modules():
        part._compiled_call_impl = None  # of Module.compile()
        for name, child in part.named_children():
            setattr(part, name, unwrapped(child))
    if any(t.dtype in HALF for t in module.parameters()):
        module = module.float()
    with torch.no_grad():
        for part in module.modules():
            store_computed_weights(part)
    return module


def store_computed_weights(part: nn.Module) -> None:
    """Weight norm and spectral norm compute the weight in each call.

    The result in eval mode becomes the parameter. Export reads it in float64. A result in float32
    differs from the module in float64 by its rounding, 6e-8 of each weight.
    """
    removers = {"WeightNorm": nn.utils.remove_weight_norm, "SpectralNorm": nn.utils.remove_spectral_norm}
    hooks: list[Any] = [hook for hook in part._forward_pre_hooks.values() if type(hook).__name__ in removers]
    computed: list[str] = list(vars(part)["_modules"]["parametrizations"]) if parametrize.is_parametrized(part) else []
    if not hooks and not computed:
        return
    wide = copy.deepcopy(part).double()
    exact = {
        hook.name: hook.compute_weight(wide, *([False] if type(hook).__name__ == "SpectralNorm" else []))
        for hook in hooks
    }
    exact |= {name: getattr(wide, name) for name in computed}
    vars(part)["_exact"] = exact
    for hook in hooks:
        removers[type(hook).__name__](part, hook.name)
    if computed:
        own_class(part)
    for name in computed:
        parametrize.remove_parametrizations(part, name, leave_parametrized=True)
    for name, weight in exact.items():
        getattr(part, name).data.copy_(weight)


def exact_weights(module: nn.Module) -> dict[str, Tensor]:
    """Name in the state dict -> float64 value of a parameter that a norm computed."""
    return {
        f"{name}.{key}" if name else key: weight
        for name, part in module.named_modules(remove_duplicate=False)
        for key, weight in getattr(part, "_exact", {}).items()
    }


def own_class(part: nn.Module) -> None:
    """A parametrized module has a class of its own with the weight as a property. Copies share it: removing the property from the
    copy would take it from the module as well."""
    shared = type(part)
    part.__class__ = type(
        shared.__name__,
        shared.__bases__,
        {name: value for name, value in vars(shared).items() if name not in ("__dict__", "__weakref__")},
    )


def storage_problem(t: Tensor) -> tuple[str, str] | None:
    """Why a tensor has no plain numbers, and the way out."""
    if t.is_meta:
        return "is on the meta device: it has a shape and no numbers", "load its weights before the import"
    if t.is_quantized:
        return "holds quantized weights", "import the float module, and compile it with --weights int8"
    if t.is_nested or t.layout != torch.strided:
        return (
            f"is stored as {'nested tensors' if t.is_nested else str(t.layout).removeprefix('torch.')}",
            "store it whole: t.to_dense()",
        )
    return None


def refuse_tensors(module: nn.Module) -> None:
    """Raises ImportFailed with a problem for each tensor without plain, finite numbers."""
    problems = []
    parameters = dict(module.named_parameters())
    for key, t in {**parameters, **dict(module.named_buffers())}.items():
        if nn.parameter.is_lazy(t):
            continue  # its part is refused by name
        if wrong := storage_problem(t):
            problems.append(Problem(key, "", *wrong))
        elif key in parameters and not torch.isfinite(t).all() or torch.isnan(t).any():  # a mask may hold infinity
            problems.append(
                Problem(key, "", "holds NaN or infinity", "the training diverged; take an earlier checkpoint")
            )
    if problems:
        raise ImportFailed(problems)


def _without_statistics(part: nn.Module) -> bool:
    return isinstance(part, nn.modules.batchnorm._BatchNorm) and part.running_mean is None


# (recognises a part, reason, way out)
REFUSALS: list[tuple[Callable[[nn.Module], bool], str, str]] = [
    (
        lambda part: isinstance(part, torch.jit.ScriptModule),
        "is a TorchScript module",
        'import the Python module that it was made from, or name the inputs of the whole: inputs=["x=1xTx64"]',
    ),
    (
        lambda part: type(part).__module__.startswith(("torch.ao.nn.quantized", "torch.nn.quantized")),
        "holds quantized weights",
        "import the float module, and compile it with --weights int8",
    ),
    (
        lambda part: any(isinstance(p, nn.parameter.UninitializedParameter) for p in part.parameters(recurse=False)),
        "is lazy and has no weights yet",
        "run the module once before the import",
    ),
    (
        _without_statistics,
        "uses the statistics of its input in eval mode too",
        retrain("use track_running_stats=True, or a layer norm"),
    ),
]


def refuse(module: nn.Module) -> None:
    problems = [
        Problem(name, type(part).__name__, reason, way_out)
        for name, part in module.named_modules()
        for found, reason, way_out in REFUSALS
        if found(part)
    ]
    script = [p.where for p in problems if p.reason == REFUSALS[0][1]]
    problems = [
        p
        for p in problems
        if not any(p.where != outer and p.where.startswith(outer and f"{outer}.") for outer in script)
    ]
    if problems:
        raise ImportFailed(problems)
