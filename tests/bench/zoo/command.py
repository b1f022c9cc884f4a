"""tests/bench/zoo/run list | write NAME FOLDER | table [NAME ...] | size NAME"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from .configurations import ROWS, find, fits
from .engine import Engine, EngineError
from .families import build, write
from .table import HEAD, as_json, measure, text
from .tensors import read_checkpoint


def list_rows() -> bool:
    """Prints every configuration with its count beside what is known of it; whether all agree."""
    print(f"{'name':22}{'task':34}{'length':>7}{'parameters':>13}  {'paper':>8}  {'recount':>9}  source")
    agree = True
    for row in ROWS:
        parameters = build(row).tensors.parameters
        agree = agree and fits(row, parameters)
        note = "" if fits(row, parameters) else "  DIFFERS"
        print(
            f"{row.name:22}{row.task:34}{row.length:>7}{parameters:>13,}  {row.paper or '-':>8}  "
            f"{row.recount or '-':>9}  {row.source}{note}"
        )
        if row.why:
            print(f"{'':22}{row.why}")
    return agree


def write_package(name: str, folder: Path, seed: int, checkpoint: Path | None) -> None:
    model = build(find(name))
    values = model.tensors.random(seed) if checkpoint is None else model.tensors.of(read_checkpoint(checkpoint))
    write(model, name, folder, values, find(name).stored)


def print_table(names: list[str], options: argparse.Namespace) -> bool:
    """A line for each row as soon as it is measured; whether none failed."""
    rows = [find(name) for name in names] or list(ROWS)
    engine, failed = Engine(options.longwave), []
    with tempfile.TemporaryDirectory() as scratch:
        if not options.json:
            print(HEAD, flush=True)
        for row in rows:
            folder = Path(options.folder or scratch) / row.name
            try:
                cost = measure(
                    row, engine, folder, options.rounds, options.repeats, options.ticks, not options.no_torch
                )
                print(as_json(cost) if options.json else text(cost), flush=True)
            except (ValueError, EngineError) as error:
                failed.append(row.name)
                print(error, file=sys.stderr, flush=True)
            if options.folder is None:
                shutil.rmtree(folder, ignore_errors=True)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return not failed


def print_size(options: argparse.Namespace) -> None:
    from .size import Settings, measure

    row = find(options.name)
    settings = Settings(options.rounds, options.tokens, not options.no_torch, options.folder is not None)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        line = measure(row, options.weights or row.weights, Engine(options.longwave), folder, settings)
    print(json.dumps(line), flush=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="tests/bench/zoo/run", description="Model packages of the published configurations."
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser(
        "list", help="names, tasks, lengths, parameters beside the published ones; exit code 1 where they differ"
    )
    writing = verbs.add_parser("write", help="write one as a model package")
    writing.add_argument("name")
    writing.add_argument("folder", type=Path)
    writing.add_argument("--seed", type=int, default=0, help="of the random weights (default: 0)")
    writing.add_argument(
        "--checkpoint",
        type=Path,
        help="take the weights of this state dict instead: .safetensors, or a file of torch.save",
    )
    table = verbs.add_parser("table", help="compile, run and measure them; exit code 1 where one fails")
    table.add_argument(
        "names", nargs="*", metavar="NAME", help="default: all, of which the largest take minutes and gigabytes"
    )
    table.add_argument("--folder", type=Path, help="keep packages and artifacts there (default: nowhere)")
    table.add_argument("--rounds", type=int, default=3, help="in turns with PyTorch (default: 3)")
    table.add_argument("--repeats", type=int, default=3, help="whole runs in a round (default: 3)")
    table.add_argument("--ticks", type=int, default=512, help="to stream (default: 512)")
    table.add_argument("--no-torch", action="store_true", help="leave PyTorch out")
    table.add_argument("--json", action="store_true", help="one JSON object a line")
    size = verbs.add_parser(
        "size", help="compile one at its published size: memory, bytes, PyTorch's numbers and times, as JSON"
    )
    size.add_argument("name")
    size.add_argument("--weights", choices=["float32", "bf16", "int8"], help="default: as the configuration says")
    size.add_argument("--folder", type=Path, help="keep package and file there, and take the package that is there")
    size.add_argument("--rounds", type=int, default=3, help="in turns with PyTorch (default: 3)")
    size.add_argument("--tokens", type=int, default=24, help="in a round, of language models (default: 24)")
    size.add_argument("--no-torch", action="store_true", help="no times of PyTorch")
    for verb in (table, size):
        verb.add_argument(
            "--longwave",
            type=Path,
            default=Path(__file__).resolve().parents[4] / "build/longwave",
            help="the program (default: build/longwave)",
        )
    options = parser.parse_args(arguments)
    try:
        if options.verb == "list":
            return 0 if list_rows() else 1
        if options.verb == "table":
            return 0 if print_table(options.names, options) else 1
        if options.verb == "size":
            print_size(options)
            return 0
        write_package(options.name, options.folder, options.seed, options.checkpoint)
        return 0
    except (KeyError, ValueError, OSError, EngineError) as error:
        print(error.args[0] if isinstance(error, KeyError) else error, file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
