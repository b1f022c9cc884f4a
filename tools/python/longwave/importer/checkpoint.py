"""State dicts from files. Every tensor that does not fit has a line."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from .blame import first_line
from .errors import ImportFailed, Problem
from .files import WAY_OUT, kind_of
from .weights import Weights, chosen, sets_of
from .wrappers import storage_problem, unwrapped

MOST = 20  # lines
LARGEST_INDEX = 64 << 20  # bytes
SETTINGS = "make the module with the settings of the training"
PART = re.compile(r"(.*)-\d{5}-of-\d{5}(\.safetensors|\.bin)")


def fail(path: str, reason: str, way_out: str, key: str = "") -> ImportFailed:
    return ImportFailed([Problem(f"--checkpoint {path}", key, reason, way_out)])


def load(module: nn.Module, path: str, prefix: str | None = None) -> None:
    """Loads a state dict: .safetensors, a file of torch.save with tensors only, or the index of several files.
    `prefix`: what stands before the keys of the module's own weights. Raises ImportFailed; the module is unchanged then."""
    module = unwrapped(module)
    fit(module, chosen(sets_of(read(path)), module.state_dict(), path, prefix), path)


def read(path: str) -> object:
    """What a file holds: tensors by key, also inside other dicts."""
    if os.path.isdir(path):
        names = sorted(
            name
            for name in os.listdir(path)
            if name.endswith((".index.json", ".safetensors", ".bin", ".pt", ".pth", ".ckpt"))
        )
        names.sort(key=lambda name: not name.endswith(".index.json"))
        raise fail(path, "is a folder", f"name a file in it, such as {names[0]}" if names else "name a file of weights")
    if not os.path.isfile(path):
        raise fail(path, "no such file", "name a .pt, .bin, .ckpt or .safetensors file, or the .index.json of several")
    try:
        if (parts := index_of(path)) is not None:
            return sharded(path, parts)
        kind, reason, way_out = kind_of(path)
        if not kind:
            raise fail(path, reason, way_out)
        if kind == "safetensors":
            from safetensors.torch import load_file

            return dict(load_file(path))
        with open(path, "rb") as file:  # by name, torch reads another kind
            return torch.load(file, map_location="cpu", weights_only=True)
    except ImportFailed:
        raise
    except Exception as e:  # torch and safetensors raise many types
        if found := re.search(r"GLOBAL ([\w.]+)|[Uu]nsupported (?:class|operand|global) ([\w.]+)", str(e)):
            raise fail(
                path,
                f"holds Python objects ({found[1] or found[2]}), and loading them could run code",
                "save model.state_dict(), and load trusted old files yourself",
            ) from e
        raise fail(
            path, f"cannot be read: {first_line(e)[:120]}", "it is cut or damaged: fetch it again, or " + WAY_OUT
        ) from e


def index_of(path: str) -> dict[str, str] | None:
    """Key -> file, of the index of weights in several files."""
    if not path.endswith(".json"):
        return None
    if os.path.getsize(path) > LARGEST_INDEX:
        raise fail(path, "is too large for an index", "name the .index.json beside the files")
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (ValueError, RecursionError) as e:
        if reason := kind_of(path)[1]:
            raise fail(path, reason, kind_of(path)[2]) from e
        raise
    parts = found.get("weight_map") if isinstance(found, dict) else None
    if not isinstance(parts, dict) or not parts or not all(isinstance(name, str) for name in parts.values()):
        raise fail(path, "has no weight_map, which says where each tensor is", "name the .index.json beside the files")
    return parts


def sharded(path: str, parts: dict[str, str]) -> dict[str, object]:
    """The tensors of all files that an index names. They lie beside it."""
    found: dict[str, object] = {}
    for name in dict.fromkeys(parts.values()):
        if name != os.path.basename(name) or name in ("", ".", "..") or name.endswith(".json"):
            raise fail(path, f"names the file {name}", "the files must lie beside the index")
        beside = os.path.join(os.path.dirname(path), name)
        if not os.path.exists(beside):
            raise fail(path, f"names the file {name}, which is missing", "fetch all files of the model")
        content = read(beside)
        for key in (key for key, file in parts.items() if file == name):
            if not isinstance(content, Mapping) or not isinstance(content.get(key), Tensor):
                raise fail(
                    path, f"says that {name} holds it, and it does not", "fetch all files of the model again", key
                )
            found[key] = content[key]
    return found


def fit(module: nn.Module, found: Weights, path: str) -> None:
    """Puts the tensors into the module. Raises ImportFailed with a line for each that does not fit."""
    own, state = module.state_dict(), dict(found.tensors)
    problems: dict[str, tuple[str, str]] = {}
    if own.keys() != state.keys():
        state = translated(module, own, state)
    tied = same_storage(own)
    for key in own.keys() - state.keys():
        if twin := next((other for other in tied.get(key, ()) if other in state), None):
            state[key] = state[twin]  # files keep a tensor that two parts share once
        elif key.endswith("num_batches_tracked"):  # old files lack it, and no result depends on it
            state[key] = own[key]
        else:
            problems[key] = (
                "is missing",
                "name the checkpoint of this module, made with the same settings" + part_of_several(path),
            )
    for key in state.keys() - own.keys():
        problems[key] = "is not in the module", SETTINGS
    for key in own.keys() & state.keys():
        if wrong := storage_problem(state[key]):
            problems[key] = wrong
        elif own[key].shape != state[key].shape:
            problems[key] = f"expected shape {list(own[key].shape)}, found {list(state[key].shape)}", SETTINGS
        elif state[key].is_complex() and not own[key].is_complex():
            problems[key] = "holds complex numbers, and the module has real ones", SETTINGS
        elif twin := next(
            (
                other
                for other in tied.get(key, ())
                if other < key and other in state and not equal(state[other], state[key])
            ),
            None,
        ):
            problems[key] = (
                f"differs from {twin}, and the module has one tensor for both",
                "make the module without tied weights",
            )
    if problems:
        lines = [Problem(f"--checkpoint {path}", found.prefix + key, *said) for key, said in sorted(problems.items())]
        more = len(lines) - MOST
        raise ImportFailed(
            lines[:MOST]
            + ([Problem(f"--checkpoint {path}", "", f"{more} more tensors do not fit", SETTINGS)] if more > 0 else [])
        )
    module.load_state_dict(state)


def equal(a: Tensor, b: Tensor) -> bool:
    return a.shape == b.shape and torch.equal(a.to(b.dtype), b)


def translated(module: nn.Module, own: Mapping[str, Tensor], state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Keys of older versions under their names of today, where parts of the module know them (weight norm does)."""
    translated = dict(state)
    for name, part in module.named_modules():
        for hook in part._load_state_dict_pre_hooks.values():
            try:
                hook(translated, f"{name}." if name else "", {}, True, [], [], [])
            except Exception:  # a hook of the module that cannot read these keys: they are named as they are
                return state
    return translated if len(own.keys() & translated.keys()) > len(own.keys() & state.keys()) else state


def same_storage(own: Mapping[str, Tensor]) -> dict[str, list[str]]:
    """Key -> other keys of the same tensor."""
    groups: dict[tuple[object, ...], list[str]] = {}
    for key, t in own.items():
        if t.numel() and not t.is_meta and t.layout == torch.strided:
            groups.setdefault((t.data_ptr(), t.dtype, t.shape, t.stride()), []).append(key)
    return {key: [other for other in keys if other != key] for keys in groups.values() for key in keys}


def part_of_several(path: str) -> str:
    found = PART.fullmatch(os.path.basename(path))
    return f"; this file is one of several: name {found[1]}{found[2]}.index.json" if found else ""
