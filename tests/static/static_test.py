#!/usr/bin/env python3
"""longwave compile --emit static on this machine: a C program that contains a model and the runtime without an operating system computes what a program
computes that opens the compiled file.

    static_test.py BUILD

The same code runs over the same tables: rows and states must be equal bit for bit. States pass in both directions.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

from static_program import (
    RECORDING,
    ROOT,
    Program,
    check_library,
    make_example,
    make_models,
    read_rows,
    run,
    words_of,
    words_of_file,
)

USAGE, DEVICE = 2, 4


def check_model(program, build, name, package, samples, flags):
    folder = program.folder
    loaded = program.compile_file(package, name, *flags, target=program.target)
    program.compile(package, name, *flags)
    check_library(program, "ld")
    static = program.build("rows.c", f"{name}-static")
    run(static, samples, folder / "static.rows", folder / "static.state")
    opener = program.opener(build)
    run(opener, samples, folder / "loaded.rows", folder / "loaded.state", "-", loaded)
    rows, reference = read_rows(folder / "static.rows"), read_rows(folder / "loaded.rows")
    assert rows[0] and rows == reference, f"{name}: rows differ"
    assert (folder / "static.state").read_bytes() == (folder / "loaded.state").read_bytes(), f"{name}: states differ"
    run(static, samples, folder / "second.rows", folder / "unused", folder / "loaded.state")
    run(opener, samples, folder / "second-loaded.rows", folder / "unused", folder / "static.state", loaded)
    second, tail = read_rows(folder / "second.rows"), read_rows(folder / "second-loaded.rows")
    assert second[0] and second == tail, f"{name}: rows after a load differ"
    assert second[0] == reference[0][-len(second[0]) :] and second[1] == reference[1][-len(second[1]) :], (
        f"{name}: rows after a load are not those of one run"
    )
    print(run(program.build("refusals.c", f"{name}-refusals", "-DEXACT=1")), end="")
    print(f"{name}: {len(rows[0])} rows, equal bits; {program.sizes}")
    return loaded


def check_words(program, build, loaded):
    """The example's eleven words, at the same times as those of the file."""
    make_example(program, "listen")
    heard, expected = words_of(run(program.folder / "listen", RECORDING)), words_of_file(program, build, loaded)
    assert heard == expected, (heard, expected)


def check_languages(program):
    """C++ reads the header. Several models fit into one program: their symbols differ."""
    for name in ("kws", "chela"):
        run(
            "c++",
            "-std=c++17",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-fsyntax-only",
            "-I",
            ROOT / "runtime/include",
            "-x",
            "c++",
            program.folder / f"{name}.h",
        )
        done = subprocess.run(
            [
                "c++",
                "-std=c++17",
                "-fsyntax-only",
                "-U__x86_64__",
                "-U__aarch64__",
                "-I",
                ROOT / "runtime/include",
                "-x",
                "c++",
                program.folder / f"{name}.h",
            ],
            capture_output=True,
            text=True,
        )  # as a compiler for another machine
        assert done.returncode != 0 and '#error "this model has code for' in done.stderr, done.stderr
    libraries = [program.folder / f"{name}.a" for name in ("kws", "chela", "lightnet")]
    run("ld", "-r", "--whole-archive", *libraries, program.runtime, "-o", program.folder / "several.o")


def check_refusals(program, package):
    """One line, the exit code of a wrong call, and no file."""
    out = program.folder / "refused.a"

    def refused(text, *flags, code=USAGE, environment=None):
        done = subprocess.run(
            [program.longwave, "compile", package, *flags],
            capture_output=True,
            text=True,
            env=os.environ | (environment or {}),
        )
        lines = done.stderr.strip().splitlines()
        assert done.returncode == code and len(lines) == 1 and text in lines[0], (flags, done.returncode, done.stderr)
        assert not list(program.folder.glob("refused*")), f"{flags}: a file was written"

    refused('unknown target "arm65": expected', "-o", out, "--emit", "static", "--target", "arm65")
    refused("--emit so: expected lw or static", "-o", out, "--emit", "so", "--target", program.target)
    refused("expected one CPU target", "-o", out, "--emit", "static")
    refused("expected one CPU target", "-o", out, "--emit", "static", "--target", "host,arm64")
    refused("expected one CPU target", "-o", out, "--emit", "static", "--target", "vulkan-16k")
    refused("name a file with -o", "-o", "-", "--emit", "static", "--target", program.target)
    refused("leave --sign out", "-o", out, "--emit", "static", "--target", program.target, "--sign", "key")
    refused("leave --no-code out", "-o", out, "--emit", "static", "--target", program.target, "--no-code")
    refused(
        "cortex-m55: its programs contain their models: add --emit static", "-o", out, "--target", "host,cortex-m55"
    )
    firmware = ["-o", out, "--emit", "static", "--target", "cortex-m55", "--stream"]
    refused(
        "install the package clang-19, or set LONGWAVE_CLANG",
        *firmware,
        code=DEVICE,
        environment={"PATH": str(program.folder)},
    )
    refused(
        "LONGWAVE_CLANG=/bin/false: is not a clang of version 19",
        *firmware,
        code=DEVICE,
        environment={"LONGWAVE_CLANG": "/bin/false"},
    )


def main():
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        program = Program(build / "longwave", build / "liblongwave-freestanding.a", folder / "host", "host", ["cc"])
        for name, package, samples, flags in make_models(folder):
            if name == "cells":  # with kernels that no step names
                flags = ["--blocks", "1", "--streams", "2,4"]
            loaded = check_model(program, build, name, package, samples, flags)
        check_words(program, build, loaded)
        check_languages(program)
        check_refusals(program, folder / "chela")


if __name__ == "__main__":
    sys.exit(main())
