#!/usr/bin/env python3
"""What cannot be is refused in so many words: a table of packages and commands, each with the exact lines that come back. A line names the layer (its path in
model.json, its address, or the tensor), says why, and what to do instead.

    refusals_test.py LONGWAVE FOLDER
"""

import array
import pathlib
import subprocess
import sys
import tempfile

import families
import sc10_package

USAGE, BAD_INPUT = 2, 3
sgconv, chela, lightnet, orchid = families.sgconv, families.chela, families.lightnet, families.orchid

INSTEAD = "compile without --stream for offline runs, or with --window N --hop M to slide over a stream"
BIDIRECTIONAL = "it is bidirectional (the second kernel reads samples after t)"
TWO_SIDED = "its attention is two-sided (every row reads a sum over the whole sequence)"
OPTIONS = 'set the options that the weights were trained with, or name another tensor with "keys"'

STREAMS = [  # of what looks ahead
    (sgconv(depth=1, bidirectional=True), [f"layer layers.0/layers.0.conv looks ahead: {BIDIRECTIONAL}"]),
    (
        chela(depth=1, causal=False),
        [f"layer layers.0/long looks ahead: {BIDIRECTIONAL}", f"layer layers.0/attention looks ahead: {TWO_SIDED}"],
    ),
    (
        lightnet(depth=1, causal=False),
        [
            "layer layers.0.token/layers.0.attention looks ahead: its keys are normalised over the whole sequence (a softmax over time)",
            f"layer layers.0.token/layers.0.attention looks ahead: {TWO_SIDED}",
        ],
    ),
    (orchid(), ["layer layers.0 looks ahead: it is circular: every output depends on the whole sequence"]),
]


def first_row(description, weights):
    description["layers"].append({"type": "first", "name": "pool"})
    description["outputs"] = [{"name": "y", "from": "pool"}]


def set_option(**options):
    """In the first layer that is no residual."""

    def edit(description, weights):
        layer = description["layers"][0]
        (layer["layers"][0] if layer["type"] == "residual" else layer).update(options)

    return edit


def reshape(key, shape):
    count = 1
    for size in shape:
        count *= size

    def edit(description, weights):
        weights[key] = (shape, array.array("f", [0.5] * count))

    return edit


def rename(key, to):
    return lambda description, weights: weights.update({to: weights.pop(key)})


def remove(key):
    return lambda description, weights: weights.pop(key) and None


ATTENTION = 'layers[0].layers[0] (layers.0.token/layers.0.attention): tensor "layers.0.attention'
CONV = 'layers[0].layers[0] (layers.0/layers.0.conv): tensor "layers.0.conv'
PACKAGES = [  # that are wrong: package, change, lines
    # Modes that do not exist.
    (
        sgconv,
        set_option(mode="cat_randm"),
        [
            'layers[0].layers[0].mode (layers.0/layers.0.conv): expected words of the official modes, joined by _, found "randm"; did you mean "randn"?'
        ],
    ),
    (
        sgconv,
        set_option(mode="hankel"),
        [
            'layers[0].layers[0].mode (layers.0/layers.0.conv): expected a published parameterisation, found "hankel"; '
            "it is not supported: no published configuration uses it"
        ],
    ),
    (
        chela,
        set_option(short_mode="serial"),
        ['layers[0].short_mode: expected "serial_silu" or "serial_linear" or "parallel", found the text "serial"'],
    ),
    (
        lightnet,
        set_option(gate="middle"),
        ['layers[0].layers[0].gate: expected null or "before_norm" or "after_norm", found the text "middle"'],
    ),
    (
        orchid,
        set_option(transform="dst"),
        [
            'layers[0].transform: expected "fft" or "fft-o" or "dct" or "dctxd-o", found the text "dst"; did you mean "dct"?'
        ],
    ),
    (
        orchid,
        set_option(conditioning="corrTime"),
        [
            "layers[0].causal (layers.0): expected false with corrTime and a Fourier transform: it multiplies spectra of "
            "the sequence's length, found true"
        ],
    ),
    (
        lambda **options: orchid(width=1, **options),
        lambda description, weights: None,
        [
            'layers[0].transform (layers.0): expected dct or dctxd-o for one feature, found "fft"; Fourier transforms need 2 features or more'
        ],
    ),
    # Kernels longer than their layers declare.
    (
        sgconv,
        reshape("layers.0.conv.kernel_list.2", [1, 24, 16]),
        [f'{CONV}.kernel_list.2": expected shape [1, 24, 8], found [1, 24, 16]; {OPTIONS}'],
    ),
    (
        sgconv,
        set_option(l_max=50),
        [
            "layers[0].layers[0].num_scales (layers.0/layers.0.conv): expected 4 scales (1 + ceil(log2(l_max / kernel_dim)) - init_scale), "
            'found kernel_list.0 to kernel_list.5 in the weights; set "num_scales": 6 if the weights are right'
        ],
    ),
    (
        chela,
        reshape("layers.0.short.0.conv.weight", [24, 1, 5]),
        [
            f'layers[0] (layers.0/short): tensor "layers.0.short.0.conv.weight": expected shape [24, 1, 3], found [24, 1, 5]; {OPTIONS}'
        ],
    ),
    (
        lambda **options: lightnet(short_conv=4, **options),
        reshape("layers.0.attention.q_conv1d.weight", [16, 1, 6]),
        [f'{ATTENTION}.q_conv1d.weight": expected shape [16, 1, 4], found [16, 1, 6]; {OPTIONS}'],
    ),
    (
        orchid,
        set_option(l_max=64),
        [
            f'layers[0] (layers.0): tensor "layers.0.{tensor}": expected shape [1, 64, {width}], found [1, 128, {width}]; {OPTIONS}'
            for tensor, width in (
                ("fixed_conv.pos_emb.t", 1),
                ("fixed_conv.pos_emb.z", 3),
                ("fixed_conv_res.pos_emb.t", 1),
                ("fixed_conv_res.pos_emb.z", 3),
            )
        ],
    ),
    # State dicts with other keys or shapes.
    (sgconv, remove("layers.0.conv.D"), [f'{CONV}.D": expected shape [1, 24], found no such tensor; {OPTIONS}']),
    (
        sgconv,
        remove("layers.0.conv.kernel_list.1"),
        [f'{CONV}.kernel_list.1": expected shape [1, 24, 8], found no such tensor; {OPTIONS}'],
    ),
    (sgconv, reshape("layers.0.conv.D", [24, 1]), [f'{CONV}.D": expected shape [1, 24], found [24, 1]; transpose it']),
    (
        chela,
        rename("layers.0.v_proj.weight", "layers.0.value.weight"),
        [
            'layers[0] (layers.0/v_proj): tensor "layers.0.v_proj.weight": expected shape [24, 24], found no such tensor; did you mean "layers.0.value.weight"?'
        ],
    ),
    (
        chela,
        reshape("layers.0.gamma", [24, 2]),
        ['layers[0] (layers.0): tensor "layers.0.gamma": expected shape [2, 24], found [24, 2]; transpose it'],
    ),
    (
        lightnet,
        remove("layers.0.attention.q_proj.weight"),
        [f'{ATTENTION}.q_proj.weight": expected shape [16, 16], found no such tensor; {OPTIONS}'],
    ),
    (
        lightnet,
        reshape("layers.0.attention.norm.weight", [8]),
        [f'{ATTENTION}.norm.weight": expected shape [16], found [8]; {OPTIONS}'],
    ),
    (
        orchid,
        rename("layers.0.in_linear.bias", "layers.0.in_linear.biases"),
        [
            'layers[0] (layers.0): tensor "layers.0.in_linear.bias": expected shape [48], found no such tensor; did you mean "layers.0.in_linear.biases"?'
        ],
    ),
    (
        orchid,
        reshape("layers.0.fixed_conv.modulation.deltas", [1, 1, 8]),
        [
            f'layers[0] (layers.0): tensor "layers.0.fixed_conv.modulation.deltas": expected shape [1, 1, 16], found [1, 1, 8]; {OPTIONS}'
        ],
    ),
]


class Refusals:
    def __init__(self, longwave, scratch):
        self.longwave, self.scratch, self.count = longwave, scratch, 0

    def compile(self, package, *flags, edit=None):
        description, weights = package
        if edit:
            edit(description, weights)
        self.count += 1
        name = self.scratch / f"package{self.count}"
        sc10_package.write(name, description, weights)
        artifact = name.with_suffix(".lw")
        return artifact, self.run("compile", name, "-o", artifact, "--target", "host", "--quiet", *flags)

    def run(self, *arguments):
        return subprocess.run([self.longwave, *map(str, arguments)], capture_output=True, text=True)

    def check(self, done, code, lines):
        found, expected = done.stderr.strip().split("\n"), ["error: " + lines[0], *lines[1:]]
        assert found == expected, "found:\n  " + "\n  ".join(found) + "\nexpected:\n  " + "\n  ".join(expected)
        assert done.returncode == code and done.stdout == "", done


def main():
    longwave, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(dir=folder) as name:
        to = Refusals(longwave, pathlib.Path(name))
        for package, lines in STREAMS:
            artifact, done = to.compile(package, "--stream")
            to.check(done, USAGE, [*lines, INSTEAD])
            assert not artifact.exists()
        _, done = to.compile(sgconv(depth=1), "--stream", edit=first_row)
        to.check(
            done,
            USAGE,
            [
                "layer pool looks ahead: it answers with the first position of the sequence, which a stream has no use for",
                INSTEAD,
            ],
        )
        for package, edit, lines in PACKAGES:
            artifact, done = to.compile(package(depth=1), edit=edit)
            to.check(done, BAD_INPUT, lines)
            assert not artifact.exists()
        _, done = to.compile(sgconv(depth=1), "--convolution", "fastest")
        to.check(
            done,
            USAGE,
            [
                "--convolution fastest: expected one of step, chunk, scan, rows, direct, overlap_add, overlap_add_phases, right_angle, polyphase, partitioned, nonuniform, dyadic, registers, fused, four_step, blocks, tiles, queries, recurrence, convolution"
            ],
        )

        # Layers that compute nothing, or nothing that is a number.
        for layer, line in (
            (
                "flatten",
                "the model computes nothing: its outputs are its inputs in the same order. Add a layer that computes, or pass the "
                "input on without a model",
            ),
            (
                "sqrt",
                "output y: layer l (sqrt) gives NaN for some inputs between -1 and 1. Keep its inputs where it "
                "has values, for example with `abs` or `clamp` before it",
            ),
        ):
            artifact, done = to.compile(
                (
                    {
                        "format": "longwave-model",
                        "version": 1,
                        "name": "only",
                        "inputs": [{"name": "x", "kind": "features", "width": 4}],
                        "layers": [{"type": layer, "name": "l"}],
                        "outputs": [{"name": "y", "from": "l"}],
                    },
                    {},
                )
            )
            to.check(done, BAD_INPUT, [line])
            assert not artifact.exists()

        # A run of another length than Orchid's.
        _, done = to.compile(orchid(), "--length", "200")
        to.check(
            done,
            BAD_INPUT,
            [
                "layer layers.0: its static kernel has l_max = 128 taps, the sequence 200 rows: compile with --length 128 or less"
            ],
        )
        artifact, done = to.compile(orchid(), "--length", "96")
        assert done.returncode == 0, done.stderr
        done = to.run("run", artifact, "--input", 95)
        to.check(
            done,
            BAD_INPUT,
            ["run: 95 rows; layers.0 reads the whole sequence and takes only 96: compile with --length 95"],
        )
        for rows in (97, 200):
            done = to.run("run", artifact, "--input", rows)
            to.check(
                done,
                BAD_INPUT,
                [
                    f"--input {rows}: has {rows} rows, but an offline run of this model takes at most 96; compile it with a larger --length"
                ],
            )
        assert to.run("run", artifact, "--input", 96).returncode == 0
        done = to.run("run", artifact, "--stream", "--input", 96)
        to.check(
            done, USAGE, ["orchid: the model has no stream entry; compile it with --stream, or use `longwave run`"]
        )
        print(f"{to.count} packages, each refused in its own words")
    return 0


if __name__ == "__main__":
    sys.exit(main())
