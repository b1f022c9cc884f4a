"""Every causal model that must stream as it runs offline, by group; one line adds a case."""

import functools

from runner import INTEGER_LIMIT, LIMIT, Case, Refused  # it puts the folder above on the path

# isort: split
import families
import hybrids
import sc10_package

sgconv, chela, lightnet = families.sgconv, families.chela, families.lightnet
tpe, sums, space = families.tpe_layer, families.exponential_sums_layer, families.state_space_layer
plain = {"gate": None, "norm": None}


def model(name, package, **options):
    """A model of a family, whose random weights may amplify rounding errors; for this CPU's best code alone."""
    return Case(name, package, may_amplify=True, flags=("--target", "host"), **options)


def stack(layers, width, taps, **options):
    """Long convolutions with logits at every position."""
    return functools.partial(sc10_package.package, layers, width, taps, each=True, **options)


# ---- options of the families ---------------------------------------------------------------------

FAMILIES = {
    "sgconv": [
        model("sgconv", lambda: sgconv(postact="glu")),
        model("sgconv_learnable", lambda: sgconv(norm="layer_norm", mode="cat_randn_learnable", l_max=300)),
        model("sgconv_copies", lambda: sgconv(width=5, channels=2, mode="cat_randn_nearest", init_scale=1)),
        model("sgconv_1_channel", lambda: sgconv(width=1, linear=True, l_max=700)),
        model("sgconv_2_channels", lambda: sgconv(width=2, l_max=333)),
        model("sgconv_1_row", lambda: sgconv(), length=1),
        model("sgconv_24_layers", lambda: sgconv(width=8, depth=24, l_max=64), large=True),
        model("sgconv_2048_channels", lambda: sgconv(width=2048, depth=1, linear=True), length=300, large=True),
    ],
    "chela": [
        model("chela_1_channel", lambda: chela(width=1, depth=1, norm="none", att_norm="none")),
        model("chela_2_channels", lambda: chela(width=2, heads=2)),
        model("chela_1_row", lambda: chela(), length=1),
        model("chela_24_layers", lambda: chela(width=8, depth=24, taps=50, gate_bias=-4.0, ffn=False), large=True),
        model(
            "chela_2048_channels",
            lambda: chela(width=2048, depth=1, taps=50, heads=32, ffn=False),
            length=130,
            large=True,
        ),
    ],
    "lightnet": [
        model("lightnet", lambda: lightnet(heads=2)),
        model(
            "lightnet_gate_first",
            lambda: lightnet(
                heads=2,
                initial_sum=1,
                gate="before_norm",
                gate_activation="silu",
                gate_rank=4,
                gate_bias=True,
                scale=0.25,
            ),
        ),
        model(
            "lightnet_short_conv",
            lambda: lightnet(
                heads=4, short_conv=4, conv_bias=True, query_activation="identity", gate_activation="silu"
            ),
        ),
        model(
            "lightnet_no_gate", lambda: lightnet(heads=2, gate=None, norm="layer", bias=True, query_activation="gelu")
        ),
        model("lightnet_widths", lambda: lightnet(heads=2, key_width=24, value_width=40, output_bias=True)),
        model("lightnet_cosine", lambda: lightnet(heads=2, lrpe="cosine", initial_sum=1)),
        model("lightnet_cosine_base", lambda: lightnet(heads=1, lrpe="cosine", lrpe_base=10000)),
        model(
            "lightnet_cosine_image",
            lambda: lightnet(heads=2, lrpe="cosine", lrpe_base=10000, shape="20x30", conditions=2),
        ),
        model("lightnet_cosine_sliced", lambda: lightnet(heads=2, lrpe="cosine", shape="20x30", theta_layout="sliced")),
        model("lightnet_tpe", lambda: lightnet(heads=2, before=functools.partial(tpe, heads=2))),
        model("lightnet_tpe_image", lambda: lightnet(heads=2, before=functools.partial(tpe, heads=4, shape="20x30"))),
        model("lightnet_sums", lambda: lightnet(heads=2, before=functools.partial(sums, modes=3))),
        model("lightnet_state_space", lambda: lightnet(heads=2, before=functools.partial(space, states=8))),
        model("lightnet_s4d", lambda: lightnet(heads=2, before=functools.partial(space, states=8, s4d=True))),
        model("lightnet_sums_image", lambda: lightnet(heads=2, before=functools.partial(sums, modes=2, shape="20x30"))),
        model("lightnet_mask", lambda: lightnet(heads=2, mask=3, **plain)),
        model("lightnet_1_channel", lambda: lightnet(width=1, block_norm=None, depth=1, **plain)),
        model("lightnet_2_channels", lambda: lightnet(width=2, heads=2, block_norm="rms_norm", **plain)),
        model("lightnet_1_row", lambda: lightnet(heads=2), length=1),
        model("lightnet_24_layers", lambda: lightnet(width=32, depth=24, heads=2), large=True),
        model("lightnet_24_layers_of_8", lambda: lightnet(width=8, depth=24, heads=2), large=True),
        model(
            "lightnet_2048_channels",
            lambda: lightnet(width=2048, depth=1, heads=32, gate=None, glu=False),
            length=130,
            large=True,
        ),
    ],
}

# ---- CHELA blocks between an embedding of raw numbers and a head; their branches are merged ------


def chela_blocks(**options):
    weights, width = families.Weights(), 24
    weights.linear("embed_tokens", width, 1)
    blocks = [families.chela_layer(weights, f"layers.{n}", width, **options) for n in range(2)]
    weights.linear("classifier.0.0", 5, width)
    layers = [
        {"type": "linear", "name": "embed_tokens", "out_features": width},
        *blocks,
        {"type": "linear", "name": "logits", "prefix": "classifier.0.0", "out_features": 5},
    ]
    return families.model("chela", 1, layers), weights.tensors


def merged(what="", everywhere=True, at=""):
    """At least two merges, each within its certificate's bound; all of them (or one), in layers named like `at`, `what`."""

    def expect(report):
        merges = [fusion for fusion in report["fusion"] if fusion["pass"] == "merge_branches"]
        assert len(merges) >= 2, merges
        assert all(fusion["error"] <= fusion["bound"] for fusion in report["fusion"]), report["fusion"]
        if what:
            found = [merge["what"] == what for merge in merges if at in merge["layer"]]
            assert found and (all if everywhere else any)(found), merges
        return f"{merges[0]['layer']}: {merges[0]['what']}"

    return expect


multi_scale = {"long": "sgconv", "l_max": 500, "kernel_dim": 8}
looks_ahead = [("layers.1/long", "it is bidirectional"), ("layers.1/attention", "its attention is two-sided")]
CHELA_BLOCKS = [
    Case(
        "chela_serial_silu",
        lambda: chela_blocks(),
        expect=merged("branches {3, 13, identity} → 13 taps and a bias", at="/short"),
    ),
    Case(
        "chela_serial_linear_heads",
        lambda: chela_blocks(short_mode="serial_linear", norm="layer", heads=3, att_norm_groups=3),
        expect=merged(),
    ),
    Case(
        "chela_parallel",
        lambda: chela_blocks(short_mode="parallel", prenorm=False),
        expect=merged("branches {3, 13, identity, 200} → 200 taps and a bias", everywhere=False),
    ),
    Case("chela_multi_scale", lambda: chela_blocks(**multi_scale, residual="normalised"), expect=merged()),
    Refused("chela_two_sided", lambda: chela_blocks(causal=False), looks_ahead),
    Refused(
        "chela_two_sided_multi_scale",
        lambda: chela_blocks(causal=False, short_mode="parallel", **multi_scale),
        looks_ahead,
    ),
]

# ---- softmax attention and long convolutions in one model ----------------------------------------


def hybrid(name, pattern, flags=(), **options):
    return Case(
        f"hybrid_{name}",
        lambda: hybrids.package(pattern, **options),
        blocks=[1, 8, 50],
        length=200,
        flags=flags,
        limit=INTEGER_LIMIT if "int8" in flags else LIMIT,
    )


HYBRIDS = [
    hybrid("relative", "AAC", heads=2, window=33, relative=True),
    hybrid("relative_int8", "AC", ("--weights", "int8"), heads=2, window=33, relative=True),
    hybrid("rotary", "ACA", heads=3, window=70, rotary=True, rotary_pairs="interleaved"),
    hybrid("narrow", "AA", heads=5, head_width=3, window=1),
    Refused(
        "hybrid_all_rows",
        lambda: hybrids.package("AC", heads=2),
        [(None, "it attends to every row before it, more than any state holds; give it a window")],
        length=200,
    ),
    Refused(
        "hybrid_two_sided",
        lambda: hybrids.package("AC", heads=2, causal=False),
        [(None, "it attends to later rows (causal is false)")],
        length=200,
    ),
]

# ---- one algorithm of long convolutions, forced --------------------------------------------------
# Offline runs go through `right_angle`, so one algorithm is the other's reference. `direct` serves
# both, with the same bits: there only the matrix multiplications behind it may differ, by 2e-6.

SHAPES = [(2, 1, 500, 10), (1, 20, 333, 20), (2, 48, 1000, 30), (1, 160, 700, 32)]  # layers, width, taps, block
ALGORITHMS = [
    Case(
        f"{algorithm}_{layers}_layers_of_{width}",
        stack(layers, width, taps),
        blocks=[block],
        length=3 * taps,
        algorithm=algorithm,
        limit=2e-6 if algorithm == "direct" else 1e-5,
    )
    for layers, width, taps, block in SHAPES
    for algorithm in ("direct", "partitioned", "nonuniform")
]

# Blocks that divide the rings of `dyadic`, that do not, and one that takes several calls. Blocks of
# one row are slow where caches are rebuilt through thousands of taps, so the longest kernel has
# none. The large ones combine channels, taps and blocks that others have as well.
DYADIC = [
    Case(
        f"dyadic_{width}_channels_{taps}_taps_{kernel_dim}",
        stack(2, width, taps, kernel_dim=kernel_dim),
        blocks=blocks,
        length=20000 if taps > 10000 else 3 * taps + 500,
        walks=5,
        algorithm="dyadic",
        large=large,
    )
    for width, taps, kernel_dim, blocks, large in [
        (1, 64, 16, [10], False),
        (2, 64, 16, [1], True),
        (16, 64, 16, [1, 7, 63], False),
        (1, 1024, 32, [16, 1, 160, 640], True),
        (2, 1024, 64, [97], False),
        (16, 1024, 32, [160], True),
        (16, 1024, 2, [16, 1, 160], False),
        (1, 16384, 64, [160], True),
        (16, 16384, 64, [64], True),
        (2, 16384, 32, [16, 64, 320], False),
    ]
]

# ---- several entries over one state --------------------------------------------------------------


def entries_reported(report):
    """Every entry is there with what taking it over costs."""
    entries = [entry for entry in report["entries"] if entry["kind"] == "stream"]
    assert all(entry["delay"] == 0 and entry["calls"] > 0 for entry in entries), entries
    cached = [entry for entry in entries if entry["cache_bytes"]]
    assert all(entry["switch"]["calls"] > 0 for entry in cached), entries
    return f"caches in blocks {[entry['block'] for entry in cached]}"


ENTRIES = [
    Case(
        f"entries_{taps}{'_200_walks' if large else ''}",
        stack(2, 16, taps, kernel_dim=16 if taps <= 1024 else 32),
        blocks=[16, 1, 160, 640],
        length=max(2 * taps, 6400) if taps <= 1024 else 20000,
        walks=200 if large else 20,
        expect=entries_reported,
        large=large,
    )
    for taps, large in ((64, False), (1024, False), (64, True), (1024, True), (16000, True))
]

GROUPS = {
    **FAMILIES,
    "chela_blocks": CHELA_BLOCKS,
    "hybrids": HYBRIDS,
    "algorithms": ALGORITHMS,
    "dyadic": DYADIC,
    "entries": ENTRIES,
}
