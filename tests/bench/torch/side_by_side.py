"""What the benchmarks against PyTorch share: running the command line, times in turns, PyTorch as fast as eager mode goes."""

import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools/python"), str(ROOT / "tests/conformance"), str(ROOT / "tests/bench/peers")]

from needs import Failed, needs  # noqa: E402

needs(f"longwave bench {pathlib.Path(sys.argv[0]).stem.removeprefix('bench_')}", "torch", "numpy", "safetensors")

import numpy as np  # noqa: E402
import torch  # noqa: E402
from longwave.layers.sgconv import GConv  # noqa: E402


def arguments(description, name, peers=("pytorch",)):
    parser = argparse.ArgumentParser(
        description=description, prog=f"longwave bench {name}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--longwave", required=True, help=argparse.SUPPRESS)  # the launcher gives it
    parser.add_argument("--against", choices=list(peers), default="pytorch", help="the peer")
    parser.add_argument(
        "--rounds", type=int, default=5, help="in turns, so that a slow spell of the machine meets both (default: 5)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    return parser


class Longwave:
    def __init__(self, program):
        self.program = program

    def __call__(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True)
        if done.returncode != 0:
            raise Failed(
                f"longwave {arguments[0]}: {([''] + done.stderr.decode(errors='replace').strip().splitlines())[-1].removeprefix('error: ')}"
            )
        return done.stdout

    def bench(self, artifact, threads=1, repeats=20, seconds=2):
        more = ["--threads", threads] if threads > 1 else []
        return json.loads(
            self("bench", artifact, "--memory", "2G", "--repeats", repeats, "--seconds", seconds, "--json", *more)
        )

    def run_ms(self, artifact, threads, repeats):
        run = self.bench(artifact, threads, repeats)["run"]
        return run["threads_median_ms"] if threads > 1 else run["median_ms"]

    def output(self, name, artifact, array, input_name, *flags):
        found = json.loads(
            self("run", artifact, "--memory", "2G", "--input", f"{input_name}=@{array}", "--json", *flags)
        )
        return np.array(found[name]["data"])


# Largest difference of outputs, of the peak: what float32 makes of these models, and what weights
# rounded to these formats change.
MOST_DIFFERENCE = {"float32": 1e-4, "bf16": 5e-2, "int8": 5e-2}


def difference(wanted, found):
    """Of the peak of `wanted`."""
    return float(np.abs(wanted - found).max() / np.abs(wanted).max()) if wanted.shape == found.shape else float("inf")


def differs(line, key="difference"):
    """A list with one sentence, or none."""
    most = MOST_DIFFERENCE[line.get("weights", "float32")]
    if line[key] <= most:
        return []
    what = ", ".join(str(line[name]) for name in ("model", "length", "piece", "peer") if name in line)
    return [f"{what}: outputs differ by {line[key]:.2g} of the peak, at most {most:g}"]


def processors():
    return len(os.sched_getaffinity(0))


def environment(longwave):
    cpu = next(
        (
            line.split(":", 1)[1].strip()
            for line in open("/proc/cpuinfo", encoding="utf-8")
            if line.startswith("model name")
        ),
        "unknown",
    )
    version = longwave("--version").decode().split()[-1]
    return {
        "what": "environment",
        "cpu": cpu,
        "processors": processors(),
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.release()}",
        "longwave": version,
        "peer": f"torch {torch.__version__}",
        "python": platform.python_version(),
    }


def cache_spectra(net: torch.nn.Module, length: int) -> None:
    """Replaces the convolution of every causal GConv by one with a fixed spectrum, for sequences of `length`."""
    for layer in net.modules():
        if not isinstance(layer, GConv):
            continue
        n = 2 * length
        spectrum = torch.fft.rfft(layer.kernel(length), n=n)
        layer.convolve = lambda u, s=spectrum, d=layer.D, n=n: (
            torch.fft.irfft(torch.fft.rfft(u.unsqueeze(1), n=n) * s, n=n)[..., : u.shape[-1]]
            + d[:, :, None] * u.unsqueeze(1)
        )


def times_ms(call, least=10, seconds=0.5):
    """The first call warms the caches; then at least so many, for so long."""
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < least or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - begin))
    return times


def p99(times):
    return sorted(times)[min(len(times) - 1, int(0.99 * len(times)))]


def best_threads(call, most=None):
    """The number of threads with which PyTorch is fastest here, of 1 … `most` (default: all CPUs); it stays set."""

    def tried(threads):
        torch.set_num_threads(threads)
        return statistics.median(times_ms(call, least=3, seconds=0.1))

    best = min(sorted({1, 2, processors()} & set(range(1, (most or processors()) + 1))), key=tried)
    torch.set_num_threads(best)
    return best


def tell(result, as_json):
    if as_json:
        print(json.dumps(result), flush=True)
    else:
        print(
            "  ".join(
                f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in result.items()
            ),
            flush=True,
        )
