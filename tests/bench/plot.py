#!/usr/bin/env python3
"""Pictures and markdown tables from what the benchmarks print with --json.

    plot.py OUTPUT_FOLDER FILE…

FILE: JSON lines of `longwave bench conv|stream|linear|model|block` (`conv --device vulkan` among them), of `longwave bench MODEL --planner` and of `longwave tune --compare`, in any mixture.
Written: table.md with a section for each of them, and a picture each (needs matplotlib; without it the tables alone). Ratios are ours / theirs: below 1 we
are faster.
"""

import collections
import json
import pathlib
import sys

COLOURS = ["#0b6e99", "#d9730d", "#0f7b6c", "#ad1a72", "#6940a5", "#9b9a97"]


def number(value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def read(paths):
    """{what: [rows]}; rows of tables inside one object (a planner's layers, a comparison's kernels) become rows of their own."""
    found = collections.defaultdict(list)
    for path in paths:
        for line_number, line in enumerate(pathlib.Path(path).read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                what = row.pop("what")
            except (ValueError, KeyError, AttributeError, TypeError):
                sys.exit(f'error: {path}:{line_number}: no JSON object with "what"')
            found["environment" if what.endswith("environment") else what] += (
                row.get("layers") or row.get("kernels") or [row]
            )
    return found


def markdown(title, rows):
    columns = list(dict.fromkeys(key for row in rows for key in row))
    lines = [f"## {title}", "", "| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += [
        "| " + " | ".join(number(row[key]) if row.get(key) is not None else "" for key in columns) + " |"
        for row in rows
    ]
    return "\n".join(lines) + "\n"


# What each benchmark's picture shows: (label of a row, its group or None, value), the title, the
# name of the value.
def ratio(*parts):
    return lambda row: (" ".join(str(row[part]) for part in parts if part in row), row.get("peer"), row.get("ratio"))


PICTURES = {
    "conv": (ratio("length"), "Whole convolutions: time as a part of the peer's, by length", "ours / theirs"),
    "conv-gpu": (
        lambda row: (f"{row['length']}, {row['batch']} sequences", row["contestant"], row.get("gs_per_s")),
        "Convolutions on a GPU, by length and batch",
        "Gs/s",
    ),
    "gpu-copy": (
        lambda row: (f"{row['bytes'] >> 10} KiB", None, row.get("gb_per_s")),
        "Copies on a GPU, by size",
        "GB/s",
    ),
    "gpu-layer": (
        lambda row: (f"{row['model']} {row['layer']}", None, row["share_of_copy"]),
        "Layers: rate of memory as a part of the largest copy's",
        "share",
    ),
    "stream": (
        lambda row: (f"{row['channels']} ch, blocks of {row['block']}", row["contestant"], row["ns"]),
        "Streams: ns a sample and channel",
        "ns",
    ),
    "linear": (
        lambda row: (f"{row['in']} x {row['out']}, {row['rows']} rows", row["peer"], row["ratio"]),
        "Products: time as a part of the peer's",
        "ours / theirs",
    ),
    "model": (ratio("model", "piece"), "Models: time as a part of the peer's", "ours / theirs"),
    "block": (ratio("length"), "One SGConv block, a batch: time as a part of the peer's, by length", "ours / theirs"),
    "planner": (
        lambda row: (
            f"{row['layer']} ({row['algorithm']})" if "algorithm" in row else None,
            row["entry"],
            row.get("ratio"),
        ),
        "The planner: measured / predicted",
        "measured / predicted",
    ),
    "tuning": (
        lambda row: (row["kernel"], None, row["ratio"]),
        "Tuned structures: time as a part of that with the shipped ones",
        "tuned / shipped",
    ),
}


def draw(plt, rows, picture, path):
    point, title, axis = picture
    bars = [p for p in map(point, rows) if p[0] and isinstance(p[2], (int, float)) and p[2] > 0]
    if not bars:
        return False
    labels, groups = list(dict.fromkeys(b[0] for b in bars)), list(dict.fromkeys(b[1] for b in bars))
    height = 0.8 / len(groups)
    figure, axes = plt.subplots(figsize=(9, 1.6 + 0.34 * len(labels) * max(1, 0.6 * len(groups))))
    for g, group in enumerate(groups):
        values = {label: value for label, of, value in bars if of == group}
        at = [i + (g - (len(groups) - 1) / 2) * height for i, label in enumerate(labels) if label in values]
        drawn = axes.barh(
            at,
            [values[label] for label in labels if label in values],
            height,
            color=COLOURS[g % len(COLOURS)],
            label=group,
        )
        axes.bar_label(drawn, fmt="%.2f", padding=3, fontsize=8)
    if axis not in ("ns", "Gs/s", "GB/s"):
        axes.axvline(1, color="#444444", linewidth=1)
    axes.set_yticks(range(len(labels)), labels, fontsize=9)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * max(1, *(b[2] for b in bars)))
    axes.set_xlabel(axis)
    axes.set_title(title, fontsize=11, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    if groups != [None]:
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)
    return True


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder, found = pathlib.Path(sys.argv[1]), read(sys.argv[2:])
    folder.mkdir(parents=True, exist_ok=True)
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError:
        plt = None
        print("note: without matplotlib there are tables only", file=sys.stderr)
    text = ""
    for what, rows in found.items():
        text += markdown(what, rows) + "\n"
        if plt and what in PICTURES and draw(plt, rows, PICTURES[what], folder / f"{what}.png"):
            text += f"![{PICTURES[what][1]}]({what}.png)\n\n"
    (folder / "table.md").write_text(text, encoding="utf-8")
    print(folder / "table.md")


if __name__ == "__main__":
    main()
