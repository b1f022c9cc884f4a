"""Models: compile a folder, open a file, run, stream."""
import json
import os
import pathlib
import tempfile
from typing import Iterable, Optional, Sequence, Union

from longwave import _native, programs

Path = Union[str, os.PathLike]


class CompileError(Exception):
    """`longwave compile` rejected the model. The message has one line per problem."""


class Model(_native.Model):
    """A compiled model. Any number of threads may use it at once. Use `open` or `compile` to get one."""

    @property
    def info(self) -> dict:
        """Names, inputs, outputs, labels, block sizes and memory, as a dict."""
        info = self._info()
        del info["report"]
        return info

    @property
    def report(self) -> dict:
        """What the compiler decided and checked, as stored in the file."""
        return json.loads(self._info()["report"])

    @property
    def labels(self) -> list:
        """Class names; empty if the model has none."""
        return self._info()["labels"]

    def run(self, *inputs, length: int = 0, threads: int = 1):
        """Runs the model offline.

        inputs: one array per model input. Features and audio: float32 [ticks, width], or [ticks] for width 1. Audio may
        be int16, which is divided by 32768. Tokens: integers [ticks].
        length: number of valid rows for pooling; 0: all.
        threads: CPU threads. The result has the same bits for any number.

        Returns float32 [rows, width], or a dict of them by name if the model has several outputs.
        Raises TooLongError, TooShortError, InvalidArgumentError, NoStreamError (the model has no offline entry).
        """
        return self._run(*inputs, length=length, threads=threads)

    def stream(self, block: Optional[int] = None, *, queue: int = 0, format: str = "float32") -> _native.Stream:
        """Creates a stream.

        block: input ticks per block, one of `info["blocks"]`; None: the first.
        queue: output rows that may wait; 0: 64.
        format: "float32", or "int16" for 16-bit audio. Token streams ignore it.
        """
        blocks = self._info()["blocks"]
        if format not in ("float32", "int16"):
            raise ValueError(f'format {format!r}: expected "float32" or "int16"')
        if block is not None and block not in blocks:
            raise ValueError(f"block {block}: this model has {blocks or 'no stream'}")
        return _native.Stream(self, blocks.index(block) if block is not None else 0, queue, format)

    def __enter__(self):
        return self

    def __exit__(self, *_):
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


def compile(model, output: Optional[Path] = None, *, inputs: Sequence[str] = (), stream: bool = False, blocks: Sequence[int] = (),
            targets: Iterable[str] = (), weights: str = "", length: int = 0, options: Sequence[str] = ()) -> Model:
    """Compiles a model folder or a PyTorch module and opens the result.

    model: the path of a model folder, or a torch.nn.Module, which longwave.importer imports (docs/import.md).
    inputs: of a module, one text per input: "audio=16000", "x=1xTx64", "x=1x64xT" or "ids=1xT:256"; T is the time axis.
    output: where the .lw file goes; None: a temporary file, removed when the function returns.
    stream: also make stream entries. blocks: their sizes in input ticks.
    targets: CPU and GPU targets such as "x86-64-v3" or "vulkan-32k"; none: this CPU.
    weights: "fp16" or "int8" stores weights in fewer bytes.
    length: longest offline run in input ticks; 0: the model's own.
    options: further options of `longwave compile`, as on the command line.

    Raises CompileError with one line per problem. Nothing is written then.
    """
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
        if hasattr(model, "state_dict"):
            model = _imported(model, inputs, pathlib.Path(folder) / "model")
        file = pathlib.Path(output) if output is not None else pathlib.Path(folder) / "model.lw"
        done = programs.run(["compile", os.fspath(model), *command, *options, "-o", str(file)])
        if done.returncode:
            raise CompileError(done.stderr.strip() or f"longwave compile: exit status {done.returncode}")
        return open(file)


def _imported(module, inputs: Sequence[str], folder: pathlib.Path) -> pathlib.Path:
    from longwave.importer.api import import_module
    from longwave.importer.errors import ImportFailed

    if not inputs:
        raise ValueError('inputs: a module needs them, for example inputs=["x=1xTx64"]')
    try:
        import_module(module, list(inputs), name="model").write(folder)
    except ImportFailed as error:
        raise CompileError(str(error)) from error
    return folder
