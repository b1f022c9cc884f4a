"""Random modules of accepted operations: the importer refuses them, or the recovered graph equals the module.

LONGWAVE_MODULES=500 makes 500 of them (tools/test --all); the default is 20. The module runs in float64 here, apart from
the importer's own proof, and at a length that the importer has not seen. random_modules.py makes them.
"""

from __future__ import annotations

import copy
import os
import sys
from collections import Counter
from pathlib import Path

import torch
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from longwave.importer.api import import_module  # noqa: E402
from longwave.importer.as_it_is import rows_of  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.execute import execute  # noqa: E402
from longwave.importer.export import float64_default  # noqa: E402
from longwave.importer.prove import error  # noqa: E402
from random_modules import REFUSED, RandomModule  # noqa: E402

EQUAL = 1e-10  # of the peak: float64 on both sides
FITTED = 1e-6  # with a recurrence, whose taps are within 1e-7 of theirs; the layers after it may amplify that

COUNT = int(os.environ.get("LONGWAVE_MODULES", "20"))
FIRST = int(os.environ.get("LONGWAVE_MODULES_FROM", "0"))
LENGTH, OTHER = 97, 71
SAMPLES = 8  # per row: a module that reads samples gets so many times more
torch.set_num_threads(1)


def imported(module: nn.Module, audio: bool):
    length, fewest = (rows * SAMPLES + 1 if audio else rows for rows in (LENGTH, OTHER))
    return import_module(
        module,
        ["x=8000" if audio else f"x=1xTx{module.steps[0].width}"],
        length=length,
        longest=length,
        min_rows=fewest,
    )


def equals(made, module: nn.Module, audio: bool) -> None:
    """At a length that the importer has not seen."""
    x = torch.randn(1, OTHER * SAMPLES + 1 if audio else OTHER, module.steps[0].width, dtype=torch.float64)
    graph = made.importer.graph
    with float64_default():
        (found,) = execute(graph, [x[0]])
        expected = rows_of(graph.outputs[0], copy.deepcopy(module).double()(x[..., 0] if audio else x))
    fitted = any(op.kind == "state_space" for op in graph.ops)
    assert error(found, expected) <= (FITTED if fitted else EQUAL), f"differs by {error(found, expected):.1e}"


def outcome(seed: int, make=RandomModule) -> tuple[str, list[str], str]:
    """ "equal", "refused" or "wrong", the kinds of operations, and what was said."""
    module = make(seed).eval()
    kinds = [step.kind for step in module.steps] + [module.end]
    audio = kinds[0] in ("frames", "stft and back")
    try:
        made = imported(module, audio)
    except ImportFailed as e:
        return "refused", kinds, str(e).splitlines()[0]
    except Exception as e:  # noqa: BLE001, whatever the importer raises is an error of its own
        return "wrong", kinds, f"{type(e).__name__}: {e}"
    try:
        equals(made, module, audio)
    except AssertionError as e:
        return "wrong", kinds, str(e)
    return "equal", kinds, ""


def table(found: list[tuple[str, list[str], str]]) -> str:
    """How many modules that hold each kind were equal, refused or wrong."""
    counts = Counter((kind, result) for result, kinds, _ in found for kind in set(kinds))
    lines = [f"{'kind':16}{'equal':>7}{'refused':>9}{'wrong':>7}"]
    lines += [
        f"{kind:16}{counts[kind, 'equal']:7}{counts[kind, 'refused']:9}{counts[kind, 'wrong']:7}"
        for kind in sorted({kind for kind, _ in counts})
    ]
    return "\n".join(lines)


@torch.no_grad()
def test_random_modules() -> None:
    found, problems = [], []
    for seed in range(FIRST, FIRST + COUNT):
        found.append(outcome(seed))
        result, kinds, text = found[-1]
        print(seed, kinds, result, text, flush=True)
        must_be = "refused" if REFUSED & set(kinds) else "equal"
        if result != must_be:
            problems.append(f"module {seed} of {kinds} is {result}, expected {must_be}: {text}")
    print(table(found))
    numbers = Counter(result for result, _, _ in found)
    print(f"{COUNT} modules: {numbers['equal']} equal, {numbers['refused']} refused, {numbers['wrong']} wrong")
    assert not problems, "\n".join(problems)
    assert numbers["equal"] >= COUNT // 2, f"{numbers['equal']} of {COUNT} accepted"


if __name__ == "__main__":
    test_random_modules()
