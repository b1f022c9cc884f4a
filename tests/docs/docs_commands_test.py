#!/usr/bin/env python3
"""Runs what the documentation prints: docs_commands_test.py BUILD C_COMPILER

- every line of the ```sh blocks of README.md and docs/quickstart.md, in order, each with exit status 0;
- the first ```c block of README.md, over the demo recording: it must print the words that `longwave listen` hears.

The commands run in a folder of their own that looks like the root of the tree, so they overwrite nothing.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["README.md", "docs/quickstart.md"]
RECORDING = "examples/kws/demo.wav"
SECONDS = 600  # of one command

# What the reader supplies: the microphone is the demo recording, whose samples follow a header of
# 44 bytes.
READER_H = """#include <stdbool.h>
bool read_microphone(short *samples, int n);
void die(const char *message);
"""
READER_C = """#include "reader.h"
#include <stdio.h>
#include <stdlib.h>
bool read_microphone(short *samples, int n) {
    static FILE *file;
    if (!file && (!(file = fopen("examples/kws/demo.wav", "rb")) || fseek(file, 44, SEEK_SET) != 0)) die("no recording");
    return fread(samples, sizeof *samples, (size_t)n, file) == (size_t)n;
}
void die(const char *message) {
    fprintf(stderr, "%s\\n", message);
    exit(1);
}
"""


def blocks(page, language):
    """(first line number, text) of the fenced blocks of one language."""
    source = (ROOT / page).read_text(encoding="utf-8")
    for match in re.finditer(rf"^```{language}\n(.*?)^```$", source, re.M | re.S):
        yield source.count("\n", 0, match.start(1)) + 1, match.group(1)


def commands(page):
    """(line number, command) of each line; a backslash at the end continues a command."""
    for first, text in blocks(page, "sh"):
        pending, start = "", first
        for number, line in enumerate(text.splitlines(), first):
            start = start if pending else number
            pending += line
            if pending.endswith("\\"):
                pending = pending[:-1] + " "
                continue
            if pending.split("#")[0].strip():
                yield start, pending
            pending = ""


def mirror(folder, build):
    """The tree as links; `build` holds links to what is built, and takes what the commands write."""
    for path in ROOT.iterdir():
        if path.name not in ("build", ".git"):
            (folder / path.name).symlink_to(path)
    (folder / "build").mkdir()
    for path in build.iterdir():
        if path.suffix != ".lw":
            (folder / "build" / path.name).symlink_to(path)


def run(command, folder, **options):
    environment = os.environ | {"LD_LIBRARY_PATH": str(folder / "build")}
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment,
        stdin=subprocess.DEVNULL,
        **options,
    )


def check_commands(folder):
    count = 0
    for page in PAGES:
        for number, command in commands(page):
            done = run(["bash", "-euo", "pipefail", "-c", command], folder)
            if done.returncode != 0:
                sys.exit(f"{page}:{number}: {command}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
            count += 1
    if count == 0:
        sys.exit("no ```sh block has a command: the documentation has another form")
    return count


def check_program(folder, compiler):
    number, text = next(blocks("README.md", "c"), (0, ""))
    if not text:
        sys.exit("README.md has no ```c block")
    for name, content in (("reader.h", READER_H), ("reader.c", READER_C), ("program.c", text)):
        (folder / name).write_text(content, encoding="utf-8")
    built = run(
        [
            compiler,
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-include",
            "reader.h",
            "program.c",
            "reader.c",
            "-Iruntime/include",
            "-Lbuild",
            "-llongwave",
            "-o",
            "program",
        ],
        folder,
    )
    if built.returncode != 0:
        sys.exit(f"README.md:{number}: the program does not compile\n{built.stderr}")
    done = run(["./program"], folder)
    if done.returncode != 0:
        sys.exit(f"README.md:{number}: the program fails with {done.returncode}\n{done.stderr}")
    heard = run(["build/longwave", "listen", "build/kws.lw", RECORDING], folder)
    lines = [json.loads(line) for line in heard.stdout.splitlines()]
    expected = [line["word"] for line in lines if line["type"] == "keyword"]
    if not expected or done.stdout.split() != expected:
        sys.exit(f"README.md:{number}: the program prints {done.stdout.split()}, `longwave listen` hears {expected}")
    return len(expected)


def main(build, compiler):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        mirror(folder, pathlib.Path(build).resolve())
        count = check_commands(folder)
        words = check_program(folder, compiler)
    print(f"{count} commands ran, the C program heard {words} words")


main(*sys.argv[1:])
