"""The network behind its front end in each engine: `make` writes its file, with PyTorch; `start` opens it, without.

A way is `stream` (one step of 20 ms, with what came before) or `window` (a second of features, all anew for every step). A peer
has several forms of some ways; the fastest on this machine counts. Whatever a function raises becomes the reason of a row.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
from files import in_package, size, stripped  # noqa: E402

Array = numpy.ndarray
FORMS = {"stream": ("product", "convolution"), "window": ("taps", "toeplitz")}


@dataclass
class Started:
    """`call`: `frames` of features in, the newest row of logits out. The next call may overwrite the row."""

    call: Callable[[Array], Array]
    frames: int
    model_bytes: int
    library_bytes: int
    version: str


def module_of(way: str, form: str, net: Any) -> Any:
    from networks import Step, Window

    return Step(net, form == "product").eval() if way == "stream" else Window(net, form == "toeplitz").eval()


def example(way: str, module: Any) -> tuple[Any, ...]:
    import torch
    from networks import SEEN, WINDOW

    return (torch.zeros(1, SEEN, 40), *module.state()) if way == "stream" else (torch.zeros(1, WINDOW, 40),)


def to_onnx(way: str, form: str, net: Any, folder: Path) -> None:
    """Inputs x, s0, s1, ...; outputs y, t0, t1, ..."""
    import torch

    module = module_of(way, form, net)
    given = example(way, module)
    states = len(given) - 1
    torch.onnx.export(
        module,
        given,
        folder / "model.onnx",
        opset_version=20,
        dynamo=True,
        verbose=False,
        external_data=False,
        input_names=["x", *(f"s{i}" for i in range(states))],
        output_names=["y", *(f"t{i}" for i in range(states))],
    )


def start_onnxruntime(way: str, form: str, folder: Path) -> Started:
    """Bound buffers, so that a call converts nothing. A stream has two sets of them and takes turns."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    path = folder / "model.onnx"
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    x = numpy.zeros(session.get_inputs()[0].shape, numpy.float32)
    y = numpy.zeros(session.get_outputs()[0].shape, numpy.float32)
    shapes = [one.shape for one in session.get_inputs()[1:]]
    sets = [[ort.OrtValue.ortvalue_from_numpy(numpy.zeros(shape, numpy.float32)) for shape in shapes] for _ in range(2)]
    x_value, y_value = ort.OrtValue.ortvalue_from_numpy(x), ort.OrtValue.ortvalue_from_numpy(y)
    bindings = []
    for before, after in (sets, sets[::-1]):
        binding = session.io_binding()
        binding.bind_ortvalue_input("x", x_value)
        binding.bind_ortvalue_output("y", y_value)
        for i in range(len(shapes)):
            binding.bind_ortvalue_input(f"s{i}", before[i])
            binding.bind_ortvalue_output(f"t{i}", after[i])
        bindings.append(binding)

    def call(features: Array) -> Array:
        x_value.update_inplace(features)
        session.run_with_iobinding(bindings[0])
        bindings.reverse()
        return y_value.numpy().reshape(-1)

    return Started(
        call,
        x.shape[1],
        size(path),
        in_package(ort, "capi/onnxruntime_pybind11_state*.so"),
        f"ONNX Runtime {ort.__version__}",
    )


def start_openvino(way: str, form: str, folder: Path) -> Started:
    """A stream keeps its state in the engine."""
    import openvino as ov
    from openvino._offline_transformations import apply_make_stateful_transformation

    model = ov.Core().read_model(folder / "model.onnx")
    states = {f"s{i}": f"t{i}" for i in range(len(model.inputs) - 1)}
    if states:
        apply_make_stateful_transformation(model, states)
    settings = {"INFERENCE_NUM_THREADS": 1, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    request = ov.Core().compile_model(model, "CPU", settings).create_infer_request()
    x = numpy.zeros(tuple(model.inputs[0].shape), numpy.float32)
    request.set_input_tensor(0, ov.Tensor(x, shared_memory=True))
    y = request.get_output_tensor(0)

    def call(features: Array) -> Array:
        x[:] = features
        request.infer()
        return y.data.reshape(-1)

    libraries = (
        "libs/libopenvino.so*",
        "libs/libopenvino_intel_cpu_plugin.so",
        "libs/libopenvino_onnx_frontend.so*",
        "libs/libtbb.so*",
    )
    return Started(
        call,
        x.shape[1],
        size(folder / "model.onnx"),
        in_package(ov, *libraries),
        f"OpenVINO {ov.__version__.split('-')[0]}",
    )


def make_executorch(way: str, form: str, net: Any, folder: Path) -> None:
    """A stream keeps its state in buffers of the program."""
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from networks import Remembering, without_batch_norms

    module = module_of(way, form, without_batch_norms(net) if way == "window" else net)
    given = example(way, module)[:1]
    exported = torch.export.export(Remembering(module) if way == "stream" else module, given)
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch()
    (folder / "model.pte").write_bytes(program.buffer)


def start_executorch(way: str, form: str, folder: Path) -> Started:
    import executorch
    import torch
    from executorch.runtime import Runtime

    torch.set_num_threads(1)
    path = folder / "model.pte"
    method = Runtime.get().load_program(path).load_method("forward")
    libraries = [
        f"lib/libexecutorch{part}.so" for part in ("", "_kernels_optimized", "_backend_xnnpack", "_threadpool")
    ]
    return Started(
        lambda x: method.execute([torch.from_numpy(x)])[0].numpy().reshape(-1),
        4 if way == "stream" else 100,
        size(path),
        in_package(executorch, *libraries),
        f"ExecuTorch {version('executorch')}",
    )


def make_litert(way: str, form: str, net: Any, folder: Path) -> None:
    import litert_torch

    module = module_of(way, form, net)
    litert_torch.convert(module, example(way, module)).export(str(folder / "model.tflite"))


def start_litert(way: str, form: str, folder: Path) -> Started:
    """The state goes from the outputs to the inputs, as views without copies in Python."""
    import ai_edge_litert
    from ai_edge_litert.interpreter import Interpreter

    path = folder / "model.tflite"
    interpreter = Interpreter(str(path), num_threads=1)
    interpreter.allocate_tensors()
    signature = next(
        iter(interpreter._get_full_signature_list().values())
    )  # its lists of details are not in the order of the arguments
    inputs = [interpreter.tensor(signature["inputs"][f"args_{i}"]) for i in range(len(signature["inputs"]))]
    outputs = [interpreter.tensor(signature["outputs"][f"output_{i}"]) for i in range(len(signature["outputs"]))]
    for state in inputs[1:]:
        state()[:] = 0

    def call(features: Array) -> Array:
        inputs[0]()[:] = features
        interpreter.invoke()
        for before, after in zip(inputs[1:], outputs[1:]):
            before()[:] = after()
        return outputs[0]().reshape(-1).copy()  # a view would forbid the next call

    return Started(
        call,
        inputs[0]().shape[1],
        size(path),
        in_package(ai_edge_litert, "*.so"),
        f"LiteRT {version('ai-edge-litert')}",
    )


def make_tract(way: str, form: str, net: Any, folder: Path) -> None:
    """A stream is made of the offline network with a symbol for its frames. Shapes that PyTorch notes in symbols of its own would
    contradict it."""
    if way == "window":
        to_onnx(way, form, net, folder)
        return
    import onnx
    import torch
    from networks import PAST, Exported

    pairs = torch.export.Dim("pairs", min=PAST + 2)
    path = folder / "model.onnx"
    torch.onnx.export(
        Exported(net, PAST + 1, False).eval(),
        (torch.zeros(1, 2 * (PAST + 3), 40),),
        path,
        opset_version=20,
        dynamo=True,
        verbose=False,
        dynamic_shapes=({1: 2 * pairs},),
        input_names=["x"],
        output_names=["y"],
        external_data=False,
    )
    model = onnx.load(path)
    del model.graph.value_info[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, path)


def start_tract(way: str, form: str, folder: Path) -> Started:
    import tract

    path = folder / "model.onnx"
    model = tract.onnx().load(path)
    if way == "stream":
        model.set_input_fact(0, "1,S,40,f32")
        model = model.into_model()
        model.transform(tract.Pulse(2, symbol="S"))
        run = model.into_runnable().spawn_state().run
    else:
        run = model.into_model().into_runnable().run
    return Started(
        lambda x: run([x])[0].to_numpy().reshape(-1),
        2 if way == "stream" else 100,
        size(path),
        in_package(tract, "tract*.so"),
        f"tract {version('tract')}",
    )


def make_longwave(way: str, form: str, net: Any, folder: Path) -> None:
    from longwave.kws.export import chain
    from longwave.package import Package, write

    package = Package(
        "kws_features",
        [{"name": "x", "kind": "features", "width": 40}],
        chain(net),
        [{"name": "y", "from": "head"}],
        net.state_dict(),
    )
    write(package, folder / "model")
    flags = ["--stream", "--block", "2", "--no-whole"] if way == "stream" else ["--length", "100"]
    done = subprocess.run(
        [
            os.environ["LONGWAVE_PROGRAM"],
            "compile",
            folder / "model",
            "-o",
            folder / "model.lw",
            "--target",
            "host",
            "--quiet",
            *flags,
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip())


def longwave_version() -> str:
    program = os.environ["LONGWAVE_PROGRAM"]
    return (
        "Longwave "
        + subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.split()[-1]
    )


def start_longwave(way: str, form: str, folder: Path) -> Started:
    """From Python, as the others."""
    import longwave

    build, path = Path(os.environ["LONGWAVE_PROGRAM"]).parent, folder / "model.lw"
    model = longwave.open(path)
    if way == "window":
        call = lambda x: model.run(x[0])[-1]  # noqa: E731
    else:
        stream = model.stream()

        def call(x: Array) -> Array:
            stream.push(x[0])
            return next(iter(stream)).data

    return Started(
        call,
        2 if way == "stream" else 100,
        size(path),
        stripped((build / "liblongwave.so").resolve(), folder),
        longwave_version(),
    )


# forms of the stream, of the window; how to make and how to start
ENGINES: dict[str, tuple[tuple[str, ...], tuple[str, ...], Callable[..., None], Callable[..., Started]]] = {
    "longwave": (("",), ("",), make_longwave, start_longwave),
    "tract": (("pulse",), FORMS["window"], make_tract, start_tract),
    "onnxruntime": (FORMS["stream"], FORMS["window"], to_onnx, start_onnxruntime),
    "openvino": (FORMS["stream"], FORMS["window"], to_onnx, start_openvino),
    "executorch": (FORMS["stream"], FORMS["window"], make_executorch, start_executorch),
    "litert": (FORMS["stream"], FORMS["window"], make_litert, start_litert),
}
