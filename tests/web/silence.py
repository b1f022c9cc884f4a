#!/usr/bin/env python3
"""Measures: time per block of noise, of silence after it, and of samples of 1e-41, in wasmtime. WebAssembly cannot flush denormal numbers to zero.

silence.py BUILD
"""

import pathlib
import sys
import tempfile

from wasm_test import CC, ENGINE, PYTHON, ROOT, Program, make_models, run, runtime_of


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        program = Program(build / "longwave", runtime_of(build, "wasm32"), folder / "wasm32", "wasm32", CC)
        for name, package, _, flags in make_models(folder):
            program.compile(package, name, *flags)
            wasm = program.build("silence.c", f"{name}.wasm", folder=ROOT / "tests/web")
            print(f"{name:9}", run(PYTHON, ENGINE, wasm, program.folder / f"{name}.weights"), end="")


if __name__ == "__main__":
    sys.exit(main())
