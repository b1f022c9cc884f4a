"""What a signal must not leave behind: temporary folders, half-written files, and programs that run.

While `watched` holds, a signal that would end the program first ends the programs that it started and removes the folders.
The program then ends by the signal. A signal that the caller handles or ignores stays with the caller. Only the main thread of
a Python program handles signals: work in another thread is not watched.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any

# All whose default action ends a process, but for faults. Python ignores SIGPIPE and SIGXFSZ, so that a write fails instead.
ENDING = [
    getattr(signal, name)
    for name in (
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGALRM",
        "SIGTERM",
        "SIGUSR1",
        "SIGUSR2",
        "SIGPIPE",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGPOLL",
        "SIGPWR",
        "SIGSTKFLT",
    )
    if hasattr(signal, name)
]
PATIENCE = 10  # seconds that a program has to remove its own files

_folders: set[pathlib.Path] = set()
_programs: set[int] = set()
_waiting: list[int] = []  # signals that came while a file was replaced
_held = 0
_interrupt_ends = False  # else Control-C is KeyboardInterrupt, as everywhere in Python


def _runs(pid: int) -> bool:
    try:
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
    except ChildProcessError:  # it was waited for: the number may belong to another process now
        return False


def _stop(programs: Sequence[int]) -> None:
    for pid in programs:
        if _runs(pid):
            os.kill(pid, signal.SIGTERM)
    end = time.monotonic() + PATIENCE
    while any(_runs(pid) for pid in programs) and time.monotonic() < end:
        time.sleep(0.01)
    for pid in programs:
        if _runs(pid):
            os.kill(pid, signal.SIGKILL)


def _remove(folder: pathlib.Path) -> None:
    for _ in range(200):  # a thread of ours may still put a file into it
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.005)


def end_by(number: int) -> None:
    """Ends this process by the signal, as if nothing had handled it."""
    _stop(list(_programs))
    for folder in list(_folders):
        _remove(folder)
    signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    signal.raise_signal(number)


def _handle(number: int, _: FrameType | None) -> None:
    if _held:
        _waiting.append(number)
    elif number == signal.SIGINT and not _interrupt_ends:
        raise KeyboardInterrupt
    else:
        end_by(number)


@contextlib.contextmanager
def watched(interrupt_ends: bool = False) -> Iterator[None]:
    """Cleans up on signals until it is left. interrupt_ends: Control-C as well, without a traceback: for commands."""
    global _interrupt_ends
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {}
    ended_before = _interrupt_ends
    _interrupt_ends = interrupt_ends or _interrupt_ends or signal.getsignal(signal.SIGINT) == signal.SIG_DFL
    try:
        for number in ENDING:
            handler = signal.getsignal(number)
            if handler in (signal.SIG_DFL, signal.default_int_handler):
                before[number] = handler
                signal.signal(number, _handle)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        _interrupt_ends = ended_before


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Within it, signals wait: something is being made that must be known, or replaced, before the program may end."""
    global _held
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _held += 1
    try:
        yield
    finally:
        _held -= 1
        while _waiting and not _held:
            _handle(_waiting.pop(0), None)


@contextlib.contextmanager
def temporary_folder(prefix: str = "longwave-") -> Iterator[pathlib.Path]:
    folder = pathlib.Path(tempfile.gettempdir()) / (prefix + secrets.token_hex(8))
    _folders.add(folder)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _folders.discard(folder)


@contextlib.contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """A program that ends with the block at the latest: also by an exception."""
    with deferred():
        process = subprocess.Popen(command, **options)
        _programs.add(process.pid)
    try:
        yield process
    finally:
        if process.returncode is None:
            _stop([process.pid])
        process.wait()
        _programs.discard(process.pid)
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe:
                pipe.close()
