#!/usr/bin/env python3
"""The core of an attention layer over a whole sequence, engine against PyTorch, one thread each, 512 and 1,024 wide.

    attention_speed.py [--bench build/bench_attention] [--core lightnet|chela|softmax|softmax-causal] [--rows 4096,...] [--rounds 3]

LightNet and CHELA: PyTorch runs the chunked form of tools/python/longwave/layers/{lightnet,chela}.py (LightNet: the safe one, every exponent at most 0, as
the engine's) in the best of several chunk lengths; softmax attention without a window: its fused one (torch.nn.functional.scaled_dot_product_attention).
In inference mode. Rounds alternate, so that a slow spell of the machine meets both; times are medians, in µs a row.
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

from longwave.layers import chela, lightnet  # noqa: E402

CHUNKS = {"lightnet": (4, 8, 16, 32), "chela": (16, 32, 64, 128, 256)}


def torch_us(core, heads, width, rows, chunk):
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, rows, heads, width) for _ in range(3))
    if core == "chela":
        q, k, v = (z.flatten(2) for z in (q, k, v))
    begin = time.perf_counter()
    if core == "chela":
        chela.linear_attention(q, k, v, heads, causal=True, chunk=chunk)
    else:
        lightnet.causal_attention(q, k, v, chunk=chunk)
    return (time.perf_counter() - begin) / rows * 1e6


def fused_us(heads, width, rows, causal):
    torch.manual_seed(0)
    q, k, v = (torch.randn(1, rows, heads, width).transpose(1, 2) for _ in range(3))
    begin = time.perf_counter()
    torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return (time.perf_counter() - begin) / rows * 1e6


def peer_of(core, heads, width, rows):
    """(name, µs a row)."""
    if core.startswith("softmax"):
        return "scaled_dot_product_attention", functools.partial(fused_us, heads, width, rows, core.endswith("causal"))
    torch_us(core, heads, width, 256, 16)  # warm
    tried = {chunk: torch_us(core, heads, width, min(rows, 1024), chunk) for chunk in CHUNKS[core]}
    best = min(tried, key=tried.get)
    return f"chunks of {best}", functools.partial(torch_us, core, heads, width, rows, best)


def engine_us(bench, core, heads, width, rows):
    out = subprocess.run(
        [bench, "--core", core, "--sizes", f"{heads}x{width}", "--rows", str(rows)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    return json.loads(out)["whole_us"]


def compared(options, heads, width, rows):
    name, peer = peer_of(options.core, heads, width, rows)
    peer()
    ours, theirs = [], []
    for _ in range(options.rounds):
        ours.append(engine_us(options.bench, options.core, heads, width, rows))
        theirs.append(statistics.median(peer() for _ in range(3)))
    return {
        "what": "attention",
        "core": options.core,
        "heads": heads,
        "width": width,
        "rows": rows,
        "ours_us": round(statistics.median(ours), 2),
        "peer": f"torch {torch.__version__}, {name}",
        "peer_us": round(statistics.median(theirs), 1),
        "ratio": round(statistics.median(o / t for o, t in zip(ours, theirs)), 4),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", default=ROOT / "build/bench_attention")
    parser.add_argument("--core", choices=[*CHUNKS, "softmax", "softmax-causal"], default="lightnet")
    parser.add_argument("--rows", default="4096", help="numbers of rows (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with torch.inference_mode():
        for rows in map(int, options.rows.split(",")):
            for heads, width in ((8, 64), (16, 64)):
                print(json.dumps(compared(options, heads, width, rows)), flush=True)


if __name__ == "__main__":
    main()
