#!/usr/bin/env python3
"""Reference tensors on arm64 and armv7: one artifact for this CPU and both, offline and as streams, within the limits of this CPU. Streams also pass their
state from one machine to another, wherever the input was cut.

    oracles_test.py BUILD FIXTURES [PATTERN...]

The other machines are emulated by qemu, which computes as they do and says nothing about their time.
"""
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/static"))
from static_cross_test import MACHINES, needs_headers  # noqa: E402
from static_program import needs, run  # noqa: E402


def make_runner(build, target):
    """longwave-runner for the target; made again only where a source changed."""
    folder = build / f"tests/runner-{target}"
    run("cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchains/{target}.cmake",
        "-DLONGWAVE_RUNTIME_ONLY=ON", *(["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []))
    run("cmake", "--build", folder, "--target", "longwave-runner")
    return folder / "longwave-runner"


def main():
    build, fixtures, patterns = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    needs("clang", "ld.lld", "ninja", *(machine.emulator[0] for machine in MACHINES.values()))
    emulators = []
    for target, machine in MACHINES.items():
        needs_headers(machine.triple)
        emulators += ["--emulator", f"{target}={machine.emulator[0]} {make_runner(build, target)}"]
    before = os.times()
    done = subprocess.run([build / "longwave-oracles", fixtures, *patterns, "--cache", build / "tests/kernels", "--target", ",".join(("host", *MACHINES)), *emulators])
    after = os.times()
    print(f"{(after.children_user + after.children_system - before.children_user - before.children_system) / 60:.1f} minutes of CPU time")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
