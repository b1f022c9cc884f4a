#!/usr/bin/env python3
"""longwave compile --emit static for another machine: programs that contain a model, under qemu's user emulation and, for arm64 without an operating
system, under qemu-system-aarch64 -M virt.

    static_cross_test.py BUILD arm64|armv7|armv7-vfp4

Rows are within 1e-5 of the peak of those that the compiled file gives on this machine, as the bar of two machines with other vector widths is
everywhere (docs/numerics.md). A state that is saved here continues there.
"""

import dataclasses
import glob
import pathlib
import shutil
import sys
import tempfile

from size_table import check_table, sizes_of
from static_program import (
    RECORDING,
    Program,
    check_library,
    cut_recording,
    distance,
    executed,
    has_clang,
    make_counter,
    make_example,
    make_models,
    needs,
    read_rows,
    run,
    skip,
    words_of,
    words_of_file,
)

INSTRUCTIONS = {
    "arm64": 162_000,
    "armv7": 350_000,
    "armv7-vfp4": 260_000,
}  # in a block of 20 ms of the keyword model, push and pull included
CODE, MEMORY = 80_000, 260_000  # bytes: code with runtime and its constants, and memory, of the keyword model


@dataclasses.dataclass
class Machine:
    cc: list
    emulator: list  # a command whose arguments are a program and its own
    triple: str  # of the compiler and the headers
    linker: str
    exact: int  # whether the header's sizes are those of the machine: pointers are as long as here
    helpers: str  # of the compiler's own library, for what the machine has no instruction for

    def run(self, *command):
        return run(*self.emulator, *command)


MACHINES = {
    "arm64": Machine(["aarch64-linux-gnu-gcc"], ["qemu-aarch64"], "aarch64-linux-gnu", "aarch64-linux-gnu-ld", 1, "$^"),
    "armv7": Machine(
        ["clang", "--target=arm-linux-gnueabihf", "-mfpu=neon", "-fuse-ld=lld"],
        ["qemu-arm"],
        "arm-linux-gnueabihf",
        "ld.lld",
        0,
        "__aeabi_",
    ),
}
MACHINE_OF = {"armv7-vfp4": "armv7"}  # targets that need more of a machine than every one has


def built(build, target, folder, file):
    """What the build made for another machine (tests/cross/OtherMachines.cmake)."""
    path = build / f"tests/{folder}-{target}" / file
    assert path.exists(), (
        f"{path}: missing; configure again if the compiler for {target} was installed after, then build all"
    )
    return path


def runtime_of(build, target):
    return built(build, target, "freestanding", "liblongwave-freestanding.a")


def needs_headers(triple):
    if not glob.glob(f"/usr/lib/gcc-cross/{triple}/*/libstdc++.a"):
        skip(f"needs libstdc++-12-dev-{'arm64' if triple.startswith('aarch64') else 'armhf'}-cross")


def check_model(program, machine, build, name, package, samples, flags):
    folder = program.folder
    loaded = program.compile_file(package, name, *flags)
    run(program.opener(build), samples, folder / "loaded.rows", folder / "loaded.state", "-", loaded)
    program.compile(package, name, *flags)
    check_library(program, machine.linker, machine.helpers)
    static = program.build("rows.c", f"{name}-static")
    machine.run(static, samples, folder / "static.rows", folder / "static.state")
    reference = read_rows(folder / "loaded.rows")
    apart = distance(read_rows(folder / "static.rows"), reference)
    assert apart <= 1e-5, f"{name}: {apart}"
    machine.run(static, samples, folder / "second.rows", folder / "unused", folder / "loaded.state")
    second = read_rows(folder / "second.rows")
    n, values = len(second[0]), len(second[1])
    moved = distance(second, (reference[0][-n:], reference[1][-values:]))
    assert moved <= 1e-5, f"{name}: after a load {moved}"
    print(machine.run(program.build("refusals.c", f"{name}-refusals", f"-DEXACT={machine.exact}")), end="")
    print(
        f"{name}: {len(reference[0])} rows within {apart:.1e} of the peak, {moved:.1e} after a state of x86-64; {program.sizes}"
    )


def make_listen(program, machine):
    """The program of examples/static for this machine, with the keyword model that was compiled last."""
    make_example(program, "-B", f"CC={' '.join(machine.cc)}", "CFLAGS=-static", "listen")
    return program.folder / "listen"


def instructions_per_block(program, machine):
    """qemu counts instructions, not cycles. The start of the program is in both runs."""
    listen, counter = make_listen(program, machine), make_counter(program.folder)
    one, two = (
        executed(machine.emulator, counter, listen, cut_recording(program.folder, seconds)) for seconds in (1, 2)
    )
    return (two - one) // 50


def check_instructions(program, machine, target):
    a_block = instructions_per_block(program, machine)
    print(f"instructions per block of 20 ms: {a_block}, at most {INSTRUCTIONS[target]}")
    assert a_block <= INSTRUCTIONS[target]


def check_board(program, machine, build):
    """The words of the file, with and without an operating system, in as much flash and memory as the bars allow."""
    expected = words_of_file(program, build, program.folder / "kws.lw")
    heard = words_of(machine.run(make_listen(program, machine), RECORDING))
    assert heard == expected, (heard, expected)
    if not shutil.which("qemu-system-aarch64"):
        skip("needs qemu-system-aarch64 for the part without an operating system; all else passed")
    make_example(program, f"CC={machine.cc[0]}", "board")
    output = make_example(program, "run")
    check_sizes(output, expected)
    check_table(output, "arm64")


def check_sizes(output, expected):
    """Words and sizes that examples/static/board.c printed."""
    print(output, end="")
    assert words_of(output) == expected, output
    sizes = sizes_of(output)
    assert sizes["flash  all but plan, weights, tables"] <= CODE, sizes
    assert sizes["memory all"] <= MEMORY, sizes


def main():
    build, target = pathlib.Path(sys.argv[1]), sys.argv[2]
    name = MACHINE_OF.get(target, target)
    machine = MACHINES[name]
    needs(machine.cc[0], machine.emulator[0], machine.linker, "clang", "nm", "readelf", "ninja", "make")
    needs_headers(machine.triple)
    if target in MACHINE_OF and not has_clang():
        skip("needs clang-19")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        program = Program(
            build / "longwave", runtime_of(build, name), folder / target, target, [*machine.cc, "-static"]
        )
        for name, package, samples, flags in make_models(folder):
            check_model(program, machine, build, name, package, samples, flags)
        check_instructions(program, machine, target)
        if target == "arm64":
            check_board(program, machine, build)


if __name__ == "__main__":
    sys.exit(main())
