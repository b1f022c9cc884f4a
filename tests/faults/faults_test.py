#!/usr/bin/env python3
"""Faults of the system under the command line:
faults_test.py LONGWAVE SCRATCH_FOLDER FAILING_CALLS PRELOADED [--all] [-j N] [--only OPERATION] [--kind CALL]

Each command runs once for each fault: the k-th allocation, the k-th call of a kind. Either it does all its work, or it says in one line
what failed. The files that it writes are the old ones or the new ones, and nothing else lies about. Without --all a few k of each kind;
with it every k, also of the kernel compiler. Prints a table. Standard library only.
"""

import argparse
import collections
import concurrent.futures
import errno
import itertools
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "unit/tools"))
from operations import Operations

FAILING_CALLS, PRELOADED = (os.path.abspath(path) for path in sys.argv[3:5])
CANNOT_TRACE = 77
LIMIT = 600  # seconds: what takes longer hangs, even on a busy machine
# What each kind of call may say, and two faults that are none for a program: an interruption and a
# part of the bytes. "kill": SIGKILL before the call. "signal": SIGUSR1, which a program can catch.
CALLS = {
    "open": [errno.EIO, errno.EMFILE, errno.EINTR],
    "read": [errno.EIO, errno.EINTR, "short"],
    "write": [errno.ENOSPC, errno.EIO, errno.EINTR, "short", "kill", "signal"],
    "sync": [errno.EIO, "kill", "signal"],
    "rename": [errno.EIO, "kill", "signal"],
    "map": [errno.ENOMEM],
    "protect": [errno.ENOMEM],
    "truncate": [errno.EIO],
    "close": [errno.EIO],
    "stat": [errno.EIO],
    "mode": [errno.EPERM],
    "unlink": [errno.EIO, "signal"],
    "folder": [errno.EACCES],
    "thread": [errno.EAGAIN],
    "process": [errno.EAGAIN],
    "wait": [errno.EINTR, errno.ECHILD],
}
HARMLESS = {("read", errno.EINTR), ("read", "short"), ("write", errno.EINTR), ("write", "short"), ("wait", errno.EINTR)}


def name_of(how):
    return errno.errorcode[how] if isinstance(how, int) else how


class Run:
    """One run of an operation in a folder of its own. again: and another one in what it left, without faults."""

    numbers = itertools.count()

    def __init__(self, operation, prefix=(), environment=None, again=False):
        self.folder = Operations.scratch / f"run-{next(self.numbers)}"
        self.out, temporary = self.folder / "out", self.folder / "temporary"
        self.out.mkdir(parents=True)
        temporary.mkdir()
        for name, data in operation.old.items():
            (self.out / name).write_bytes(data)
        options = {"input": operation.stdin, "capture_output": True, "timeout": LIMIT}
        usual = {**os.environ, "TMPDIR": str(temporary)}
        command, variables = operation.disturbed(self.out, prefix, environment or {})
        try:
            result = subprocess.run(command, env={**usual, **variables}, **options)
            self.code, self.stderr = result.returncode, result.stderr.decode(errors="replace")
            self.stdout = operation.said(result.stdout, self.out)
        except subprocess.TimeoutExpired:
            self.code, self.stdout, self.stderr = "hangs", "", ""
        self.files = self.read_files()
        self.temporary = sorted(path.name for path in temporary.iterdir())
        if again:
            self.next = subprocess.run(operation.command(self.out), env=usual, **options)
            self.next_files = self.read_files()
        shutil.rmtree(self.folder)

    def read_files(self):
        return {path.name: path.read_bytes() for path in self.out.iterdir()}


def complaint(operation, run, kind, how):
    """What is wrong with the ending of a disturbed run; None: nothing."""
    if run.code == "hangs":
        return "hangs"
    stray = sorted(set(run.files) - set(operation.new))
    # A folder cannot be removed without any memory, or where that call fails. A later run removes
    # it.
    excused = how == "no more" or (kind == "unlink" and how != "signal")
    if (how != "kill" or operation.in_child) and (stray or (run.temporary and not excused)):
        return f"leaves {stray + run.temporary}"
    for name in operation.new:
        if not operation.sound(name, run.files.get(name)):
            return f"{name} is neither the old file nor the new one"
    if how == "kill":
        if (run.code not in (0, -9) and not operation.in_child) or len(stray) > 1:
            return f"exit code {run.code}, leaves {stray}"
        good = run.next.returncode == 0 and all(
            operation.sound(name, run.next_files.get(name), old=False) for name in operation.new
        )
        if not good:
            return f"the next run is harmed: exit code {run.next.returncode} {run.next.stderr.decode()}"
        if not operation.in_child:
            return None
    if how == "signal" and not operation.in_child and run.code == -signal.SIGUSR1:
        return None
    if run.code == 0:
        if operation.repeatable and run.stdout != operation.printed:
            return "exit code 0, but other output"
        if any(operation.repeatable and run.files.get(name) != data for name, data in operation.new.items()):
            return "exit code 0, but not the new file"
        return None
    errors = run.stderr.splitlines()
    if run.code not in (1, 2, 3, 4):
        return f"exit code {run.code}"
    if sum(line.startswith("error: ") for line in errors) != 1 or "internal" in run.stderr:
        return "not one error line that names the reason"
    if (kind, how) in HARMLESS and (kind != "write" or how == "short" or operation.catches_signals):
        return "an interruption or a part of the bytes is no failure"
    return None


class Table:
    def __init__(self):
        self.rows = collections.defaultdict(collections.Counter)
        self.complaints = 0

    def add(self, operation, kind, how, k, run):
        why = complaint(operation, run, kind, how)
        ending = "wrong" if why else "whole" if run.code == 0 else "killed" if how in ("kill", "signal") else "refused"
        self.rows[operation.name, kind, name_of(how)].update([ending])
        if why:
            self.complaints += 1
            print(f"{operation.name}: {kind} {k} {name_of(how)}: {why}\n    {run.stderr.strip()[-400:]}", flush=True)

    def print(self):
        print(f"{'operation':18}{'call':12}{'fault':8}{'k':>7}{'whole':>8}{'refused':>9}{'killed':>8}{'wrong':>7}")
        for (operation, kind, how), ends in self.rows.items():
            print(
                f"{operation:18}{kind:12}{how:8}{sum(ends.values()):7}{ends['whole']:8}{ends['refused']:9}{ends['killed']:8}{ends['wrong']:7}"
            )


def chosen(count, most, first=0):
    """All k from the first to the count, or so many of them at even distances."""
    if count - first <= most:
        return range(first, count)
    return [first + (2 * i + 1) * (count - first) // (2 * most) for i in range(most)]


def few(hows, which):
    """One of the faults, and what is always tried."""
    return [how for i, how in enumerate(hows) if how in ("kill", "signal") or i == which % len(hows)]


def allocations_of(operation):
    counts = Operations.scratch / "counts"
    counting = Run(operation, (), {"LD_PRELOAD": PRELOADED, "LONGWAVE_FAULT_COUNT": str(counts)})
    assert counting.code == 0, counting.stderr
    return int(counts.read_text())


def faults_of(operation, arguments, flags):
    """(kind, how, k, arguments of Run) of each fault that is tried, after a count of the calls. `flags`: allocations of the table of flags,
    the same in each command."""
    counts = Operations.scratch / "counts"
    preload = {"LONGWAVE_FAULT_PRELOAD": PRELOADED}
    good = Run(operation, [FAILING_CALLS, "count", str(counts)], preload)
    if good.code == CANNOT_TRACE:
        print("SKIPPED: this system lets no program trace another")
        sys.exit(CANNOT_TRACE)
    assert good.code == 0 and not good.temporary, (operation.name, good.code, good.stderr, good.temporary)
    operation.new, operation.printed = good.files, good.stdout
    for kind, count in (line.split() for line in counts.read_text().splitlines()):
        for how in CALLS[kind] if arguments.all else few(CALLS[kind], len(operation.name)):
            for k in chosen(int(count), sys.maxsize if arguments.all else 1):
                yield kind, how, k, [FAILING_CALLS, kind, str(k), str(how)], preload, how == "kill"
    count = allocations_of(operation)
    for how, forever in (("none", ""), ("no more", "+")):
        for k in chosen(count, arguments.allocations if arguments.all else 2, min(flags, count - 1)):
            yield "allocation", how, k, (), {"LD_PRELOAD": PRELOADED, "LONGWAVE_FAULT_ALLOCATION": f"{k}{forever}"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument(
        "--allocations", type=int, default=1000, help="so many of each operation, or all if there are less"
    )
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--only", action="append")
    parser.add_argument("--kind", action="append")
    arguments = parser.parse_args(sys.argv[5:])
    table, start, flags = Table(), time.monotonic(), 0
    try:
        with concurrent.futures.ThreadPoolExecutor(arguments.j) as pool:
            operations = Operations.prepare()
            flags = allocations_of(operations[0])
            for operation in operations:
                if operation.name not in arguments.only if arguments.only else operation.in_child and not arguments.all:
                    continue
                skipped = 0 if operation is operations[0] else flags
                faults = [
                    fault
                    for fault in faults_of(operation, arguments, skipped)
                    if not arguments.kind or fault[0] in arguments.kind
                ]
                runs = pool.map(lambda fault: Run(operation, *fault[3:]), faults)
                for (kind, how, k, *_), run in zip(faults, runs):
                    table.add(operation, kind, how, k, run)
                print(f"{operation.name}: {len(faults)} faults, {time.monotonic() - start:.0f} s", file=sys.stderr)
    finally:
        Operations.tearDownClass()
        table.print()
    sys.exit(bool(table.complaints))


if __name__ == "__main__":
    main()
