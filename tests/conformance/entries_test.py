#!/usr/bin/env python3
"""Several stream entries over one state: causal SGConv stacks of short, long and very long kernels, compiled for blocks of 1, 16, 160 and 640 ticks in one
artifact. Random walks through the entries and code variants, with saved states, copies and resets between them, give the rows of the whole within 1e-5, and
the same bits when they are taken again (tools/cli/check/entry_switching.h). The report must name every entry with its block, delay and what it costs to take over.

    entries_test.py LONGWAVE FOLDER [--walks N] [--taps K ...]
"""
import argparse
import json
import pathlib
import subprocess
import sys

import sc10_package

BLOCKS = [16, 1, 160, 640]


def check(longwave: str, folder: pathlib.Path, taps: int, walks: int) -> str:
    package = folder / f"entries_{taps}"
    kernel_dim = 16 if taps <= 1024 else 32
    sc10_package.write(package, *sc10_package.package(2, 16, taps, kernel_dim=kernel_dim, each=True))
    length = max(2 * taps, 6400) if taps <= 1024 else 20000
    command = [longwave, "compile", str(package), "-o", str(package) + ".lw", "--stream", "--blocks", ",".join(map(str, BLOCKS)), "--length", str(length),
               "--walks", str(walks), "--cache", str(folder / "kernels"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"K = {taps}: {' '.join(command)}\n{done.stdout[-2000:]}{done.stderr}"
    report = json.loads(done.stdout)
    (walk,) = report["proof"]["walks"]
    assert walk["holds"] and walk["same_bits"] and walk["largest_error"] <= 1e-5, walk
    assert walk["walks"] == walks and walk["switches"] >= walks / 2 and walk["rows"] > walks, walk
    entries = [entry for entry in report["entries"] if entry["kind"] == "stream"]
    assert [entry["block"] for entry in entries] == BLOCKS, entries
    assert all(entry["delay"] == 0 and entry["calls"] > 0 for entry in entries), entries
    cached = [entry["block"] for entry in entries if entry["cache_bytes"]]
    assert all("switch" in entry and entry["switch"]["calls"] > 0 for entry in entries if entry["cache_bytes"]), entries
    assert all(field["kind"] in ("history", "carry") for field in report["state"]), "derived past is no state"
    assert report["state_bytes"] == sum((field["bytes"] + 63) // 64 * 64 for field in report["state"])
    return f"K = {taps}: within {walk['largest_error']:.1e} over {walk['rows']} rows and {walk['switches']} changes, caches in blocks {cached}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--walks", type=int, default=20)
    parser.add_argument("--taps", type=int, nargs="+", default=[64, 1024])
    options = parser.parse_args()
    for taps in options.taps:
        print(check(options.longwave, options.folder, taps, options.walks), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
