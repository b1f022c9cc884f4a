#!/usr/bin/env python3
"""int8 weights on 64-bit ARM under qemu-aarch64: the words that float32 weights hear, and fewer instructions. With int8 dot products (target arm64-dotprod) for
int16 activations, and on every arm64 for int8 activations.

    dotprod_test.py BUILD

qemu counts instructions, not cycles.
"""

import dataclasses
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/static"))
from static_cross_test import MACHINES, instructions_per_block, needs_headers, runtime_of  # noqa: E402
from static_program import RECORDING, Program, needs, run, words_of  # noqa: E402

MOST = 0.85  # of the instructions of float32
EMULATOR = ["qemu-aarch64", "-cpu", "max"]
MACHINE = dataclasses.replace(MACHINES["arm64"], emulator=EMULATOR)


def measure(build, folder, runtime, target, *options):
    """Words of the recording, and instructions in a block of 20 ms."""
    program = Program(build / "longwave", runtime, folder / "-".join([target, *options]), target, [])
    program.compile(ROOT / "examples/kws/model", "kws", *options)
    a_block = instructions_per_block(program, MACHINE)
    print(f"{target} {' '.join(options)}: {a_block} instructions per block of 20 ms")
    return words_of(run(*EMULATOR, program.folder / "listen", RECORDING)), a_block


def main():
    build = pathlib.Path(sys.argv[1])
    needs(EMULATOR[0], MACHINES["arm64"].cc[0], "clang", "ninja", "make")
    needs_headers(MACHINES["arm64"].triple)
    with tempfile.TemporaryDirectory() as scratch:
        folder, runtime = pathlib.Path(scratch), runtime_of(build, "arm64")
        words_of_float32, float32 = measure(build, folder, runtime, "arm64", "--weights", "float32")
        expected, widened = measure(build, folder, runtime, "arm64", "--weights", "int8")
        words_of_bytes, int8_activations = measure(
            build, folder, runtime, "arm64", "--weights", "int8", "--activations", "int8"
        )
        words, int8 = measure(build, folder, runtime, "arm64-dotprod", "--weights", "int8")
        assert len(words) == 11 and words == expected, (words, expected)
        assert without_scores(words_of_bytes) == without_scores(words_of_float32), (words_of_bytes, words_of_float32)
        print(
            f"{int8 / float32:.2f} of float32, at most {MOST}; {widened / float32:.2f} without dot products, "
            f"{int8_activations / float32:.2f} with int8 activations, at most {MOST}"
        )
        assert int8 <= MOST * float32
        assert int8_activations <= MOST * float32


def without_scores(words):
    return [(time, word) for time, word, _ in words]


if __name__ == "__main__":
    sys.exit(main())
