"""Changed captures of Neural Amp Modeler: a sample of nam_mutations.py."""

from __future__ import annotations

import mutations
import nam_mutations


def test_changed_captures_open_or_have_a_message() -> None:
    totals, failed = mutations.run(nam_mutations.tried, nam_mutations.MEMORY, 7_000_001, 400, 1e9)
    assert not failed
    assert totals["refused"] > 150 and totals["runs"] > 40, totals
