"""Peers of a benchmark: an environment of its own for each, and a pinned process for each measurement."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any


def environment(peer: str, packages: tuple[str, ...], folder: Path) -> Path:
    """The interpreter of a peer. It sees the packages of the caller behind its own. Makes the environment where there is none of
    these versions. An item that begins with "--no-deps " is installed without what it asks for."""
    if not packages:
        return Path(sys.executable)
    home, python = folder / peer, folder / peer / "bin/python"
    stamp, wanted = home / "installed.txt", "\n".join([sys.version, *packages])
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"{peer}: installing {' '.join(packages)}", file=sys.stderr, flush=True)
    venv.create(home, with_pip=True, clear=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    (home / "lib" / version / "site-packages/of_the_caller.pth").write_text(sysconfig.get_path("purelib") + "\n")
    alone = [package.removeprefix("--no-deps ") for package in packages if package.startswith("--no-deps ")]
    for flags, names in (([], [package for package in packages if " " not in package]), (["--no-deps"], alone)):
        if names:
            done = subprocess.run(
                [python, "-m", "pip", "install", "--quiet", *flags, *names], capture_output=True, text=True
            )
            if done.returncode:
                raise RuntimeError(f"not installed: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}")
    stamp.write_text(wanted)
    return python


def answer(command: list[Any], cpu: int, seconds: int, folder: Path, **variables: str) -> dict[str, Any]:
    """The last JSON object that a program prints. The program stays on one CPU and gets ten times `seconds` by the clock. It may limit its
    CPU time to `seconds` itself. A crash or a limit is an object with `failed`."""
    pinned = ["taskset", "-c", str(cpu), *map(str, command)]
    with subprocess.Popen(
        pinned,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ, **variables),
        cwd=folder,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=10 * seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return {"failed": f"not done after {10 * seconds} s"}
    lines = [line for line in out.splitlines() if line.startswith("{")]
    if lines:
        return json.loads(lines[-1])
    if process.returncode == -signal.SIGXCPU:
        return {"failed": f"not done after {seconds} s of CPU time"}
    if process.returncode < 0:
        return {"failed": f"crashed: {signal.Signals(-process.returncode).name}"}
    return {"failed": (err.strip().splitlines() or ["ended without an answer"])[-1][:160]}


def machine() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return f"{names[0] if names else 'unknown CPU'}, {os.cpu_count()} shared CPUs"


def write_rows(path: Path, rows: list[dict[str, Any]], **head: str) -> None:
    """A file of results: a line per row, so that differences of versions can be read."""
    fields = "".join(f" {json.dumps(key)}: {json.dumps(value)},\n" for key, value in head.items())
    body = ",\n".join("  " + json.dumps(row) for row in rows)
    path.write_text("{\n" + fields + ' "rows": [\n' + body + "\n ]\n}\n", encoding="utf-8")
