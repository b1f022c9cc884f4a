"""Changes captures of Neural Amp Modeler in bytes and in values, and opens each: it must open, or be refused in lines that can be
printed.

    nam_mutations.py --count 10000 [--seconds 3600] [--seed 1]

Prints each case that fails, with its seed, and ends with status 1. A case that takes more than 20 seconds of computing time or
2 GiB fails.
"""

from __future__ import annotations

import copy
import json
import random
import sys
from pathlib import Path
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python"))
import mutations  # noqa: E402
import nam_files  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.nam.door import open_file  # noqa: E402

MEMORY, ROWS = 2 << 30, 64
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


def tried(seed: int, folder: Path) -> str:
    data, size, rate = case(seed)
    return outcome(data, size, rate, folder)


if __name__ == "__main__":
    mutations.main(__doc__ or "", tried, MEMORY)
