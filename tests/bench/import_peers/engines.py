"""What each peer makes of a module: a file, a call for one second, a call for a streamed block, bytes to ship.

A function here runs in the environment of its peer. Whatever it raises becomes the reason of a row.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
import torch
from models import ROOT, Model
from torch import nn

sys.path.insert(0, str(ROOT / "tests/bench/peers"))
from files import in_package, reason, size, stripped  # noqa: E402

Array = numpy.ndarray


@dataclass
class Made:
    """`call`: a second in, the result out. `block_ms`: of a streamed block; None: the peer has no stream of this model, and
    `no_stream` says why. `call_ms`: for a peer that measures itself. `note`: what had to be switched off or taken instead."""

    call: Callable[[Array], Array]
    model_bytes: int
    runtime_bytes: int
    version: str
    block_ms: float | None = None
    no_stream: str = ""
    call_ms: float | None = None
    note: str = ""
    block: Callable[[Array], Any] | None = None
    tried: list[str] = field(default_factory=list)


def onnx_file(module: nn.Module, model: Model, folder: Path, dynamic: bool = False) -> Path:
    path = folder / ("dynamic.onnx" if dynamic else "model.onnx")
    shapes = ({model.time(): torch.export.Dim("S", min=2)},) if dynamic else None
    torch.onnx.export(
        module,
        (model.example(),),
        path,
        opset_version=20,
        dynamo=True,
        dynamic_shapes=shapes,
        verbose=False,
        input_names=["x"],
        output_names=["y"],
        external_data=False,
    )
    return path


def onnxruntime(module: nn.Module, model: Model, folder: Path) -> Made:
    import onnxruntime as ort

    path = onnx_file(module, model, folder)
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return Made(
        lambda x: session.run(None, {"x": x})[0],
        size(path),
        in_package(ort, "capi/onnxruntime_pybind11_state*.so"),
        f"onnxruntime {ort.__version__}",
        no_stream="no state in the engine",
    )


def openvino(module: nn.Module, model: Model, folder: Path) -> Made:
    """From the exported program; where that fails, from ONNX."""
    import openvino as ov

    tried = []
    for form in ("exported program", "ONNX"):
        try:
            if form == "ONNX":
                converted = ov.convert_model(onnx_file(module, model, folder))
            else:
                converted = ov.convert_model(torch.export.export(module, (model.example(),)))
            path = folder / "model.xml"
            ov.save_model(converted, path, compress_to_fp16=False)
            options = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
            request = ov.Core().compile_model(path, "CPU", options).create_infer_request()
            request.infer({0: model.example().numpy()})
        except Exception as error:  # noqa: BLE001, whatever it raises is the reason
            tried.append(f"{form}: {reason(error)}")
            continue
        libraries = (
            "libs/libopenvino.so*",
            "libs/libopenvino_intel_cpu_plugin.so",
            "libs/libopenvino_ir_frontend.so*",
            "libs/libtbb.so*",
        )
        return Made(
            lambda x: request.infer({0: x})[0],
            size(path, path.with_suffix(".bin")),
            in_package(ov, *libraries),
            f"openvino {ov.__version__.split('-')[0]}",
            no_stream="no state of these models",
            note=f"by {form}",
            tried=tried,
        )
    raise RuntimeError("; ".join(tried))


def executorch(module: nn.Module, model: Model, folder: Path) -> Made:
    """With the check of dtypes; where that refuses, without."""
    import executorch as package
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
    from executorch.runtime import Runtime

    tried, path = [], folder / "model.pte"
    for check in (True, False):
        try:
            exported = torch.export.export(copy.deepcopy(module), (model.example(),))
            edge = to_edge_transform_and_lower(
                exported, partitioner=[XnnpackPartitioner()], compile_config=EdgeCompileConfig(_check_ir_validity=check)
            )
            path.write_bytes(edge.to_executorch().buffer)
            method = Runtime.get().load_program(path).load_method("forward")
            call = lambda x, method=method: method.execute([torch.from_numpy(x)])[0].numpy()  # noqa: E731
            call(model.example().numpy())
        except Exception as error:  # noqa: BLE001, whatever it raises is the reason
            tried.append(f"{'as it is' if check else 'unchecked'}: {reason(error)}")
            continue
        import importlib.metadata

        libraries = [
            f"lib/libexecutorch{part}.so" for part in ("", "_kernels_optimized", "_backend_xnnpack", "_threadpool")
        ]
        return Made(
            call,
            size(path),
            in_package(package, *libraries),
            f"executorch {importlib.metadata.version('executorch')}",
            no_stream="no stream of an offline model",
            note="" if check else "with its validity check off",
            tried=tried,
        )
    raise RuntimeError("; ".join(tried))


def tract(module: nn.Module, model: Model, folder: Path) -> Made:
    import importlib.metadata

    import tract as package

    path = onnx_file(module, model, folder)
    runnable = package.onnx().load(path).into_model().into_runnable()
    made = Made(
        lambda x: runnable.run([x])[0].to_numpy(),
        size(path),
        in_package(package, "tract*.so"),
        f"tract {importlib.metadata.version('tract')}",
    )
    try:
        made.block = pulsed(package, module, model, folder)
    except Exception as error:  # noqa: BLE001, whatever it raises is the reason
        made.no_stream = f"pulse: {reason(error)}"
    return made


def pulsed(package: Any, module: nn.Module, model: Model, folder: Path) -> Callable[[Array], Any]:
    """tract's own stream: a model with a symbol for its rows, in pulses of a block."""
    loaded = package.onnx().load(onnx_file(module, model, folder, dynamic=True))
    shape = [str(n) for n in model.shape()]
    shape[model.time()] = "S"
    loaded.set_input_fact(0, f"{','.join(shape)},f32")
    streamed = loaded.into_model()
    streamed.transform(package.Pulse(model.block, symbol="S"))
    state = streamed.into_runnable().spawn_state()
    return lambda x: state.run([x])


def longwave(module: nn.Module, model: Model, folder: Path) -> Made:
    program = Path(os.environ["LONGWAVE_PROGRAM"])
    from longwave.importer.api import import_module

    import_module(module, [model.input], length=model.rows, longest=model.rows).write(folder / "model")
    path = folder / "model.lw"
    command = [
        program,
        "compile",
        folder / "model",
        "-o",
        path,
        "--target",
        "host",
        "--stream",
        "--block",
        model.block,
        "--length",
        model.rows,
        "--quiet",
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    name = model.input.partition("=")[0]
    bench = json.loads(
        subprocess.run(
            [program, "bench", path, "--memory", "4G", "--repeats", "15", "--seconds", "2", "--json"],
            check=True,
            capture_output=True,
        ).stdout
    )

    took = bench["run"]["median_ms"]  # by the clock where it is short, as in worker.py

    def call(x: Array) -> Array:
        numpy.save(folder / "x.npy", numpy.moveaxis(x[0], model.time() - 1, 0).reshape(model.rows, -1))
        subprocess.run(
            [program, "run", path, "-i", f"{name}=@{folder}/x.npy", "-o", f"y={folder}/y.npy"],
            check=True,
            capture_output=True,
        )
        return numpy.load(folder / "y.npy")

    library = program.parent / "liblongwave.so"
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    return Made(
        call,
        size(path),
        stripped(library.resolve(), folder),
        f"longwave {version}",
        block_ms=bench["stream"]["block_us"]["median"] / 1e3,
        call_ms=took if took < 4 else bench["run"]["processor_median_ms"],
    )


def pytorch(module: nn.Module, model: Model, folder: Path) -> Made:
    """Eager, as a yardstick; what it ships is a checkpoint and PyTorch's libraries."""
    torch.save(module.state_dict(), folder / "model.pt")

    def call(x: Array) -> Array:
        with torch.inference_mode():
            return module(torch.from_numpy(x)).numpy()

    return Made(
        call,
        size(folder / "model.pt"),
        in_package(torch, "lib/libtorch_cpu.so", "lib/libtorch_python.so", "lib/libc10.so"),
        f"torch {torch.__version__}",
        no_stream="eager modules keep no state",
    )


# pinned versions; the packages of the caller (PyTorch, NumPy) are seen behind them
ONNX = ("onnx==1.23.2", "onnxscript==0.7.2")
PEERS: dict[str, tuple[str, ...]] = {
    "longwave": (),
    "pytorch": (),
    "executorch": ("executorch==1.5.1",),
    "tract": ("tract==0.23.9", *ONNX),
    "onnxruntime": ("onnxruntime==1.31.1", *ONNX),
    "openvino": ("openvino==2026.4.1", *ONNX),
}
MAKERS = {
    "longwave": longwave,
    "pytorch": pytorch,
    "executorch": executorch,
    "tract": tract,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
}

if sys.version_info < (3, 10):
    sys.exit("import_peers needs Python 3.10")
