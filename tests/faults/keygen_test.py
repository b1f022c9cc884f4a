#!/usr/bin/env python3
"""A signal at every system call of `longwave keygen`: keygen_test.py LONGWAVE SCRATCH_FOLDER FAILING_CALLS PRELOADED

A secret key without its public half is of no use, and the next keygen would refuse its name. So after SIGUSR1 there are both
files, which belong together, or neither, and nothing else. Standard library only.
"""

import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile

CANNOT_TRACE = 77
STEPS = ("open", "read", "write", "sync", "rename", "mode", "unlink", "close")


def run(prefix, longwave, key, preloaded):
    environment = {**os.environ, "LONGWAVE_FAULT_PRELOAD": preloaded}
    return subprocess.run(
        [*prefix, longwave, "keygen", key], capture_output=True, text=True, env=environment, check=False
    )


def small_model(longwave, folder):
    package, model = folder / "package", folder / "small.lw"
    package.mkdir()
    (package / "model.json").write_text(
        json.dumps(
            {
                "format": "longwave-model",
                "version": 1,
                "name": "small",
                "inputs": [{"name": "x", "kind": "features", "width": 4}],
                "layers": [{"type": "relu", "name": "l"}],
                "outputs": [{"name": "y", "from": "l"}],
            }
        )
    )
    (package / "weights.safetensors").write_bytes(struct.pack("<Q", 8) + b"{}      ")
    subprocess.run([longwave, "compile", package, "-o", model, "--target", "host", "--quiet"], check=True)
    return model


def public_of(longwave, key, model, out):
    """The public key that `sign` prints for this secret key."""
    done = subprocess.run(
        [longwave, "sign", model, "--key", key, "-o", out], capture_output=True, text=True, check=True
    )
    return done.stdout.split("by ")[1].split(",")[0]


def main():
    longwave, scratch, failing, preloaded = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:5])
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        folder = pathlib.Path(name)
        model = small_model(longwave, folder)
        counts = folder / "counts"
        done = run([failing, "count", counts], longwave, folder / "first", preloaded)
        if done.returncode == CANNOT_TRACE:
            print("SKIPPED: this system does not let the test trace a program")
            return CANNOT_TRACE
        assert done.returncode == 0, done.stderr
        tried = ended = 0
        for line in counts.read_text().splitlines():
            call, number = line.split()
            for k in range(int(number)) if call in STEPS else ():
                there = folder / f"{call}{k}"
                there.mkdir()
                done = run([failing, call, str(k), "signal"], longwave, there / "key", preloaded)
                tried, ended = tried + 1, ended + (done.returncode == -signal.SIGUSR1)
                assert done.returncode in (0, -signal.SIGUSR1), (call, k, done.returncode, done.stderr)
                files = sorted(file.name for file in there.iterdir())
                assert files in ([], ["key", "key.pub"]), (call, k, files)
                if files:
                    assert (
                        public_of(longwave, there / "key", model, folder / "signed.lw")
                        == (there / "key.pub").read_text().strip()
                    )
        assert tried >= 5 and ended > 0, (tried, ended)
        print(f"{tried} signals, of which {ended} ended the program")
    return 0


if __name__ == "__main__":
    sys.exit(main())
