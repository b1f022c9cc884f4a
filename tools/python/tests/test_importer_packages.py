"""Modules of installed packages: imported and equal to the module in float64, or refused with the true reason. pytest -s prints a table.

outside_packages.py has the modules and says what to install. Where a package is missing its modules are skipped.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator

import pytest
import torch
from importer_checks import imported
from longwave.importer.errors import ImportFailed
from outside_packages import INSTALL, MODULES, Case

EQUAL = 1e-10  # of the peak, in float64: no more than the order of sums
RESULTS: dict[str, tuple[str, str]] = {}


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    print("\n| module | result | |\n|---|---|---|")
    for name, (result, text) in RESULTS.items():
        print(f"| {name} | {result} | {text[:150]} |")
    print(Counter((MODULES[name].kind, result) for name, (result, _) in RESULTS.items()))


def made(case: Case) -> torch.nn.Module:
    torch.manual_seed(8)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = case.make()
    except ImportError as e:
        pytest.skip(f"{e}: pip install --no-deps {INSTALL[case.package]}")
    for p in module.parameters():  # none without effect
        p.data += 0.05 * torch.randn_like(p)
    return module


def outcome(case: Case) -> tuple[str, str]:
    """ "equal" or "refused", and what was said."""
    try:
        found = imported(made(case), case.spec, length=case.length, min_rows=1)
    except ImportFailed as e:
        return "refused", str(e).splitlines()[0]
    assert max(found.report["errors"].values()) <= EQUAL
    return "equal", ", ".join(found.report["warnings"])


@pytest.mark.parametrize("name", MODULES)
def test_module_of_a_package(name: str) -> None:
    case = MODULES[name]
    result, text = RESULTS[name] = outcome(case)
    assert (result == "refused" and case.refusal in text) if case.refusal else result == "equal", text
