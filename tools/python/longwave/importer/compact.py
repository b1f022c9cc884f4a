"""Gives each long convolution of a recovered graph the shortest form of its taps."""
from __future__ import annotations

from .match import Importer
from .recovered import Op
from .taps import Dyadic, dyadic


def form_of(op: Op, rows: int) -> Dyadic | None:
    """`rows`: of the example. Taps that reach its end on both sides lack the last one ahead."""
    taps = op.constant("taps").flatten(0, 1)
    form = dyadic(taps)
    if form is None and op.attributes["two_sided"] and taps.shape[1] == rows:
        form = dyadic(taps[:, :-1], rows)
    half = len(taps) // (1 + op.attributes["two_sided"])
    return None if form is None or bool(form.first[half:].any()) else form  # only lags have a direct term


def compact(importer: Importer) -> None:
    """The graph keeps its tables, which are proven; `form` is what the folder holds. Notes the forms for the report."""
    forms = {}
    for op in importer.graph.ops:
        if op.kind == "long_conv":
            op.form = form_of(op, importer.exported.length)
            forms[f"{op.module}/{op.source}" if op.module else op.source] = op.form
    for c in importer.convolutions:
        form = forms.get(c.where)
        c.form = str(form) if form else "table"
        c.error = form.error if form else 0.0
