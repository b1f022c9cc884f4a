#!/usr/bin/env python3
"""A small model of each family, compiled in several ways: a state that any of these artifacts saves loads into every other one, and the stream continues within
1e-5 of an uninterrupted one. The ways: other lengths, no offline runs, a tuning file, a forced algorithm, other blocks, and a target of a GPU, whose
streams run on the CPU and on the first Vulkan device. Without a device that part is left out, and the last line says so.

    state_matrix_test.py LONGWAVE FOLDER [--family NAME ...]
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys

import state_streams
from state_streams import WIDTH

TICKS = 192
CUTS = [16, 37, 112]  # at the end of a block, within one, and after the longest history
WAYS = {
    "plain": [],
    "length": ["--length", "77"],
    "streams alone": ["--no-whole"],
    "direct": ["--convolution", "direct"],
    "partitioned": ["--convolution", "partitioned"],
    "one block": ["--blocks", "16"],
}


COSTS = pathlib.Path(__file__).resolve().parents[2] / "schedules/long_conv/tables/costs.json"


def other_tuning(folder: pathlib.Path) -> pathlib.Path:
    """A tuning file by which two algorithms take a hundred times as long: the planner chooses others."""
    costs = json.loads(COSTS.read_text())
    for algorithm in ("direct", "dyadic"):
        costs[algorithm] = [[rows, *(100 * time for time in times)] for rows, *times in costs[algorithm]]
    file = folder / "state_tuning.json"
    file.write_text(json.dumps({"tuning": 1, "costs": costs}))
    return file


def compiled(longwave: pathlib.Path, package: pathlib.Path, way: str, options: list) -> pathlib.Path:
    artifact = package.with_name(f"{package.name}_{way.replace(' ', '_')}.lw")
    command = [longwave, "compile", package, "-o", artifact, "--stream", *options]
    if package.name == "state_orchid":  # it looks ahead: its stream slides a window
        command = [*command[:5], "--window", "32", "--hop", "4", *command[6:]]
    elif "--blocks" not in options:
        command += ["--blocks", ",".join(map(str, state_streams.BLOCKS))]
    if "--target" not in options:
        command += ["--target", "host"]  # the library would load no other code
    if not {"--length", "--no-whole", "--window"} & set(command):
        command += ["--length", "64"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr}"
    return artifact


def check(longwave: pathlib.Path, folder: pathlib.Path, family: str, device) -> str:
    api, package = state_streams.library(longwave), state_streams.write(folder, family)
    ways = dict(WAYS, tuned=["--tuning", other_tuning(folder)])
    if family not in ("sgconv", "chela"):
        del ways["partitioned"], ways["direct"]
    if family == "orchid":
        del ways["length"], ways["one block"]
    artifacts = {way: compiled(longwave, package, way, options) for way, options in ways.items()}
    models = {way: state_streams.Model(api, artifact) for way, artifact in artifacts.items()}
    both = compiled(longwave, package, "gpu", ["--target", "host,vulkan-32k"])
    models["GPU artifact on the CPU"] = state_streams.Model(api, both)
    if device:
        models["GPU"] = state_streams.Model(api, both, device)

    source = random.Random(11)
    samples = [source.gauss(0, 1) for _ in range(TICKS * WIDTH)]
    whole = state_streams.Stream(models["plain"])
    expected = whole.push(samples)
    whole.close()
    worst, sizes = 0.0, set()
    for cut in CUTS:
        for saver, model in models.items():
            first = state_streams.Stream(model)
            rows = first.push(samples[: cut * WIDTH])
            state = first.save()
            sizes.add(len(state))
            first.load(state)
            assert first.save() == state, f"{family}: {saver} saves other bytes after it loads a state"
            for loader, other in models.items():
                then = state_streams.Stream(other)
                then.push(samples[: 50 * WIDTH])  # something to overwrite
                then.load(state)
                error = state_streams.largest_error(rows + then.push(samples[cut * WIDTH :]), expected)
                assert error <= 1e-5, f"{family}: from {saver} to {loader} at tick {cut}: {error:.1e} of the peak"
                worst = max(worst, error)
                then.close()
            first.close()
    for model in models.values():
        model.close()
    return f"{family}: {len(models)} x {len(models)} artifacts, {len(CUTS)} ticks: within {worst:.1e}; states of {min(sizes)} to {max(sizes)} bytes"


def check_refusals(longwave: pathlib.Path, folder: pathlib.Path) -> str:
    """States of another model, and of the same model with rounded weights: rejected, and the message says why."""
    api, package = state_streams.library(longwave), state_streams.write(folder, "sgconv")
    artifacts = [
        compiled(longwave, package, "plain", []),
        compiled(longwave, package, "int8", ["--weights", "int8"]),
        compiled(longwave, state_streams.write(folder, "chela"), "plain", []),
    ]
    models = [state_streams.Model(api, artifact) for artifact in artifacts]
    streams = [state_streams.Stream(model) for model in models]
    for other, reason in ((1, "--weights"), (2, "another model")):
        for saver, loader in ((0, other), (other, 0)):
            try:
                streams[loader].load(streams[saver].save())
            except api.Error as error:
                assert reason in str(error), error
            else:
                raise AssertionError(f"{artifacts[loader].name} takes a state of {artifacts[saver].name}")
    for stream in streams:
        stream.close()
    for model in models:
        model.close()
    return "states of another model and of rounded weights are rejected"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--family", nargs="+", default=list(state_streams.FAMILIES))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    state_streams.library(options.longwave)
    device = state_streams.first_device(options.longwave)
    for family in options.family:
        print(check(options.longwave, options.folder, family, device), flush=True)
    print(check_refusals(options.longwave, options.folder), flush=True)
    if device:
        device.close()
    else:
        print("left out: streams on a GPU; there is no Vulkan device (Debian: libvulkan1, mesa-vulkan-drivers)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
