"""Modules of repositories that the user has cloned: imported and equal to the module in float64, or refused with the true reason. pytest -s
prints a table.

outside_repositories.py has the modules and says where the clones lie. Where one is missing its modules are skipped.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from importer_checks import imported
from longwave.importer.errors import ImportFailed
from outside_repositories import MODULES, REPOSITORIES, Case, Missing, sources

EQUAL = 1e-10  # of the peak, in float64: no more than the order of sums
RESULTS: dict[str, tuple[str, str]] = {}


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    print("\n| repository | commit | module | result | |\n|---|---|---|---|---|")
    for name, (result, text) in RESULTS.items():
        repository = MODULES[name].repository
        print(f"| {repository} | {REPOSITORIES[repository][:10]} | {name} | {result} | {text[:150]} |")
    print(Counter(result for result, _ in RESULTS.values()))


def outcome(case: Case, folder: Path) -> tuple[str, str]:
    """ "equal" or "refused", and what was said."""
    torch.manual_seed(8)
    try:
        with sources(case, folder) as source, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = case.make(source)
            for p in module.parameters():  # none without effect
                p.data += 0.05 * torch.randn_like(p)
            found = imported(module, case.spec, length=case.length, min_rows=1)
    except Missing as e:
        pytest.skip(str(e))
    except ImportError as e:
        pytest.skip(f"{case.repository}: {e}")
    except ImportFailed as e:
        return "refused", str(e).splitlines()[0]
    assert max(found.report["errors"].values()) <= EQUAL
    return "equal", ", ".join(found.report["warnings"])


@pytest.mark.parametrize("name", MODULES)
def test_module_of_a_repository(name: str, tmp_path: Path) -> None:
    case = MODULES[name]
    result, text = RESULTS[name] = outcome(case, tmp_path)
    assert (result == "refused" and case.refusal in text) if case.refusal else result == "equal", text
