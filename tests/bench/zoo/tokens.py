"""One token of a compiled language model, from the mapped file: the counterpart of `step`.

    PYTHONPATH=build/python:tests/bench python -m zoo.tokens model.lw

Prints one JSON line, then CPU seconds of each token for every number of tokens that it reads. NumPy and the native module.
"""

from __future__ import annotations

import json
import sys
import time

import longwave

from .memory import status_bytes


def main() -> None:
    program = status_bytes("self", "VmRSS")[0]
    with longwave.open(sys.argv[1], memory_limit=1 << 40, map_weights=True) as model:
        with longwave.Generator(model) as generator:
            generator.prompt([1])
            print(json.dumps({"program_bytes": program}), flush=True)
            for line in sys.stdin:
                seconds = []
                for _ in range(int(line)):
                    begin = time.process_time()
                    generator.next()
                    seconds.append(time.process_time() - begin)
                resident, own = status_bytes("self", "VmRSS", "RssAnon")
                print(json.dumps({"seconds": seconds, "resident_bytes": resident, "own_bytes": own}), flush=True)


if __name__ == "__main__":
    main()
