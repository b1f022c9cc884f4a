"""Changed ONNX files: a sample of onnx_mutations.py."""

from __future__ import annotations

import pytest

pytest.importorskip("onnx", reason="needs the onnx package")

import mutations  # noqa: E402
import onnx_mutations  # noqa: E402


def test_changed_files_open_or_have_a_message() -> None:
    totals, failed = mutations.run(onnx_mutations.tried, onnx_mutations.MEMORY, 7_000_001, 250, 1e9)
    assert not failed
    assert totals["refused"] > 100 and totals["runs"] > 10, totals
