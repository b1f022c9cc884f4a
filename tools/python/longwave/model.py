"""Models: compile a folder or a module, open a file, run, stream."""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Sequence, Union, overload

from longwave import _native, programs

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

    import_report: Optional[Dict[str, Any]] = None

    @property
    def info(self) -> Dict[str, Any]:
        """What the model is, as a dict.

        inputs: name, kind ("audio", "features" or "tokens"), width, sample_rate and vocabulary of each.
        run_outputs, stream_outputs: name, width, rows_per_tick (a fraction) and delay of each.
        blocks: ticks per block of each stream entry. run_capacity: ticks of the longest offline run.
        labels: class names. state_bytes, memory_bytes, artifact_bytes: sizes. name, producer, variant: texts.
        """
        info = self._info()
        del info["report"]
        return info

    @property
    def report(self) -> Dict[str, Any]:
        """What the compiler decided and checked, as stored in the file."""
        report: Dict[str, Any] = json.loads(self._info()["report"])
        return report

    @property
    def labels(self) -> List[str]:
        """Class names; empty if the model has none."""
        labels: List[str] = self._info()["labels"]
        return labels

    def run(self, *inputs: ArrayLike, length: int = 0, threads: int = 1) -> Union[Rows, Any]:
        """Runs the model offline.

        inputs: one array per model input. Features and audio: float32 [ticks, width], or [ticks] for width 1. Audio may
        be int16, which is divided by 32768. Tokens: integers [ticks].
        length: number of valid rows for pooling; 0: all.
        threads: CPU threads. The result has the same bits for any number.

        Returns float32 [rows, width], or a dict of them by name if the model has several outputs.
        Raises ValueError and TypeError for arrays that the model does not take, InvalidArgumentError for their number,
        TooLongError, TooShortError, BadTokenError, and WrongStateError after close.
        """
        return self._run(*inputs, length=length, threads=threads)

    def stream(self, block: Optional[int] = None, *, queue: int = 0, format: str = "float32") -> _native.Stream:
        """Creates a stream.

        block: input ticks per block, one of `info["blocks"]`; None: the first.
        queue: output rows that may wait; 0: 64.
        format: "float32", or "int16" for 16-bit audio. Token streams ignore it.

        Raises ValueError for another block or format, NoStreamError if the model has no stream entry.
        """
        blocks = self._info()["blocks"]
        if format not in ("float32", "int16"):
            raise ValueError(f'format {format!r}: expected "float32" or "int16"')
        if block is not None and block not in blocks:
            raise ValueError(f"block {block}: this model has {blocks or 'no stream'}")
        return _native.Stream(self, block or 0, queue, format)

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open(path: Path, *, device: str = "cpu", variant: str = "", keys: Sequence[str] = (), least_version: int = 0,
         memory_limit: int = 0, map_weights: bool = False) -> Model:
    """Opens a .lw file.

    device: "cpu", "gpu" (the best Vulkan device), or the number or part of the name of one.
    variant: a CPU target such as "x86-64-v3"; "" takes the best for this CPU.
    keys: public keys (64 hexadecimal digits, `longwave keygen`). With keys, only a file that one of them signed opens.
        A file contains machine code that runs in this process: give keys for files from others.
    least_version: with keys: the least version of the model that opens (`longwave sign --model-version`).
    memory_limit: most bytes that the model and one stream take; 0: 64 MiB or 64 times the file.
    map_weights: reads weights from the mapped file, which must not change while the model is open.

    Raises IoError, BadArtifactError, BadVersionError, UnsignedCodeError, OldVersionError, NoVariantError, NoDeviceError.
    """
    try:
        known = [bytes.fromhex(key) for key in keys]
    except ValueError:
        known = [b""]
    if any(len(key) != 32 for key in known):
        raise ValueError("keys: expected public keys of 64 hexadecimal digits each")
    if least_version and not known:
        raise ValueError("least_version: give keys too, because a version counts only under a signature")
    return Model(os.fspath(path), b"".join(known), least_version, variant, device, memory_limit, map_weights)


@overload
def compile(model: Path, output: Optional[Path] = None, /, *, stream: bool = False, blocks: Sequence[int] = (), targets: Iterable[str] = (),
            weights: str = "", length: int = 0, options: Sequence[str] = ()) -> Model: ...


@overload
def compile(model: Any, example: Any = None, output: Optional[Path] = None, *, inputs: Sequence[str] = (), outputs: Sequence[str] = (),
            sample_rate: int = 0, stream: bool = False, blocks: Sequence[int] = (), targets: Iterable[str] = (), weights: str = "",
            length: int = 0, options: Sequence[str] = ()) -> Model: ...


def compile(model: Any, example: Any = None, output: Optional[Path] = None, *, inputs: Sequence[str] = (), outputs: Sequence[str] = (),
            sample_rate: int = 0, stream: bool = False, blocks: Sequence[int] = (), targets: Iterable[str] = (), weights: str = "",
            length: int = 0, options: Sequence[str] = ()) -> Model:
    """Compiles a PyTorch module or a model folder and opens the result.

        model = longwave.compile(module, torch.zeros(1, 1000, 64), stream=True)
        model = longwave.compile("folder", "model.lw", stream=True)

    model: a torch.nn.Module, which longwave.importer imports (docs/import.md), or the path of a model folder.
    example: what the module reads, as an array or tensor with a batch of 1: [1, rows, width], [1, width, rows] or [1, rows];
        a tuple or a dict by parameter name for several. Only its shape, type and number of rows count. At least 16 rows.
    inputs: in place of an example, one text per input: "audio=16000", "x=1xTx64", "x=1x64xT" or "ids=1xT:256"; T is the time axis.
    outputs: names of the results of the module; default: y, or y0, y1 and so on.
    sample_rate: of audio, with an example: the model then takes int16 samples too.
    output: where the .lw file goes; None: a temporary file, removed when the function returns.
    stream: also make stream entries. blocks: their sizes in input ticks.
    targets: CPU and GPU targets such as "x86-64-v3" or "vulkan-32k"; none: this CPU.
    weights: "bf16" or "int8" stores weights in fewer bytes.
    length: longest offline run in input ticks; 0: the model's own, which is at least that of the example.
    options: further options of `longwave compile`, as on the command line.

    Of a module, `import_report` of the result tells what became of each part and how far the file is from the module in float32.
    Raises CompileError with one line per problem, TypeError and ValueError for arguments. Nothing is written then.
    """
    is_path = isinstance(model, (str, os.PathLike))
    if is_path and example is not None and output is None:
        example, output = None, example  # compile(folder, file)
    if is_path and (example is not None or inputs or outputs or sample_rate):
        raise ValueError("example, inputs, outputs and sample_rate: a model folder has its own; give them with a module")
    if not is_path and not hasattr(model, "state_dict"):
        raise TypeError(f"model: expected a torch.nn.Module or the path of a model folder, got {type(model).__name__}")
    if isinstance(example, (str, os.PathLike)):
        raise TypeError(f"example: expected an array, a tuple or a dict, got {type(example).__name__}; name the file with output=")
    programs.program()  # before any work
    command = []
    if stream or blocks:
        command.append("--stream")
    if blocks:
        command += ["--blocks", ",".join(map(str, blocks))]
    if targets:
        command += ["--target", ",".join(targets)]
    if weights:
        command += ["--weights", weights]
    if length:
        command += ["--length", str(length)]
    with tempfile.TemporaryDirectory(prefix="longwave-") as folder:
        file = pathlib.Path(output) if output is not None and is_path else pathlib.Path(folder) / "model.lw"
        if is_path:
            run_compile(model, file, [*command, *options])
            return open(file)
        report = _imported(model, example, inputs, outputs, sample_rate, pathlib.Path(folder), file, [*command, *options], not weights)
        if output is not None:
            shutil.copyfile(file, output)
        made = open(output if output is not None else file)
        made.import_report = report
        return made


def run_compile(folder: Path, file: pathlib.Path, options: Sequence[str]) -> None:
    done = programs.run(["compile", os.fspath(folder), *options, "-o", str(file)])
    if done.returncode:
        raise CompileError(done.stderr.strip() or f"longwave compile: exit status {done.returncode}")


def _imported(module: Any, example: Any, inputs: Sequence[str], outputs: Sequence[str], sample_rate: int, folder: pathlib.Path,
              file: pathlib.Path, options: Sequence[str], exact: bool) -> Dict[str, Any]:
    """Imports and compiles a module, and compares the file with it unless its weights are rounded. Returns the report."""
    try:
        from longwave.importer.build import build
        from longwave.importer.errors import ImportFailed
    except ImportError as error:
        raise CompileError(f"a module needs PyTorch and safetensors ({error}); install them: pip install torch safetensors") from error
    try:
        return build(module, example, inputs, outputs, sample_rate, folder / "model", file,
                     lambda: run_compile(folder / "model", file, options), exact)
    except ImportFailed as error:
        raise CompileError(str(error)) from error
