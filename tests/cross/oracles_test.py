#!/usr/bin/env python3
"""Reference tensors on arm64 and armv7: one artifact for this CPU and both, offline and as streams, within the limits of this CPU. Streams also pass their
state from one machine to another, wherever the input was cut.

    oracles_test.py BUILD FIXTURES [PATTERN...]

The other machines are emulated by qemu, which computes as they do and says nothing about their time.
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/static"))
from static_cross_test import MACHINE_OF, MACHINES, built, needs_headers  # noqa: E402
from static_program import has_clang, needs  # noqa: E402


def compare(build, fixtures, patterns, targets, emulators):
    """Runs longwave-oracles, prints what failed, and returns the exit status."""
    before = os.times()
    done = subprocess.run(
        [build / "longwave-oracles", fixtures, *patterns, "--json", "--target", ",".join(targets), *emulators],
        stdout=subprocess.PIPE,
        text=True,
    )
    after = os.times()
    print(
        f"{(after.children_user + after.children_system - before.children_user - before.children_system) / 60:.1f} minutes of CPU time"
    )
    cases = [json.loads(line) for line in done.stdout.splitlines()]
    failed = [case for case in cases if not case["passed"]]
    for case in failed:
        print(
            case["name"],
            case.get("failure", ""),
            *(reference for reference in case["references"] if not reference["passed"]),
            sep="\n    ",
        )
    return 1 if failed or not cases else 0


def main():
    build, fixtures, patterns = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    needs("clang", "ld.lld", "ninja", *(machine.emulator[0] for machine in MACHINES.values()))
    emulators = []
    for target, machine in MACHINES.items():
        needs_headers(machine.triple)
        emulators += [
            "--emulator",
            f"{target}={machine.emulator[0]} {built(build, target, 'runner', 'longwave-runner')}",
        ]
    levels = MACHINE_OF if has_clang() else {}
    for target, name in levels.items():
        emulators += [
            "--emulator",
            f"{target}={MACHINES[name].emulator[0]} {built(build, name, 'runner', 'longwave-runner')}",
        ]
    return compare(build, fixtures, patterns, ["host", *MACHINES, *levels], emulators)


if __name__ == "__main__":
    sys.exit(main())
