"""From a module to a graph of torch operations at one length, and that graph in float64.

Export is static: torch fixes a dynamic length silently for some modules, and rejects others. The importer tests other
lengths itself (prove.py). `run_decompositions` keeps linear, einsum, fft_rfft and stft whole: it writes out only the
operations of decompositions.py.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import logging
import operator
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import ExportedProgram
from torch.fx.node import Node, map_aggregate

from . import decompositions, settled
from .blame import first_line, of_module
from .errors import ImportFailed, Problem
from .inputs import Input
from .known import mark
from .mixing import separated
from .named import kept_state, refuse_graph
from .nodes import args_of, kwargs_of
from .pieces import joined
from .wrappers import copied, exact_weights

WIDE = {
    torch.float32: torch.float64,
    torch.float16: torch.float64,
    torch.bfloat16: torch.float64,
    torch.complex64: torch.complex128,
}


@contextlib.contextmanager
def float64_default() -> Iterator[None]:
    """Operations that create numbers create float64 ones."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            yield
    finally:
        torch.set_default_dtype(before)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """torch.export prints graphs and warnings. What matters of them is in its exceptions."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def exported(module: nn.Module, examples: tuple[Tensor, ...]) -> ExportedProgram:
    def export() -> ExportedProgram:
        return torch.export.export(copy.deepcopy(module), examples, strict=False)

    try:
        return export()
    except Exception as e:
        if "data-dependent" not in str(e) and "GuardOnDataDependent" not in str(e):
            raise
        try:
            with settled.told(copy.deepcopy(module), examples):
                return export()
        except Exception:
            raise e from None  # it names the line of the module


def export_problem(e: BaseException) -> Problem:
    if "Size-like symbols: u" in str(e):
        where = source_of(e).strip(" ()")
        return Problem(
            "",
            "torch.export",
            "a shape depends on the data" + (f": {where}" if where else ""),
            "let shapes depend on the number of rows only; repeat_interleave by a tensor takes output_size=N",
        )
    if "data-dependent" in str(e) or "GuardOnDataDependent" in str(e):
        return Problem(
            "",
            "torch.export",
            "a branch on data: " + (source_of(e).strip(" ()") or first_line(e)),
            "make the branch depend on Python values only",
        )
    return Problem("", "torch.export", first_line(e) + source_of(e), "make the module exportable")


SHAPED = {
    "zeros_like",
    "ones_like",
    "full_like",
    "new_zeros",
    "new_ones",
    "new_full",
}  # read the shape of a value alone


def module_of(n: Node) -> str:
    """Address of the module that a node belongs to: "blocks.0.layer"."""
    stack = list((n.meta.get("nn_module_stack") or {}).values())
    return stack[-1][0].removeprefix("L['self']").strip(".") if stack else ""


def name_of(n: Node) -> str:
    """Of the operation that the module calls. Parts of one operation share it."""
    return (decompositions.written(n) or (n.name,))[0]


def address(n: Node) -> str:
    """Module address and name of a node: "blocks.0.layer/fft_rfft"."""
    module = module_of(n)
    return f"{module}/{name_of(n)}" if module else name_of(n)


# other names of torch's operations
ALIASES = {
    "clip": "clamp",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "subtract": "sub",
    "negative": "neg",
    "absolute": "abs",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "not_equal": "ne",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "moveaxis": "movedim",
    "concat": "cat",
    "concatenate": "cat",
    "special_erf": "erf",
    "special_expit": "sigmoid",
}


def op_name(node: Node) -> str:
    if node.target is operator.getitem:
        return "getitem"
    if hasattr(node.target, "_schema"):
        name: str = node.target._schema.name.split("::")[1]
        return ALIASES.get(name, name)
    return str(getattr(node.target, "__name__", node.target))


def wide(value: Any) -> Any:
    return WIDE.get(value, value) if isinstance(value, torch.dtype) else value


def call(node: Node, values: Mapping[Node, Any]) -> Any:
    """Runs one node. Values are float64, so dtypes that the graph names are widened too."""

    def argument(a: Any) -> Any:
        return values[a] if isinstance(a, Node) else wide(a)

    args, kwargs = map_aggregate(node.args, argument), map_aggregate(node.kwargs, argument)
    if op_name(node) == "rms_norm":  # its default eps depends on the type, which is the module's own
        args = (*args, *[None] * (3 - len(args)), rms_eps(node))[:4]
    assert callable(node.target)  # no call of a method or a module is in an exported graph
    return node.target(*args, **kwargs)


def rms_eps(node: Node) -> float:
    given = args_of(node)[3] if len(node.args) > 3 else kwargs_of(node).get("eps")
    return float(torch.finfo(node.meta["val"].dtype).eps if given is None else given)


def run_nodes(nodes: Sequence[Node], values: dict[Node, Any], results: Sequence[Node]) -> None:
    """Runs nodes in order. What only they read goes as soon as nothing needs it: sequences are long."""
    last = {a: n for n in nodes for a in n.all_input_nodes}
    mine = set(nodes) - set(results)
    for n in nodes:
        values[n] = call(n, values)
        for a in n.all_input_nodes:
            if a in mine and last[a] is n:
                del values[a]


class Pinned(int):
    """The value of a 0-d flag or counter, as a Python number that a module may read like a tensor."""

    def item(self) -> int:
        return int(self)


@contextlib.contextmanager
def without_kept_results(module: nn.Module) -> Iterator[None]:
    """Functions with functools.cache beside the classes of a module compute again: a table that they kept would be a
    constant in float32. And what export computes stays in none of them."""
    places = {sys.modules.get(type(part).__module__) for part in module.modules()} - {None}
    cached = [f for place in places for f in vars(place).values() if isinstance(f, functools._lru_cache_wrapper)]
    for f in cached:
        f.cache_clear()
    try:
        yield
    finally:
        for f in cached:
            f.cache_clear()


def prepare(module: nn.Module, inputs: Sequence[Input], length: int, known: bool = True) -> nn.Module:
    """A copy in eval mode that has run once: some modules set buffers in their first run. 0-d flags and counters
    become Python values, because a branch on a tensor stops export. `known`: published layers become one operation each."""
    module = copied(module)
    floats = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
    try:
        with torch.no_grad():
            module(*(i.example(length, floats) for i in inputs))
        kept_state(module, *(tuple(i.example(length, floats, seed) for i in inputs) for seed in (0, 1)))
    except ImportFailed:
        raise
    except (Exception, SystemExit) as e:  # whatever the module raises
        raise ImportFailed(
            [
                Problem(
                    "",
                    "",
                    f"the module does not run at length {length}: {of_module(e)}",
                    "check --input, or choose another --length",
                )
            ]
        ) from e
    if known:
        mark(module, length)
    for part in module.modules():
        for key, buffer in list(part._buffers.items()):
            if (
                buffer is not None
                and buffer.dim() == 0
                and not buffer.dtype.is_floating_point
                and not buffer.dtype.is_complex
            ):
                del part._buffers[key]
                setattr(part, key, Pinned(buffer))
    return module


class Exported:
    """The operations of a prepared module at one length. `constants`: float64 results that depend on no input."""

    def __init__(self, module: nn.Module, inputs: Sequence[Input], length: int, more: Mapping[str, Any] = {}) -> None:
        """`more`: operations to write out, beside those of decompositions.py."""
        self.inputs, self.length = inputs, length
        floats = next((p.dtype for p in module.parameters() if p.is_floating_point()), torch.float32)
        examples = tuple(i.example(length, floats) for i in inputs)
        try:
            with torch.no_grad(), quiet(), without_kept_results(module):
                program = exported(module, examples).run_decompositions({**decompositions.TABLE, **more})
        except (Exception, SystemExit) as e:  # torch raises many types here
            raise ImportFailed([export_problem(e)]) from e
        signature = program.graph_signature
        joined(program.graph)
        separated(program.graph, set(signature.user_inputs))
        mutated = [*signature.buffers_to_mutate.values(), *signature.user_inputs_to_mutate.values()]
        if mutated:
            raise ImportFailed(
                [
                    Problem(key, "", "changes while the module runs", "return the value as an output instead")
                    for key in mutated
                ]
            )
        self.nodes = [
            n
            for n in program.graph.nodes
            if n.op in ("placeholder", "call_function") and not op_name(n).startswith(("_assert", "sym_constrain"))
        ]
        by_name = {n.name: n for n in self.nodes}
        self.arguments = [by_name[name] for name in signature.user_inputs]
        results = list(program.graph.nodes)[-1].args[0]
        self.results = [r for r in results if isinstance(r, Node)]
        refuse_graph(self.nodes, self.arguments, self.results, address)
        self.constants: dict[Node, Tensor] = {}
        try:
            self._fold(program, exact_weights(module))
        except (IndexError, RuntimeError) as e:  # a table has fewer rows
            raise ImportFailed(
                [
                    Problem(
                        "",
                        "",
                        f"the module does not run at length {length}: {first_line(e)}",
                        "choose another --length",
                    )
                ]
            ) from e

    def _fold(self, program: ExportedProgram, exact: dict[str, Tensor]) -> None:
        s = program.graph_signature
        keys = {**s.inputs_to_parameters, **s.inputs_to_buffers, **s.inputs_to_lifted_tensor_constants}
        self.varying = varying = set(self.arguments)
        objects = [n for n in self.nodes if n.op == "placeholder" and n not in varying and n.name not in keys]
        if objects:
            raise ImportFailed(
                [
                    Problem(
                        address(u),
                        op_name(u),
                        "reads an object that is not a tensor",
                        "make its numbers once, in the constructor of the module",
                    )
                    for n in objects
                    for u in n.users
                ]
            )
        for n in self.nodes:
            if n.op == "call_function" and any(a in varying for a in n.all_input_nodes) and op_name(n) not in SHAPED:
                varying.add(n)
        waiting = {n: len(n.users) for n in self.nodes}
        with float64_default():
            for n in self.nodes:
                if n in varying:
                    continue
                if n.name in keys:
                    t = next(
                        t
                        for t in (values.get(keys[n.name]) for values in (exact, program.state_dict, program.constants))
                        if t is not None
                    )
                    self.constants[n] = t.detach().to(wide(t.dtype))
                elif n.op == "call_function":
                    shaped = {
                        a: torch.zeros(a.meta["val"].shape, dtype=wide(a.meta["val"].dtype))
                        for a in n.all_input_nodes
                        if a in varying
                    }
                    self.constants[n] = call(n, {**self.constants, **shaped})
                for a in n.all_input_nodes:  # large intermediate results go as soon as nothing reads them
                    waiting[a] -= 1
                    if waiting[a] == 0 and a not in self.results and a not in varying:
                        del self.constants[a]

    def run(self, arguments: Sequence[Tensor]) -> list[Tensor]:
        """The results in float64."""
        values: dict[Node, Any] = dict(self.constants)
        values.update(zip(self.arguments, arguments, strict=True))
        with float64_default():
            run_nodes([n for n in self.nodes if n in self.varying and n not in values], values, self.results)
        return [values[r] for r in self.results]


def source_of(e: BaseException) -> str:
    """The line of the user's code that torch names, if it does."""
    lines = [line.strip() for line in str(e).splitlines() if 'File "' in line and "site-packages/torch" not in line]
    return f" ({lines[-1]})" if lines else ""
