"""generate.py MODEL.lw COUNT STATE [PROMPT]: COUNT bytes of text from Python, as c/generate.c writes them.

Where the file STATE is, it goes on from there; PROMPT comes behind it. STATE is written anew at the end.
"""

import os
import pathlib
import sys

import longwave
import numpy as np


def main():
    if len(sys.argv) < 4:
        sys.exit("usage: generate.py MODEL.lw COUNT STATE [PROMPT]")
    count, state = int(sys.argv[2]), pathlib.Path(sys.argv[3])
    with longwave.open(sys.argv[1]) as model:
        if model.info["inputs"][0]["vocabulary"] != 256:
            sys.exit(f"{sys.argv[1]}: its inputs are not bytes")
        with longwave.Generator(model, seed=1, temperature=0.8, top_p=0.95) as generator:
            if state.exists():
                generator.load(state.read_bytes())
            if len(sys.argv) > 4:
                generator.prompt(np.frombuffer(os.fsencode(sys.argv[4]), np.uint8).astype(np.int32))
            for _, token in zip(range(count), generator):
                sys.stdout.buffer.write(bytes([token.id]))
                sys.stdout.buffer.flush()
            state.write_bytes(generator.save())


if __name__ == "__main__":
    try:
        main()
    except longwave.Error as error:
        sys.exit(str(error))
