#!/usr/bin/env python3
"""CHELA packages through the command line: causal models of each short mode and both kinds of long kernels, compiled for blocks of 1, 7 and 64 in one artifact,
must stream as the whole runs, bit-equal however the input is cut, in every entry and over walks through all of them; their branches must be merged, with a
certificate for each merge. Two-sided models must run whole, and their streams be refused with the layer, the reason and the way out.

    chela_test.py LONGWAVE FOLDER
"""
import argparse
import json
import pathlib
import subprocess
import sys

import families
import sc10_package

BLOCKS = [1, 7, 64]


def package(folder, **options):
    """A model of two blocks between an embedding of raw numbers and a head of every row."""
    weights, width = families.Weights(), 24
    weights.linear("embed_tokens", width, 1)
    blocks = [families.chela_layer(weights, f"layers.{n}", width, **options) for n in range(2)]
    weights.linear("classifier.0.0", 5, width)
    layers = [{"type": "linear", "name": "embed_tokens", "out_features": width}, *blocks,
              {"type": "linear", "name": "logits", "prefix": "classifier.0.0", "out_features": 5}]
    sc10_package.write(folder, families.model("chela", 1, layers), weights.tensors)
    return folder


def compiled(longwave, folder, *flags):
    command = [longwave, "compile", str(folder), "-o", f"{folder}.lw", "--length", "600", "--cache", str(folder.parent / "kernels"), *flags]
    return subprocess.run(command, capture_output=True, text=True)


def check_causal(longwave, folder, name, **options):
    done = compiled(longwave, package(folder / f"chela_{name}", **options), "--stream", "--blocks", ",".join(map(str, BLOCKS)), "--walks", "20", "--json")
    assert done.returncode == 0, f"{name}: {done.stdout[-3000:]}{done.stderr}"
    report = json.loads(done.stdout)
    proofs, (walk,) = report["proof"]["variants"], report["proof"]["walks"]
    assert sorted({proof["block"] for proof in proofs}) == BLOCKS, proofs
    for proof in proofs:
        assert proof["holds"] and proof["bit_equal"] and proof["cuts"] == 20 and proof["rows"] > 0, proof
    assert walk["holds"] and walk["same_bits"] and walk["walks"] == 20 and walk["switches"] > 10, walk
    merges = [fusion for fusion in report["fusion"] if fusion["pass"] == "merge_branches"]
    assert len(merges) >= 2 and all(fusion["error"] <= fusion["bound"] for fusion in report["fusion"]), report["fusion"]
    worst = max(proof["largest_error"] for proof in proofs)
    print(f"{name}: streams within {worst:.1e}, {walk['switches']} changes of entry within {walk['largest_error']:.1e}; "
          f"{merges[0]['layer']}: {merges[0]['what']}", flush=True)
    return merges


def check_two_sided(longwave, folder, name, reasons, **options):
    made = package(folder / f"chela_{name}", causal=False, **options)
    done = compiled(longwave, made, "--no-stream")
    assert done.returncode == 0, f"{name}: {done.stdout[-3000:]}{done.stderr}"
    refused = compiled(longwave, made, "--stream")
    assert refused.returncode != 0, name
    for layer, reason in reasons:
        assert f"layer {layer} looks ahead: {reason}" in refused.stderr, f"{layer}, {reason}:\n{refused.stderr}"
    assert "compile without --stream for whole sequences" in refused.stderr, refused.stderr
    print(f"{name}: runs whole, its stream is refused", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave")
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    longwave, folder = options.longwave, options.folder

    short = check_causal(longwave, folder, "serial_silu")
    assert all(merge["what"] == "branches {3, 13, identity} → 13 taps and a bias" for merge in short if "/short" in merge["layer"]), short
    check_causal(longwave, folder, "serial_linear_heads", short_mode="serial_linear", norm="layer", heads=3, att_norm_groups=3)
    long = check_causal(longwave, folder, "parallel", short_mode="parallel", prenorm=False)
    assert any(merge["what"] == "branches {3, 13, identity, 200} → 200 taps and a bias" for merge in long), long
    check_causal(longwave, folder, "multi_scale", long="sgconv", l_max=500, kernel_dim=8, residual="normalised")
    reasons = [("layers.0/short", "it is centred (13 taps read 6 samples after t)"), ("layers.1/long", "it is bidirectional"),
               ("layers.1/attention", "its attention is two-sided")]
    check_two_sided(longwave, folder, "two_sided", reasons)
    check_two_sided(longwave, folder, "two_sided_multi_scale", reasons[1:], long="sgconv", l_max=500, kernel_dim=8, short_mode="parallel")
    return 0


if __name__ == "__main__":
    sys.exit(main())
