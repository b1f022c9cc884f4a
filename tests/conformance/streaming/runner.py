"""Compiles one case and checks that its stream equals its offline run.

`longwave compile --stream` does the comparing, through the runtime, for every code variant that this CPU runs: the
stream against the offline run, 20 random cuts of the input against each other bit for bit, and random walks through
all stream entries with saved states, copies and resets. This module reads its JSON report and holds it to a limit.
Standard library only.
"""

import dataclasses
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import sc10_package  # noqa: E402

LIMIT = 1e-5  # of the peak of an output, for every family: a stream against its offline run, entries against each other
INTEGER_LIMIT = (
    1e-4  # with int8 weights: the last bit of a float can move its int16 value by a step, 3e-5 of the row's peak
)
AMPLIFIED = 16.01  # times the rounding that the report predicts: deep, narrow models of random weights amplify it


@dataclasses.dataclass
class Case:
    name: str
    package: object  # () -> (model.json object, {key: (shape, floats)})
    blocks: list = dataclasses.field(default_factory=lambda: [1, 7, 64])
    length: int = 600  # capacity of offline runs, input ticks
    walks: int = 20
    flags: tuple = ()
    algorithm: str = ""  # forced, and found in every stream entry of the report
    limit: float = LIMIT
    may_amplify: bool = False  # the limit grows with the rounding that the report predicts
    large: bool = False  # takes long: with --all only
    expect: object = None  # (report) -> text to print; asserts what else this case is about


@dataclasses.dataclass
class Refused:
    """A model that looks ahead: it compiles offline; --stream fails and names each layer and the reason."""

    name: str
    package: object
    reasons: list  # (layer or None, reason)
    length: int = 600
    flags: tuple = ()
    large: bool = False


def in_turns(group):
    """Gives each case of a group a target. The first and the last one run on every level of this CPU, those between them on
    one each, so that each of three algorithms meets each level. What only compiles needs one. Flags may name a target."""
    avx2 = "avx2" in pathlib.Path("/proc/cpuinfo").read_text()
    levels = ["host", "x86-64-v2", "x86-64-v3" if avx2 else "host"]
    for n, case in enumerate(group):
        if isinstance(case, Refused):
            case.flags = ("--target", "host")
        elif n not in (0, len(group) - 1) and "--target" not in case.flags:
            case.flags += ("--target", levels[(n + n // 3) % 3])
    return group


def compile_model(longwave, folder, case, *flags):
    made = folder / f"streaming_{case.name}"
    sc10_package.write(made, *case.package())
    command = [longwave, "compile", made, "-o", made / "model.lw", "--length", case.length, *flags]
    return subprocess.run([*map(str, command)], capture_output=True, text=True)


def check_stream(longwave, folder, case):
    flags = [
        *case.flags,
        *(["--convolution", case.algorithm] if case.algorithm else []),
        *(["--walks", case.walks] if len(case.blocks) > 1 else []),
    ]
    done = compile_model(
        longwave, folder, case, "--stream", "--json", "--blocks", ",".join(map(str, case.blocks)), *flags
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr}"
    report = json.loads(done.stdout)
    checked = report["proof"]
    limit = max(case.limit, AMPLIFIED * report["precision"]["rounding"] if case.may_amplify else 0)

    entries = [entry for entry in report["entries"] if entry["kind"] == "stream"]
    assert [entry["block"] for entry in entries] == case.blocks, entries
    assert {variant["block"] for variant in checked["variants"]} == set(case.blocks), checked
    for variant in checked["variants"]:
        assert variant["holds"] and variant["bit_equal"] and variant["cuts"] == 20 and variant["rows"] > 0, variant
        assert variant["largest_error"] <= limit, (variant, limit)
    text = f"within {max(v['largest_error'] for v in checked['variants']):.1e}"

    if len(case.blocks) > 1:
        (walk,) = checked["walks"]
        assert walk["holds"] and walk["same_bits"] and walk["walks"] == case.walks, walk
        assert walk["switches"] >= 3 and walk["rows"] >= case.walks and walk["largest_error"] <= limit, (walk, limit)
        text += f"; {walk['switches']} changes of entry within {walk['largest_error']:.1e}"

    # What a stream remembers is declared by the model: rows of values and what layers carry from
    # row to row.
    assert {field["kind"] for field in report["state"]} <= {"history", "carry"}, report["state"]
    assert report["state_bytes"] == sum((field["bytes"] + 63) // 64 * 64 for field in report["state"]), report["state"]
    if case.algorithm:
        chosen = {
            choice["algorithm"]
            for layer in report["layers"]
            for choice in layer.get("algorithms", [])
            if choice["entry"].startswith("stream")
        }
        assert chosen == {case.algorithm}, chosen
    if case.expect:
        text += f"; {case.expect(report)}"
    return text


def check_refused(longwave, folder, case):
    done = compile_model(longwave, folder, case, "--no-stream", *case.flags)
    assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr}"
    refused = compile_model(longwave, folder, case, "--stream", *case.flags)
    assert refused.returncode != 0, refused.stdout[-3000:]
    for layer, reason in case.reasons:
        line = f"layer {layer} looks ahead: {reason}" if layer else f"looks ahead: {reason}"
        assert line in refused.stderr, f"expected {line}, found\n{refused.stderr}"
    assert "compile without --stream" in refused.stderr, refused.stderr
    return "runs offline; its stream is refused"


def check(longwave, folder, case):
    start = time.monotonic()
    try:
        text = (check_refused if isinstance(case, Refused) else check_stream)(longwave, folder, case)
    except AssertionError as fault:
        print(f"{case.name}: FAILED: {fault}", flush=True)
        return False
    print(f"{case.name:32} {text}; {time.monotonic() - start:.0f} s", flush=True)
    return True
