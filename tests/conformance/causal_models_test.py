#!/usr/bin/env python3
"""Causal models of each family as streams: every option that streams, and sizes at the ends of what there is, each compiled for three blocks in one artifact. A
stream must give the same bits however 20 random cuts part its input, the whole run's rows within the family's limit, and both again over 20 random walks
through the three entries.

    causal_models_test.py LONGWAVE FOLDER [NAME...] [--all]

Without --all, the models that take seconds to compile. The wide and the deep ones are for tools/test --all.
"""
import argparse
import functools
import json
import pathlib
import subprocess
import sys
import time

import families
import sc10_package

LIMIT = 1e-5  # of every family, for entries against each other and against the whole
AMPLIFIED = 16.01  # times what rounding values between ops does: only deep and narrow models of random weights need it (formats/artifact/precision.h)

sgconv, chela, lightnet = families.sgconv, families.chela, families.lightnet
tpe, sums = families.tpe_layer, families.exponential_sums_layer
plain = {"gate": None, "norm": None}

# name: (package, flags of compile). Blocks 1, 7 and 64 and whole runs of 600 rows unless the flags say otherwise.
MODELS = {
    "sgconv": (lambda: sgconv(postact="glu"), ()),
    "sgconv_learnable": (lambda: sgconv(norm="layer_norm", mode="cat_randn_learnable", l_max=300), ()),
    "sgconv_copies": (lambda: sgconv(width=5, channels=2, mode="cat_randn_nearest", init_scale=1), ()),
    "sgconv_1_channel": (lambda: sgconv(width=1, linear=True, l_max=700), ()),
    "sgconv_2_channels": (lambda: sgconv(width=2, l_max=333), ()),
    "sgconv_1_row": (lambda: sgconv(), ("--length", "1")),
    "chela_1_channel": (lambda: chela(width=1, depth=1, norm="none", att_norm="none"), ()),
    "chela_2_channels": (lambda: chela(width=2, heads=2), ()),
    "chela_1_row": (lambda: chela(), ("--length", "1")),
    "lightnet": (lambda: lightnet(heads=2), ()),
    "lightnet_gate_first": (lambda: lightnet(heads=2, initial_sum=1, gate="before_norm", gate_activation="silu", gate_rank=4, gate_bias=True, scale=0.25), ()),
    "lightnet_short_conv": (lambda: lightnet(heads=4, short_conv=4, conv_bias=True, query_activation="identity", gate_activation="silu"), ()),
    "lightnet_no_gate": (lambda: lightnet(heads=2, gate=None, norm="layer", bias=True, query_activation="gelu"), ()),
    "lightnet_widths": (lambda: lightnet(heads=2, key_width=24, value_width=40, output_bias=True), ()),
    "lightnet_cosine": (lambda: lightnet(heads=2, lrpe="cosine", initial_sum=1), ()),
    "lightnet_cosine_base": (lambda: lightnet(heads=1, lrpe="cosine", lrpe_base=10000), ()),
    "lightnet_cosine_image": (lambda: lightnet(heads=2, lrpe="cosine", lrpe_base=10000, shape="20x30", conditions=2), ()),
    "lightnet_cosine_sliced": (lambda: lightnet(heads=2, lrpe="cosine", shape="20x30", theta_layout="sliced"), ()),
    "lightnet_tpe": (lambda: lightnet(heads=2, before=functools.partial(tpe, heads=2)), ()),
    "lightnet_tpe_image": (lambda: lightnet(heads=2, before=functools.partial(tpe, heads=4, shape="20x30")), ()),
    "lightnet_sums": (lambda: lightnet(heads=2, before=functools.partial(sums, modes=3)), ()),
    "lightnet_sums_image": (lambda: lightnet(heads=2, before=functools.partial(sums, modes=2, shape="20x30")), ()),
    "lightnet_mask": (lambda: lightnet(heads=2, mask=3, **plain), ()),
    "lightnet_1_channel": (lambda: lightnet(width=1, block_norm=None, depth=1, **plain), ()),
    "lightnet_2_channels": (lambda: lightnet(width=2, heads=2, block_norm="rms_norm", **plain), ()),
    "lightnet_1_row": (lambda: lightnet(heads=2), ("--length", "1")),
}
LARGE = {
    "sgconv_24_layers": (lambda: sgconv(width=8, depth=24, l_max=64), ()),
    "sgconv_2048_channels": (lambda: sgconv(width=2048, depth=1, linear=True), ("--length", "300")),
    "chela_24_layers": (lambda: chela(width=8, depth=24, taps=50, gate_bias=-4.0, ffn=False), ()),
    "chela_2048_channels": (lambda: chela(width=2048, depth=1, taps=50, heads=32, ffn=False), ("--length", "130")),
    "lightnet_24_layers": (lambda: lightnet(width=32, depth=24, heads=2), ()),
    "lightnet_24_layers_of_8": (lambda: lightnet(width=8, depth=24, heads=2), ()),
    "lightnet_2048_channels": (lambda: lightnet(width=2048, depth=1, heads=32, gate=None, glu=False), ("--length", "130")),
}


def check(longwave, folder, name, package, flags):
    start = time.monotonic()
    description, weights = package()
    sc10_package.write(folder / f"causal_{name}", description, weights)
    command = [longwave, "compile", folder / f"causal_{name}", "-o", folder / f"causal_{name}.lw", "--stream", "--blocks", "1,7,64", "--walks", "20", "--json",
               "--target", "host", "--cache", folder / "kernels", *(flags or ("--length", "600"))]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{name}: {done.stdout[-3000:]}{done.stderr}"
    report = json.loads(done.stdout)
    proofs, (walk,) = report["proof"]["variants"], report["proof"]["walks"]
    assert [proof["block"] for proof in proofs] == [1, 7, 64], proofs
    limit = max(LIMIT, AMPLIFIED * report["precision"]["rounding"])
    for proof in proofs:
        assert proof["cuts"] == 20 and proof["bit_equal"] is True, (name, proof)
        assert proof["rows"] >= 1 and proof["largest_error"] <= limit, (name, proof)
    assert walk["walks"] == 20 and walk["same_bits"] is True, (name, walk)
    assert walk["switches"] >= 3, (name, walk)
    assert walk["largest_error"] <= limit, (name, walk)
    print(f"{name:24} within {max(proof['largest_error'] for proof in proofs):.1e} of the whole; {walk['switches']:4} changes of entry within "
          f"{walk['largest_error']:.1e}; {report['build']['kernels_compiled']} kernels of {report['kernels']} compiled, {time.monotonic() - start:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", choices=[[], *MODELS, *LARGE])
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    models = {**MODELS, **LARGE}
    for name in options.names or (models if options.all else MODELS):
        check(options.longwave, options.folder, name, *models[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
