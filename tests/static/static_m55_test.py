#!/usr/bin/env python3
"""longwave compile --emit static --target cortex-m55: a Cortex-M55 without an operating system, under qemu-system-arm -M mps3-an547.

    static_m55_test.py BUILD

Rows are within 1e-5 of the peak of those that the compiled file gives on this machine, as everywhere between machines. A block of 20 ms of the
keyword model takes at most as many instructions as the bar allows. qemu counts instructions, not cycles.
"""

import pathlib
import random
import re
import subprocess
import sys
import tempfile

from size_table import check_table, sizes_of
from static_cross_test import Machine, check_model, check_sizes, needs_headers, runtime_of
from static_program import (
    ROOT,
    Program,
    cut_recording,
    has_clang,
    make_counter,
    make_example,
    make_models,
    needs,
    run,
    skip,
    words_of,
    words_of_file,
)

TARGET, INSTRUCTIONS = "cortex-m55", 300_000  # in a block of 320 samples, push and pull included
FRAMES = 256  # bytes of stack of the example's own functions, at most
CC = [
    "arm-none-eabi-gcc",
    "-mcpu=cortex-m55",
    "-mthumb",
    "-mfloat-abi=hard",
    "--specs=rdimon.specs",
    "-nostartfiles",
    "-T",
    ROOT / "tests/static/m55.ld",
    "-Wl,--no-enum-size-warning",
    "-Wl,-z,noexecstack",
    ROOT / "tests/static/m55_start.c",
]
QEMU = [
    "timeout",
    "600",
    "qemu-system-arm",
    "-M",
    "mps3-an547",
    "-nic",
    "none",
    "-display",
    "none",
    "-monitor",
    "none",
    "-serial",
    "none",
]


class Board(Machine):
    def run(self, program, *words):
        words = ",".join(f"arg={word}" for word in (program.name, *words))
        return run(*QEMU, "-semihosting-config", f"enable=on,target=native,{words}", "-kernel", program)


def has_newlib():
    found = subprocess.run([*CC[:4], "-print-file-name=rdimon.specs"], capture_output=True, text=True).stdout.strip()
    return pathlib.Path(found).is_file()


def make_board(program, *arguments, name="kws"):
    make_example(program, "-B", "CC=arm-none-eabi-gcc", *arguments, "m55", name=name)


def check_stack(program, output):
    """The macro of the header is an upper limit. `main` and the functions of the example are above the library's."""
    used, limit = sizes_of(output)["memory stack, at most"], program.sizes["STACK_BYTES"]
    print(f"stack: {used} bytes used, STACK_BYTES {limit}")
    assert used - FRAMES <= limit <= used + 2 * used // 3 + 1024, (used, limit)


def check_int8(program, build):
    """The words at the times of the compiled file, their scores within rounding, with int8 weights."""
    package, flags = ROOT / "examples/kws/model", ["--weights", "int8"]
    loaded = program.compile_file(package, "kws8", *flags)
    program.compile(package, "kws8", *flags)
    make_board(program, name="kws8")
    output = make_example(program, "run-m55", name="kws8")
    print(output, end="")
    heard, expected = words_of(output), words_of_file(program, build, loaded)
    assert [word[:2] for word in heard] == [word[:2] for word in expected], (heard, expected)
    assert all(abs(a[2] - b[2]) <= 1 for a, b in zip(heard, expected)), (heard, expected)
    check_stack(program, output)
    check_table(output, "Cortex-M55, int8")


def check_other_cpus(program):
    """The header refuses a program for a CPU that lacks Helium, with the reason."""
    for cpu in ("cortex-m4", "cortex-m7"):
        done = subprocess.run(
            [
                "arm-none-eabi-gcc",
                f"-mcpu={cpu}",
                "-mthumb",
                "-mfloat-abi=hard",
                "-fsyntax-only",
                "-I",
                ROOT / "runtime/include",
                "-x",
                "c",
                program.header,
            ],
            capture_output=True,
            text=True,
        )
        assert done.returncode != 0 and "Cortex-M with Helium" in done.stderr, done.stderr


def instructions_of(program, seconds, counter):
    """That the board executes over so many seconds of the recording, its start included."""
    make_board(program, f"AUDIO={cut_recording(program.folder, seconds)}")
    done = subprocess.run(
        [*QEMU, "-semihosting", "-plugin", counter, "-kernel", program.folder / "m55.elf"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(re.search(r"^instructions: (\d+)$", done.stderr, re.M).group(1))


def check_long_helpers(program, machine):
    """64-bit divisions and conversions on the board against Python's. The library comes before the compiler's own."""
    generator = random.Random(64)
    edges = [
        0,
        1,
        2,
        3,
        0xFFFF,
        0x10000,
        0x10001,
        0xFFFFFFFF,
        1 << 32,
        (1 << 32) + 1,
        1 << 53,
        (1 << 53) + 1,
        (1 << 63) - 1,
        1 << 63,
        (1 << 64) - 1,
    ]
    edges += [generator.getrandbits(64) >> generator.randrange(64) for _ in range(40)]
    divisions = "".join(f"{{{n}ull, {d}ull, {n // d}ull, {n % d}ull}}, " for n in edges for d in edges if d)
    signed = [n - (1 << 64) if n >> 63 else n for n in edges]
    numbers = "".join(
        f"{{{n}ull, {float(n).hex()}, {float(s).hex()}, {int(float(n)) if float(n) < 2**64 else 0}ull}}, "
        for n, s in zip(edges, signed)
    )
    (program.folder / "long_cases.h").write_text(f"#define DIVISIONS {divisions}\n#define NUMBERS {numbers}\n")
    print(
        machine.run(program.build("long_helpers.c", "long_helpers", "-include", program.folder / "long_cases.h")),
        end="",
    )


def check_instructions(program):
    counter = make_counter(program.folder)
    a_block = (instructions_of(program, 2, counter) - instructions_of(program, 1, counter)) // 50
    print(f"instructions per block of 20 ms: {a_block}, at most {INSTRUCTIONS}")
    assert a_block <= INSTRUCTIONS


def main():
    build = pathlib.Path(sys.argv[1])
    needs("arm-none-eabi-gcc", "arm-none-eabi-ld", "qemu-system-arm", "clang", "nm", "readelf", "ninja", "make")
    needs_headers("arm-linux-gnueabihf")
    if not has_clang():
        skip("needs clang-19")
    if not has_newlib():
        skip("needs libnewlib-arm-none-eabi")
    machine = Board(CC, [], "arm-none-eabi", "arm-none-eabi-ld", 0, "$^")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        program = Program(build / "longwave", runtime_of(build, TARGET), folder / TARGET, TARGET, CC)
        for name, package, samples, flags in make_models(folder):
            check_model(program, machine, build, name, package, samples, flags)
        check_long_helpers(program, machine)
        make_board(program)
        output = make_example(program, "run-m55")
        check_sizes(output, words_of_file(program, build, program.folder / "kws.lw"))
        check_stack(program, output)
        check_table(output, "Cortex-M55")
        check_instructions(program)
        check_other_cpus(program)
        check_int8(program, build)


if __name__ == "__main__":
    sys.exit(main())
