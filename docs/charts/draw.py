#!/usr/bin/env python3
"""Draws every chart of docs/charts and every measured table of docs/ from docs/benchmarks/*.json.

    docs/charts/draw.py            writes the SVG files and the tables
    docs/charts/draw.py --check    compares them with the committed files; exit status 1 names each that differs

A table stands in a page between `<!-- table NAME -->` and `<!-- end -->`. Needs Python 3.9, nothing else.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import context  # noqa: E402
import file_map  # noqa: E402
import ratios  # noqa: E402
import scores  # noqa: E402
import tables  # noqa: E402
import timeline  # noqa: E402

DATA = HERE.parent / "benchmarks"
RATIO_CHARTS = {
    "convolution": "Offline convolution against FFTW",
    "streams": "Streaming convolution of 16,384 taps",
    "linear": "Matrix multiplication against MKL",
    "attention": "Attention over 2,048 rows and fewer against PyTorch",
    "text": "One token of a language model against PyTorch",
    "models": "Models against PyTorch, ONNX Runtime and OpenVINO",
}


def load(name):
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def pictures():
    """{file name: SVG text} of every chart."""
    speed, zoo = load("speed"), load("zoo")

    def cpus(groups):
        elsewhere = ["some rows on other machines"] if any("machine" in g for g in groups) else []
        return ", ".join(speed["machine"].split(", ")[:2] + ["medians of rounds in turns"] + elsewhere)

    rows = [(row["overview"], row["ratio"]) for g in speed["groups"] for row in g["rows"] if "overview" in row]
    subtitle = cpus(speed["groups"])
    drawn = {
        "speed.svg": ratios.draw("Longwave beside other software", subtitle, [("", sorted(rows, key=lambda r: r[1]))])
    }
    for chart, title in RATIO_CHARTS.items():
        of_chart = [g for g in speed["groups"] if g["chart"] == chart]
        groups = [
            (
                f"{g['title']}: {g['peer']}" if g["peer"] != "as named" else g["title"],
                [(row["what"], row["ratio"]) for row in g["rows"]],
            )
            for g in of_chart
        ]
        drawn[f"speed-{chart}.svg"] = ratios.draw(title, cpus(of_chart), groups)
    drawn["zoo.svg"] = ratios.draw(
        "Published configurations against PyTorch",
        "offline, one thread each; " + zoo["machine"].split(",")[0],
        [("", [(row["name"], row["ratio"]) for row in zoo["rows"]])],
    )
    drawn["context.svg"] = context.draw(load("context"))
    drawn["timeline.svg"] = timeline.draw(load("kws_stream"))
    drawn["file-map.svg"] = file_map.draw(load("kws_file"))
    drawn["keyword-scores.svg"] = scores.draw(load("kws_scores"))
    return drawn


def results():
    """{path: text} of every file that this program writes."""
    files = {HERE / name: text for name, text in pictures().items()}
    blocks = tables.blocks(*map(load, ("speed", "zoo", "zoo_sizes", "import_peers", "keyword", "attack", "amp")))
    for page in sorted(HERE.parent.glob("*.md")):
        source = page.read_text(encoding="utf-8")
        filled = tables.fill(source, blocks)
        if "<!-- table " in source:
            files[page] = filled
    return files


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit("usage: docs/charts/draw.py [--check]")
    different = 0
    for path, text in results().items():
        if not arguments:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_bytes() != text.encode("utf-8"):
            different += 1
            print(f"{path.relative_to(HERE.parents[1])} differs from docs/benchmarks: run docs/charts/draw.py")
    drawn = {path for path in results() if path.suffix == ".svg"}
    for path in sorted(set(HERE.glob("*.svg")) - drawn):
        different += 1
        print(f"{path.relative_to(HERE.parents[1])} is drawn by nothing: remove it")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
