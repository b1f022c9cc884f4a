#!/usr/bin/env python3
"""Compiling takes at most three times the memory of the weights: large_model_test.py LONGWAVE SCRATCH_FOLDER

Peak resident memory of `longwave compile` on a model of large_package.py, less that of a model of a few kilobytes, which
is the program itself. Kernels come from the cache, so that no other process is measured. --layers 24 --width 2048 is the
size of a language model (217 million parameters; minutes). Standard library only.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MOST = 3.0  # times the weights
HERE = pathlib.Path(__file__).resolve().parent


def package(folder, layers, width, kernel_dim, scales):
    """Bytes of the weights. In a process of its own: memory of this one would count as that of its children."""
    arguments = {"layers": layers, "width": width, "kernel-dim": kernel_dim, "scales": scales}
    command = [sys.executable, HERE / "large_package.py", folder]
    for name, value in arguments.items():
        command += [f"--{name}", str(value)]
    return int(subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, check=True).stdout)


def peak(longwave, folder, options):
    """Peak resident bytes of the second compile, and its report."""
    command = [longwave, "compile", folder, "-o", folder / "model.lw", "--json", *options]
    for _ in range(2):
        with open(folder / "report.json", "wb") as out:
            pid = os.posix_spawn(
                longwave, list(map(str, command)), os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out.fileno(), 1)]
            )
            _, status, usage = os.wait4(pid, 0)
        if status != 0:
            sys.exit(f"{' '.join(map(str, command))}: exit {os.waitstatus_to_exitcode(status)}")
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    if report["build"]["kernels_compiled"]:
        sys.exit(f"expected every kernel from the cache, found {report['build']['kernels_compiled']} compiled")
    return usage.ru_maxrss * 1024, report


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("longwave", type=pathlib.Path)
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--no-check", action="store_const", const=["--no-check"], default=[])
    options = parser.parse_args()
    longwave, scratch = options.longwave.resolve(), options.scratch.resolve()
    scratch.mkdir(parents=True, exist_ok=True)
    flags = ["--target", "host", *options.no_check]
    with tempfile.TemporaryDirectory(prefix="large-model-", dir=scratch) as name:
        folder = pathlib.Path(name)
        package(folder / "small", 1, 16, 4, 3)
        full = options.width >= 2048
        weights = package(folder / "large", options.layers, options.width, 64 if full else 8, 5 if full else 3)
        base, _ = peak(longwave, folder / "small", flags)
        most, report = peak(longwave, folder / "large", flags)
    ratio = (most - base) / weights
    print(
        f"{report['parameters'] / 1e6:.1f} M parameters, {weights / 1e6:.1f} MB: peak {most / 1e6:.1f} MB, of which the "
        f"program {base / 1e6:.1f} MB; {ratio:.2f} times the weights, at most {MOST}; "
        f"{report['build']['seconds']:.1f} s"
    )
    return ratio > MOST


if __name__ == "__main__":
    sys.exit(main())
