"""Times of calls and memory of this process."""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy
from packages import IMPORTS

WARM, MOST, SECONDS = 100, 3000, 4.0  # calls before times count; calls; seconds by the clock


def resident() -> float:
    """MB of this process in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def timed(calls: Iterable[Callable[[], Any]]) -> list[float]:
    """us of CPU time of each call, all threads. Other work on the machine does not count; what it does to the caches does."""
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    for n, call in enumerate(calls):
        begin = time.process_time_ns()
        call()
        took = (time.process_time_ns() - begin) / 1e3
        if n >= WARM:
            times.append(took)
        if len(times) >= MOST or (len(times) >= 100 and time.perf_counter() > end):
            break
    return times


def imported(peer: str) -> float:
    """Imports what the peer needs. MB of this process before its engine."""
    sys.path.insert(0, str(Path(os.environ["LONGWAVE_PROGRAM"]).parent / "python"))  # the package as it is built
    others, engine = IMPORTS[peer]
    for name in others:
        importlib.import_module(name)
    before = resident()
    for name in engine:
        importlib.import_module(name)
    return before


def percentiles(times: list[float]) -> dict[str, float]:
    return {"p50_us": float(numpy.percentile(times, 50)), "p99_us": float(numpy.percentile(times, 99))}
