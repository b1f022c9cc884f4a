"""Imports changed ONNX files with the whole command: status 0 and a folder, or status 3, a message, and no folder.

    onnx_import_mutations.py --count 10000 [--seconds 3600] [--seed 1] [--compile]

The cases are those of onnx_mutations.py. Each runs the command's main in this process, which has loaded PyTorch already. With
--compile the folder is compiled and compared too. A case that takes more than 60 seconds of computing time or 6 GiB fails.
"""

from __future__ import annotations

import contextlib
import functools
import io
import shutil
import sys
from pathlib import Path

import mutations
import onnx_mutations
from longwave.importer import __main__ as importer

MEMORY, SECONDS = 6 << 30, 60
DEFECT = "a defect of the importer"  # blame.unexpected


def outcome(status: int, said: str, wrote: bool) -> str:
    """ "refused", "no memory" or "imported"; or what went wrong."""
    for line in said.splitlines():
        if not line.isprintable():
            return f"WRONG: unprintable {line!r}"
        if "allocate memory" in line:
            return "no memory"
        if DEFECT in line or mutations.TOO_LONG in line:
            return f"WRONG: {line}"
    if status not in (0, 3) or wrote != (status == 0):
        return f"WRONG: status {status}, {'a' if wrote else 'no'} folder: {said[-200:]}"
    if status == 0:
        return "imported"
    return "refused" if said.strip() else "WRONG: refused without a word"


def tried(seed: int, folder: Path, *, compiles: bool = False) -> str:
    data, inputs, fix = onnx_mutations.case(seed)
    file, made = folder / "changed.onnx", folder / "made"
    file.write_bytes(data)
    command = [
        str(file),
        "-o",
        str(made),
        *([] if compiles else ["--no-compile"]),
        "--length",
        str(onnx_mutations.LENGTH),
    ]
    command += [word for text in inputs for word in ("--input", text)]
    command += [word for name, value in fix.items() for word in ("--fix", f"{name}={value}")]
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = importer.main(command)
        return outcome(status, said.getvalue(), made.exists())
    except BaseException as e:
        return f"WRONG: {type(e).__name__}: {e}"
    finally:
        shutil.rmtree(made, ignore_errors=True)


if __name__ == "__main__":
    compiles = "--compile" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--compile"]
    mutations.main(__doc__ or "", functools.partial(tried, compiles=compiles), MEMORY, SECONDS)
