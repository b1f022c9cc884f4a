#!/usr/bin/env python3
"""Proofs allow what float32 itself makes of a model: deep_model_test.py LONGWAVE SCRATCH_FOLDER

24 layers of SGConv and gate that amplify rounding errors (projections several times as large as usual, no residual
path) are proved within the limit told by the report, which grows with the amplification; without norms float32 cannot
compute them, and the compiler says so. Chains of long random filters amplify the errors of transforms, which spread over
all rows of a run, and not those of sums. Standard library only.
"""

import array
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import large_package  # noqa: E402
import sc10_package  # noqa: E402

LAYERS, WIDTH, KERNEL_DIM, SCALES = 24, 32, 8, 3


class Amplified(large_package.Weights):
    gain = 1.0

    def normal(self, key, shape, scale):
        super().normal(key, shape, scale * (self.gain if "output_linear" in key else 1.0))


def package(folder, gain, norms):
    """A stack without residual paths."""
    Amplified.gain, large_package.Weights = gain, Amplified
    large_package.package(folder, LAYERS, WIDTH, KERNEL_DIM, SCALES)
    model = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    *blocks, head = model["layers"]
    layers = []
    for n, block in enumerate(blocks):
        layers += [block["norm"] | {"name": f"norm{n}"}] if norms else []
        layers += [block["layers"][0] | {"name": f"layer{n}"}]
    model["layers"] = [*layers, head]
    (folder / "model.json").write_text(json.dumps(model), encoding="utf-8")
    return folder


def compile_it(longwave, folder):
    command = [longwave, "compile", folder, "-o", folder / "model.lw", "--target", "host", "--length", "256", "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, json.loads(done.stdout) if done.returncode == 0 else None


def chain(folder, layers, taps=600, channels=4):
    """Filters without anything between them: gaussian taps, each output as large as its input."""
    weights = {}
    for n in range(layers):
        numbers = random.Random(n)
        weights[f"l{n}.weight"] = (
            [channels, 1, taps],
            array.array("f", [numbers.gauss(0, taps**-0.5) for _ in range(channels * taps)]),
        )
    sc10_package.write(
        folder,
        {
            "format": "longwave-model",
            "version": 1,
            "name": "chain",
            "inputs": [{"name": "x", "kind": "features", "width": channels}],
            "layers": [
                {
                    "type": "conv1d",
                    "name": f"l{n}",
                    "out_channels": channels,
                    "kernel": taps,
                    "groups": channels,
                    "bias": False,
                }
                for n in range(layers)
            ],
            "outputs": [{"name": "y", "from": f"l{layers - 1}"}],
        },
        weights,
    )
    return folder


def compile_chain(longwave, folder, algorithm):
    command = [
        longwave,
        "compile",
        folder,
        "-o",
        folder / "model.lw",
        "--target",
        "host",
        "--length",
        "2048",
        "--no-stream",
        "--convolution",
        algorithm,
        "--json",
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, json.loads(done.stdout) if done.returncode == 0 else None


def check_chains(longwave, folder):
    for layers in (1, 12, 16):
        packed = chain(folder / f"chain{layers}", layers)
        for algorithm in ("direct", "right_angle", "polyphase", "overlap_add"):
            code, said, report = compile_chain(longwave, packed, algorithm)
            assert code == 0, (layers, algorithm, said)
            precision = report["precision"]
            print(
                f"{layers} filters, {algorithm}: rounding {precision['rounding']:.1e}, limit {precision['limit']:.1e}"
            )
            assert precision["rounding"] < (1e-6 if algorithm == "direct" or layers == 1 else 1e-3), precision
            # The shortest runs: what lies behind them must not add to their errors.
            done = subprocess.run(
                [longwave, "verify", packed / "model.lw", "--json"], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
    code, said, _ = compile_chain(longwave, chain(folder / "long", 40), "right_angle")
    assert (
        code == 3 and "the transforms of its long convolutions move it by" in said and "--convolution direct" in said
    ), (code, said)
    print(said.strip())
    code, said, _ = compile_chain(longwave, folder / "long", "direct")
    assert code == 0, said


def main():
    longwave, scratch = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="deep-model-", dir=scratch) as name:
        for gain in (0.5, 1, 4):
            code, said, report = compile_it(longwave, package(pathlib.Path(name) / f"gain{gain}", gain, True))
            assert code == 0, said
            precision, proof = report["precision"], report["proof"]
            worst = max(variant["largest_error"] for variant in proof["variants"])
            print(
                f"projections {gain} x: float32 values alone {precision['rounding']:.1e}, limit {precision['limit']:.1e}, "
                f"stream against whole {worst:.1e}"
            )
            assert proof["holds"] and worst <= 1e-5 + 16.01 * precision["rounding"]
            assert abs(precision["limit"] - 2e-5 - 8 * precision["rounding"]) < 1e-9, "a limit that follows nothing"
        assert precision["rounding"] > 1e-5, "expected a model that amplifies rounding errors"
        code, said, _ = compile_it(longwave, package(pathlib.Path(name) / "growing", 6, False))
        assert code == 3 and "float32 cannot compute this model" in said, (code, said)
        print(said.strip())
        check_chains(longwave, pathlib.Path(name))


if __name__ == "__main__":
    main()
