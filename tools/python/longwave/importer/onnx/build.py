"""From the nodes of a checked model to the steps that run on data.

What depends on constants alone is computed once, here. So an `If` on constants, or on an input that the user has fixed, leaves
the nodes of one branch. What no result needs is left out, and is not judged.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx
from onnx.checker import ValidationError

from ..errors import Refused
from .block import Block, Choice
from .call import attributes_of
from .limits import ALL_NUMBERS
from .names import address
from .reader import Model, subgraphs
from .steps import NodeFailed, Step, broken
from .tensors import Constants

DAMAGED = "the file is damaged: export it again"


def read_outside(node: onnx.NodeProto) -> set[str]:
    """Values that a node reads, also those that its subgraphs read from around them."""
    names = set(node.input)
    for g in subgraphs(node):
        inside = (
            {t.name for t in g.initializer} | {t.values.name for t in g.sparse_initializer} | {i.name for i in g.input}
        )
        inside.update(name for n in g.node for name in n.output)
        names |= {o.name for o in g.output}.union(*(read_outside(n) for n in g.node)) - inside
    return names - {""}


def needed(nodes: Iterable[onnx.NodeProto], results: Iterable[str]) -> list[onnx.NodeProto]:
    wanted, kept = set(results), []
    for node in reversed(list(nodes)):
        if wanted & set(node.output):
            kept.append(node)
            wanted |= read_outside(node)
    return kept[::-1]


class Builder:
    """`known`: arrays by name. What cannot be read becomes a broken step, which judge.py reports."""

    def __init__(self, model: Model, fixed: dict[str, np.ndarray]) -> None:
        self.model, self.constants = model, Constants(model.path.parent)
        self.known: dict[str, np.ndarray] = dict(fixed)
        self.numbers = 0
        self.context = onnx.checker.C.CheckerContext()
        self.context.ir_version = 10
        self.context.opset_imports = {"": model.opset, **model.domains}

    def block(self, graph: onnx.GraphProto, results: list[str], varying: set[str], root: bool) -> Block:
        """`varying`: names of values that depend on data or shapes; those of this graph are added."""
        block, nodes = Block(results), needed(graph.node, results)
        wanted = set(results).union(*(read_outside(n) for n in nodes))
        for t in graph.initializer:
            if t.name in wanted and t.name not in varying and not (root and t.name in self.known):
                self.hold(block, varying, t.name, t)
        for t in graph.sparse_initializer:
            if t.values.name in wanted:
                self.breaks(
                    block,
                    varying,
                    t.values.name,
                    "sparse tensor",
                    [t.values.name],
                    Refused("is not read", "save it as a dense tensor"),
                )
        for node in nodes:
            self.node(block, node, varying)
        for name in results:
            if name not in varying and name not in self.known:
                self.breaks(block, varying, name, "output", [name], Refused("no node makes it", DAMAGED))
        return block

    def hold(self, block: Block, varying: set[str], name: str, made: onnx.TensorProto | np.ndarray) -> None:
        try:
            array = self.constants.array(made) if isinstance(made, onnx.TensorProto) else made
            self.numbers += array.size
            if self.numbers > ALL_NUMBERS:
                raise Refused("all constants together are too many", f"at most {ALL_NUMBERS:,} numbers")
            self.known[name] = array
        except Refused as e:
            self.breaks(block, varying, name, "tensor", [name], e)

    def breaks(
        self, block: Block, varying: set[str], title: str, kind: str, writes: list[str], e: Refused, opset: int = 0
    ) -> None:
        writes = [name if name not in varying and name not in self.known else "" for name in writes]
        varying.update(n for n in writes if n)
        block.add(address(title, kind, block.taken), broken(title, kind, opset, writes, e))

    def node(self, block: Block, node: onnx.NodeProto, varying: set[str]) -> None:
        title = node.name or next((o for o in node.output if o), "") or node.op_type
        domain = "" if node.domain == "ai.onnx" else node.domain
        opset = self.model.domains.get(domain, 0) if domain else self.model.opset
        step = Step(title, node.op_type, domain, {}, opset, list(node.input), list(node.output))
        missing = [n for n in read_outside(node) if n not in varying and n not in self.known]
        repeated = [n for n in node.output if n and (n in varying or n in self.known or list(node.output).count(n) > 1)]
        try:
            if missing:
                raise Refused(f"reads {missing[0]}, which nothing before it makes", DAMAGED)
            if repeated:
                raise Refused(f"writes {repeated[0]}, which is there already", DAMAGED)
            if node.op_type == "If" and not domain:
                return self.branches(block, step, node, varying)
            if refused := step.refused():
                raise refused
            self.check(node)
            step.attributes = {name: self.value(v) for name, v in attributes_of(node).items()}
            if not any(n in varying for n in node.input):
                return self.fold(block, varying, step)
        except NodeFailed as e:
            return self.breaks(block, varying, title, step.full_type, step.writes, Refused(e.reason, DAMAGED), opset)
        except Refused as e:
            return self.breaks(block, varying, title, step.full_type, step.writes, e, opset)
        varying.update(n for n in node.output if n)
        block.add(address(title, node.op_type, block.taken), step)

    def check(self, node: onnx.NodeProto) -> None:
        """Attributes and inputs against the definition of the operation in its opset."""
        try:
            onnx.checker.check_node(node, self.context)
        except (ValidationError, ValueError, RuntimeError, TypeError) as e:
            if "is deprecated" in str(e):
                return  # its definition of that opset is what ops/ computes
            said = next((line.strip() for line in str(e).splitlines() if line.strip()), type(e).__name__)
            raise Refused(f"breaks its definition: {said}", DAMAGED) from e

    def value(self, v: Any) -> Any:
        return self.constants.array(v) if isinstance(v, onnx.TensorProto) else v

    def fold(self, block: Block, varying: set[str], step: Step) -> None:
        made = step([self.known[n] if n else None for n in step.reads])
        if len(made) < len(step.writes):
            raise Refused(f"gives {len(made)} results, and {len(step.writes)} are named", DAMAGED)
        for name, array in zip(step.writes, made):
            if name:
                self.hold(block, varying, name, array)

    # ---- If
    def branches(self, block: Block, step: Step, node: onnx.NodeProto, varying: set[str]) -> None:
        graphs = {a.name: a.g for a in node.attribute if a.HasField("g")}
        if (
            set(graphs) != {"then_branch", "else_branch"}
            or list(node.input) in ([], [""])
            or len(node.input) != 1
            or any(len(g.output) != len(node.output) or not all(o.name for o in g.output) for g in graphs.values())
        ):
            raise Refused("has no two branches with a result for each output", DAMAGED)
        condition = node.input[0]
        if condition in self.known:
            if self.known[condition].size != 1:
                raise Refused(f"its condition has shape {list(self.known[condition].shape)}", DAMAGED)
            return self.inlined(
                block, graphs["then_branch" if self.known[condition].any() else "else_branch"], node, varying
            )
        choice = Choice(step.title, step.opset, condition, list(node.output))
        for name, g in (("then", graphs["then_branch"]), ("else", graphs["else_branch"])):
            inside, known = set(varying), dict(self.known)
            choice.add_module(name, self.block(g, [o.name for o in g.output], inside, False))
            choice.held[name] = {o.name: self.known[o.name] for o in g.output if o.name in self.known}
            choice.known[name] = {n: v for n, v in self.known.items() if n not in known}
            self.known = known
        varying.update(n for n in node.output if n)
        block.add(address(step.title, "If", block.taken), choice)

    def inlined(self, block: Block, graph: onnx.GraphProto, node: onnx.NodeProto, varying: set[str]) -> None:
        """The nodes of one branch, in place of the `If`."""
        inner = self.block(graph, [o.name for o in graph.output], varying, False)
        for key in inner.plan:
            block.add(address(key, key, block.taken), inner.get_submodule(key))
        for name, result in zip(node.output, (o.name for o in graph.output)):
            if not name or name == result:
                continue
            if result in self.known:
                self.known[name] = self.known[result]
            else:
                varying.add(name)
                block.add(
                    address(f"{node.name or 'If'}_{name}", "Identity", block.taken),
                    Step(name, "Identity", "", {}, self.model.opset, [result], [name]),
                )
