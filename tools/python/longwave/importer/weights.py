"""The sets of weights in a checkpoint: of the module, of its mean over the training, of a teacher. One is chosen, never silently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .errors import ImportFailed, Problem

WRAPPERS = (
    "_orig_mod.",
    "_fsdp_wrapped_module.",
    "_checkpoint_wrapped_module.",
)  # what PyTorch puts between the names of parts
LISTED = 12


@dataclass
class Weights:
    prefix: str  # before the keys
    tensors: dict[str, Tensor] = field(default_factory=dict)


def sets_of(content: object, prefix: str = "", depth: int = 0) -> list[Weights]:
    """Each dict with tensors in what a file holds."""
    if not isinstance(content, Mapping) or depth > 6:
        return []
    tensors = {str(key): value for key, value in content.items() if isinstance(value, Tensor)}
    found = [Weights(prefix, tensors)] if tensors else []
    for key, value in content.items():
        found += sets_of(value, f"{prefix}{key}.", depth + 1)
    return found


def parts_of(whole: Weights) -> dict[str, dict[str, Tensor]]:
    """Prefix -> the keys that begin with it, without it."""
    parts: dict[str, dict[str, Tensor]] = {}
    for key, value in whole.tensors.items():
        for wrapper in WRAPPERS:
            key = key.replace(wrapper, "")
        names = key.split(".")
        for at in range(len(names)):
            parts.setdefault(".".join([*names[:at], ""]) if at else "", {})[".".join(names[at:])] = value
    return parts


def fitting(part: Weights, own: Mapping[str, Tensor]) -> tuple[int, int]:
    """How many tensors of the module it has in their shape, and by name."""
    keys = own.keys() & part.tensors.keys()
    return sum(own[key].shape == part.tensors[key].shape for key in keys), len(keys)


def same(a: Mapping[str, Tensor], b: Mapping[str, Tensor], keys: Iterable[str]) -> bool:
    both = [(a[key], b[key]) for key in keys if key in a and key in b]
    return all(
        x.layout == y.layout == torch.strided and x.shape == y.shape and x.dtype == y.dtype and torch.equal(x, y)
        for x, y in both
    )


def chosen(found: list[Weights], own: Mapping[str, Tensor], path: str, prefix: str | None = None) -> Weights:
    """The set that the module's keys name. Raises ImportFailed where several do, and lists them."""

    def fail(reason: str, way_out: str) -> ImportFailed:
        return ImportFailed([Problem(f"--checkpoint {path}", "", reason, way_out)])

    if not found:
        raise fail("holds no tensors by name", "save model.state_dict(), or {'state_dict': model.state_dict()}")
    parts = [Weights(whole.prefix + inner, tensors) for whole in found for inner, tensors in parts_of(whole).items()]
    fits = [fitting(part, own) for part in parts]
    most = max(fits)
    # A set that lacks some tensors is one too: means over the training have no buffers.
    sets = [part for fit, part in zip(fits, parts) if most[0] and 2 * fit[0] > most[0] or not most[0] and fit == most]
    if prefix is not None:
        wanted = prefix.rstrip(".") + "." if prefix.strip(".") else ""
        one = next((part for part in parts if part.prefix == wanted), None)
        if one is None:
            raise fail(f"has no keys that begin with {wanted}", f"--prefix may be {names(sets or parts)}")
    elif most[1] == 0 and own:
        raise fail(
            f"holds no key of the module; its keys begin with {names(parts)}",
            "name the checkpoint of this module, made with the same settings",
        )
    else:
        one = parts[fits.index(most)]
        others = [part for part in sets if part is not one and not same(part.tensors, one.tensors, own)]
        if others:
            raise fail(
                f"holds {len(others) + 1} sets of weights that the module can have: {names([one, *others])}",
                "choose one with --prefix" + ("" if one.prefix else "; --prefix . is the first"),
            )
    inside = tuple(
        part.prefix[len(one.prefix) :] for part in sets if part is not one and part.prefix.startswith(one.prefix)
    )
    return Weights(
        one.prefix, {key: value for key, value in one.tensors.items() if not inside or not key.startswith(inside)}
    )


def names(parts: list[Weights]) -> str:
    found = list(dict.fromkeys(part.prefix.rstrip(".") or "." for part in parts))
    return ", ".join(found[:LISTED]) + (f" and {len(found) - LISTED} more" if len(found) > LISTED else "")
