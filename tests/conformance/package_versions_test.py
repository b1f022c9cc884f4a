#!/usr/bin/env python3
"""Model folders of version 1 keep their meaning: package_versions_test.py LONGWAVE SOURCE BUILD [--update]

Each committed folder of version 1
- is lowered to the ops whose text has the SHA-256 in package_versions.json. A change of a layer that changes old folders fails
  here. If that is meant, --update writes the new hashes;
- compiles to the same bytes as the same layers in a folder of version 2. Only the digests that name the model differ: three of
  32 bytes. Version 2 cannot change what version 1 does without being noticed.
Standard library only.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

FOLDERS = [
    "examples/packages/tiny",
    "examples/packages/pair",
    "examples/packages/orchid",
    *(f"tests/golden/states/{name}" for name in ("sgconv", "chela", "lightnet", "orchid", "strided")),
]
DIGESTS, DIGEST = 3, 32  # of the model, of its weights or state, and of the file
HASHES = pathlib.Path(__file__).with_suffix("").with_name("package_versions.json")


def second_version(model: dict) -> dict:
    """The same layers as nodes of a graph, each with the name of the one before it."""
    graph, before = [], model["inputs"][0]["name"]
    for layer in model["layers"]:
        graph.append(layer if "input" in layer or "inputs" in layer else {**layer, "input": before})
        before = layer["name"]
    return {key: value for key, value in model.items() if key != "layers"} | {"version": 2, "graph": graph}


def compiled(longwave: str, folder: pathlib.Path) -> tuple[str, bytes]:
    """The text of the lowered graph, and the file. Its code is for one target, whatever this CPU is."""
    target = folder.with_suffix(".lw")
    done = subprocess.run(
        [
            longwave,
            "compile",
            str(folder),
            "-o",
            str(target),
            "--target",
            "x86-64-v3",
            "--no-check",
            "--quiet",
            "--dump-after",
            "lower",
        ],
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(f"{folder.name}: {done.stderr}")
    return "".join(
        line + "\n" for line in done.stderr.splitlines() if line.startswith(("graph", "%", "output"))
    ), target.read_bytes()


def spans(a: bytes, b: bytes) -> list[tuple[int, int]]:
    """Where a and b differ, as ranges of at most DIGEST bytes: first and last byte."""
    found: list[tuple[int, int]] = []
    for at, (x, y) in enumerate(zip(a, b)):
        if x != y:
            if found and at - found[-1][0] < DIGEST:
                found[-1] = (found[-1][0], at)
            else:
                found.append((at, at))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="write package_versions.json")
    options = parser.parse_args()
    expected, found, failures = json.loads(HASHES.read_text()) if HASHES.exists() else {}, {}, []
    with tempfile.TemporaryDirectory(prefix="longwave-") as scratch:
        for name in FOLDERS:
            one, two = (pathlib.Path(scratch) / f"{name.replace('/', '-')}-{version}" for version in (1, 2))
            shutil.copytree(options.source / name, one)
            shutil.copytree(options.source / name, two)
            model = json.loads((one / "model.json").read_text())
            assert model["version"] == 1, f"{name}: version {model['version']}"
            (two / "model.json").write_text(json.dumps(second_version(model)))
            (text, first), (_, second) = compiled(options.longwave, one), compiled(options.longwave, two)
            found[name] = hashlib.sha256(text.encode()).hexdigest()
            other = spans(first, second)
            if expected.get(name) != found[name] and not options.update:
                failures.append(
                    f"{name}: its layers are lowered to other ops than before; if that is meant: {' '.join(sys.argv)} --update"
                )
            if len(first) != len(second) or len(other) > DIGESTS:
                failures.append(
                    f"{name}: version 2 of the same layers compiles to other bytes: {len(first)} and {len(second)} bytes, different at {other[:8]}"
                )
            print(f"{name:32} {text.count(chr(10)):4} lines of graph, {len(first)} bytes, {len(other)} digests differ")
    if options.update:
        HASHES.write_text(json.dumps(found, indent=1) + "\n")
    if failures:
        sys.exit("\n".join(failures))
    print(f"{len(FOLDERS)} of {len(FOLDERS)} folders keep their meaning")


if __name__ == "__main__":
    main()
