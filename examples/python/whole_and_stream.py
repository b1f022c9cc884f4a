"""whole_and_stream.py MODEL.lw: one random sequence offline and as a stream, and how far apart they are.

The model needs one input and both entry points. Outputs are paired by name; only rows both give are compared.
"""

import sys

import longwave
import numpy as np


def random_input(info, rng):
    entry, ticks = info["inputs"][0], info["run_capacity"]
    if entry["kind"] == "tokens":
        return rng.integers(0, entry["vocabulary"], ticks, dtype=np.int32)
    return rng.uniform(-0.1, 0.1, (ticks, entry["width"])).astype(np.float32)


def stream_in_pieces(model, x, rng):
    """The rows of each output by name. They do not depend on the sizes of the pieces."""
    names = [output["name"] for output in model.info["stream_outputs"]]
    rows = {name: [] for name in names}
    with model.stream() as stream:
        at = 0
        while at < len(x):
            at += stream.push(x[at : at + rng.integers(1, 1001)])
            for row in stream:
                rows[names[row.output]].append(row.data)
        stream.finish()
        for row in stream:
            rows[names[row.output]].append(row.data)
    return {name: np.stack(found) for name, found in rows.items() if found}


def compare(name, whole, streamed):
    if len(whole) == 1 < len(streamed):  # one row for the sequence: the last row of the stream is its equal
        streamed = streamed[-1:]
    n = min(len(whole), len(streamed))
    worst = np.abs(whole[:n] - streamed[:n]).max() / (np.abs(whole[:n]).max() or 1)
    print(f"{name}: {n} rows, stream and whole differ by {worst:.2g} of the peak")


def main():
    with longwave.open(sys.argv[1]) as model:
        info = model.info
        if not (info["run_capacity"] and info["blocks"] and len(info["inputs"]) == 1):
            sys.exit(f"{sys.argv[1]}: needs one input and both entry points")
        rng = np.random.default_rng(1)
        x = random_input(info, rng)
        whole = model.run(x)
        if not isinstance(whole, dict):  # of one output alone
            whole = {info["run_outputs"][0]["name"]: whole}
        for name, streamed in stream_in_pieces(model, x, rng).items():
            if name in whole:
                compare(name, whole[name], streamed)


if __name__ == "__main__":
    try:
        main()
    except longwave.Error as error:
        sys.exit(str(error))
