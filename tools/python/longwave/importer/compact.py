"""Gives each long convolution of a recovered graph the shortest form of its taps."""

from __future__ import annotations

from .exponentials import Exponentials, exponentials
from .match import AHEAD, LATE, NO_STREAM, Convolution, Importer
from .recovered import Op, Recovered
from .rules.positions import lowered
from .rules.state_space import operands
from .taps import Dyadic, dyadic


def form_of(op: Op, rows: int) -> Dyadic | None:
    """`rows`: of the example. Taps that reach its end on both sides lack the last one ahead."""
    taps = op.constant("taps").flatten(0, 1)
    form = dyadic(taps)
    if form is None and op.attributes["two_sided"] and taps.shape[1] == rows:
        form = dyadic(taps[:, :-1], rows)
    half = len(taps) // (1 + op.attributes["two_sided"])
    return None if form is None or bool(form.first[half:].any()) else form  # only lags have a direct term


def recurrence_of(op: Op, pieces: Dyadic | None, streams: bool) -> Exponentials | None:
    """Where it has fewer numbers than pieces have. Offline a table is faster: it stays where no stream is possible and it is whole."""
    taps = op.constant("taps")
    if op.attributes["two_sided"] or not streams and taps.shape[2] < op.rows:
        return None
    form = exponentials(taps, op.rows)
    return form if form and (pieces is None or 4 * form.c.shape[2] < pieces.pieces.count * pieces.pieces.dim) else None


def become_recurrence(op: Op, form: Exponentials) -> None:
    op.kind, op.form = "state_space", None
    op.constants, op.attributes = operands(form.logarithms, form.c, op.constant("D") + form.first)


def place(op: Op) -> str:
    return f"{op.module}/{op.source}" if op.module else op.source


def wait(importer: Importer, op: Op, found: Convolution | None) -> None:
    """A table whose taps ahead end before the example does: a stream can wait for their rows."""
    if found is None or found.cut:
        return
    op.attributes["ahead"] = rows = found.ahead.shape[1]
    late = f"{found.where}: looks {rows} rows ahead{LATE}"
    importer.warnings[:] = [late if text == f"{found.where}: {AHEAD}" else text for text in importer.warnings]


def positions(graph: Recovered) -> None:
    """Tables of positions as ops of files, once they are proven."""
    if not any(op.kind == "positions" for op in graph.ops):
        return
    before, graph.ops = graph.ops, []
    moved: list[int] = []
    for op in before:
        op.inputs, graph.here = [moved[i] for i in op.inputs], (op.module, op.source)
        graph.ops.append(op)
        moved.append(len(graph.ops) - 1)
        if op.kind == "positions":
            moved[-1] = lowered(graph, moved[-1])
    for output in graph.outputs:
        output.value = moved[output.value]
    graph.tidy()


def compact(importer: Importer, recurrences: bool = True) -> None:
    """Pieces are kept beside the table, which is proven. Recurrences take its place. Notes the forms for the report."""
    positions(importer.graph)
    forms: dict[str, Dyadic | Exponentials | None] = {}
    by_place = {c.where: c for c in importer.convolutions}
    long = [op for op in importer.graph.ops if op.kind == "long_conv"]
    for op in long:
        op.form = forms[place(op)] = form_of(op, importer.exported.length)
        if op.attributes["two_sided"] and op.form is None:
            wait(importer, op, by_place.get(place(op)))
    streams = not any(NO_STREAM in text for text in importer.warnings)
    for op in long if recurrences else []:
        if recurrence := recurrence_of(op, op.form if isinstance(op.form, Dyadic) else None, streams):
            become_recurrence(op, recurrence)
            forms[place(op)] = recurrence
    for c in importer.convolutions:
        form = forms.get(c.where)
        c.form = str(form) if form else "table"
        c.error = form.error if form else 0.0
        if isinstance(form, Exponentials) and form.endless and c.cut_warning in importer.warnings:
            importer.warnings.remove(c.cut_warning)
