#!/usr/bin/env python3
"""One file of all that tests/bench/gpu measured.

    gpu_page.py FOLDER

Reads the JSON lines in FOLDER and writes gpu.json: an object with a list for each file, the devices and the clocks. Writes
shares.jsonl: of each layer the share of the rate of the largest copy that it reaches, for plot.py. Standard library only.
"""

import json
import pathlib
import sys


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def shares(found):
    """Rows of layers; none without a measured copy."""
    rates = [row["gb_per_s"] for row in found.get("limits", []) if "gb_per_s" in row]
    if not rates:
        return []
    rows = []
    for model in found.get("layers", []):
        for layer in model["layers"]:
            if not layer.get("gpu_us"):
                continue
            rate = 1e-3 * layer["gpu_bytes"] / layer["gpu_us"]
            rows.append(
                {
                    "what": "gpu-layer",
                    "model": model["model"],
                    "layer": layer["layer"],
                    "cpu_us": layer["cpu_us"],
                    "gpu_us": layer["gpu_us"],
                    "gb_per_s": rate,
                    "share_of_copy": rate / rates[-1],
                }
            )
    return rows


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    found = {path.stem: lines_of(path) for path in sorted(folder.glob("*.jsonl")) if path.stem != "shares"}
    rows = shares(found)
    (folder / "shares.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    clocks = folder / "clocks.txt"
    whole = {
        "devices": lines_of(folder / "devices.txt"),
        "clocks": clocks.read_text(encoding="utf-8").splitlines() if clocks.exists() else [],
        **found,
        "shares": rows,
    }
    (folder / "gpu.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    print(folder / "gpu.json")


if __name__ == "__main__":
    main()
