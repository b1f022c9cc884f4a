"""Refusals with a name of their own: shapes that depend on data, complex results, random numbers, state between calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.fx.node import Node
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from .errors import ImportFailed, Problem, retrain
from .nodes import args_of

STATISTICS = (
    "batch norm in train mode: it uses the statistics of its input",
    retrain("store running statistics, and call it with training=False"),
)
DROPOUT = ("dropout that stays on in eval mode", "call F.dropout(x, p, self.training), or use nn.Dropout")
RANDOM = ("draws random numbers in each call", "give them as an input, or leave them out in eval mode")
NAMED = {
    "_native_batch_norm_legit": STATISTICS,
    "native_batch_norm": STATISTICS,
    "native_dropout": DROPOUT,
    "bernoulli": DROPOUT,
}
PARTS_OF_DROPOUT = {"empty_like", "new_empty", "empty"}  # written around bernoulli, and consequences of it


SEEDED_IN_TRAINING = {
    "lstm",
    "gru",
    "rnn_tanh",
    "rnn_relu",
    "scaled_dot_product_attention",
}  # their dropout is off in eval mode


def is_random(target: object) -> bool:
    return torch.Tag.nondeterministic_seeded in getattr(target, "tags", ()) and op_of(target) not in SEEDED_IN_TRAINING


def repeats(n: Node, inputs: list[Node]) -> tuple[str, str]:
    """Reason and way out of a repeat_interleave whose counts are a tensor."""
    waiting, seen = [args_of(n)[0] if len(args_of(n)) == 1 else args_of(n)[1]], set()
    while waiting:
        a = waiting.pop()
        if a in inputs:
            return (
                "repeats each element a number of times that depends on the data",
                "let shapes depend on the number of rows only",
            )
        waiting += [i for i in a.all_input_nodes if i not in seen]
        seen.update(a.all_input_nodes)
    return (
        "repeats each element a number of times of its own, and does not say how many elements that makes",
        "give their number: repeat_interleave(x, counts, dim, output_size=N)",
    )


def refuse_graph(nodes: list[Node], inputs: list[Node], results: list[Node], where: Callable[[Node], str]) -> None:
    """Raises ImportFailed for what no other rule can judge. `where`: the address of a node."""
    problems = []
    for n in nodes:
        val = n.meta.get("val")
        if isinstance(val, Tensor) and not all(isinstance(extent, int) for extent in val.shape):
            reason = (
                repeats(n, inputs)
                if op_of(n.target) == "repeat_interleave"
                else ("its shape depends on the data", "let shapes depend on the number of rows only")
            )
            problems = [Problem(where(n), op_of(n.target), *reason)]
            break  # every later one is a consequence
    if not problems:
        problems = [
            Problem(
                where(r), "output", "is complex", "return real numbers, for example its abs() or torch.view_as_real"
            )
            for r in results
            if isinstance(r.meta.get("val"), Tensor) and r.meta["val"].is_complex()
        ]
    if not results:
        problems = [
            Problem("", "output", "the module returns no tensor", "return a tensor, or a tuple or dict of tensors")
        ]
    if problems:
        raise ImportFailed(problems)


def op_of(target: object) -> str:
    return target._schema.name.split("::")[1] if hasattr(target, "_schema") else str(target)


def renamed(problems: list[Problem], nodes: list[Node], where: Callable[[Node], str]) -> list[Problem]:
    """The problems of a graph, with the reason that its author knows in place of the one that a rule sees."""
    random = [n for n in nodes if is_random(n.target)]
    named = [Problem(where(n), op_of(n.target), *NAMED.get(op_of(n.target), RANDOM)) for n in random]
    for p in problems:
        if p.op in NAMED and p.where not in {q.where for q in named}:
            named.append(Problem(p.where, p.op, *NAMED[p.op]))
        elif (
            p.op not in NAMED and not (random and p.op in PARTS_OF_DROPOUT) and p.where not in {q.where for q in named}
        ):
            named.append(p)
    return named


class _Random(TorchDispatchMode):
    """Notes whether a module draws random numbers."""

    found = False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        self.found |= is_random(func)
        return func(*args, **(kwargs or {}))


def kept_state(module: nn.Module, first: tuple[Tensor, ...], other: tuple[Tensor, ...]) -> None:
    """Raises ImportFailed if equal inputs give other results after a call with other inputs. `module` has run before."""

    def result() -> list[Tensor]:
        return [t.clone() for t in tree_leaves(module(*first)) if isinstance(t, Tensor)]

    with torch.no_grad(), _Random() as noted:  # type: ignore[no-untyped-call]
        before = result()
        was = held(module)
        module(*other)
        now = held(module)
        after = result()
    if noted.found or all(a.shape == b.shape and same(a, b) for a, b in zip(before, after)):
        return  # random numbers are named later, by the node that draws them
    changed = [
        key
        for key, values in now.items()
        if len(values) != len(was.get(key, []))
        or not all(a.shape == b.shape and torch.equal(a, b) for a, b in zip(was[key], values))
    ]
    raise ImportFailed(
        [
            Problem(
                key,
                "",
                "keeps state between calls",
                "take the state as an input and return it, and name both: --state INPUT=RESULT",
            )
            for key in changed or ["the module"]
        ]
    )


def same(a: Tensor, b: Tensor) -> bool:
    if not a.is_floating_point() and not a.is_complex():
        return torch.equal(a, b)
    finite = b[torch.isfinite(b)].abs()
    return bool(
        torch.isclose(a, b, rtol=1e-3, atol=1e-3 * float(finite.max()) if finite.numel() else 0.0, equal_nan=True).all()
    )


def held(module: nn.Module) -> dict[str, list[Tensor]]:
    """Tensors that parts of the module hold, without parameters: address -> copies."""
    found = {}
    for name, part in module.named_modules():
        for key, value in {**vars(part), **part._buffers}.items():
            if key.startswith("_"):
                continue
            leaves = (
                [t.detach().clone() for t in tree_leaves(value) if isinstance(t, Tensor)]
                if isinstance(value, (Tensor, list, tuple, dict))
                else []
            )
            if leaves:
                found[f"{name}.{key}" if name else key] = leaves
    return found
