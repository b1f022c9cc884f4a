#!/usr/bin/env python3
"""Softmax attention and long convolutions in one model, through the command line: causal ones with a window, compiled for blocks of 1, 8
and 50 in one artifact, must stream as their whole runs, bit-equal however the input is cut, in every entry and over walks through all
of them, with weights in float32 and in int8; what sees all rows must run whole, and its stream be refused with layer, reason and way out.

    hybrid_test.py LONGWAVE FOLDER
"""
import argparse
import array
import json
import math
import pathlib
import random
import subprocess
import sys

import sc10_package

BLOCKS, WIDTH = [1, 8, 50], 24


def package(folder, pattern, **options):
    """A stack of attention layers (A) and long convolutions (C), each in a residual."""
    numbers, tensors, layers = random.Random(5), {}, []

    def normal(key, shape, scale):
        tensors[key] = (shape, array.array("f", (numbers.gauss(0, scale) for _ in range(math.prod(shape)))))

    heads, causal = options.get("heads", 1), options.get("causal", True)
    inner = heads * options.get("head_width", WIDTH // heads)
    for n, kind in enumerate(pattern):
        name = f"layers.{n}"
        normal(f"{name}.norm.weight", [WIDTH], 1)
        normal(f"{name}.norm.bias", [WIDTH], 0.1)
        if kind == "A":
            for part, shape in {"q": [inner, WIDTH], "k": [inner, WIDTH], "v": [inner, WIDTH], "o": [WIDTH, inner]}.items():
                normal(f"{name}.{part}_proj.weight", shape, 1.5 * shape[1] ** -0.5)
                normal(f"{name}.{part}_proj.bias", shape[:1], 0.1)
            if options.get("relative"):
                normal(f"{name}.r_proj.weight", [inner, WIDTH], WIDTH ** -0.5)
                for bias in ("r_w_bias", "r_r_bias"):
                    normal(f"{name}.{bias}", [heads, inner // heads], 0.3)
            layer = {"type": "attention", "name": "mixer", "prefix": name, **options}
        else:
            for scale in range(5):
                normal(f"{name}.kernel_list.{scale}", [1 if causal else 2, WIDTH, 8], 1)
            normal(f"{name}.D", [1, WIDTH], 1)
            tensors[f"{name}.kernel_norm_initialized"] = ([], array.array("f", [0.0]))
            tensors[f"{name}.multiplier"] = ([1, WIDTH, 1], array.array("f", [2.0] * WIDTH))
            normal(f"{name}.output_linear.0.weight", [2 * WIDTH, WIDTH], WIDTH ** -0.5)
            normal(f"{name}.output_linear.0.bias", [2 * WIDTH], 0.1)
            layer = {"type": "sgconv", "name": "mixer", "prefix": name, "kernel_dim": 8, "l_max": 128, "num_scales": 5, "postact": "glu",
                     "bidirectional": not causal}
        layers.append({"type": "residual", "name": name, "prenorm": False, "norm": {"type": "layer_norm"}, "layers": [layer]})
    model = {"format": "longwave-model", "version": 1, "name": "hybrid", "inputs": [{"name": "x", "kind": "features", "width": WIDTH}],
             "layers": layers, "outputs": [{"name": "y", "from": layers[-1]["name"]}]}
    sc10_package.write(folder, model, tensors)
    return folder


def compiled(longwave, folder, *flags):
    return subprocess.run([longwave, "compile", str(folder), "-o", f"{folder}.lw", "--length", "200", "--cache", str(folder.parent / "kernels"),
                           *flags], capture_output=True, text=True)


def check_causal(longwave, folder, name, pattern, flags=(), **options):
    made = package(folder / f"hybrid_{name}", pattern, **options)
    done = compiled(longwave, made, "--stream", "--blocks", ",".join(map(str, BLOCKS)), "--walks", "20", "--json", *flags)
    assert done.returncode == 0, f"{name}: {done.stdout[-3000:]}{done.stderr}"
    report = json.loads(done.stdout)
    proofs, (walk,) = report["proof"]["variants"], report["proof"]["walks"]
    assert sorted({proof["block"] for proof in proofs}) == BLOCKS, proofs
    assert all(proof["holds"] and proof["bit_equal"] and proof["cuts"] == 20 for proof in proofs), proofs
    assert walk["holds"] and walk["same_bits"] and walk["walks"] == 20, walk
    print(f"{name}: streams within {max(proof['largest_error'] for proof in proofs):.1e}, "
          f"{walk['switches']} changes of entry within {walk['largest_error']:.1e}", flush=True)


def check_whole(longwave, folder, name, pattern, reason, **options):
    made = package(folder / f"hybrid_{name}", pattern, **options)
    done = compiled(longwave, made, "--no-stream")
    assert done.returncode == 0, f"{name}: {done.stdout[-3000:]}{done.stderr}"
    refused = compiled(longwave, made, "--stream")
    assert refused.returncode != 0 and f"looks ahead: {reason}" in refused.stderr, refused.stderr
    assert "compile without --stream for whole sequences" in refused.stderr, refused.stderr
    print(f"{name}: runs whole, its stream is refused", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave")
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    to = options.longwave, options.folder
    check_causal(*to, "relative", "AAC", heads=2, window=33, relative=True)
    check_causal(*to, "relative_int8", "AC", ["--weights", "int8"], heads=2, window=33, relative=True)
    check_causal(*to, "rotary", "ACA", heads=3, window=70, rotary=True, rotary_pairs="interleaved")
    check_causal(*to, "narrow", "AA", heads=5, head_width=3, window=1)
    check_whole(*to, "all_rows", "AC", "it attends to every row before it, more than any state holds; give it a window", heads=2)
    check_whole(*to, "two_sided", "AC", "it attends to later rows (causal is false)", heads=2, causal=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
