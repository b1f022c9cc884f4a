#!/usr/bin/env python3
"""Makes a golden state: run this once for a new family. Never remake one that is committed, for it shows that later versions load it.

make_states.py LONGWAVE FAMILY...             a family of state_streams.FAMILIES
make_states.py LONGWAVE --older NAME=PACKAGE --options="OPTION..."   with LONGWAVE of format 2.3 or older: an artifact of PACKAGE, compiled with these options
"""

import argparse
import pathlib
import shutil
import tempfile

import golden_states
from golden_states import AFTER, BEFORE, STATES, samples, state_streams


def save(longwave: pathlib.Path, artifact: pathlib.Path, folder: pathlib.Path):
    model = state_streams.Model(state_streams.library(longwave), artifact)
    stream = state_streams.Stream(model)
    stream.push(samples(0, BEFORE))
    state = stream.save()
    golden_states.write(folder, state, stream.push(samples(BEFORE, AFTER)))
    stream.close()
    model.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave", type=pathlib.Path)
    parser.add_argument("--older")
    parser.add_argument("--options", default="")
    parser.add_argument("names", nargs="*", metavar="FAMILY")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="states-") as scratch:
        if options.older:
            name, package = options.older.split("=", 1)
            folder = STATES / f"older_{name}"
            folder.mkdir()
            golden_states.compile_package(
                options.longwave, pathlib.Path(package), pathlib.Path(scratch) / "model.lw", options.options.split()
            )
            shutil.copy(pathlib.Path(scratch) / "model.lw", folder / "model.artifact")
            save(options.longwave, folder / "model.artifact", folder)
            return
        for family in options.names:
            folder = STATES / family
            state_streams.sc10_package.write(folder, *state_streams.FAMILIES[family]())
            artifact = pathlib.Path(scratch) / f"{family}.lw"
            golden_states.compile_package(options.longwave, folder, artifact)
            save(options.longwave, artifact, folder)


if __name__ == "__main__":
    main()
