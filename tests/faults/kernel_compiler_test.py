#!/usr/bin/env python3
"""The kernel compiler ends where memory is missing or time is over, and says so in one line. One that
stays does what a program of its own would do.

    kernel_compiler_test.py LONGWAVE_KGEN PRELOADED

An allocation that failed inside LLVM once left it in an endless loop. Standard library only.
"""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

KGEN, PRELOADED = (os.path.abspath(path) for path in sys.argv[1:3])
SPEC = '{"kernel":"softmax","params":{"channels":3,"rows":1}}'
SAMPLES = 24
OURS = "longwave-kgen: out of memory"  # after its own malloc(), LLVM throws, aborts or crashes


def run(folder, **environment):
    command = [KGEN, "--spec", SPEC, "--target", "x86-64-v2", "-o", folder / "k.o"]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=300, env={**os.environ, "LD_PRELOAD": PRELOADED, **environment}
    )


def check_memory(folder):
    whole = run(folder, LONGWAVE_FAULT_COUNT=str(folder / "count"))
    assert whole.returncode == 0, whole.stderr
    count, endings = int((folder / "count").read_text()), {}
    for i in range(SAMPLES):
        k = (2 * i + 1) * count // (2 * SAMPLES)
        done = run(folder, LONGWAVE_FAULT_ALLOCATION=str(k))
        ending = done.stderr.strip() if done.returncode else "the whole kernel"
        assert done.returncode <= 1, (k, done.returncode, ending)
        endings[ending] = endings.get(ending, 0) + 1
    print(f"{SAMPLES} of {count} allocations failed, one at a time:", endings)
    assert endings.get(OURS, 0) > SAMPLES / 2, endings


def check_time(folder):
    """300 s of CPU time is the limit. Here the system's message comes early, while the program waits for a file."""
    os.mkfifo(folder / "query.json")
    waiting = subprocess.Popen(
        [KGEN, "--query", folder / "query.json", "-o", folder / "answers.json"], stderr=subprocess.PIPE, text=True
    )
    limits, until = pathlib.Path(f"/proc/{waiting.pid}/limits"), time.monotonic() + 60
    while not re.search(r"^Max cpu time +300 ", limits.read_text(), re.M):
        assert time.monotonic() < until, limits.read_text()
        time.sleep(0.01)
    waiting.send_signal(signal.SIGXCPU)
    _, text = waiting.communicate(timeout=60)
    assert (waiting.returncode, text) == (1, "longwave-kgen: it found no end within its CPU time\n"), (
        waiting.returncode,
        text,
    )


def check_staying(folder):
    """The same code, words and exit codes as alone, also after a request that the system ended."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    words = open(folder / "words", "wb+")
    program = subprocess.Popen([KGEN, "--stay"], stdin=theirs, stdout=words, stderr=words)
    theirs.close()

    def ask(*arguments):
        words.seek(0)
        words.truncate()
        ours.send(b"".join(os.fsencode(argument) + b"\0" for argument in arguments))
        answer = ours.recv(8)
        words.seek(0)
        return int.from_bytes(answer, sys.byteorder, signed=True), words.read()

    for name, spec in (("one", SPEC), ("two", SPEC), ("wrong", "{}")):
        for target, suffix in (("x86-64-v2", "o"), ("vulkan-32k", "spv")):
            arguments = lambda out: ["--spec", spec, "--target", target, "-o", f"{folder}/{out}.{suffix}"]
            alone = subprocess.run([KGEN, *arguments("alone")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            assert ask(*arguments(name)) == (alone.returncode, alone.stdout), (name, target)
            assert (alone.returncode == 0) == (spec == SPEC), (name, alone.stdout)
            for end in (suffix, "json") if spec == SPEC else ():
                assert (folder / f"{name}.{end}").read_bytes() == (folder / f"alone.{end}").read_bytes(), (name, end)
    os.mkfifo(folder / "never")
    answers = []
    waiting = threading.Thread(target=lambda: answers.append(ask("--query", f"{folder}/never", "-o", "none")))
    waiting.start()
    children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children")
    while not (numbers := children.read_text().split()):
        time.sleep(0.01)
    os.kill(int(numbers[0]), signal.SIGKILL)
    waiting.join()
    assert answers == [(128 + signal.SIGKILL, b"")], answers
    assert ask("--versions")[0] == 0
    ours.close()
    assert program.wait(timeout=60) == 0


def main():
    with tempfile.TemporaryDirectory() as scratch:
        check_memory(pathlib.Path(scratch))
        check_time(pathlib.Path(scratch))
        check_staying(pathlib.Path(scratch))


if __name__ == "__main__":
    main()
