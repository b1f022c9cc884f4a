"""Random modules of functions, products, spectra, faster rows and attention: refused with a message, or equal to PyTorch in float64.

LONGWAVE_MODULES=500 makes 500 of them (tools/test --all); the default is 40. random_operations.py makes them.
"""

from __future__ import annotations

import os
from collections import Counter

import torch
from random_operations import RandomOperations
from test_importer_random import FIRST, outcome, table

COUNT = int(os.environ.get("LONGWAVE_MODULES", "40"))
LEAST = 0.6  # of them are equal


@torch.no_grad()
def test_random_operations() -> None:
    found = []
    for seed in range(FIRST, FIRST + COUNT):
        found.append(outcome(seed, RandomOperations))
        result, kinds, text = found[-1]
        print(seed, kinds[:-1], result, text, flush=True)
    print(table([(result, kinds[:-1], text) for result, kinds, text in found]))
    numbers = Counter(result for result, _, _ in found)
    print(f"{COUNT} modules: {numbers['equal']} equal, {numbers['refused']} refused, {numbers['wrong']} wrong")
    wrong = [
        f"module {FIRST + at} of {kinds[:-1]}: {text}"
        for at, (result, kinds, text) in enumerate(found)
        if result == "wrong"
    ]
    assert not wrong, "\n".join(wrong)
    odd = [
        text
        for result, _, text in found
        if result == "refused" and ("that the importer does not know" in text or "; " not in text)
    ]
    assert not odd, "\n".join(odd)
    assert numbers["equal"] >= COUNT * LEAST, f"{numbers['equal']} of {COUNT} accepted"


if __name__ == "__main__":
    test_random_operations()
