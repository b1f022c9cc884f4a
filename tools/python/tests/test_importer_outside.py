"""Modules of other repositories: imported and equal to PyTorch, or refused with the true reason. Prints a table.

outside_sequence.py, outside_speech.py and outside_more.py restate their layers. LONGWAVE_OUTSIDE=compile also compiles each, and compares the file.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import outside_more
import outside_sequence
import outside_speech
import pytest
import torch
from importer_checks import compiled_equals, imported
from longwave.importer.errors import ImportFailed

MODULES = outside_sequence.MODULES | outside_speech.MODULES | outside_more.MODULES
COMPILE = os.environ.get("LONGWAVE_OUTSIDE") == "compile"
LENGTHS = {"x": 61, "wave": 1280}
CLOSE = 1e-5  # of the peak: float32 against float32, behind sums of many rows
RESULTS: dict[str, tuple[str, str]] = {}


def outcome(name: str, folder: Path) -> tuple[str, str]:
    """ "equal" or "refused", and what was said."""
    module, spec, _, _ = MODULES[name]
    torch.manual_seed(8)
    for p in module.parameters():  # none without effect
        p.data += 0.05 * torch.randn_like(p)
    try:
        made = imported(module, spec, length=LENGTHS[spec.split("=")[0]], min_rows=1)
    except ImportFailed as e:
        return "refused", str(e).splitlines()[0]
    if COMPILE and MODULES[name][3] != "recurrence":  # those that import overflow in float32
        streams = not any("no stream" in text for text in made.report["warnings"])
        compiled_equals(
            module, spec, made, folder, streams, blocks="160,1600" if "wave" in spec else "1,32", limit=CLOSE
        )
    return "equal", ", ".join(made.report["warnings"])


@pytest.mark.parametrize("name", MODULES)
def test_outside_module(name: str, tmp_path: Path) -> None:
    expected = MODULES[name][2]
    RESULTS[name] = outcome(name, tmp_path)
    result, text = RESULTS[name]
    assert (
        (result == "refused" and expected in text)
        if expected
        else result == "equal" or MODULES[name][3] == "recurrence"
    ), text


def test_of_those_refused_before_two_thirds_are_equal() -> None:
    """Recurrences are not counted. Alone, this test has nothing to count."""
    listed = [name for name in RESULTS if MODULES[name][3] == "listed"]
    print("| module | result | |\n|---|---|---|")
    for name, (result, text) in RESULTS.items():
        print(f"| {name} | {result} | {text[:150]} |")
    print(Counter((MODULES[name][3], result) for name, (result, _) in RESULTS.items()))
    assert 3 * sum(RESULTS[name][0] == "equal" for name in listed) >= 2 * len(listed)
