#!/usr/bin/env python3
"""Instructions for a block of 20 ms of the keyword model on arm64, in qemu: XNNPACK's layers and those of Longwave, by the same counter.

    count.py BUILD FOLDER

FOLDER: Debian's libxnnpack-dev, libxnnpack0, libpthreadpool0 and libcpuinfo0 of arm64, unpacked with dpkg -x. Needs gcc-aarch64-linux-gnu, qemu-user and
what static_arm64_test needs.
"""

import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/static"))
from static_cross_test import MACHINES, instructions_per_block, runtime_of  # noqa: E402
from static_program import Program, executed, make_counter, run  # noqa: E402

CC, FEW, MANY = "aarch64-linux-gnu-gcc", 10, 60


def main():
    build, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    libraries = folder / "usr/lib/aarch64-linux-gnu"
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        counter, peer = make_counter(scratch), scratch / "keywords"
        run(
            CC,
            "-std=c11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-I",
            folder / "usr/include",
            pathlib.Path(__file__).with_name("keywords.c"),
            libraries / "libXNNPACK.so.0",
            f"-Wl,-rpath-link,{libraries}",
            "-lm",
            "-o",
            peer,
        )
        emulator = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", "-E", f"LD_LIBRARY_PATH={libraries}"]
        few, many = (executed(emulator, counter, peer, n) for n in (FEW, MANY))
        print(f"XNNPACK, layers after the front end, without GELU: {(many - few) // (MANY - FEW)}")
        program = Program(build / "longwave", runtime_of(build, "arm64"), scratch / "arm64", "arm64", [CC, "-static"])
        program.compile(ROOT / "examples/kws/model", "kws")
        print(f"Longwave, everything: {instructions_per_block(program, MACHINES['arm64'])}")


if __name__ == "__main__":
    sys.exit(main())
