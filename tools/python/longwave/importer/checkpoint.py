"""State dicts from files. Every tensor that does not fit has a line."""
from __future__ import annotations

import os
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from .errors import ImportFailed, Problem
from .wrappers import unwrapped

NESTED = ("state_dict", "model_state_dict", "model", "module", "net", "ema")
MOST = 20  # lines


def fail(path: str, reason: str, way_out: str) -> ImportFailed:
    return ImportFailed([Problem(f"--checkpoint {path}", "", reason, way_out)])


def load(module: nn.Module, path: str) -> None:
    """Loads a state dict: .safetensors, or a file of torch.save with tensors only. Raises ImportFailed; the module is unchanged then."""
    module = unwrapped(module)
    fit(module, read(path), path)


def read(path: str) -> dict[str, Tensor]:
    if not os.path.isfile(path):
        raise fail(path, "no such file", "name a .pt, .ckpt or .safetensors file")
    try:
        if path.endswith(".safetensors"):
            from safetensors.torch import load_file
            return dict(load_file(path))
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as e:  # torch and safetensors raise many types
        text = str(e)
        if "TorchScript" in text:
            raise fail(path, "is a TorchScript archive", "save model.state_dict() of the Python module") from e
        if "weights_only" in text or "Weights only" in text:
            raise fail(path, "holds Python objects, and loading them could run code", "save model.state_dict(), and load trusted old files yourself") from e
        raise fail(path, f"cannot be read: {(text.splitlines() or [type(e).__name__])[0][:120]}", "save model.state_dict()") from e
    return tensors(state, path)


def tensors(state: object, path: str) -> dict[str, Tensor]:
    """The tensors of a state dict, also inside the dict of a training script."""
    found = state
    for _ in range(3):
        if isinstance(found, Mapping) and found and all(isinstance(value, Tensor) for value in found.values()):
            return {str(key): value for key, value in found.items()}
        if not isinstance(found, Mapping):
            break
        found = next((found[key] for key in NESTED if isinstance(found.get(key), Mapping)),
                     {key: value for key, value in found.items() if isinstance(value, Tensor)})
    kind = ", ".join(map(str, list(state)[:6])) if isinstance(state, Mapping) else type(state).__name__
    raise fail(path, f"holds no state dict, but {kind}", "save model.state_dict(), or {'state_dict': model.state_dict()}")


def fit(module: nn.Module, state: dict[str, Tensor], path: str) -> None:
    own = module.state_dict()
    state = {key.replace("_orig_mod.", ""): value for key, value in state.items()}
    state = without_prefix(state, own)
    problems = []

    def add(key: str, reason: str, way_out: str) -> None:
        problems.append(Problem(f"--checkpoint {path}", key, reason, way_out))

    for key in own.keys() - state.keys():
        if key.endswith("num_batches_tracked"):  # old files lack it, and no result depends on it
            state[key] = own[key]
            continue
        add(key, "is missing", "name the checkpoint of this module, made with the same settings")
    for key in state.keys() - own.keys():
        add(key, "is not in the module", "make the module with the settings of the training")
    for key in own.keys() & state.keys():
        if own[key].shape != state[key].shape:
            add(key, f"expected shape {list(own[key].shape)}, found {list(state[key].shape)}", "make the module with the settings of the training")
    if problems:
        problems.sort(key=lambda p: p.op)
        more = len(problems) - MOST
        raise ImportFailed(problems[:MOST] + ([Problem(f"--checkpoint {path}", "", f"{more} more tensors do not fit", "")] if more > 0 else []))
    module.load_state_dict(state)


def without_prefix(state: dict[str, Tensor], own: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Training scripts store the module as part of another: "module.", "model." or "net." stands before its keys."""
    if own.keys() & state.keys():
        return state
    parts: dict[str, dict[str, Tensor]] = {}
    for key, value in state.items():
        first, _, rest = key.partition(".")
        parts.setdefault(first, {})[rest] = value
    inner = [without_prefix(part, own) for part in parts.values() if "" not in part]
    return max((part for part in inner if own.keys() & part.keys()), key=len, default=state)
