"""Seeded cases, each within limits of time and memory: what comes of it, and which ones fail.

A case gives "refused", "runs" or "no memory", or WRONG and the reason.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

SECONDS = 20  # of computing time
TOO_LONG = "computes for too long"
Case = Callable[[int, Path], str]  # of a seed, in a folder for its files


def too_long(*_: object) -> None:
    raise TimeoutError(TOO_LONG)


def worker(case: Case, memory: int, patience: float, seeds: range, end: float, report: int) -> None:
    """Writes a line for each case before it runs and after."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    signal.signal(signal.SIGVTALRM, too_long)
    with tempfile.TemporaryDirectory() as folder, os.fdopen(report, "w", buffering=1) as out:
        for seed in seeds:
            if time.monotonic() > end:
                break
            out.write(f"{seed}\n")
            signal.setitimer(signal.ITIMER_VIRTUAL, patience)
            found = case(seed, Path(folder))
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            out.write("=" + ascii(found)[1:-1] + "\n")


def run(
    case: Case, memory: int, first: int, count: int, seconds: float, patience: float = SECONDS
) -> tuple[dict[str, int], list[str]]:
    """Counts of outcomes, and the cases that failed. A worker that dies is replaced after its case."""
    totals: dict[str, int] = {}
    failed: list[str] = []
    end, at = time.monotonic() + seconds, first
    while at < first + count and time.monotonic() < end:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            try:
                worker(case, memory, patience, range(at, first + count), end, writer)
            finally:
                os._exit(0)
        os.close(writer)
        current = None
        with os.fdopen(reader, errors="replace") as lines:
            for line in lines:
                if line.startswith("="):
                    kind = line[1:].split(":")[0].strip()
                    totals[kind] = totals.get(kind, 0) + 1
                    if kind == "WRONG":
                        failed.append(f"seed {current}: {line[1:300].strip()}")
                        print(failed[-1], flush=True)
                    current = None
                elif line.strip().isdigit():
                    current = int(line)
                    at = current + 1
        _, status = os.waitpid(child, 0)
        if current is not None and status:
            failed.append(f"seed {current}: the process ended with status {status}")
            print(failed[-1], flush=True)
        elif current is None and not status:
            break
    return totals, failed


def main(about: str, case: Case, memory: int, patience: float = SECONDS) -> None:
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(1)
    totals, failed = run(case, memory, given.seed, given.count, given.seconds, patience)
    print(totals, f"{len(failed)} failed")
    sys.exit(bool(failed))
