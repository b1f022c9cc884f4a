"""python -m longwave.importer module:factory --input audio=16000 --checkpoint FILE -o FOLDER

Imports a PyTorch module as a model folder. `module:factory` names a function or class without arguments that returns the
module. Exit status 3: something cannot be imported; every cause has a line, and nothing is written.
"""
from __future__ import annotations

import argparse
import importlib
import os
import sys
from pathlib import Path


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m longwave.importer", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("factory", help="module:factory, for example my_model:make_model")
    parser.add_argument("--input", action="append", required=True, metavar="NAME=SHAPE",
                        help="audio=16000, x=1xTx64, x=1x64xT or ids=1xT:256; T is the time axis. Once per input, in their order")
    parser.add_argument("--output", action="append", metavar="NAME", help="name of each result, in their order (default: y)")
    parser.add_argument("--checkpoint", metavar="FILE", help="state dict for the module: .pt, .ckpt or .safetensors")
    parser.add_argument("-o", metavar="FOLDER", help="folder to write")
    parser.add_argument("--name", help="name of the model (default: the folder's name)")
    parser.add_argument("--length", type=int, help="rows of the example (default: 509, or one second of audio)")
    parser.add_argument("--max-length", type=int, help="the example doubles up to this while taps reach its end (default: 8192)")
    parser.add_argument("--explain", metavar="NODE", help="tell what is known about one node, and write nothing")
    return parser.parse_args(argv)


def load(module, path: str) -> None:
    import torch

    if path.endswith(".safetensors"):
        from safetensors.torch import load_file
        state = load_file(path)
    else:
        state = torch.load(path, map_location="cpu", weights_only=True)
    module.load_state_dict(state.get("state_dict", state))


def run(options: argparse.Namespace) -> int:
    from .inputs import parse_input
    from .api import LENGTH, import_module, matched
    from .errors import ImportFailed, Problem
    from .export import first_line, prepare
    from .report import explain, table

    def say(text: str) -> None:
        print(text, file=sys.stderr)

    try:
        inputs = [parse_input(text) for text in options.input]
        try:
            sys.path.insert(0, os.getcwd())
            module_name, _, factory = options.factory.partition(":")
            module = getattr(importlib.import_module(module_name), factory)()
            if options.checkpoint:
                load(module, options.checkpoint)
        except Exception as e:
            raise ImportFailed([Problem(options.factory, "", f"cannot be made: {first_line(e)}",
                                        "name a function without arguments, and a state dict that fits")]) from e
        if options.explain:
            length = options.length or inputs[0].rate or LENGTH
            print(explain(matched(prepare(module, inputs, length), inputs, length, options.output), options.explain))
            return 0
        if not options.o:
            raise ImportFailed([Problem("-o", "", "no folder is named", "add -o FOLDER")])
        imported = import_module(module, inputs, length=options.length, longest=options.max_length, outputs=options.output,
                                 name=options.name or Path(options.o).name, log=say)
        imported.write(Path(options.o))
    except ImportFailed as e:
        say(str(e))
        say(f"{options.factory}: not imported, {len(e.problems)} problem{'s' if len(e.problems) != 1 else ''}; nothing was written")
        return 3
    print(table(imported.report))
    return 0


def main(argv: list[str] | None = None) -> int:
    options = arguments(argv)
    try:
        import torch  # noqa: F401
    except ImportError:
        print("longwave.importer: needs PyTorch, found none; install it: pip install torch safetensors", file=sys.stderr)
        return 3
    return run(options)


if __name__ == "__main__":
    sys.exit(main())
