#!/usr/bin/env python3
"""Every algorithm of a long convolution, forced, on models of several shapes: long_kernels_test.py LONGWAVE SCRATCH_FOLDER

The packages are small ones of sc10_package.py with seeded weights. `longwave compile --stream` compares the stream with the whole through the runtime, for every
code variant this CPU has, at every position of a sequence longer than the kernel. Whole sequences go through `right_angle` where the streaming form is
forced, so one algorithm is the other's reference; `direct` serves both, with the same bits: there only the products behind it, whose sums depend on how many rows a call has,
may differ, by 2e-6. Limit of the others 1e-5 of the largest logit (measured: below 1e-6). Standard library only.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 1e-5
# layers, width, taps, block: one channel; padding lanes; several tiles of channels; fewer and more tiles than blocks in a large block.
SHAPES = [(2, 1, 500, 10), (1, 20, 333, 20), (2, 48, 1000, 30), (1, 160, 700, 32)]


def main():
    longwave, scratch = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    package_script = pathlib.Path(__file__).parent / "sc10_package.py"
    scratch.mkdir(parents=True, exist_ok=True)
    failed = False
    with tempfile.TemporaryDirectory(prefix="long-kernels-", dir=scratch) as name:
        folder = pathlib.Path(name)
        for layers, width, taps, block in SHAPES:
            subprocess.run([sys.executable, package_script, folder / "package", "--layers", str(layers), "--width", str(width), "--taps", str(taps), "--each"], check=True)
            for algorithm in ("direct", "partitioned", "nonuniform"):
                command = [longwave, "compile", folder / "package", "-o", folder / "model.lw", "--convolution", algorithm, "--length", str(3 * taps), "--block", str(block),
                           "--stream", "--json", "--cache", scratch / "kernels"]
                report = json.loads(subprocess.run([*map(str, command)], stdout=subprocess.PIPE, check=True).stdout)
                found = {choice["algorithm"] for layer in report["layers"] for choice in layer.get("algorithms", []) if choice["entry"] == f"stream {block}"}
                error = max(variant["largest_error"] for variant in report["proof"]["variants"])
                good = found == {algorithm} and report["proof"]["holds"] and error <= (2e-6 if algorithm == "direct" else LIMIT) and report["proof"]["variants"][0]["rows"] == 3 * taps
                failed |= not good
                print(f"{layers} x {width:<4} K={taps:<5} block {block:<4} {algorithm:<12} {error:.1e} in {3 * taps} rows, state "
                      f"{report['state_bytes']} bytes {'ok' if good else 'FAIL ' + ','.join(found)}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
