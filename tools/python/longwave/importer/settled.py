"""Values that do not depend on the input, where a module asks for them as Python numbers.

torch.export knows no values, so it stops at `assert window.all()` or `int(lengths.max())`. The module runs once with numbers. What it asks
for is noted, and told again in the same order while it is exported. Values that depend on the input are not told: they stay branches on data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

# For a value as a Python number. torch.export asks for the items of a list one by one.
ASKED = {getattr(Tensor, name) for name in "item __bool__ __int__ __float__ __index__".split()}


def memory(x: Any) -> int | None:
    """Which memory a tensor reads. Views have that of their base."""
    return x.untyped_storage()._cdata if isinstance(x, Tensor) else None


class Followed(TorchDispatchMode):
    """Which tensors an input has changed."""

    def __init__(self, inputs: Sequence[Tensor]) -> None:
        TorchDispatchMode.__init__(self)  # super() has no hints
        self.kept: list[Tensor] = list(inputs)  # so that no other tensor gets their memory
        self.changed = {memory(x) for x in inputs}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        if any(memory(x) in self.changed for x in tree_leaves((args, kwargs))):
            written = [x for x in tree_leaves(args) if isinstance(x, Tensor)] if func._schema.is_mutable else []
            for x in [*tree_leaves(made), *written]:
                if isinstance(x, Tensor):
                    self.kept.append(x)
                    self.changed.add(memory(x))
        return made


class Noted(TorchFunctionMode):
    """What is asked for: (function, depends on the input, value)."""

    def __init__(self, followed: Followed) -> None:
        super().__init__()
        self.followed = followed
        self.answers: list[tuple[Callable[..., Any], bool, Any]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        value = func(*args, **(kwargs or {}))
        depends = bool(args) and memory(args[0]) in self.followed.changed
        if func in ASKED:
            self.answers.append((func, depends, value))
        if func is Tensor.tolist:
            self.answers += [(Tensor.item, depends, item) for item in tree_leaves(value)]
        return value


class Told(TorchFunctionMode):
    """Gives the same answers again. From the first question that differs on, it gives none."""

    def __init__(self, answers: Sequence[tuple[Callable[..., Any], bool, Any]]) -> None:
        super().__init__()
        self.answers = list(answers)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in ASKED and self.answers:
            asked, depends, value = self.answers.pop(0)
            if asked is not func:
                self.answers = []
            elif not depends:
                return value
        return func(*args, **(kwargs or {}))


def told(module: nn.Module, examples: Sequence[Tensor]) -> Told:
    """The answers of a run with these inputs, for an export with the same."""
    followed = Followed(examples)
    with Noted(followed) as noted, followed:
        module(*examples)
    return Told(noted.answers)
