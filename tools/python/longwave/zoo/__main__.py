"""python -m longwave.zoo list | write NAME FOLDER | table [NAME ...]"""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .configurations import ROWS, find, fits
from .families import build, write
from .tensors import read_checkpoint


def list_rows() -> bool:
    """Prints every configuration with its count beside what is known of it; whether all agree."""
    print(f"{'name':22}{'task':34}{'length':>7}{'parameters':>13}  {'paper':>8}  {'recount':>9}  source")
    agree = True
    for row in ROWS:
        parameters = build(row).tensors.parameters
        agree = agree and fits(row, parameters)
        note = "" if fits(row, parameters) else "  DIFFERS"
        print(f"{row.name:22}{row.task:34}{row.length:>7}{parameters:>13,}  {row.paper or '-':>8}  {row.recount or '-':>9}  {row.source}{note}")
        if row.why:
            print(f"{'':22}{row.why}")
    return agree


def write_package(name: str, folder: Path, seed: int, checkpoint: Path | None) -> None:
    model = build(find(name))
    values = model.tensors.random(seed) if checkpoint is None else model.tensors.of(read_checkpoint(checkpoint))
    write(model, name, folder, values)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m longwave.zoo", description="Model packages of the published configurations.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="names, tasks, lengths, parameters beside the published ones; exit code 1 where they differ")
    writing = verbs.add_parser("write", help="write one as a model package")
    writing.add_argument("name")
    writing.add_argument("folder", type=Path)
    writing.add_argument("--seed", type=int, default=0, help="of the random weights (default: 0)")
    writing.add_argument("--checkpoint", type=Path, help="take the weights of this state dict instead: .safetensors, or a file of torch.save")
    options = parser.parse_args(arguments)
    try:
        if options.verb == "list":
            return 0 if list_rows() else 1
        write_package(options.name, options.folder, options.seed, options.checkpoint)
        return 0
    except (KeyError, ValueError, OSError) as error:
        print(error.args[0] if isinstance(error, KeyError) else error, file=sys.stderr)
        return 3


if __name__ == "__main__":
    sys.exit(main())
