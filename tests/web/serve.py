#!/usr/bin/env python3
"""longwave-runner with a model in it, in wasmtime: what `longwave-oracles --emulator wasm32=COMMAND` starts.

    serve.py OBJECTS LIBRARY.a

OBJECTS has the runner's own objects and the runtime, from build_objects(). The header lies beside the library. The weights come over standard input.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CC = [
    "clang",
    "--target=wasm32-wasi",
    "-msimd128",
    "-mbulk-memory",
    "-std=c11",
    "-O1",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-I",
    ROOT,
    "-I",
    ROOT / "runtime/include",
]
SOURCES = ["main.c", "serve.c"]


def build_objects(folder, runtime, run):
    """What no model changes. `runtime`: liblongwave-freestanding.a of wasm32."""
    folder.mkdir(exist_ok=True)
    for source in SOURCES:
        run(*CC, "-c", ROOT / "tools/runner" / source, "-o", folder / f"{source}.o")
    (folder / "runtime.a").write_bytes(runtime.read_bytes())


def link(objects, library, module):
    header = library.with_suffix(".h")
    text = header.read_text()
    symbol = re.search(r"extern const lw_static_model (\w+);", text).group(1)
    memory = sum(int(value) for value in re.findall(r"#define \w+_(?:MODEL|RUN)_BYTES (\d+)", text))
    subprocess.run(
        [
            *CC,
            "-include",
            header,
            f"-DMODEL={symbol}",
            f"-DMEMORY={memory}",
            ROOT / "tools/runner/contained.c",
            *(objects / f"{source}.o" for source in SOURCES),
            library,
            objects / "runtime.a",
            "-Wl,--gc-sections",
            "-Wl,-z,stack-size=1048576",
            "-o",
            module,
        ],
        check=True,
        stdout=sys.stderr,
    )


def main():
    from wasm_engine import run_program

    objects, library = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as scratch:
        module = pathlib.Path(scratch) / "runner.wasm"
        link(objects, library, module)
        return run_program(module, [], stdin=True)


if __name__ == "__main__":
    sys.exit(main())
