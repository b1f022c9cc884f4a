#!/usr/bin/env python3
"""Sums of the attack as data: sum_up.py BUILD PROGRESS... >docs/benchmarks/attack.json

PROGRESS: what attack_artifacts --progress wrote; a model in two of them is added up. BUILD: in words, how the program was built.
The date and the machine are those of now and here. Standard library only.
"""

import collections
import datetime
import json
import os
import pathlib
import sys


def machine():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return f"{line.split(':')[1].strip()}, {os.cpu_count()} shared CPUs"
    return f"{os.cpu_count()} shared CPUs"


def main(build, *paths):
    models = collections.defaultdict(collections.Counter)
    for path in paths:
        for name, totals in json.loads(pathlib.Path(path).read_text())["subjects"].items():
            models[name].update({key: value for key, value in totals.items() if key != "next"})
    rows = [
        {"model": name, **{key: round(value) for key, value in totals.items()}}
        for name, totals in sorted(models.items())
    ]
    print(
        json.dumps(
            {
                "machine": machine(),
                "date": datetime.date.today().isoformat(),
                "build": build,
                "command": "attack_artifacts --progress FILE MODEL...",
                "rows": rows,
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
