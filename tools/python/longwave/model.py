"""Models: compile a folder or a module, open a file, run, stream."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Callable, Union, overload

from longwave import _native, cleanup, output_files, programs

if TYPE_CHECKING:  # hints alone: NumPy takes longer to import than the rest
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    Rows = NDArray[np.float32]

Path = Union[str, "os.PathLike[str]"]


class CompileError(Exception):
    """`longwave compile` rejected the model. The message has one line per problem."""


class Model(_native.Model):
    """A compiled model. Any number of threads may use it at once. Use `open` or `compile` to get one.

    import_report: of a model that `compile` made of a module: layers and kernels by module, and the differences from it. Else None.
    """

    import_report: dict[str, Any] | None = None

    @property
    def info(self) -> dict[str, Any]:
        """What the model is, as a dict.

        inputs: name, kind ("audio", "features" or "tokens"), width, sample_rate and vocabulary of each.
        run_outputs, stream_outputs: name, width, rows_per_tick (a fraction) and delay of each.
        blocks: ticks per block of each stream entry. run_capacity: ticks of the longest offline run.
        labels: class names. state_bytes, memory_bytes, artifact_bytes: sizes. name, producer, variant: texts.
        """
        info = self._info()
        del info["report"]
        result: dict[str, Any] = info
        return result

    @property
    def report(self) -> dict[str, Any]:
        """What the compiler decided and checked, as stored in the file."""
        report: dict[str, Any] = json.loads(self._info()["report"])
        return report

    @property
    def labels(self) -> list[str]:
        """Class names; empty if the model has none."""
        labels: list[str] = self._info()["labels"]
        return labels

    def run(self, *inputs: ArrayLike, length: int = 0, threads: int = 1) -> Rows | Any:
        """Runs the model offline.

        inputs: one array per model input. Features and audio: float32 [ticks, width], or [ticks] for width 1. Audio may
        be int16, which is divided by 32768. Tokens: integers [ticks].
        length: number of valid rows for pooling; 0: all.
        threads: CPU threads. The result has the same bits for any number.

        Returns float32 [rows, width], or a dict of them by name if the model has several outputs.
        Raises ValueError and TypeError for arrays that the model does not take, InvalidArgumentError for their number,
        TooLongError, TooShortError, BadTokenError, and WrongStateError after close.
        """
        return self._run(*inputs, length=_number("length", length, 2**32), threads=_number("threads", threads, 2**32))

    def stream(self, block: int | None = None, *, queue: int = 0, format: str = "float32") -> _native.Stream:
        """Creates a stream.

        block: input ticks per block, one of `info["blocks"]`; None: the first.
        queue: output rows that may wait; 0: 64.
        format: "float32", or "int16" for 16-bit audio. Token streams ignore it.

        Raises ValueError for another block or format, NoStreamError if the model has no stream entry.
        """
        blocks = self._info()["blocks"]
        queue = _number("queue", queue, 2**32)
        if format not in ("float32", "int16"):
            raise ValueError(f'format {format!r}: expected "float32" or "int16"')
        if block is not None and block not in blocks:
            raise ValueError(f"block {block}: this model has {blocks or 'no stream'}")
        return _native.Stream(self, block or 0, queue, format)

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _number(name: str, value: Any, end: int) -> int:
    """An integer from 0 to below `end`, also of NumPy."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: expected an integer, got {type(value).__name__}")
    number = int(value.__index__())
    if not 0 <= number < end:
        raise ValueError(f"{name}: expected 0 to {end - 1}, got {number}")
    return number


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected a str, got {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{name}: contains a NUL character")
    return value


def _list(name: str, value: Any) -> list[Any]:
    """Not a str: its characters are no list."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise TypeError(f"{name}: expected a list, got {type(value).__name__}")
    return list(value)


def _path(name: str, value: Any) -> str:
    try:
        path = os.fsdecode(value)
    except TypeError:
        raise TypeError(f"{name}: expected a path, got {type(value).__name__}") from None
    if not path:
        raise ValueError(f"{name}: the path is empty")
    return _text(name, path)


def _keys(keys: Any) -> bytes | None:
    """None: no signature is asked for. Every list asks for one, so an empty list opens nothing."""
    if keys is None:
        return None
    known = []
    for key in _list("keys", keys):
        try:
            known.append(bytes.fromhex(key) if isinstance(key, str) else b"")
        except ValueError:
            known.append(b"")
    if any(len(key) != 32 for key in known):
        raise ValueError("keys: expected public keys of 64 hexadecimal digits each")
    if not known:
        raise ValueError(
            "keys: the list is empty, so no file opens; give keys, or leave keys out to open files without a signature"
        )
    return b"".join(known)


def open(
    path: Path,
    *,
    device: str = "cpu",
    variant: str = "",
    keys: Iterable[str] | None = None,
    least_version: int = 0,
    memory_limit: int = 0,
    map_weights: bool = False,
) -> Model:
    """Opens a .lw file.

    device: "cpu", "gpu" (the best Vulkan device), or the number or part of the name of one.
    variant: a CPU target such as "x86-64-v3"; "" takes the best for this CPU.
    keys: public keys (64 hexadecimal digits, `longwave keygen`). With keys, only a file that one of them signed opens. None:
        any file opens. A file contains machine code that runs in this process: give keys for files from others.
    least_version: with keys: the least version of the model that opens (`longwave sign --model-version`).
    memory_limit: most bytes that the model and one stream take; 0: 64 MiB or 64 times the file.
    map_weights: reads weights from the mapped file, which must not change while the model is open.

    Raises IoError, BadArtifactError, BadVersionError, UnsignedCodeError, OldVersionError, NoVariantError, NoDeviceError,
    TypeError and ValueError for arguments, such as an empty list of keys.
    """
    known = _keys(keys)
    if _number("least_version", least_version, 2**64) and not known:
        raise ValueError("least_version: give keys too, because a version counts only under a signature")
    return Model(
        os.fsencode(_path("path", path)),
        known,
        least_version,
        _text("variant", variant),
        _text("device", device),
        _number("memory_limit", memory_limit, 2**64),
        bool(map_weights),
    )


@overload
def compile(
    model: Path,
    output: Path | None = None,
    /,
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    stream: bool = False,
    blocks: Sequence[int] = (),
    targets: Iterable[str] = (),
    weights: str = "",
    length: int = 0,
    options: Sequence[str] = (),
    fix: Mapping[str, Any] | None = None,
    state: Mapping[str, str] | None = None,
) -> Model: ...


@overload
def compile(
    model: Any,
    example: Any = None,
    output: Path | None = None,
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    sample_rate: int = 0,
    min_rows: int = 1,
    stream: bool = False,
    blocks: Sequence[int] = (),
    targets: Iterable[str] = (),
    weights: str = "",
    length: int = 0,
    options: Sequence[str] = (),
    state: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    fix: Mapping[str, Any] | None = None,
    size: float | None = None,
) -> Model: ...


def compile(
    model: Any,
    example: Any = None,
    output: Path | None = None,
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    sample_rate: int = 0,
    min_rows: int = 1,
    stream: bool = False,
    blocks: Sequence[int] = (),
    targets: Iterable[str] = (),
    weights: str = "",
    length: int = 0,
    options: Sequence[str] = (),
    state: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    fix: Mapping[str, Any] | None = None,
    size: float | None = None,
) -> Model:
    """Compiles a PyTorch module, an ONNX graph, a capture of Neural Amp Modeler or a model folder and opens the result.

        model = longwave.compile(module, torch.zeros(1, 1000, 64), stream=True)
        model = longwave.compile("model.onnx", stream=True)
        model = longwave.compile("capture.nam", stream=True, blocks=[64])
        model = longwave.compile("folder", "model.lw", stream=True)

    model: a torch.nn.Module, which longwave.importer imports (docs/import.md), the path of a file that ends in .onnx
        (docs/onnx.md) or .nam (docs/nam.md), or the path of a model folder. A file of a published model becomes that model, as
        `longwave import FILE` makes it, unless inputs, outputs, state or fix say how to read its graph.
    example: what the module reads, as an array or tensor with a batch of 1: [1, rows, width], [1, width, rows] or [1, rows];
        a tuple or a dict by parameter name for several. Only its shape, type and number of rows count. At least 16 rows.
    inputs: in place of an example, one text per input: "audio=16000", "x=1xTx64", "x=1x64xT" or "ids=1xT:256"; T is the time axis.
    outputs: names of the results of the module; default: y, or y0, y1 and so on. "clean=audio": samples at the rate of the input;
        "clean=audio@384": they are 384 late.
    sample_rate: of audio, with an example: the model then takes int16 samples too.
    min_rows: the fewest rows of any sequence. A module that means something else at so many rows or more is an error.
    output: where the .lw file goes; None: a temporary file, removed when the function returns.
    stream: also make stream entries. blocks: their sizes in input ticks.
    targets: CPU and GPU targets such as "x86-64-v3" or "vulkan-32k"; none: this CPU.
    weights: "bf16" or "int8" stores weights in fewer bytes.
    length: longest offline run in input ticks; 0: the model's own, which is at least that of the example.
    state: of a module that takes and returns its state: {"h": "h2"}, input by name and result by name or index. The example then has a
        value for each state.
    initial: the state before the first row: {"h": array}, "zeros" (default), or ("settle", 4096): what so many rows of zeros leave. The name "" stands for all that the module remembers.
    options: further options of `longwave compile`, as on the command line.
    fix: of an ONNX graph: inputs that always have one value, such as {"sr": 16000}.
    size: 0 to 1, of a capture that has several sizes; default: the largest. sample_rate: of a capture that does not say its own.

    Of a module, a graph or a capture, `import_report` of the result tells what became of each part and how far the file is from the module in float32.
    Raises CompileError with one line per problem, TypeError and ValueError for arguments. Nothing is written then.
    """
    is_path = isinstance(model, (str, bytes, os.PathLike))
    if is_path and example is not None and output is None:
        example, output = None, example  # compile(folder, file)
    is_graph = is_path and _path("model", model).endswith((".onnx", ".jit"))
    is_capture = is_path and _path("model", model).endswith(".nam")
    if is_capture and (example is not None or inputs or outputs or min_rows != 1 or state or initial):
        raise ValueError(
            "example, inputs, outputs, min_rows, state and initial: a capture has its own; give them with a module"
        )
    if size is not None and not is_capture:
        raise ValueError("size: give it with a capture, a file that ends in .nam")
    if fix and not is_graph:
        raise ValueError("fix: give it with an ONNX graph")
    if is_graph and (example is not None or sample_rate):
        raise ValueError(
            'example and sample_rate: an ONNX graph tells its inputs; say more with inputs=["audio=16000"]'
        )
    if (
        is_path
        and not is_graph
        and not is_capture
        and (example is not None or inputs or outputs or sample_rate or min_rows != 1 or state or initial)
    ):
        raise ValueError(
            "example, inputs, outputs, sample_rate, min_rows, state and initial: a model folder has its own; give them with a module"
        )
    if not is_path and not hasattr(model, "state_dict"):
        raise TypeError(f"model: expected a torch.nn.Module or the path of a model folder, got {type(model).__name__}")
    if isinstance(example, (str, bytes, os.PathLike)):
        raise TypeError(
            f"example: expected an array, a tuple or a dict, got {type(example).__name__}; name the file with output="
        )
    programs.program()  # before any work
    command = []
    if stream or _list("blocks", blocks):
        command.append("--stream")
    if _list("blocks", blocks):
        command += ["--blocks", ",".join(str(_number("blocks", block, 2**32)) for block in blocks)]
    if targets := _list("targets", targets):
        command += ["--target", ",".join(_text("targets", target) for target in targets)]
    if _text("weights", weights):
        command += ["--weights", weights]
    if _number("length", length, 2**32):
        command += ["--length", str(length)]
    command += [_text("options", option) for option in _list("options", options)]
    place = _output(output)
    with cleanup.watched(), cleanup.temporary_folder() as folder:
        if is_path and not is_graph and not is_capture:
            file = place or folder / "model.lw"
            run_compile(_path("model", model), file, command)
            return open(file)
        file = folder / "model.lw"

        def source() -> Callable[..., dict[str, Any]]:
            if is_capture:
                return _capture(_path("model", model), size, sample_rate or None)
            return _graph(_path("model", model), fix or {}) if is_graph else _module(model, example, sample_rate)

        report = _imported(
            source,
            _list("inputs", inputs),
            _list("outputs", outputs),
            folder,
            file,
            command,
            not weights,
            state,
            initial,
            _number("min_rows", min_rows, 2**32),
        )
        if place is not None:
            _put(file, place)
        made = open(place or file)
        made.import_report = report
        return made


def _output(output: Any) -> pathlib.Path | None:
    """Where the file goes. Raises CompileError where none can be written."""
    if output is None:
        return None
    if _path("output", output) == "-":
        raise ValueError(
            "output: - is standard output on the command line alone; name a file, or ./- for a file of this name"
        )
    place = pathlib.Path(_path("output", output))
    try:
        output_files.check_file(place)
    except OSError as error:
        raise CompileError(f"{error.filename}: {error.strerror}") from error
    return place


def _put(file: pathlib.Path, place: pathlib.Path) -> None:
    try:
        output_files.write_file(place, file)
    except OSError as error:
        raise CompileError(f"{error.filename}: cannot be written: {error.strerror}") from error


def run_compile(folder: Path, file: pathlib.Path, options: Sequence[str]) -> None:
    # Absolute paths: a name that begins with - would be an option.
    done = programs.run(["compile", os.path.abspath(os.fspath(folder)), *options, "-o", os.path.abspath(file)])
    if done.returncode:
        raise CompileError(done.stderr.strip() or f"longwave compile: exit status {done.returncode}")


def _module(module: Any, example: Any, sample_rate: int) -> Callable[..., dict[str, Any]]:
    from longwave.importer.build import build

    def run(inputs: Sequence[str], outputs: Sequence[str], *rest: Any) -> dict[str, Any]:
        return build(module, example, inputs, outputs, sample_rate, *rest)

    return run


def _graph(path: str, fix: Mapping[str, Any]) -> Callable[..., dict[str, Any]]:
    from longwave.importer.onnx.file import build_file

    def run(*rest: Any) -> dict[str, Any]:
        return build_file(path, {name: str(value) for name, value in fix.items()}, *rest)

    return run


def _capture(path: str, size: float | None, rate: int | None) -> Callable[..., dict[str, Any]]:
    from longwave.importer.nam.door import build_file

    def run(inputs: Any, outputs: Any, folder: Any, file: Any, compile: Any, exact: bool, *rest: Any) -> dict[str, Any]:
        return build_file(path, size, rate, folder, file, compile, exact)

    return run


def _stream_options(given: Sequence[str], more: Sequence[str]) -> Sequence[str]:
    """Those of a published model, where the file has a stream and the caller says no block sizes."""
    return more if "--stream" in given and "--blocks" not in given else ()


def _imported(
    source: Callable[[], Callable[..., dict[str, Any]]],
    inputs: Sequence[str],
    outputs: Sequence[str],
    folder: pathlib.Path,
    file: pathlib.Path,
    options: Sequence[str],
    exact: bool,
    state: Mapping[str, Any] | None,
    initial: Mapping[str, Any] | None,
    min_rows: int,
) -> dict[str, Any]:
    """Imports and compiles a module or a graph, and compares the file with it unless its weights are rounded. Returns the report."""
    try:
        from longwave.importer.errors import ImportFailed

        build = source()
    except ImportError as error:
        if error.name == "onnx":
            raise CompileError(
                f"an ONNX graph needs onnx ({error}); install it: pip install onnx onnxruntime"
            ) from error
        raise CompileError(
            f"a module needs PyTorch and safetensors ({error}); install them: pip install torch safetensors"
        ) from error
    try:
        return build(
            inputs,
            outputs,
            folder / "model",
            file,
            lambda more=(): run_compile(folder / "model", file, [*options, *_stream_options(options, more)]),
            exact,
            state,
            initial,
            min_rows,
        )
    except ImportFailed as error:
        raise CompileError(str(error)) from error
    except OSError as error:
        raise CompileError(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error
