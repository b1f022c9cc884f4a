#!/usr/bin/env python3
"""SGConv at the size published for SC10 (six layers of 128 channels, causal, 16000 taps, raw audio at 16 kHz): sc10_test.py LONGWAVE SCRATCH_FOLDER

Weights are seeded, not trained. The package is compiled for whole seconds and for a stream of 10 ms blocks; both must give the same within 1e-5 of the largest
logit, in the compiler's own proof and in two runs of the artifact. Prints what it costs. Standard library only.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

LIMIT = 1e-5
RATE = 16000
BLOCK = 160
MEMORY = (
    "--memory",
    "1G",
)  # 2 MB of parameters become 200 MB of spectra: more than an artifact of this size gets unasked


def main():
    longwave, scratch = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    here = pathlib.Path(__file__).parent
    scratch.mkdir(parents=True, exist_ok=True)

    def run(*arguments):
        result = subprocess.run([longwave, *map(str, arguments)], stdout=subprocess.PIPE, check=True)
        return json.loads(result.stdout)

    with tempfile.TemporaryDirectory(prefix="sc10-", dir=scratch) as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.executable, here / "sc10_package.py", folder / "package"], check=True)
        artifact = folder / "sc10.lw"
        start = time.monotonic()
        report = run(
            "compile", folder / "package", "-o", artifact, "--length", RATE, "--block", BLOCK, "--stream", "--json"
        )
        seconds = time.monotonic() - start
        build = report["build"]
        print(
            f"compile           {seconds:.1f} s with its proof, {build['kernels_cached']} kernels from the cache, {build['kernels_compiled']} compiled"
        )
        errors = []
        for proof in report["proof"]["variants"]:
            print(
                f"{proof['variant']:<9}         stream equals the offline run within {proof['largest_error']:.1e} over {proof['ticks']} ticks (limit {proof['limit']:.0e}), "
                f"bit-equal: {proof['bit_equal']}, {proof['cuts']} cuts of {proof['cut_ticks']} ticks and one of all"
            )
            errors.append(proof["largest_error"])
        held = report["proof"]["holds"] and len(errors) + len(report["proof"]["not_proved_here"]) == 3

        # The same from the outside: the pooled logits of a made-up second are the last row of its
        # stream.
        inputs = ("--input", f"audio={RATE}", "--json")
        whole, stream = (
            run("run", artifact, *MEMORY, *inputs)["logits"]["data"],
            run("run", artifact, *MEMORY, "--stream", *inputs)["logits"]["data"][-10:],
        )
        error = max(abs(a - b) for a, b in zip(whole, stream)) / max(map(abs, whole))
        errors.append(error)
        print(f"run               whole and last row of the stream within {error:.1e}")

        bench = run("bench", artifact, *MEMORY, "--seconds", 2, "--repeats", 5, "--threads", 2, "--json")
        print(
            f"machine           {bench['machine']['cpu']}, {bench['machine']['processors']} processors, load {bench['machine']['load']:.1f}, "
            f"code {bench['variant']}, one thread"
        )
        print(
            f"whole second      {bench['run']['median_ms']:.1f} ms (median of 5); with 2 threads {bench['run']['threads_median_ms']:.1f} ms, "
            f"{bench['run']['threads_speed_up']:.2f} times as fast"
        )
        block = bench["stream"]["block_us"]
        print(
            f"stream            real-time factor {bench['stream']['real_time_factor']:.3f}; block of 10 ms: median {block['median'] / 1e3:.2f} ms, worst {block['worst'] / 1e3:.2f} ms"
        )
        print(f"open to output    {bench['open_to_first_output']['median_ms']:.0f} ms (median of 5)")
        print(f"state a stream    {bench['stream']['state_bytes']} bytes")
        print(f"artifact          {bench['artifact_bytes']} bytes")
    if not held or not all(error <= LIMIT for error in errors):
        print(f"the stream does not equal the whole within {LIMIT:.0e}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
