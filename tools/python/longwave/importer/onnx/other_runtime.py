"""Runs a .onnx file with onnxruntime, or with the reference evaluator of the onnx package, in a process of its own: what a file
makes these do ends here. python -m longwave.importer.onnx.other_runtime FILE CALLS.npz RESULTS.npz

CALLS holds "N.NAME": input NAME of call N, and "state.NAME" the texts of pairs INPUT=OUTPUT. RESULTS holds "N.OUTPUT".
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np


def runner(path: str) -> tuple[str, Callable[[dict[str, Any]], dict[str, Any]], dict[str, Any]]:
    """Name and version, a function from inputs to outputs, and the types of the inputs."""
    import onnx

    graph = onnx.load(path, load_external_data=False).graph
    types = {i.name: onnx.helper.tensor_dtype_to_np_dtype(i.type.tensor_type.elem_type) for i in graph.input}
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        evaluator = ReferenceEvaluator(path)
        names = [o.name for o in graph.output]
        return (
            f"the reference evaluator of onnx {onnx.__version__}",
            lambda feeds: dict(zip(names, evaluator.run(names, feeds))),
            types,
        )
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = (
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    )  # the definitions, not approximations of them
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return f"onnxruntime {onnxruntime.__version__}", lambda feeds: dict(zip(names, session.run(names, feeds))), types


def main(path: str, calls_file: str, results: str) -> int:
    try:
        name, run, types = runner(path)
        given = np.load(calls_file, allow_pickle=False)
        calls: dict[int, dict[str, Any]] = {}
        states: dict[str, str] = {}
        for key in given.files:
            number, _, own = key.partition(".")
            if number == "state":
                states[own] = str(given[key])
            else:
                calls.setdefault(int(number), {})[own] = given[key].astype(types[own])
        found: dict[str, Any] = {}
        before: dict[str, Any] = {}
        for number in sorted(calls):
            made = run({**calls[number], **before})
            before = {name: made[result] for name, result in states.items()}
            found.update({f"{number}.{output}": np.asarray(value) for output, value in made.items()})
        np.savez(results, **found)
    except (Exception, SystemExit) as e:  # whatever these packages raise
        lines = [line.strip() for line in str(e).splitlines() if line.strip()]
        print(lines[0] if lines else type(e).__name__, file=sys.stderr)
        return 1
    print(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
