#!/usr/bin/env python3
"""Every golden state loads, and the stream continues with the committed rows within 1e-5: states of this format into models that are compiled now, and those of
older artifacts into these artifacts.

    golden_states_test.py LONGWAVE FOLDER
"""

import argparse
import pathlib
import sys

import golden_states
from golden_states import AFTER, BEFORE, STATES, samples, state_streams


def check(longwave: pathlib.Path, folder: pathlib.Path, golden: pathlib.Path) -> str:
    artifact = golden / "model.artifact"
    if not artifact.exists():
        artifact = folder / f"golden_{golden.name}.lw"
        golden_states.compile_package(longwave, golden, artifact)
    model = state_streams.Model(state_streams.library(longwave), artifact)
    stream, state = state_streams.Stream(model), (golden / "saved.state").read_bytes()
    stream.load(state)
    again = stream.save() == state
    error = state_streams.largest_error(stream.push(samples(BEFORE, AFTER)), golden_states.read_rows(golden))
    stream.close()
    model.close()
    assert error <= 1e-5, f"{golden.name}: {error:.1e} of the peak"
    return f"{golden.name}: {len(state)} bytes, rows within {error:.1e}, saved again with {'the same' if again else 'other'} bytes"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    found = sorted(STATES.iterdir())
    assert len(found) >= 7, found
    for golden in found:
        print(check(options.longwave, options.folder, golden), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
