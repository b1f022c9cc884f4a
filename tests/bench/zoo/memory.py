"""What a process holds in memory, from the kernel's account of it."""

from __future__ import annotations


def status_bytes(process: int | str, *names: str) -> list[int]:
    """Lines of /proc/PROCESS/status in bytes, 0 where there is none: "VmHWM" is the most that was resident at once,
    "VmRSS" what is, "RssAnon" the part of it that no file stands behind.  OSError: the process is gone."""
    with open(f"/proc/{process}/status", encoding="utf-8") as status:
        lines = dict(line.split(":", 1) for line in status if ":" in line)
    return [1024 * int(lines[name].split()[0]) if name in lines else 0 for name in names]


def resident_bytes() -> int:
    return status_bytes("self", "VmRSS")[0]
