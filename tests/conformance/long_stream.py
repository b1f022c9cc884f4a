#!/usr/bin/env python3
"""After an hour of audio a stream still says what a fresh one says: long_stream.py LONGWAVE MODEL_PACKAGE SCRATCH_FOLDER [--minutes N]

The keyword model remembers a bounded time (its kernels' lengths summed). So the rows at the end of a long recording must be those of a fresh stream that hears
only the recording's last half minute; any drift of state, position or clock would show. Standard library only.
"""

import argparse
import array
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

RATE, TAIL_SECONDS, COMPARED_SECONDS = 16000, 30, 2
LIMIT = 1e-5  # relative to the largest logit


def write_wav(path, samples):
    path.write_bytes(
        b"RIFF"
        + struct.pack("<I", 36 + len(samples))
        + b"WAVEfmt "
        + struct.pack("<IHHIIHH", 16, 1, 1, RATE, 2 * RATE, 2, 16)
        + b"data"
        + struct.pack("<I", len(samples))
        + samples
    )


def read_rows(path):
    data = path.read_bytes()
    start = 10 + struct.unpack_from("<H", data, 8)[0]
    values = array.array("f", data[start:])
    width = int(data[10:start].split(b"'shape': (")[1].split(b",")[1].strip(b" )"))
    return [values[i : i + width] for i in range(0, len(values), width)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("longwave")
    parser.add_argument("package")
    parser.add_argument("scratch")
    parser.add_argument("--minutes", type=int, default=60)
    options = parser.parse_args()
    rng = random.Random(5)
    # Half minutes of white noise at loudnesses from a whisper to full scale, ten different ones in
    # turn.
    parts = []
    for part in range(10):
        noise = array.array("h", rng.randbytes(2 * RATE * 30))
        shift = part % 5 * 2
        parts.append(array.array("h", (sample >> shift for sample in noise)).tobytes())
    pathlib.Path(options.scratch).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.scratch) as name:
        folder = pathlib.Path(name)
        audio = b"".join(parts[i % 10] for i in range(2 * options.minutes))
        write_wav(folder / "long.wav", audio)
        write_wav(folder / "tail.wav", audio[-2 * RATE * TAIL_SECONDS :])
        subprocess.run(
            [options.longwave, "compile", options.package, "-o", folder / "model.lw", "--target", "host", "--stream"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        rows = {}
        for which in ("long", "tail"):
            subprocess.run(
                [
                    options.longwave,
                    "run",
                    folder / "model.lw",
                    "--stream",
                    "--input",
                    f"audio=@{folder / which}.wav",
                    "-o",
                    f"logits={folder / which}.npy",
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            rows[which] = read_rows(folder / f"{which}.npy")
    per_second = len(rows["tail"]) // TAIL_SECONDS
    if len(rows["long"]) != per_second * 60 * options.minutes:
        print(f"{len(rows['long'])} rows for {options.minutes} minutes, expected {per_second * 60 * options.minutes}")
        return 1
    count = per_second * COMPARED_SECONDS
    pairs = [(a, b) for x, y in zip(rows["long"][-count:], rows["tail"][-count:]) for a, b in zip(x, y)]
    error = max(abs(a - b) for a, b in pairs) / max(abs(b) for _, b in pairs)
    print(
        f"after {options.minutes} minutes: {count} rows, largest difference from a fresh stream {error:.1e}, limit {LIMIT:.0e}"
    )
    return 0 if error <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
