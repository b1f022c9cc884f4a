"""FFT convolutions that also mix channels, as matrices around a convolution of each channel.

irfft(einsum(rfft(x), B, rfft(k), C)) is C times the convolution of (B x) with k: matrices without a frequency commute with the
transform. The importer reads the second form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.fx import Graph
from torch.fx.node import Node

from .nodes import args_of, kwargs_of

aten = torch.ops.aten
COPIES = {"to", "_to_copy", "alias", "clone", "contiguous", "detach"}


@dataclass
class Einsum:
    """Of one spectrum that depends on the input and constants: labels of each, the frequency last in the spectrum."""

    spectrum: str
    result: str
    matrices: list[tuple[str, Node]]  # real, without the frequency
    kernels: list[tuple[str, Node]]

    @property
    def frequency(self) -> str:
        return self.spectrum[-1]

    def mixes(self) -> bool:
        return bool(self.matrices) or any(c not in self.result for c in self.spectrum)


def name(n: Node) -> str:
    return n.target._schema.name.split("::")[1] if hasattr(n.target, "_schema") else ""


def varying(graph: Graph, inputs: set[str]) -> set[Node]:
    found: set[Node] = set()
    for n in graph.nodes:
        if n.op == "placeholder" and n.name in inputs or any(a in found for a in n.all_input_nodes):
            found.add(n)
    return found


def separated(graph: Graph, inputs: set[str]) -> None:
    """Rewrites such nodes of the exported graph. `inputs`: names of the arguments of the module."""
    if not any(name(n) == "einsum" for n in graph.nodes):
        return
    moving, before = varying(graph, inputs), len(graph.nodes)
    for n in list(graph.nodes):
        if (
            name(n) == "einsum"
            and n in moving
            and (found := read(n, moving))
            and found.mixes()
            and (behind := inverse_of(n))
        ):
            rewrite(graph, n, found, next(a for a in args_of(n)[1] if a in moving), behind)
    if len(graph.nodes) > before:
        graph.eliminate_dead_code()


def read(n: Node, moving: set[Node]) -> Einsum | None:
    """None: something else."""
    equation, operands = args_of(n)[0].replace(" ", ""), list(args_of(n)[1])
    sides, arrow, result = equation.partition("->")
    labels = sides.split(",")
    if not arrow or "." in equation or len(labels) != len(operands) or sum(a in moving for a in operands) != 1:
        return None
    at = next(i for i, a in enumerate(operands) if a in moving)
    spectrum, frequency = labels[at], labels[at][-1]
    if (
        name(operands[at]) != "fft_rfft"
        or not of_last_axis(operands[at])
        or result[-1:] != frequency
        or len(operands[at].users) != 1
        or any(len(set(part)) < len(part) for part in (*labels, result))
    ):
        return None
    found = Einsum(spectrum, result, [], [])
    for i, (part, a) in enumerate(zip(labels, operands)):
        if i == at:
            continue
        if frequency in part:
            found.kernels.append((part, a))
        elif (real := real_of(a)) is not None:
            found.matrices.append((part, real))
        else:
            return None
    return found if found.kernels else None


def real_of(n: Node) -> Node | None:
    """The real numbers that a complex constant was made of."""
    while n.meta["val"].is_complex():
        if name(n) not in COPIES:
            return None
        n = args_of(n)[0]
    return n


def one_user(n: Node) -> Node | None:
    return next(iter(n.users)) if len(n.users) == 1 else None


def of_last_axis(n: Node) -> bool:
    return (
        (len(args_of(n)) < 3 or args_of(n)[2] in (-1, len(n.meta["val"].shape) - 1))
        and len(args_of(n)) < 4
        and not kwargs_of(n)
    )


def inverse_of(n: Node) -> list[Node] | None:
    """The inverse transform of a spectrum and the cuts of its last axis. None: something else."""
    inverse = one_user(n)
    if inverse is None or name(inverse) != "fft_irfft" or not of_last_axis(inverse):
        return None
    chain = [inverse]
    while (after := one_user(chain[-1])) is not None and name(after) == "slice":
        if args_of(after)[1] % len(after.meta["val"].shape) != len(after.meta["val"].shape) - 1:
            break
        chain.append(after)
    return chain


def rewrite(graph: Graph, n: Node, e: Einsum, spectrum: Node, behind: list[Node]) -> None:
    x, labels, waiting = args_of(spectrum)[0], e.spectrum, list(e.matrices)
    outer = {c for part, _ in e.kernels for c in part} | set(e.result)
    with graph.inserting_before(n):
        while waiting and not all(c in labels for part, _ in e.kernels for c in part):
            at = next(
                (i for i, (part, _) in enumerate(waiting) if set(part) & set(labels) and set(part) - set(labels)), None
            )
            if at is None:
                break
            part, matrix = waiting.pop(at)
            kept = outer | {c for other, _ in waiting for c in other}
            made = "".join(dict.fromkeys(c for c in labels[:-1] + part if c in kept)) + e.frequency
            x = emit(
                graph,
                n,
                aten.einsum.default,
                (f"{labels},{part}->{made}", [x, matrix]),
                shape_of(x, labels, matrix, part, made),
                x,
            )
            labels = made
        y = emit(
            graph,
            n,
            aten.fft_rfft.default,
            (x, *args_of(spectrum)[1:2]),
            (*x.meta["val"].shape[:-1], spectrum.meta["val"].shape[-1]),
            spectrum,
        )
        for part, kernel in e.kernels:
            made = "".join(dict.fromkeys(labels[:-1] + part.replace(e.frequency, ""))) + e.frequency
            y = emit(
                graph,
                n,
                aten.einsum.default,
                (f"{labels},{part}->{made}", [y, kernel]),
                shape_of(y, labels, kernel, part, made),
                spectrum,
            )
            labels = made
    end = behind[-1]
    y = copied(graph, behind, y)
    with graph.inserting_after(y):
        parts, operands = [labels, *(part for part, _ in waiting)], [y, *(matrix for _, matrix in waiting)]
        result = graph.create_node("call_function", aten.einsum.default, (",".join(parts) + "->" + e.result, operands))
        result.meta = dict(end.meta)
    end.replace_all_uses_with(result)


def copied(graph: Graph, behind: list[Node], y: Node) -> Node:
    """The inverse transform and the cuts, of another spectrum."""
    after = behind[-1]
    for n in behind:
        with graph.inserting_after(after):
            args = (y, *args_of(n)[1:2]) if name(n) == "fft_irfft" else (y, -1, *args_of(n)[2:])
            made = graph.create_node("call_function", n.target, args)
        made.meta = dict(n.meta)
        made.meta["val"] = n.meta["val"].new_empty((*y.meta["val"].shape[:-1], n.meta["val"].shape[-1]))
        y = after = made
    return y


def emit(graph: Graph, like: Node, target: Any, args: tuple[Any, ...], shape: Sequence[int], kind: Node) -> Node:
    made = graph.create_node("call_function", target, args)
    made.meta = {key: value for key, value in like.meta.items() if key != "from_node"}
    made.meta["val"] = kind.meta["val"].new_empty(shape)
    return made


def shape_of(x: Node, labels: str, other: Node, part: str, made: str) -> tuple[int, ...]:
    sizes: dict[str, int] = {}
    for values, n in ((labels, x), (part, other)):
        for c, size in zip(values, n.meta["val"].shape):
            sizes[c] = max(size, sizes.get(c, 1))
    return tuple(sizes[c] for c in made)
