"""The inputs of a module, told from an example of what it reads.

The names are those of `forward`. The time axis is the one whose extent may change: the module runs with other extents.
"""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .blame import of_module
from .errors import ImportFailed, Problem
from .inputs import Input
from .lengths import LEAST
from .wrappers import copied, storage_problem, unwrapped


def fail(where: str, reason: str, way_out: str) -> ImportFailed:
    return ImportFailed([Problem(where, "", reason, way_out)])


def inputs_of(module: nn.Module, example: Any, sample_rate: int = 0) -> tuple[list[Input], int]:
    """The inputs, and the rows of the example. `example`: an array, a tuple of arrays, or a dict by parameter name."""
    tensors = named(module, example)
    module = copied(module)
    floats = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
    tensors = {name: t.to(floats) if t.is_floating_point() else t.long() for name, t in tensors.items()}
    axes = time_axes(module, tensors)
    rows = next(iter(tensors.values())).shape[axes[0]]
    if rows < LEAST:
        raise fail(
            "example",
            f"has {rows} rows, which is too short",
            f"give at least {LEAST} rows, and more than the longest kernel",
        )
    sizes = vocabularies(module, tensors)
    inputs = []
    for (name, t), axis in zip(tensors.items(), axes):
        made = Input(
            name, tuple(0 if d == axis else extent for d, extent in enumerate(t.shape)), vocabulary=sizes.get(name, 0)
        )
        inputs.append(
            Input(name, made.shape, rate=sample_rate)
            if sample_rate and made.width == 1 and not made.vocabulary
            else made
        )
    if sample_rate and not any(entry.rate for entry in inputs):
        raise fail("sample_rate", "no input has one sample per row", "give it for audio only")
    return inputs, rows


def inputs_with_state(
    module: nn.Module, example: Any, sample_rate: int, state: Mapping[str, Any]
) -> tuple[list[Input], int | None]:
    """The same for a module that takes and returns its state: states have no time axis. Where the other inputs have none either, a
    call is one row, and the example has no rows."""
    tensors = named(module, example, batched=False)
    if unknown := [name for name in state if name not in tensors]:
        raise fail("state", f"the example has no {unknown[0]}", f"name one of {', '.join(tensors)}")
    module = copied(module)
    floats = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
    tensors = {name: t.to(floats) if t.is_floating_point() else t.long() for name, t in tensors.items()}
    rows = {name: t for name, t in tensors.items() if name not in state}
    if not rows:
        raise fail("state", "names all inputs", "leave out what comes in at each step")
    if any(not t.is_floating_point() for t in rows.values()):
        raise fail("example", "holds integers", 'say how many ids there are: inputs=["ids=1xT:256", ...]')
    axes = axes_of_chunks(module, tensors, list(rows))
    shapes = {
        name: tuple(0 if axes and d == axes[name] else extent for d, extent in enumerate(t.shape))
        if name in rows
        else tuple(t.shape)
        for name, t in tensors.items()
    }
    length = next(iter(rows.values())).shape[next(iter(axes.values()))] if axes else None
    if length is not None and length < LEAST:
        raise fail(
            "example",
            f"has {length} rows, which is too short",
            f"give at least {LEAST} rows, and more than the longest kernel",
        )
    return [
        Input(
            name,
            shape,
            sample_rate if name in rows and (not axes or torch.Size(e or 1 for e in shape).numel() == 1) else 0,
        )
        for name, shape in shapes.items()
    ], length


def axes_of_chunks(module: nn.Module, tensors: Mapping[str, Tensor], rows: Sequence[str]) -> dict[str, int]:
    """The axis of each input that may have another extent while the states keep theirs. Empty: a call is one row."""
    found = []
    for axes in itertools.product(*(range(1, tensors[name].dim()) for name in rows)):
        extents = {tensors[name].shape[axis] for name, axis in zip(rows, axes)}
        if len(extents) > 1:
            continue
        n, way = extents.pop(), dict(zip(rows, axes))
        if all(
            runs(module, [resized(t, way[name], m) if name in way else t for name, t in tensors.items()]) is None
            for m in (2 * n, 3 * n)
        ):
            found.append(way)
    if len(found) > 1:
        raise fail("example", f"{len(found)} axes could be time", 'say which with inputs=["x=1xTx64", ...]')
    return found[0] if found else {}


def named(module: nn.Module, example: Any, batched: bool = True) -> dict[str, Tensor]:
    known = [
        p
        for p in inspect.signature(unwrapped(module).forward).parameters.values()
        if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    names = [p.name for p in known]
    if isinstance(example, Mapping):
        wrong = [str(key) for key in example if key not in names]
        if wrong:
            raise fail("example", f"forward has no parameter {wrong[0]}", f"name these: {', '.join(names)}")
        given = {name: example[name] for name in names if name in example}
        if list(given) != names[: len(given)]:
            raise fail(
                "example",
                f"names {', '.join(given)} and leaves out one before them",
                f"give the first of {', '.join(names)}",
            )
    else:
        values = list(example) if isinstance(example, (tuple, list)) else [example]
        names += [f"x{i}" for i in range(len(names), len(values))]  # forward(*inputs)
        given = dict(zip(names, values))
    if not given:
        raise fail("example", "is empty", "give an array for each input")
    return {name: tensor(name, value, batched) for name, value in given.items()}


def tensor(name: str, value: Any, batched: bool = True) -> Tensor:
    try:
        t = value.detach() if isinstance(value, Tensor) else torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as e:
        raise fail(f"example {name}", f"is a {type(value).__name__}", "give a NumPy array or a tensor") from e
    if wrong := storage_problem(t):
        raise fail(f"example {name}", *wrong)
    if t.is_complex() or t.dtype == torch.bool:
        raise fail(
            f"example {name}", f"holds {str(t.dtype).removeprefix('torch.')}", "give floats, or integer token ids"
        )
    if batched and (t.dim() < 2 or t.shape[0] != 1):
        raise fail(
            f"example {name}",
            f"has shape {tuple(t.shape)}; expected a batch of 1 in front",
            "give x[:1], or x[None] for one without a batch",
        )
    if t.is_floating_point() and not bool(torch.isfinite(t).all()):
        raise fail(f"example {name}", "holds NaN or infinity", "give finite numbers")
    return t.cpu()


def runs(module: nn.Module, tensors: Sequence[Tensor]) -> BaseException | None:
    """None, or what the module raises. A copy runs: some modules change their buffers."""
    try:
        with torch.no_grad():
            copy.deepcopy(module)(*tensors)
    except (Exception, SystemExit) as e:  # whatever the module raises
        return e
    return None


def resized(t: Tensor, axis: int, rows: int) -> Tensor:
    repeats = [1] * t.dim()
    repeats[axis] = -(-rows // t.shape[axis])
    return t.repeat(repeats).narrow(axis, 0, rows)


def time_axes(module: nn.Module, tensors: Mapping[str, Tensor]) -> list[int]:
    """The axis of each input that is time: all of one extent, which may change."""
    values = list(tensors.values())
    problem = runs(module, values)
    if problem is not None:
        raise fail(
            "example", f"the module does not run with it: {of_module(problem)}", "give what forward reads"
        ) from problem
    found = []
    for axes in itertools.product(*(range(1, t.dim()) for t in values)):
        rows = {t.shape[axis] for t, axis in zip(values, axes)}
        if len(rows) > 1 or rows == {1}:
            continue
        n = rows.pop()
        others = [n // 2, 3 * n // 4, 2 * n]
        if any(
            runs(module, [resized(t, axis, m) for t, axis in zip(values, axes)]) is None
            for m in others
            if m not in (0, n)
        ):
            found.append(list(axes))
    if len(found) == 1:
        return found[0]
    shapes = ", ".join(f"{name} {tuple(t.shape)}" for name, t in tensors.items())
    if not found:
        raise fail(
            "example",
            f"no axis of {shapes} is time: the module runs with no other length",
            "let forward take any number of rows",
        )
    forms = " or ".join(
        " ".join(f'"{name}={shape_text(t, axis)}"' for (name, t), axis in zip(tensors.items(), axes)) for axes in found
    )
    raise fail("example", f"{len(found)} axes of {shapes} could be time", f"say which with inputs=[...]: {forms}")


def shape_text(t: Tensor, time: int) -> str:
    return "x".join("T" if d == time else str(extent) for d, extent in enumerate(t.shape))


def vocabularies(module: nn.Module, tensors: Mapping[str, Tensor]) -> dict[str, int]:
    """Ids of each integer input: the rows of the embedding that reads it."""
    ids = {name: t for name, t in tensors.items() if not t.is_floating_point()}
    sizes: dict[str, int] = {}

    def look(part: nn.Embedding, arguments: tuple[Tensor, ...]) -> None:
        for name, t in ids.items():
            if arguments[0].numel() == t.numel() and torch.equal(arguments[0].flatten(), t.flatten()):
                sizes[name] = min(part.num_embeddings, sizes.get(name, part.num_embeddings))

    hooks = [part.register_forward_pre_hook(look) for part in module.modules() if isinstance(part, nn.Embedding)]
    runs_here = copy.deepcopy(module) if hooks else module
    with torch.no_grad():
        if hooks:
            runs_here(*tensors.values())
    for hook in hooks:
        hook.remove()
    for name in ids.keys() - sizes.keys():
        raise fail(
            f"example {name}",
            "holds integers that no nn.Embedding reads",
            f'say how many ids there are: inputs=["{name}=1xT:256"]',
        )
    return sizes
