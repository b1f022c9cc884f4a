#!/usr/bin/env python3
"""The runtime for Windows in Wine: the platform layer, a program with the DLL, and files that run here and there with the same bits.

    windows_test.py BUILD            also compiles two models, and checks how their code uses the stack
    windows_test.py BUILD --all      every compiled file that other tests left in BUILD/tests

Each file is verified, and runs offline and as a stream in random cuts, on this system and on Windows, with all its code that runs on this CPU. Rows and
saved states are equal bit by bit. Each system continues from the state of the other one.
"""

import json
import os
import pathlib
import random
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDING = ROOT / "examples/kws/demo.wav"
OPEN, VERIFY, RUN, STREAM, PUSH, SAVE, LOAD, CLOSE = 1, 2, 3, 4, 5, 9, 10, 12  # tools/runner/wire.h
F32, S16, I32 = 1, 2, 3  # lw_sample_format
LONGEST = 600  # seconds for one answer or program: the least machine is slow, and what hangs must end
LEAST_STACK = 64000  # runtime/platform/kernels.h has 64 KiB; the rest is of what kernels call


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def text_of(*command, **options):
    """What a program prints. It goes through files: a service that Wine starts may hold a pipe open."""
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([str(part) for part in command], stdout=printed, stderr=errors, **options)
        try:
            status = process.wait(timeout=LONGEST)
        finally:
            process.kill()
        texts = []
        for file in (printed, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    assert status == 0, f"{' '.join(map(str, command))}\n{''.join(texts)}"
    return texts[0]


class Runner:
    """A longwave-runner and its answers."""

    def __init__(self, *command, **options):
        self.process = subprocess.Popen([str(part) for part in command], stdin=-1, stdout=-1, bufsize=0, **options)

    def ask(self, what, which=0, payload=b""):
        request = memoryview(struct.pack("<IIQ", what, which, len(payload)) + payload)
        while request:
            request = request[self.process.stdin.write(request) :]
        status, which, size = struct.unpack("<iIQ", self.read(16))
        return status, which, self.read(size)

    def read(self, size):
        got = bytearray()
        while len(got) < size:
            if not select.select([self.process.stdout], [], [], LONGEST)[0]:
                self.process.kill()
                raise TimeoutError(f"{self.process.args[0]}: no answer in {LONGEST} s")
            part = self.process.stdout.read(size - len(got))
            if not part:
                raise EOFError(f"{self.process.args[0]}: ended with {self.process.wait(timeout=60)}")
            got += part
        return bytes(got)

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0


class Input:
    """Made-up samples, features or token ids, the same for every runner."""

    def __init__(self, info, seed):
        self.random = random.Random(seed)
        self.kind, self.width, self.vocabulary = info["kind"], info["width"], info["vocabulary"]
        self.format = {"audio": S16, "features": F32, "tokens": I32}[self.kind]

    def ticks(self, n, as_floats=False):
        if self.kind == "tokens":
            return struct.pack(f"<{n}i", *(self.random.randrange(self.vocabulary) for _ in range(n)))
        if self.kind == "audio" and not as_floats:
            return struct.pack(f"<{n}h", *(self.random.randrange(-9000, 9000) for _ in range(n)))
        count = n * self.width
        return struct.pack(f"<{count}f", *(self.random.uniform(-1, 1) for _ in range(count)))


def answers(name, runners, *request):
    """The same answer of all; the first of them."""
    given = [runner.ask(*request) for runner in runners]
    assert all(one == given[0] for one in given), (
        f"{name}: request {request[0]}: {[(one[0], len(one[2])) for one in given]}"
    )
    return given[0]


def check_run(name, runners, inputs, rows):
    payload = b""
    for number, info in enumerate(inputs):
        samples = Input(info, number).ticks(rows, as_floats=True)
        payload += struct.pack("<QQQ", rows, 0, len(samples)) + samples
    status, _, result = answers(name, runners, RUN, 0, payload)
    assert status == 0, f"{name}: {result.decode()}"


def check_stream(name, runners, info, block):
    status, which, detail = answers(name, runners, STREAM, 0, struct.pack("<II", block, Input(info, 0).format))
    assert status == 0, f"{name}: {detail.decode()}"
    source, cuts = Input(info, 1), random.Random(block)

    def push(some):
        for _ in range(some):
            n = cuts.randrange(1, 2 * block + 2)
            status, _, rows = answers(name, runners, PUSH, which, struct.pack("<Q", n) + source.ticks(n))
            assert status == 0, f"{name}: {rows.decode()}"

    push(8)
    states = [runner.ask(SAVE, which) for runner in runners]
    assert states[0][0] == 0 and states[0] == states[1], f"{name}: other states"
    for runner, state in zip(runners, reversed(states), strict=True):
        assert runner.ask(LOAD, which, state[2])[0] == 0, name
    push(4)
    answers(name, runners, CLOSE, which)


def check_file(longwave, runners, path):
    """Returns how many variants ran."""
    model = json.loads(text_of(longwave, "inspect", path, "--json"))
    entries = [entry for entry in model["entries"] if entry["device"] == "cpu"]
    variants = [variant["target"] for variant in model["variants"] if variant["runs_here"] and variant["in_file"]]
    for variant in variants:
        name = f"{path.name} {variant}"
        opening = struct.pack("<I", len(variant)) + variant.encode() + path.read_bytes()
        status, _, detail = answers(name, runners, OPEN, 0, opening)
        assert status == 0, f"{name}: {detail.decode()}"
        status, _, detail = answers(name, runners, VERIFY)
        assert status == 0, f"{name}: {detail.decode()}"
        if runs := [entry["block"] for entry in entries if entry["kind"] == "run"]:
            check_run(name, runners, model["inputs"], min(runs))
        for block in sorted({entry["block"] for entry in entries if entry["kind"] == "stream"}):
            check_stream(name, runners, model["inputs"][0], block)
    return len(variants)


def check_code(kernels):
    """Code for x86-64 leaves the memory below the stack alone, and keeps to the stack that it is given."""
    seen = 0
    for file in kernels.iterdir():
        content = file.read_bytes()
        start = content.find(b"\x7fELF")
        if start < 0 or content[start + 18] != 62:
            continue
        with tempfile.NamedTemporaryFile(suffix=".o") as elf:
            elf.write(content[start:])
            elf.flush()
            code = text_of("objdump", "-d", "--no-show-raw-insn", elf.name)
        assert not re.search(r"-0x[0-9a-f]+\(%rsp\)", code), f"{file.name}: uses the memory below the stack"
        frames = [int(size, 16) for size in re.findall(r"sub +\$0x([0-9a-f]+),%rsp", code)]
        assert sum(frames) < LEAST_STACK, f"{file.name}: frames of {frames} bytes"
        seen += 1
    assert seen > 0
    return seen


def compiled(longwave, build, folder):
    """The examples, compiled."""
    for name, package in ("kws", "kws/model"), ("orchid", "packages/orchid"):
        text_of(
            longwave, "compile", ROOT / "examples" / package, "-o", folder / f"{name}.lw", "--cache", folder / "kernels"
        )
    return [folder / "kws.lw", folder / "orchid.lw"]


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    longwave, programs = build / "longwave", build / "tests/windows-windows"
    wine = shutil.which("wine64") or shutil.which("wine") or shutil.which("wine64", path="/usr/lib/wine")
    if not wine:
        skip("needs wine64")
    if not (programs / "longwave-runner.exe").exists():
        skip("needs g++-mingw-w64-x86-64-posix and clang, and then a configured build")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:  # Wine writes to it for a while
        folder = pathlib.Path(scratch)
        windows = os.environ | {"WINEPREFIX": str(folder / "wine"), "WINEDEBUG": "-all", "DISPLAY": ""}
        runners = [
            Runner(build / "longwave-runner"),
            Runner(wine, programs / "longwave-runner.exe", env=windows, stderr=subprocess.DEVNULL),
        ]
        if "--all" in sys.argv:
            models = sorted((build / "tests").rglob("*.lw"))
            if not models:
                skip("no other test has left a compiled file")
        else:
            platform = text_of(wine, programs / "windows_platform_test.exe", env=windows)
            print(re.search(r"test cases: .*", platform)[0])
            models = compiled(longwave, build, folder)
            here = text_of(build / "examples/spot", folder / "kws.lw", RECORDING).splitlines()
            there = text_of(wine, programs / "windows_spot.exe", folder / "kws.lw", RECORDING, env=windows).splitlines()
            assert here and here == there, (here, there)
            print(f"spot with the DLL: the same {len(here)} lines")
            print(f"{check_code(folder / 'kernels')} kernels for x86-64 use the stack as Windows wants it")
        count = sum(check_file(longwave, runners, path) for path in models)
        for runner in runners:
            runner.close()
    print(f"{len(models)} files, {count} variants: rows and states have the same bits on Windows")


if __name__ == "__main__":
    sys.exit(main())
