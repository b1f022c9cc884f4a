#!/usr/bin/env python3
"""Neither side of the wire trusts the other one (tools/runner/wire.h).

    wire_test.py BUILD

A hostile runner gives every kind of wrong answer to `longwave compile --emulator`: one printable line, exit 4, no file, bounded time and memory. A hostile
host sends every kind of wrong size to longwave-runner: one refusal each, and the next good request is served.
"""

import json
import pathlib
import resource
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/conformance"))
import families  # noqa: E402
import sc10_package  # noqa: E402

DEVICE, OK, INVALID_ARGUMENT = 4, 0, 1
VERSION, OPEN, VERIFY, RUN, STREAM, PUSH, FINISH, RESET, PREFILL, SAVE, LOAD, COPY, CLOSE = 2, *range(1, 13)
HEAD = "<IIQ"
MOST_MEMORY = 3 << 20  # kB of the largest process: the compiler's; a believed size of 4 GiB is more

# A runner that answers as it should until its mode says otherwise.
RUNNER = r"""
import os, signal, struct, sys, time
mode, width = sys.argv[1], int(sys.argv[2])
source, sink = sys.stdin.buffer, sys.stdout.buffer
OPEN, VERIFY, RUN, STREAM, PUSH = 1, 2, 3, 4, 5
NAMES = {1: "open", 2: "verify", 3: "run", 4: "stream", 5: "push", 6: "finish", 7: "reset"}
def say(payload=b"", status=0, which=0, size=None):
    sink.write(struct.pack("<iIQ", status, which, len(payload) if size is None else size) + payload)
    sink.flush()
def row(index=0, w=None, number=0, values=None):
    w = width if w is None else w
    return struct.pack("<IIQ", index, w, number) + struct.pack(f"<{width if values is None else values}f", *[0.0] * (width if values is None else values))
ESCAPES = b"\x1b]0;title\x07\x1b[2J\xe2\x80\xae evil \xff\n a second line"
WRONG = {
    "silent": lambda: time.sleep(3600),
    "trickle": lambda: [(sink.write(b"\0"), sink.flush(), time.sleep(0.3)) for _ in range(12000)],
    "huge": lambda: say(size=1 << 62),
    "4 GiB": lambda: say(size=1 << 32),
    "one more": lambda: say(size=1 << 20),
    "short": lambda: (say(b"\2\0", size=4), os._exit(0)),
    "dies": lambda: os._exit(3),
    "killed": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "half a head": lambda: (sink.write(b"\0" * 7), sink.flush(), os._exit(0)),
    "endless": lambda: [sink.write(b"A" * 65536) for _ in range(10000)],
    "escapes": lambda: say(ESCAPES, status=7),
    "unknown status": lambda: say(b"", status=-5),
    "long refusal": lambda: say(b"x" * 4096, status=9),
    "longer refusal": lambda: say(b"x" * (1 << 20), status=9),
    "noise": lambda: (sys.stderr.buffer.write(b"A" * 300000 + ESCAPES), sys.stderr.flush(), os._exit(1)),
    "another": lambda: say(b"", which=77),
    "bytes": lambda: say(b"abcd" * 5),
    "version": lambda: say(struct.pack("<I", 1)),
    "NaN": lambda: say(struct.pack("<d", float("nan"))),
    "negative": lambda: say(struct.pack("<d", -1.0)),
    "index": lambda: say(row(index=0xffffffff)),
    "next index": lambda: say(row(index=1)),
    "width": lambda: say(row(w=0x40000000)),
    "no width": lambda: say(row(w=0, values=0)),
    "number": lambda: say(row(number=(1 << 64) - 1)),
    "twice": lambda: say(row() + row()),
    "part": lambda: say(row()[:-4]),
    "rows": lambda: say(struct.pack("<Q", 1 << 61)),
    "no rows": lambda: say(struct.pack("<Q", 0)),
    "two answers": lambda: (say(RIGHT[what]()), say(RIGHT[what]())),
}
RIGHT = {OPEN: lambda: struct.pack("<I", 2), VERIFY: lambda: struct.pack("<d", 0.5)}
where, _, how = mode.partition(":")
if where == "early":
    say(struct.pack("<I", 2))
    say(struct.pack("<I", 2))
    time.sleep(3600)
while True:
    head = source.read(16)
    if len(head) < 16:
        break
    what, which, n = struct.unpack("<IIQ", head)
    source.read(n)
    if NAMES.get(what) == where:
        WRONG[how]()
        time.sleep(0.1)
        continue
    say(RIGHT.get(what, bytes)(), which=which)
"""
ANYWHERE = (
    "silent",
    "trickle",
    "huge",
    "4 GiB",
    "one more",
    "short",
    "dies",
    "killed",
    "half a head",
    "endless",
    "escapes",
    "unknown status",
    "long refusal",
    "longer refusal",
    "noise",
    "bytes",
    "two answers",
)
MODES = (
    [f"open:{how}" for how in (*ANYWHERE, "another", "version")]
    + [f"verify:{how}" for how in ("4 GiB", "bytes", "NaN", "negative", "another", "escapes")]
    + [
        f"push:{how}"
        for how in (
            "index",
            "next index",
            "width",
            "no width",
            "number",
            "twice",
            "part",
            "huge",
            "another",
            "silent",
            "dies",
        )
    ]
    + [f"run:{how}" for how in ("rows", "no rows", "bytes", "4 GiB")]
    + ["stream:bytes", "reset:bytes", "finish:index", "early:"]
)


def hostile_runners(longwave, folder, scratch, package, width):
    script, made = scratch / "longwave-runner.py", scratch / "made.lw"
    script.write_text(RUNNER)
    python = pathlib.Path(sys.executable)
    for mode in MODES:
        wrapper = scratch / "longwave-runner"
        wrapper.write_text(f'#!/bin/sh\nexec {python} {script} "{mode}" {width}\n')
        wrapper.chmod(0o755)
        done = subprocess.run(
            [
                longwave,
                "compile",
                package,
                "-o",
                made,
                "--target",
                "arm64",
                "--emulator",
                wrapper,
                "--emulator-timeout",
                "2",
            ],
            capture_output=True,
            timeout=540,
        )  # below the default limit of one answer, 600 s
        text = done.stderr.decode()  # UTF-8
        assert done.returncode == DEVICE, (mode, done.returncode, text)
        assert text.endswith("\n") and text.count("\n") == 1 and text.startswith("error: ") and len(text) < 1500, (
            mode,
            text,
        )
        assert all(c.isprintable() for c in text[:-1]) and "\u202e" not in text, (mode, text)
        assert not made.exists(), mode
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < MOST_MEMORY
    print(f"{len(MODES)} hostile runners: one line and exit {DEVICE} each")


class Client:
    def __init__(self, runner):
        self.process = subprocess.Popen([runner], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, what, payload=b"", which=0):
        self.process.stdin.write(struct.pack(HEAD, what, which, len(payload)) + payload)
        self.process.stdin.flush()
        status, which, n = struct.unpack(HEAD.replace("II", "iI"), self.process.stdout.read(16))
        return status, which, self.process.stdout.read(n)


def hostile_hosts(runner, artifact):
    def payload(ticks, samples):
        return struct.pack("<Q", ticks) + bytes(samples)

    client = Client(runner)
    wrong = [
        (0, b""),
        (99, b""),
        (PUSH, payload(1, 4)),
        (VERIFY, b""),
        (OPEN, b""),
        (OPEN, struct.pack("<I", 0xFFFFFFFF) + b"x"),
        (OPEN, struct.pack("<I", 0) + b"x" * 100),
    ]
    for what, sent in wrong:
        assert client.ask(what, sent)[0] != OK, what
    status, _, reply = client.ask(OPEN, struct.pack("<I", 0) + artifact)
    assert (status, reply) == (OK, struct.pack("<I", VERSION)), (status, reply)
    status, which, reply = client.ask(STREAM, struct.pack("<II", 0, 0))
    assert (status, reply) == (OK, b""), (status, reply)
    row = 4 * 8  # the model takes rows of 8 features
    good = payload(3, 3 * row)
    for what, sent, of in (
        (PUSH, payload(3, 3 * row - 4), 0),
        (PUSH, payload(3, 12), 0),
        (PUSH, payload(24, 3 * row), 0),
        (PUSH, payload(0, row), 0),
        (PUSH, payload(1 << 63, row), 0),
        (PUSH, payload((1 << 64) - 1, 0), 0),
        (PUSH, b"1234", 0),
        (PUSH, good, 5),
        (PUSH, good, 0xFFFFFFFF),
        (PREFILL, payload(1, 4), 0),
        (PREFILL, b"", 0),
        (FINISH, b"x", 0),
        (RESET, b"x", 0),
        (SAVE, b"x", 0),
        (CLOSE, b"x", 0),
        (COPY, b"", 0),
        (COPY, struct.pack("<I", 64), 0),
        (LOAD, b"x" * 100, 0),
        (VERIFY, b"x", 0),
        (STREAM, b"", 0),
        (STREAM, struct.pack("<III", 0, 0, 0), 0),
        (STREAM, struct.pack("<II", 99, 0), 0),
        (STREAM, struct.pack("<II", 0, 77), 0),
        (RUN, b"", 0),
        (RUN, struct.pack("<QQQ", 1 << 60, 0, row) + bytes(row), 0),
        (RUN, struct.pack("<QQQ", 1, 2, row) + bytes(row), 0),
        (RUN, struct.pack("<QQQ", 1, 0, 4) + bytes(4), 0),
        (RUN, struct.pack("<QQQ", 1, 0, row) + bytes(row + 1), 0),
    ):
        status, _, text = client.ask(what, sent, of)
        assert status != OK and len(text) <= 4096, (what, sent[:8], of)
        status, _, _ = client.ask(PUSH, good)
        assert status == OK, (what, sent[:8], of, status)
    # A size that no bytes follow takes no memory.
    client.process.stdin.write(struct.pack(HEAD, PUSH, 0, 1 << 62) + b"few")
    client.process.stdin.close()
    assert client.process.wait(timeout=60) == 1
    limited = subprocess.run(
        ["bash", "-c", f"ulimit -v 500000; exec {runner}"],
        input=struct.pack(HEAD, OPEN, 0, 1 << 40) + b"few",
        capture_output=True,
        timeout=60,
    )
    assert limited.returncode >= 0 and limited.stdout == b"", limited
    print(f"{len(wrong) + 28} hostile requests: a refusal each, and the next request is served")


def main():
    build = pathlib.Path(sys.argv[1])
    longwave, folder = build / "longwave", build / "tests"
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        package = scratch / "model"
        sc10_package.write(package, *families.sgconv(8, 1, l_max=40))
        made = scratch / "host.lw"
        subprocess.run(
            [longwave, "compile", package, "-o", made, "--target", "host", "--no-check"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        shown = json.loads(
            subprocess.run([longwave, "inspect", made, "--json"], check=True, capture_output=True, text=True).stdout
        )
        outputs = [entry["outputs"] for entry in shown["entries"] if entry["kind"] == "stream"][0]
        hostile_hosts(build / "longwave-runner", made.read_bytes())
        hostile_runners(longwave, folder, scratch, package, outputs[0]["width"])


if __name__ == "__main__":
    sys.exit(main())
