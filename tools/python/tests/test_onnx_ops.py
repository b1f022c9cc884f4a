"""Every ONNX operation that is read, against onnxruntime on the same numbers, at two lengths."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_leaves

onnx = pytest.importorskip("onnx", reason="needs the onnx package")
runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")

import onnx_cases  # noqa: E402
from importer_checks import ROOT  # noqa: E402,F401
from longwave.importer.onnx.door import open_file  # noqa: E402
from longwave.importer.onnx.ops import TABLE  # noqa: E402
from longwave.importer.onnx.reader import read  # noqa: E402

CLOSE = 2e-5  # of the peak: two programs in float32, sums of up to 100 products


def ran(path: str, feeds: dict[str, np.ndarray]) -> list[np.ndarray]:
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if any(a.name == "layout" for n in onnx.load(path).graph.node for a in n.attribute):  # onnxruntime has none
        from onnx.reference import ReferenceEvaluator

        return ReferenceEvaluator(path).run(None, feeds)
    return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"]).run(None, feeds)


@pytest.mark.parametrize("name", onnx_cases.CASES)
def test_equals_onnxruntime(name: str, tmp_path) -> None:
    made, inputs, fix = onnx_cases.CASES[name]
    path = str(tmp_path / "one.onnx")
    onnx.save(made, path)
    opened = open_file(path, inputs, fix, length=24)
    for length in (24, 39) if not name.startswith(("STFT", "SpaceTo")) else (24, 40):
        x = [e.example(length, torch.float32, seed=3) for e in opened.inputs]
        with torch.no_grad():
            found = [t for t in tree_leaves(opened.module(*x)) if isinstance(t, torch.Tensor)]
        expected = ran(path, {**{e.name: t.numpy() for e, t in zip(opened.inputs, x)}, **opened.fixed})
        names = [o.name for o in made.graph.output]
        assert len(found) == len(expected) == len(opened.outputs)
        for output, f in zip(opened.outputs, found):
            e = expected[names.index(output)]
            assert tuple(f.shape) == e.shape
            assert np.abs(f.numpy() - e).max() <= CLOSE * max(np.abs(e).max(), 1e-30), (
                f"{output}: {np.abs(f.numpy() - e).max()}"
            )


def test_every_operation_that_is_read_is_tried(tmp_path) -> None:
    tried: set[str] = set()
    for made, _, _ in onnx_cases.CASES.values():
        onnx.save(made, str(tmp_path / "one.onnx"))
        waiting = [read(str(tmp_path / "one.onnx")).graph]
        while waiting:
            graph = waiting.pop()
            tried.update(n.op_type for n in graph.node)
            waiting += [a.g for n in graph.node for a in n.attribute if a.HasField("g")]
    assert set(TABLE) <= tried
