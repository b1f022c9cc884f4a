"""The module behind its wrappers, as a copy that can be exported; and what cannot be imported, by name."""
from __future__ import annotations

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from .errors import ImportFailed, Problem

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
    memo = {id(t): t.detach().clone() for part in module.modules() for t in vars(part).values() if isinstance(t, Tensor) and not t.is_leaf}
    module = copy.deepcopy(module, memo).eval().requires_grad_(False)
    for part in module.modules():
        part._compiled_call_impl = None  # of Module.compile()
        for name, child in part.named_children():
            setattr(part, name, unwrapped(child))
    with torch.no_grad():
        for part in module.modules():
            store_computed_weights(part)
    if any(t.dtype in HALF for t in module.parameters()):
        module = module.float()
    return module


def store_computed_weights(part: nn.Module) -> None:
    """Weight norm and spectral norm compute the weight in each call. The result in eval mode becomes the parameter."""
    removers = {"WeightNorm": nn.utils.remove_weight_norm, "SpectralNorm": nn.utils.remove_spectral_norm}
    for hook in list(part._forward_pre_hooks.values()):
        if type(hook).__name__ in removers:
            removers[type(hook).__name__](part, hook.name)
    if parametrize.is_parametrized(part):
        own_class(part)
        for name in list(part.parametrizations):
            parametrize.remove_parametrizations(part, name, leave_parametrized=True)


def own_class(part: nn.Module) -> None:
    """A parametrized module has a class of its own with the weight as a property. Copies share it: removing the property from the
    copy would take it from the module as well."""
    shared = type(part)
    part.__class__ = type(shared.__name__, shared.__bases__, {name: value for name, value in vars(shared).items() if name not in ("__dict__", "__weakref__")})


def _without_statistics(part: nn.Module) -> bool:
    return isinstance(part, nn.modules.batchnorm._BatchNorm) and part.running_mean is None


# (recognises a part, reason, way out)
REFUSALS: list[tuple[Callable[[nn.Module], bool], str, str]] = [
    (lambda part: isinstance(part, torch.jit.ScriptModule), "is a TorchScript module", "import the Python module that it was made from"),
    (lambda part: type(part).__module__.startswith(("torch.ao.nn.quantized", "torch.nn.quantized")), "holds quantized weights",
     "import the float module, and compile it with --weights int8"),
    (lambda part: any(isinstance(p, nn.parameter.UninitializedParameter) for p in part.parameters(recurse=False)), "is lazy and has no weights yet",
     "run the module once before the import"),
    (_without_statistics, "uses the statistics of its input in eval mode too", "train with track_running_stats=True, or use a layer norm"),
]


def refuse(module: nn.Module) -> None:
    problems = [Problem(name, type(part).__name__, reason, way_out)
                for name, part in module.named_modules() for found, reason, way_out in REFUSALS if found(part)]
    if problems:
        raise ImportFailed(problems)
