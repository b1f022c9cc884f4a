#!/usr/bin/env python3
"""The table of layers in docs/models.md against the program: docs_layers_test.py LONGWAVE

Every layer of the table is compiled. Layers of one kind of input become one model, each with an output of its own:
- Stream: `longwave compile --stream` takes the layers with "yes", and the variant of each other layer that streams. It refuses the
  layers with "no" and the other variant;
- GPU: with `--target host,vulkan` the report has a dispatch for each layer, and none runs on the CPU;
- int8: with `--weights int8` the layers with such weights are those whose column does not say "no" or "-".
The program says which tensors a layer needs, and gets them.
"""

import json
import math
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGWAVE = str(pathlib.Path(sys.argv[1]).resolve())
WIDTH = 16
BRANCHES = [{"kind": "conv1d", "kernel": 3}, {"kind": "identity"}]
CHELA = {"short_branches": BRANCHES, "norm": "layer", "ffn_width": 32}
INPUTS = {
    "x": {"kind": "features", "width": WIDTH},
    "tokens": {"kind": "tokens", "vocabulary": 40},
    "audio": {"kind": "audio", "sample_rate": 16000},
}
# Attributes that a layer needs, and the input if it is not "x".
ATTRIBUTES = {
    "sgconv": {"kernel_dim": 4, "l_max": 16},
    "short_long": {"short_branches": BRANCHES},
    "chela": CHELA,
    "orchid": {"l_max": 640, "filter_order": 8},
    "m2_mlp": {"intermediate": 32, "blocks": 0},
    "attention": {"window": 8},
    "exponential_sums": {"modes": 2},
    "state_space": {"states": 2},
    "gated_mlp": {"hidden": 32},
    "linear": {"out_features": 16},
    "conv1d": {"out_channels": 16, "kernel": 3},
    "conv2d": {"out_channels": 4, "kernel": [3, 3]},
    "branches": {"branches": BRANCHES},
    "patch_embedding": {"out_features": 16, "patch": [4, 4]},
    "log_mel": {"window": 400, "hop": 160, "n_fft": 512, "bands": 20},
    "embedding": {"vocabulary": 40, "width": 16},
    "adaptive_embedding": {"vocabulary": 40, "width": 16, "cutoffs": "20", "factor": 2},
    "adaptive_softmax": {"vocabulary": 40, "cutoffs": "20", "factor": 2},
    "mean_window": {"frames": 4},
    "lightnet_attention": {},
}
# Tensors whose shape is a choice of the model.
SHAPES = {
    "short_long": {"long.k0": [WIDTH, 8], "long.k1": [WIDTH, 8]},
    "chela": {"long.k0": [WIDTH, 8], "long.k1": [WIDTH, 8]},
    "lrpe": {"theta": [WIDTH]},
    "state_space": {"D": [WIDTH]},
}
OF_INPUT = {
    "embedding": "tokens",
    "adaptive_embedding": "tokens",
    "log_mel": "audio",
    "sqrt": "positive",
    "flatten": "image",
    "add": ["x", "positive"],
    "pair_features": ["pooled", "pooled"],
}
# Layers that make the input of others.
BEFORE = {
    "positive": {"type": "abs", "name": "positive", "input": "x"},
    "image": {"type": "conv2d", "name": "image", "input": "x", "out_channels": 2, "kernel": [1, 3]},
    "pooled": {"type": "mean", "name": "pooled", "input": "x"},
}
# The variant that does not stream, of layers whose cell says so.
LOOKS_AHEAD = {
    "sgconv": {"bidirectional": True},
    "short_long": {"causal": False},
    "chela": {"causal": False},
    "lightnet_attention": {"causal": False},
    "attention": {"window": None},
}


def table():
    rows = re.search(
        r"^\| Layer \| Stream.*?\n\n", (ROOT / "docs/models.md").read_text(encoding="utf-8"), re.M | re.S
    ).group()
    for row in rows.split("\n")[2:-2]:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        for name in re.findall(r"`(\w+)`", cells[0]):
            yield name, cells[1], cells[2], cells[3], cells[4]


def layer(kind, attributes):
    one = {
        "type": kind,
        "name": kind,
        **{key: value for key, value in {**ATTRIBUTES.get(kind, {}), **attributes}.items() if value is not None},
    }
    if kind == "residual":
        one["layers"] = [{"type": "linear", "name": "inner", "out_features": WIDTH}]
    read = OF_INPUT.get(kind, "x")
    return {**one, "inputs": read} if isinstance(read, list) else {**one, "input": read}


class Model:
    """A folder with these layers, each an output. Its tensors are those that the compiler asks for."""

    def __init__(self, folder, layers):
        folder.mkdir()
        self.folder, self.shapes = (
            folder,
            {f"{one['name']}.{key}": shape for one in layers for key, shape in SHAPES.get(one["type"], {}).items()},
        )
        before = [
            BEFORE[name]
            for name in sorted(
                {name for one in layers for name in one.get("inputs", [one.get("input")]) if name in BEFORE}
            )
        ]
        inputs = sorted({one["input"] for one in before + layers if one.get("input") in INPUTS})
        model = {
            "format": "longwave-model",
            "version": 1,
            "name": "layers",
            "inputs": [{"name": name, **INPUTS[name]} for name in inputs],
            "layers": before + layers,
            "outputs": [{"name": one["name"], "from": one["name"]} for one in layers],
        }
        (folder / "model.json").write_text(json.dumps(model), encoding="utf-8")
        while True:  # once a tensor is there, the compiler may ask for more
            self.write_weights()
            ran = self.compile("--no-stream", "--target", "x86-64-v3", "--dump-after", "lower")
            wanted = re.findall(r'tensor "([^"]+)": expected shape \[([\d, ]*)\]', ran.stderr)
            missing = {
                key: [int(n) for n in dims.split(",") if n.strip()] for key, dims in wanted if key not in self.shapes
            }
            if not missing:
                break
            self.shapes.update(missing)

    def write_weights(self):
        header, data, drawn = {}, bytearray(), random.Random(1)
        for key, shape in self.shapes.items():
            least = -0.9 if key.endswith("poles") else 0.1  # a pole must not grow
            numbers = [least + 0.8 * drawn.random() for _ in range(math.prod(shape))]
            header[key] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + 4 * len(numbers)]}
            data += struct.pack(f"<{len(numbers)}f", *numbers)
        text = json.dumps(header).encode()
        (self.folder / "weights.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)

    def compile(self, *options):
        return subprocess.run(
            [
                LONGWAVE,
                "compile",
                str(self.folder),
                "--quiet",
                "--no-check",
                "--lengths",
                "640",
                "-o",
                str(self.folder / "m.lw"),
                *options,
            ],
            capture_output=True,
            text=True,
        )

    def report(self, *options):
        ran = self.compile("--json", *options)
        if ran.returncode != 0:
            sys.exit(f"docs/models.md: {' '.join(options)}: {ran.stderr.strip()}")
        return json.loads(ran.stdout)


def groups(kinds):
    """Layers that read audio or tokens need models of their own."""
    of = {}
    for kind in kinds:
        read = OF_INPUT.get(kind, "x")
        of.setdefault(read if isinstance(read, str) and read in INPUTS else "x", []).append(layer(kind, {}))
    return of


def expect(what, documented, found):
    if documented != found:
        sys.exit(
            f"docs/models.md: {what}: the page says {sorted(documented - found)} more, the program {sorted(found - documented)} more"
        )


def main(work):
    rows = {name: cells for name, *cells in table()}
    refused = [layer(kind, {}) for kind, cells in rows.items() if cells[0] == "no"] + [
        layer(kind, LOOKS_AHEAD[kind]) for kind in LOOKS_AHEAD
    ]
    for one in refused:
        ran = Model(work / f"ahead_{one['type']}", [one]).compile("--stream")
        if ran.returncode == 0 or f"layer {one['name']}" not in ran.stderr or "looks ahead" not in ran.stderr:
            sys.exit(f"docs/models.md: {one} has a stream, or another reason for none: {ran.stderr}")
    conditional = {
        kind
        for kind, cells in rows.items()
        if cells[0] not in ("yes", "no") or re.match(r"not with `(causal|bidirectional)`", cells[3])
    }
    expect("layers that stream under a condition", conditional, set(LOOKS_AHEAD))
    Model(work / "late", [layer("branches", {"causal": False})]).report("--stream", "--target", "x86-64-v3")
    for name, layers in groups(kind for kind, cells in rows.items() if cells[0] != "no").items():
        Model(work / f"stream_{name}", layers).report("--stream", "--target", "x86-64-v3")
    rounded = set()
    for name, layers in groups(rows).items():
        report = Model(work / f"all_{name}", layers).report(
            "--no-stream", "--weights", "int8", "--target", "x86-64-v3,vulkan-32k"
        )
        rounded |= {
            one["layer"].split("/")[0]
            for one in report.get("stored_weights", {}).get("layers", [])
            if one["format"] == "int8"
        }
        for one in report["layers"]:
            if "kernels" in one and not any(entry["entry"].startswith("run on vulkan") for entry in one["kernels"]):
                sys.exit(f"docs/models.md: {one['layer']} has no kernels for a GPU")
    expect(
        "layers with int8 weights",
        {kind for kind, cells in rows.items() if cells[2] not in ("no", "-")},
        rounded - {"residual"},
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(pathlib.Path(made))
