#!/usr/bin/env python3
"""`longwave listen --microphone` for an hour in real time: microphone_hour.py LONGWAVE SCRATCH_FOLDER [--minutes N]

The device plays the demonstration again and again. The events must be those of the same samples in a file, and memory
must not grow. The share of the CPU and the growth of memory are printed.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from devices import LONGWAVE, SCRATCH, compile_keywords, configuration, demo_samples, require_alsa

MOST_GROWTH_KB = (
    1024  # after the first half minute: what libc may still take; a leak of one block per second takes more
)


def status_kb(process):
    lines = pathlib.Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS:")))


def cpu_seconds(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def events_of(lines):
    return [line for line in map(json.loads, lines) if line["type"] == "keyword"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("longwave")
    parser.add_argument("scratch")
    parser.add_argument("--minutes", type=float, default=60)
    minutes = parser.parse_args().minutes
    require_alsa()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="hour-", dir=SCRATCH))
    samples = demo_samples()
    rounds = max(2, round(minutes * 60 * 16000 / len(samples)))
    with (folder / "hour.raw").open("wb") as file:
        for _ in range(rounds):
            file.write(samples.tobytes())
    environment = configuration(folder, {"mic": f'type scripted infile "{folder}/hour.raw" speed 1'})
    model = compile_keywords(folder)
    expected = events_of(
        subprocess.run(
            [LONGWAVE, "listen", model, folder / "hour.raw", "--format", "s16le"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
    )
    process = subprocess.Popen(
        [LONGWAVE, "listen", model, "--microphone", "mic"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    lines, errors = [], []
    readers = [
        threading.Thread(target=lambda pipe=pipe, to=to: to.extend(pipe))
        for pipe, to in ((process.stdout, lines), (process.stderr, errors))
    ]
    for reader in readers:
        reader.start()
    start, first, last, cpu = time.monotonic(), None, None, 0
    while process.poll() is None:
        try:
            last, cpu = status_kb(process), cpu_seconds(process)
        except (FileNotFoundError, StopIteration):
            break  # it has just ended
        if first is None and time.monotonic() - start > 30:
            first = last
        time.sleep(1)
    for reader in readers:
        reader.join()
    seconds = time.monotonic() - start
    shutil.rmtree(folder)

    events = events_of(lines)
    overruns = sum("overrun" in line for line in errors)
    print(
        f"{seconds:.0f} s, {len(events)} words, {overruns} overruns reported, CPU {100 * cpu / seconds:.2f} % of one core, "
        f"memory {first} kB after 30 s, {last} kB at the end"
    )
    failures = []
    if "was unplugged" not in errors[-1]:
        failures.append(f"ended with: {errors[-1]}")
    if not expected or events != expected:
        failures.append(
            f"{len(events)} events; the same samples in a file give {len(expected)} events, and they differ"
        )
    if last - first > MOST_GROWTH_KB:
        failures.append(f"memory grew by {last - first} kB; at most {MOST_GROWTH_KB} are allowed")
    for failure in failures:
        print(f"FAILED: {failure}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
