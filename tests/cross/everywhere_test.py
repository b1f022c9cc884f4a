#!/usr/bin/env python3
"""One compiled file for x86-64-v2 to v4, arm64, armv7 and Vulkan: it opens and runs on each, and `longwave inspect` prints the size of each part.

    everywhere_test.py BUILD

arm64 and armv7 run in qemu. Without a Vulkan device that part is left out.
"""

import json
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/static"), str(ROOT / "tests/cross"), str(ROOT / "tests/conformance")]
import families  # noqa: E402
import sc10_package  # noqa: E402
from static_cross_test import MACHINES, built, needs_headers  # noqa: E402
from static_program import needs, run, skip  # noqa: E402

LEVELS, GPU = ["x86-64-v2", "x86-64-v3", "x86-64-v4"], "vulkan-32k"


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    longwave = build / "longwave"
    needs("clang", "ld.lld", "ninja", *(machine.emulator[0] for machine in MACHINES.values()))
    emulators = []
    for target, machine in MACHINES.items():
        needs_headers(machine.triple)
        emulators += [
            "--emulator",
            f"{target}={machine.emulator[0]} {built(build, target, 'runner', 'longwave-runner')}",
        ]
    devices = [json.loads(line) for line in run(longwave, "devices", "--json").splitlines()]
    gpu = any("vulkan" in json.dumps(device) for device in devices)
    with tempfile.TemporaryDirectory() as scratch:
        made = pathlib.Path(scratch) / "everywhere.lw"
        # The code of arm64 and armv7 runs here: golden vectors, streams in random cuts, and states between all machines.
        report = json.loads(
            run(
                longwave,
                "compile",
                ROOT / "examples/packages/tiny",
                "-o",
                made,
                "--json",
                "--target",
                ",".join([*LEVELS, *MACHINES, GPU]),
                *emulators,
            ).splitlines()[-1]
        )
        checked = {stream["variant"] for stream in report["proof"]["variants"]}
        here = {level for level in LEVELS if level not in report["proof"]["not_proved_here"]}
        assert here and set(MACHINES) <= checked and here <= checked, report["proof"]
        parts = run(longwave, "inspect", made)
        sizes = re.findall(r"^code +(\S+): [\d.]+ k?B of code", parts, re.M)
        assert set(sizes) == {*LEVELS, *MACHINES}, parts
        assert (
            re.search(r"header and plan [\d.]+ k?B", parts)
            and re.search(r"^weights +[\d.]+ k?B", parts, re.M)
            and GPU in parts
        ), parts
        for level in sorted(here):
            run(longwave, "verify", made, "--variant", level)
        if gpu:
            run(longwave, "verify", made, "--device", "vulkan")
        # A stream of windows equals runs over its windows on every machine, and passes its state between them.
        windows = pathlib.Path(scratch) / "windows"
        sc10_package.write(windows, *families.sgconv(8, 1, l_max=40))
        run(
            longwave,
            "compile",
            windows,
            "-o",
            f"{windows}.lw",
            "--target",
            ",".join(["host", *MACHINES]),
            "--window",
            "40",
            "--hop",
            "8",
            *emulators,
        )
        print(
            f"one file of {made.stat().st_size} bytes ran on {', '.join([*sorted(here), *MACHINES, *(['Vulkan'] if gpu else [])])}"
        )
        foreign = [line for line in parts.splitlines() if line.startswith(("file", "code", "gpu"))]
        print(*foreign, sep="\n")
    if not gpu:
        skip("no Vulkan device (Debian: libvulkan1, mesa-vulkan-drivers); all else passed")


if __name__ == "__main__":
    sys.exit(main())
