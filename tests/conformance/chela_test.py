#!/usr/bin/env python3
"""CHELA packages through the command line: causal models of each short mode and both kinds of long kernels, compiled for blocks of 1, 7 and 64 in one artifact,
must stream as the whole runs, bit-equal however the input is cut, in every entry and over walks through all of them; their branches must be merged, with a
certificate for each merge. Two-sided models must run whole, and their streams be refused with the layer, the reason and the way out.

    chela_test.py LONGWAVE FOLDER
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

BLOCKS = [1, 7, 64]


class Weights:
    def __init__(self, seed):
        self.random, self.tensors = random.Random(seed), {}

    def normal(self, key, shape, scale, mean=0.0):
        count = math.prod(shape)
        self.tensors[key] = (shape, array.array("f", (self.random.gauss(mean, scale) for _ in range(count))))

    def positive(self, key, shape):
        count = math.prod(shape)
        self.tensors[key] = (shape, array.array("f", (0.5 + self.random.random() for _ in range(count))))

    def batch_norm(self, prefix, width):
        self.normal(f"{prefix}.bias", [width], 0.1)
        self.normal(f"{prefix}.running_mean", [width], 0.1)
        self.positive(f"{prefix}.weight", [width])
        self.positive(f"{prefix}.running_var", [width])

    def linear(self, prefix, out, width):
        self.normal(f"{prefix}.weight", [out, width], width ** -0.5)
        self.normal(f"{prefix}.bias", [out], 0.1)


def block(weights, name, width, options):
    """One layer with its weights; `options` are those of the layer beside what is set here."""
    causal, taps = options.get("causal", True), options.pop("taps", 200)
    layer = {"type": "chela", "name": name, "ffn_width": 2 * width, "long_d": True, "short_branches": [
        {"kind": "conv1d", "kernel": 3, "bias": False, "batch_norm": True},
        {"kind": "conv1d", "kernel": 7, "dilation": 2, "bias": False, "batch_norm": True}, {"kind": "identity"}], **options}
    for i, size in enumerate((3, 7)):
        weights.normal(f"{name}.short.{i}.conv.weight", [width, 1, size], size ** -0.5)
        weights.batch_norm(f"{name}.short.{i}.bn", width)
    if options.get("long") == "sgconv":
        for i in range(1 + math.ceil(math.log2(options["l_max"] / options["kernel_dim"]))):
            weights.normal(f"{name}.long.kernel_list.{i}", [1 if causal else 2, width, options["kernel_dim"]], 1.0)
        weights.tensors[f"{name}.long.kernel_norm_initialized"] = ([], array.array("f", [0.0]))
        weights.tensors[f"{name}.long.multiplier"] = ([1, width, 1], array.array("f", [2.0] * width))
    else:
        for side in ("k0",) if causal else ("k0", "k1"):
            weights.normal(f"{name}.long.{side}", [width, taps], taps ** -0.5)
    weights.normal(f"{name}.long.D", [width], 1.0)
    for norm in ("norm", "nffn.norm"):
        if layer.get("norm", "batch") == "batch":
            weights.batch_norm(f"{name}.{norm}", width)
        else:
            weights.positive(f"{name}.{norm}.weight", [width])
            weights.normal(f"{name}.{norm}.bias", [width], 0.1)
    weights.normal(f"{name}.gamma", [2, width], 0.3, 1.0)
    weights.normal(f"{name}.beta", [2, width], 0.1)
    for projection in ("v_proj", "g_proj", "o_gate"):
        weights.linear(f"{name}.{projection}", width, width)
    weights.linear(f"{name}.nffn.fc1", 2 * width, width)
    weights.linear(f"{name}.nffn.fc2", width, 2 * width)
    return layer


def package(folder, width=24, depth=2, **options):
    weights = Weights(7)
    weights.linear("embed_tokens", width, 1)
    blocks = [block(weights, f"layers.{n}", width, dict(options)) for n in range(depth)]
    weights.linear("classifier.0.0", 5, width)
    model = {"format": "longwave-model", "version": 1, "name": "chela", "inputs": [{"name": "x", "kind": "features", "width": 1}],
             "layers": [{"type": "linear", "name": "embed_tokens", "out_features": width}, *blocks,
                        {"type": "linear", "name": "logits", "prefix": "classifier.0.0", "out_features": 5}],
             "outputs": [{"name": "logits", "from": "logits"}]}
    sc10_package.write(folder, model, weights.tensors)
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
