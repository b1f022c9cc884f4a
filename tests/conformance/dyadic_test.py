#!/usr/bin/env python3
"""Streams under `--convolution dyadic` against the whole: dyadic_test.py LONGWAVE SCRATCH_FOLDER [--walks N]

SGConv stacks of 1, 2 and 16 channels with kernels of 64, 1024 and 16384 taps. One entry alone, where the running sums are state: blocks that divide their rings, that do
not, and one that takes several calls. Several entries in random walks, with saved states, copies and resets, where the sums are a cache made again from the history: the
same bits when a walk is taken again. Every code variant of this CPU; limit 1e-5 of the largest logit. Standard library only.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import sc10_package

LIMIT = 1e-5
# channels, taps, weights a scale, blocks. Blocks of one row are slow through thousands of taps where caches are made again, so the longest kernel has none.
CASES = [
    (1, 64, 16, [10]),
    (2, 64, 16, [1]),
    (16, 64, 16, [1, 7, 63]),
    (1, 1024, 32, [16, 1, 160, 640]),
    (2, 1024, 64, [97]),
    (16, 1024, 32, [160]),
    (16, 1024, 2, [16, 1, 160]),
    (1, 16384, 64, [160]),
    (2, 16384, 32, [16, 64, 320]),
    (16, 16384, 64, [64]),
]


def check(longwave: pathlib.Path, package: pathlib.Path, cache: pathlib.Path, case, walks: int) -> str:
    width, taps, kernel_dim, blocks = case
    sc10_package.write(package, *sc10_package.package(2, width, taps, kernel_dim=kernel_dim, each=True))
    length = 20000 if taps > 10000 else 3 * taps + 500
    command = [longwave, "compile", package, "-o", package / "model.lw", "--stream", "--convolution", "dyadic", "--blocks", ",".join(map(str, blocks)),
               "--length", length, "--walks", walks, "--cache", cache, "--json"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, f"{case}: {done.stdout[-2000:]}{done.stderr}"
    report = json.loads(done.stdout)
    chosen = {choice["algorithm"] for layer in report["layers"] for choice in layer.get("algorithms", []) if choice["entry"].startswith("stream")}
    assert chosen == {"dyadic"}, f"{case}: {chosen}"
    proof = report["proof"]
    error = max([variant["largest_error"] for variant in proof["variants"]] + [walk["largest_error"] for walk in proof.get("walks", [])])
    assert proof["holds"] and error <= LIMIT, f"{case}: {proof}"
    entries = [entry for entry in report["entries"] if entry["kind"] == "stream"]
    # The sums are a cache: the state has the rows that they are made of.
    assert all(field["kind"] == "history" for field in report["state"]), f"{case}: {report['state']}"
    assert all(entry["cache_bytes"] for entry in entries), f"{case}: {entries}"
    if len(blocks) > 1:
        assert all(walk["same_bits"] and walk["switches"] for walk in proof["walks"]), f"{case}: {proof}"
    return f"{width:>2} channels K = {taps:<5} blocks {','.join(map(str, blocks)):<13} within {error:.1e}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave", type=pathlib.Path)
    parser.add_argument("scratch", type=pathlib.Path)
    parser.add_argument("--walks", type=int, default=5)
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="dyadic-", dir=options.scratch) as name:
        for case in CASES:
            print(check(options.longwave.resolve(), pathlib.Path(name), options.scratch / "kernels", case, options.walks), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
