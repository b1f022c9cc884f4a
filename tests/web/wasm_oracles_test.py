#!/usr/bin/env python3
"""Reference tensors in WebAssembly under wasmtime: each model as a library in a module of its own, offline and as streams, within the limits of this CPU.
Streams also pass their state between the module and a compiled file on this machine, wherever the input was cut.

    wasm_oracles_test.py BUILD FIXTURES [PATTERN...]
"""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/static"), str(ROOT / "tests/cross")]
from oracles_test import compare  # noqa: E402
from serve import build_objects  # noqa: E402
from static_cross_test import runtime_of  # noqa: E402
from static_program import needs, run  # noqa: E402
from wasm_test import PYTHON, needs_wasm  # noqa: E402


def main():
    build, fixtures, patterns = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    needs("clang", "wasm-ld", "llvm-ar", "ninja")
    needs_wasm()
    objects = build / "tests/wasm-runner"
    build_objects(objects, runtime_of(build, "wasm32"), run)
    return compare(
        build,
        fixtures,
        patterns,
        ["host", "wasm32"],
        ["--emulator", f"wasm32={PYTHON} {ROOT}/tests/web/serve.py {objects}"],
    )


if __name__ == "__main__":
    sys.exit(main())
