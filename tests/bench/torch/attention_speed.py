#!/usr/bin/env python3
"""LightNet's core over a whole sequence, or softmax attention, engine against PyTorch, one thread each, 512 and 1,024 wide.

    attention_speed.py --bench build/bench_attention [--rows 4096] [--rounds 3] [--softmax causal|two-sided]

PyTorch runs the safe chunked form of tools/python/longwave/layers/lightnet.py (every exponent at most 0, as the engine's) in the best of several chunk
lengths, in inference mode; of softmax attention its fused one (torch.nn.functional.scaled_dot_product_attention). Rounds alternate, so that a slow spell of the machine meets both; times are medians, in µs a row.
"""
import argparse
import functools
import json
import pathlib
import statistics
import subprocess
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python"))

from longwave.layers.lightnet import causal_attention  # noqa: E402


def torch_us(heads, width, rows, chunk):
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, rows, heads, width) for _ in range(3))
    begin = time.perf_counter()
    causal_attention(q, k, v, chunk=chunk)
    return (time.perf_counter() - begin) / rows * 1e6


def fused_us(heads, width, rows, causal):
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, rows, heads, width).transpose(1, 2) for _ in range(3))
    begin = time.perf_counter()
    torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return (time.perf_counter() - begin) / rows * 1e6


def engine_us(bench, heads, width, rows, softmax=None):
    more = ["--softmax", softmax] if softmax else []
    out = subprocess.run([bench, "--sizes", f"{heads}x{width}", "--rows", str(rows), *more], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(out)["whole_us"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--softmax", choices=["causal", "two-sided"], help="softmax attention without a window instead")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with torch.inference_mode():
        for heads, width in ((8, 64), (16, 64)):
            if options.softmax:
                name = "scaled_dot_product_attention"
                peer = functools.partial(fused_us, heads, width, options.rows, options.softmax == "causal")
                peer()
            else:
                chunks = (4, 8, 16, 32)
                tried = {chunk: torch_us(heads, width, min(options.rows, 1024), chunk) for chunk in chunks}
                best = min(tried, key=tried.get)
                name, peer = f"chunks of {best}", functools.partial(torch_us, heads, width, options.rows, best)
            ours, theirs = [], []
            for _ in range(options.rounds):
                ours.append(engine_us(options.bench, heads, width, options.rows, options.softmax))
                theirs.append(statistics.median(peer() for _ in range(3)))
            print(json.dumps({"heads": heads, "width": width, "rows": options.rows, "ours_us": round(statistics.median(ours), 2),
                              "peer": f"torch {torch.__version__}, {name}", "peer_us": round(statistics.median(theirs), 1),
                              "ratio": round(statistics.median(o / t for o, t in zip(ours, theirs)), 4)}), flush=True)


if __name__ == "__main__":
    main()
