#!/usr/bin/env python3
"""Targets of other machines on the command line: what is not checked is said, what cannot be is refused in one line, and then nothing is written.

    emulator_test.py LONGWAVE

Without an emulator: an artifact for arm64 is compiled, described and refused here. Needs no other machine's compiler.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/conformance"))
import families  # noqa: E402
import sc10_package  # noqa: E402

USAGE, DEVICE = 2, 4


def main():
    longwave = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as scratch:
        package, made = pathlib.Path(scratch) / "model", pathlib.Path(scratch) / "model.lw"
        sc10_package.write(package, *families.sgconv(8, 1, l_max=40))

        def run(*arguments):
            return subprocess.run([longwave, *arguments], capture_output=True, text=True)

        def compile_for(*flags):
            made.unlink(missing_ok=True)
            return run("compile", package, "-o", made, *flags)

        def refused(code, text, *flags):
            done = compile_for(*flags)
            lines = done.stderr.strip().splitlines()
            assert done.returncode == code and len(lines) == 1 and text in lines[0], (
                flags,
                done.returncode,
                done.stderr,
            )
            assert not made.exists(), f"{flags}: a file was written"

        refused(USAGE, 'unknown target "arm65": expected', "--target", "arm65")
        refused(USAGE, "this machine runs every target", "--target", "host", "--emulator", "qemu-aarch64")
        refused(
            USAGE,
            "several targets need one; expected TARGET=COMMAND",
            "--target",
            "arm64,armv7",
            "--emulator",
            "qemu-aarch64",
        )
        refused(USAGE, "target armv7 is not one of --target", "--target", "arm64", "--emulator", "armv7=qemu-arm")
        refused(
            DEVICE,
            "no-such-emulator: cannot be started",
            "--target",
            "arm64",
            "--emulator",
            "no-such-emulator longwave-runner",
        )
        refused(DEVICE, "ended without an answer", "--target", "arm64", "--emulator", "true longwave-runner")

        done = compile_for("--target", "host,arm64,armv7", "--json")
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["proof"]["not_proved_here"] == ["arm64", "armv7"], report["proof"]
        assert [target["name"] for target in report["targets"]][1:] == ["arm64", "armv7"]
        done = run("inspect", made)
        assert done.returncode == 0 and "arm64" in done.stdout, done.stderr
        assert run("verify", made).returncode == 0

        done = compile_for("--target", "arm64,armv7")
        assert done.returncode == 0 and done.stdout.count("not checked on this machine") == 2, done.stdout + done.stderr
        done = run("run", made, "--input", "x=40")
        assert (
            done.returncode == DEVICE and "arm64 armv7" in done.stderr and len(done.stderr.strip().splitlines()) == 1
        ), done.stderr


if __name__ == "__main__":
    sys.exit(main())
