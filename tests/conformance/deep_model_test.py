#!/usr/bin/env python3
"""Proofs allow what float32 itself makes of a model: deep_model_test.py LONGWAVE SCRATCH_FOLDER

24 layers of SGConv and gate that amplify rounding errors (projections several times as large as usual, no residual
path) are proved within the limit told by the report, which grows with the amplification; without norms float32 cannot
compute them, and the compiler says so. Standard library only.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import large_package  # noqa: E402

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


def compile_it(longwave, scratch, folder):
    command = [longwave, "compile", folder, "-o", folder / "model.lw", "--target", "host", "--length", "256", "--json",
               "--cache", scratch / "kernels"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    return done.returncode, done.stderr, json.loads(done.stdout) if done.returncode == 0 else None


def main():
    longwave, scratch = map(lambda path: pathlib.Path(path).resolve(), sys.argv[1:3])
    scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="deep-model-", dir=scratch) as name:
        for gain in (0.5, 1, 4):
            code, said, report = compile_it(longwave, scratch, package(pathlib.Path(name) / f"gain{gain}", gain, True))
            assert code == 0, said
            precision, proof = report["precision"], report["proof"]
            worst = max(variant["largest_error"] for variant in proof["variants"])
            print(f"projections {gain} x: float32 values alone {precision['rounding']:.1e}, limit {precision['limit']:.1e}, "
                  f"stream against whole {worst:.1e}")
            assert proof["holds"] and worst <= 1e-5 + 16.01 * precision["rounding"]
            assert abs(precision["limit"] - 2e-5 - 8 * precision["rounding"]) < 1e-9, "a limit that follows nothing"
        assert precision["rounding"] > 1e-5, "expected a model that amplifies rounding errors"
        code, said, _ = compile_it(longwave, scratch, package(pathlib.Path(name) / "growing", 6, False))
        assert code == 3 and "float32 cannot compute this model" in said, (code, said)
        print(said.strip())


if __name__ == "__main__":
    main()
