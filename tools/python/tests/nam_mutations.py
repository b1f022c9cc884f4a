"""Changes captures of Neural Amp Modeler in bytes and in values, and opens each: it must open, or be refused in lines that can be
printed.

    nam_mutations.py --count 10000 [--seconds 3600] [--seed 1]

Prints each case that fails, with its seed, and ends with status 1. A case that takes more than 20 seconds of computing time or
2 GiB fails.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python"))
import nam_files  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.nam.door import open_file  # noqa: E402

SECONDS, MEMORY, ROWS = 20, 2 << 30, 64
NUMBERS = (0, 1, -1, 2, 3, 0.5, 16, 255, 1024, 65536, 2**31 - 1, 2**63, -(2**63), 1e30, 1e39, 1e308, 1e-320, -0.0)
TEXTS = ("", "Tanh", "PReLU", "none", "gated", "blended", "WaveNet", "LSTM", "ConvNet", "Linear", "SlimmableContainer")
ODD = ("\0", "\x1b[31mred", "\u202egnp", "a" * 5000, "0.5.4", "0.8.0", "9" * 7 + ".0.0", "\ud800", "../../etc/passwd")
SEEDS = list(nam_files.seeds().values())


def places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """Owner and key of each value; of long lists a few."""
    keys = value if isinstance(value, dict) else range(min(len(value), 30)) if isinstance(value, list) else ()
    for key in keys:
        found.append((value, key))
        places(value[key], found)
    return found


def other(value: Any, rng: random.Random) -> Any:
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(NUMBERS)
    if kind < 0.45:
        return rng.randrange(-2, 40)
    if kind < 0.6:
        return rng.choice(TEXTS + ODD)
    if kind < 0.7:
        return rng.choice((None, True, False, [], {}, [[]], [None], {"type": "Tanh"}))
    if kind < 0.8:
        return [value] * rng.choice((1, 2, 3, 300))
    if kind < 0.85:
        return {"type": value, "model": value}
    return copy.deepcopy(rng.choice(SEEDS))


def changed(made: Any, rng: random.Random) -> None:
    owner, key = rng.choice(places(made, []))
    kind = rng.random()
    if kind < 0.15:
        del owner[key]
    elif kind < 0.25 and isinstance(owner, dict):
        owner[rng.choice(TEXTS + ODD)] = owner[key]
    elif kind < 0.35 and isinstance(owner, list):
        owner.insert(key, owner[rng.randrange(len(owner))])
    elif kind < 0.45:
        owner[key] = made if rng.random() < 0.05 else other(owner[key], rng)
    else:
        there = places(made, [])
        again, place = rng.choice(there)
        owner[key] = copy.deepcopy(again[place]) if rng.random() < 0.3 else other(owner[key], rng)


def mutated(rng: random.Random) -> bytes:
    made, kind = copy.deepcopy(rng.choice(SEEDS)), rng.random()
    if kind < 0.75:
        try:
            for _ in range(rng.choice((1, 1, 1, 1, 2, 5))):
                changed(made, rng)
            return json.dumps(made).encode(errors="surrogatepass")
        except (ValueError, IndexError, RecursionError):  # a circle, or nothing is left
            return b"[" * rng.choice((10, 1000, 100_000)) + b"NaN" + b"1" * rng.choice((0, 1, 5000))
    if kind < 0.85:
        for _ in range(rng.choice((1, 3, 5, 40))):
            made = nam_files.container(made) if rng.random() < 0.5 else conditioned(made)
        return json.dumps(made).encode()
    data = bytearray(json.dumps(made).encode())
    for _ in range(rng.choice((1, 2, 8, 40))):
        at, way = rng.randrange(len(data) + 1), rng.random()
        if way < 0.15:
            del data[at:]
        elif way < 0.35:
            del data[at : at + rng.randrange(1, 32)]
        elif way < 0.6:
            data[at:at] = rng.choice(
                (b"[", b"{", b"NaN", b"-Infinity", b"1e999", b'"', b"9" * 50, b"\xff", b"\0", b",")
            )
        elif way < 0.7:
            data[at:at] = data[: rng.randrange(1, 200)]
        elif at < len(data):
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def conditioned(made: Any) -> Any:
    return nam_files.wavenet([nam_files.plain(2, [1])], condition_dsp=made)


def outcome(data: bytes, size: float | None, rate: int | None, folder: Path) -> str:
    """ "refused", "no memory" or "runs"; or what went wrong."""
    file = folder / "changed.nam"
    file.write_bytes(data)
    try:
        opened = open_file(file, size, rate)
        with torch.no_grad():
            opened.module(torch.zeros(1, ROWS))
        wrong = [note for note in opened.notes if len(note) > 5000]
        return f"WRONG: long note {wrong[0][:100]!r}" if wrong else "runs"
    except (ImportFailed, OSError) as e:
        for line in str(e).splitlines():
            if not line.isprintable():
                return f"WRONG: unprintable {line!r}"
        return "refused"
    except RuntimeError as e:
        return "no memory" if "allocate memory" in str(e) else f"WRONG: {type(e).__name__}: {e}"
    except BaseException as e:
        return f"WRONG: {type(e).__name__}: {e}"


def case(seed: int) -> tuple[bytes, float | None, int | None]:
    rng = random.Random(seed)
    data = mutated(rng)
    if rng.random() < 0.8:
        return data, None, None
    return data, rng.choice((None, 0.0, 0.5, 1.0, float("nan"), -1.0)), rng.choice((None, 44100, 48000, -5))


def too_long(*_: object) -> None:
    raise TimeoutError(f"takes more than {SECONDS} seconds")


def worker(seeds: range, end: float, report: int) -> None:
    """Writes a line for each case before it runs and after."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGVTALRM, too_long)
    with tempfile.TemporaryDirectory() as folder, os.fdopen(report, "w", buffering=1) as out:
        for seed in seeds:
            if time.monotonic() > end:
                break
            out.write(f"{seed}\n")
            data, size, rate = case(seed)
            signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
            found = outcome(data, size, rate, Path(folder))
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
            out.write("=" + ascii(found)[1:-1] + "\n")


def run(first: int, count: int, seconds: float) -> tuple[dict[str, int], list[str]]:
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
                worker(range(at, first + count), end, writer)
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


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(1)
    totals, failed = run(given.seed, given.count, given.seconds)
    print(totals, f"{len(failed)} failed")
    sys.exit(bool(failed))
