#!/usr/bin/env python3
"""int8 weights on 64-bit ARM with int8 dot products (target arm64-dotprod), under qemu-aarch64: the words that arm64 hears, and fewer instructions than with
float32 weights.

    dotprod_test.py BUILD

qemu counts instructions, not cycles.
"""
import dataclasses
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/static"))
from static_cross_test import MACHINES, instructions_per_block, runtime_of, needs_headers  # noqa: E402
from static_program import RECORDING, Program, needs, run, words_of  # noqa: E402

MOST = 0.85  # of the instructions of float32
EMULATOR = ["qemu-aarch64", "-cpu", "max"]
MACHINE = dataclasses.replace(MACHINES["arm64"], emulator=EMULATOR)


def measure(build, folder, runtime, target, weights):
    """Words of the recording, and instructions in a block of 20 ms."""
    program = Program(build / "longwave", build / "tests/kernels", runtime, folder / f"{target}-{weights}", target, [])
    program.compile(ROOT / "examples/kws/model", "kws", "--weights", weights)
    a_block = instructions_per_block(program, MACHINE)
    print(f"{target}, {weights} weights: {a_block} instructions per block of 20 ms")
    return words_of(run(*EMULATOR, program.folder / "listen", RECORDING)), a_block


def main():
    build = pathlib.Path(sys.argv[1])
    needs(EMULATOR[0], MACHINES["arm64"].cc[0], "clang", "ninja", "make")
    needs_headers(MACHINES["arm64"].triple)
    with tempfile.TemporaryDirectory() as scratch:
        folder, runtime = pathlib.Path(scratch), runtime_of(build, "arm64")
        _, float32 = measure(build, folder, runtime, "arm64", "float32")
        expected, widened = measure(build, folder, runtime, "arm64", "int8")
        words, int8 = measure(build, folder, runtime, "arm64-dotprod", "int8")
        assert len(words) == 11 and words == expected, (words, expected)
        print(f"{int8 / float32:.2f} of float32, at most {MOST}; {widened / float32:.2f} without dot products")
        assert int8 <= MOST * float32


if __name__ == "__main__":
    sys.exit(main())
