#!/usr/bin/env python3
"""Whole sequences of every family whose layers are the GPU's and the CPU's by turns: the golden vectors of the artifact hold on the device, and its outputs
are those of the CPU alone.

    placement_test.py LONGWAVE FOLDER [--assignments N] [NAMES...]

Seeded assignments: every other layer, all but one, and N at random. Then one by measured times, which says what it does; and the refusals.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import families
import sc10_package

try:
    import numpy as np
except ImportError:
    print("SKIPPED: needs numpy")
    sys.exit(77)

LIMIT = 1e-5  # of the peak (longwave/vulkan.h); the golden vectors keep the limit of their family
LENGTH = 128
MODELS = {
    "sgconv": lambda: families.sgconv(width=24, depth=2),
    "sgconv_two_sided": lambda: families.sgconv(width=10, depth=1, bidirectional=True),
    "chela": lambda: families.chela(width=24, depth=1),
    "lightnet": lambda: families.lightnet(width=16, depth=1, heads=2),
    "orchid": lambda: families.orchid(width=16, l_max=LENGTH, depth=2),
}


class Cli:
    def __init__(self, longwave, scratch):
        self.longwave, self.scratch = longwave, scratch
        devices = self("devices", "--json").stdout.splitlines()
        self.target = json.loads(devices[1])["targets"][-1]

    def __call__(self, *arguments, fails=None):
        done = subprocess.run([str(self.longwave), *map(str, arguments)], capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == (fails is not None), (
            f"longwave {' '.join(map(str, arguments))}: {done.stdout[-500:]}{done.stderr[-1500:]}"
        )
        for part in fails or ():
            assert part in done.stderr, (part, done.stderr)
        return done

    def compile(self, package, *place, fails=None, target=None, length=LENGTH):
        path = self.scratch / "model.lw"
        done = self(
            "compile",
            package,
            "-o",
            path,
            "--target",
            target or f"host,{self.target}",
            "--length",
            length,
            "--no-stream",
            "--json",
            "--quiet",
            *place,
            fails=fails,
        )
        return path, json.loads(done.stdout) if fails is None else done.stderr

    def outputs(self, path, device):
        to = self.scratch / f"{device}.npy"
        self("run", path, "--input", f"x=@{self.scratch / 'x.npy'}", "--device", device, "-o", f"y={to}")
        return np.load(to).astype(np.float64)


def layers_of(report):
    """Layers with a kernel in the GPU's run, in their order."""
    return [
        layer["layer"]
        for layer in report["layers"]
        if any("vulkan" in kernels["entry"] for kernels in layer.get("kernels", []))
    ]


def check(cli, package, here, on_processor):
    """One assignment; returns the error and what is moved."""
    path, report = cli.compile(package, "--place", ",".join(f"{layer}=cpu" for layer in on_processor))
    placement = report["gpu"]["placement"]
    placed = {layer["layer"] for layer in placement["layers"] if layer["device"] == "cpu"}
    assert set(on_processor) <= placed, (on_processor, placed)
    assert all("why" in layer for layer in placement["layers"] if layer["device"] == "cpu")
    inspected = json.loads(cli("inspect", path, "--json", "--steps").stdout)
    mixed = [entry for entry in inspected["entries"] if entry["mixed"]]
    assert len(mixed) == 1, inspected["entries"]
    moves = [step for step in mixed[0]["plan"] if step["kernel"] == "move"]
    assert len(moves) == placement["moves"] > 0 and placement["moved_bytes"] > 0
    cli("verify", path, "--device", "vulkan")
    there = cli.outputs(path, "vulkan")
    error = abs(there - here).max() / abs(here).max()
    assert error <= LIMIT, (on_processor, error)
    return error, placement


def check_model(cli, folder, name, assignments):
    package = folder / f"placed_{name}"
    description, weights = MODELS[name]()
    sc10_package.write(package, description, weights)
    x = np.random.default_rng(3).standard_normal((LENGTH, description["inputs"][0]["width"])).astype(np.float32)
    np.save(cli.scratch / "x.npy", x)
    path, report = cli.compile(package)
    assert "placement" not in report["gpu"], report["gpu"]
    layers, here = layers_of(report), cli.outputs(path, "cpu")
    assert len(layers) > 1, layers
    seeded = random.Random(name)
    some = [layers[::2], [layer for layer in layers if layer != layers[len(layers) // 2]]]
    while len(some) < 2 + assignments:
        some.append([layer for layer in layers if seeded.random() < 0.5])
    worst, most = 0, 0
    for on_processor in some:
        if not 0 < len(on_processor) < len(layers):
            continue
        error, placement = check(cli, package, here, on_processor)
        worst, most = max(worst, error), max(most, placement["submissions"])
    print(
        f"{name:18} {len(layers)} layers, {len(some)} assignments, up to {most} submissions: within {worst:.1e}",
        flush=True,
    )
    return package, path, layers, here


def check_measured(cli, package, layers, here):
    """By times that are measured, and by times that are made up, which leave no doubt."""
    path, _ = cli.compile(package)
    times = json.loads(cli("bench", path, "--device", "vulkan", "--layers", "--json").stdout)
    assert [row["layer"] for row in times["layers"]] == layers, times
    # A software device may give a short layer the same time stamp before and behind it.
    assert all(row["cpu_us"] > 0 and row["gpu_us"] >= 0 for row in times["layers"]), times
    assert sum(row["gpu_us"] for row in times["layers"]) > 0, times
    assert times["submission_us"] > 0 and times["byte_us"] > 0, times
    file = cli.scratch / "times.json"
    file.write_text(json.dumps(times))
    path, report = cli.compile(package, "--place", file)
    assert ("placement" in report["gpu"]) != ("no_runs" in report["gpu"]), report["gpu"]
    there = cli.outputs(path, "vulkan" if "placement" in report["gpu"] else "cpu")
    assert abs(there - here).max() / abs(here).max() <= LIMIT
    # One layer in the middle costs the GPU a second, every other the CPU.
    slow = layers[len(layers) // 2]
    for row in times["layers"]:
        row["cpu_us"], row["gpu_us"] = (10, 1e6) if row["layer"] == slow else (1e6, 10)
    file.write_text(json.dumps(times))
    path, report = cli.compile(package, "--place", file)
    placement = report["gpu"]["placement"]
    assert [layer["layer"] for layer in placement["layers"] if layer["device"] == "cpu"] == [slow], placement
    assert placement["predicted"]["exact"] and placement["predicted"]["us"] < 1e6 < placement["predicted"]["cpu_us"], (
        placement
    )
    assert all("why" in layer and "cpu_us" in layer and "gpu_us" in layer for layer in placement["layers"])
    there = cli.outputs(path, "vulkan")
    assert abs(there - here).max() / abs(here).max() <= LIMIT
    # Moving costs more than anything: all stays on one side, and that is the CPU's, where inputs
    # and outputs are.
    times["submission_us"] = 1e9
    file.write_text(json.dumps(times))
    path, report = cli.compile(package, "--place", file)
    assert "no layer is left for" in report["gpu"]["no_runs"] and "by the times measured" in report["gpu"]["no_runs"], (
        report["gpu"]
    )
    assert all("gpu" not in entry for entry in report["entries"]), report["entries"]
    assert (cli.outputs(path, "cpu") == here).all()
    for key, value, part in (
        ("layer_times", 9, "version 9"),
        ("model", "another", '"another"'),
        ("layers", times["layers"][1:], "no time of layer"),
        ("byte_us", -1, "byte_us"),
    ):
        file.write_text(json.dumps({**times, key: value}))
        cli.compile(package, "--place", file, fails=["times.json", part])
    file.write_text("[" * 100)
    cli.compile(package, "--place", file, fails=["no times of layers"])
    print("measured times: the artifact does what they say; others are refused in a line", flush=True)


def check_refusals(cli, package, layers):
    cli.compile(package, "--place", "no.such=cpu", fails=["no.such", layers[0]])
    cli.compile(package, "--place", f"{layers[0]}=gpu", fails=["expected auto"])
    cli.compile(package, "--place", "auto", target="host", fails=["no --target of a GPU"])
    cli.compile(package, "--place", ",".join(f"{layer}=cpu" for layer in layers), fails=["no layer is left for"])
    _, report = cli.compile(package, "--place", "auto")
    assert "placement" not in report["gpu"], report["gpu"]
    print("refusals name what is wrong and the way out", flush=True)


def check_automatic(cli, folder):
    """A circular convolution around a prime number of rows, more than shared memory holds: the others run there."""
    package, length = folder / "placed_prime", 1031
    description, weights = families.orchid(width=4, l_max=length, depth=1)
    # What lies around it runs there.
    weights = dict(weights)
    for name in ("in", "out"):
        part = families.Weights(5)
        part.linear(name, 4, 4)
        weights.update(part.tensors)
    linear = [{"name": name, "type": "linear", "out_features": 4} for name in ("in", "out")]
    description["layers"] = [linear[0], *description["layers"], linear[1]]
    description["outputs"] = [{"name": "y", "from": "out"}]
    sc10_package.write(package, description, weights)
    x = np.random.default_rng(3).standard_normal((length, 4)).astype(np.float32)
    np.save(cli.scratch / "x.npy", x)
    target = "host,vulkan-16k"
    _, refused = cli.compile(package, target=target, length=length, fails=["layer ", "--place auto"])
    path, report = cli.compile(package, "--place", "auto", target=target, length=length)
    placed = {layer["layer"]: layer for layer in report["gpu"]["placement"]["layers"]}
    there = [layer for layer, row in placed.items() if row["device"] == "cpu"]
    assert there and all(
        f"layer {layer}:" in refused and "does not run on vulkan-16k" in placed[layer]["why"] for layer in there
    ), (refused, placed)
    assert placed["in"]["device"] == placed["out"]["device"] == "gpu", placed
    cli("verify", path, "--device", "vulkan")
    here, mixed = cli.outputs(path, "cpu"), cli.outputs(path, "vulkan")
    assert abs(mixed - here).max() / abs(here).max() <= LIMIT
    print(f"auto: {', '.join(there)} on the CPU, {len(placed) - len(there)} layers on the GPU", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", choices=[[], *MODELS])
    parser.add_argument("--assignments", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        cli = Cli(options.longwave, pathlib.Path(name))
        for model in options.names or MODELS:
            package, _, layers, here = check_model(cli, pathlib.Path(name), model, options.assignments)
            if model == "sgconv":
                check_measured(cli, package, layers, here)
                check_refusals(cli, package, layers)
        check_automatic(cli, pathlib.Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
