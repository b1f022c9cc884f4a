#!/usr/bin/env python3
"""Segments of a speech detector against those of the package silero-vad.

    segments_test.py PROGRAM recorded                    those of segments.txt
    segments_test.py PROGRAM package [--sequences N]     random sequences, where the package is installed
    segments_test.py --record                            writes segments.txt, with the package

PROGRAM is longwave-speech-segments. Segments must be equal to the sample, for every way to cut the audio.
"""

import os
import pathlib
import random
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import cases  # noqa: E402

RECORDED = HERE / "segments.txt"
CUTS = [[], ["4096"], ["441", "1", "160"]]
HEAD = f"""# Segments of speech that get_speech_timestamps_from_probs of the package silero-vad {cases.VERSION} (MIT licence) gives.
# Probabilities and settings are random numbers of cases.py; nothing of the package is here. Two lines per case: the case
# as segments.cc reads it, and the segments: start, end, start, end ... `segments_test.py --record` writes this file.
"""


def run(program, lines, cut):
    done = subprocess.run([program, *cut], input="\n".join(lines) + "\n", text=True, capture_output=True)
    assert done.returncode == 0, done.stderr
    return [[int(word) for word in line.split()] for line in done.stdout.splitlines()]


def compare(program, lines, expected):
    for cut in CUTS:
        found = run(program, lines, cut)
        assert len(found) == len(expected)
        for line, ours, theirs in zip(lines, found, expected):
            assert ours == theirs, f"cut {cut}: {line}\nours {ours}\ntheirs {theirs}"
    print(f"{len(lines)} sequences, {sum(map(len, expected)) // 2} segments: equal in {len(CUTS)} cuts")


def recorded(program):
    lines = [line for line in RECORDED.read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == 240
    compare(program, lines[::2], [[int(word) for word in line.split()] for line in lines[1::2]])


def with_package(program, sequences, seed):
    module, reason = cases.package()
    if not module:
        print("SKIPPED:", reason)
        return 77
    dice = random.Random(seed)
    made = [cases.random_case(dice) for _ in range(sequences)]
    compare(program, [case.line() for case in made], [cases.segments_of(module, case) for case in made])
    return 0


def record():
    module, reason = cases.package()
    assert module, reason
    dice, text = random.Random(7), HEAD
    for _ in range(120):
        case = cases.random_case(dice, 150)
        case.probabilities = [cases.float32(round(p, 3)) for p in case.probabilities]
        line = case.line()
        case.probabilities = [cases.float32(p) for p in case.probabilities]
        head = line.split()[:11]
        short = [f"{p:.3f}".rstrip("0").rstrip(".") for p in case.probabilities]
        text += " ".join([*head, *short]) + "\n" + " ".join(map(str, cases.segments_of(module, case))) + "\n"
    RECORDED.write_text(text)


def main():
    if sys.argv[1:] == ["--record"]:
        return record()
    program, which, *rest = sys.argv[1:]
    if which == "recorded":
        return recorded(program)
    sequences = int(rest[1]) if rest[:1] == ["--sequences"] else 300
    return with_package(program, sequences, int(os.environ.get("SEED", 1)))


if __name__ == "__main__":
    sys.exit(main())
