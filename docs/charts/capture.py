#!/usr/bin/env python3
"""Writes the JSON of three pictures from the keyword model: docs/charts/capture.py BUILD

Compiles examples/kws/model with BUILD/longwave, and keeps of `inspect --json` and `listen --scores`
what the pictures show. The results are docs/benchmarks/{kws_file,kws_stream,kws_scores}.json.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDING = "examples/kws/demo.wav"
FROM, TO = 1.0, 5.5  # seconds of the recording that the picture shows: "yes" and "left"
PARTS = {"header": "magic, version, sizes, hash, signature", "plan": "entries, kernel calls, state fields, report"}


def main():
    longwave = [str(pathlib.Path(sys.argv[1]).resolve() / "longwave")]

    def run(*arguments):
        return subprocess.run(longwave + list(arguments), cwd=ROOT, check=True, capture_output=True, text=True).stdout

    with tempfile.TemporaryDirectory() as folder:
        model = f"{folder}/kws.lw"
        run("compile", "examples/kws/model", "-o", model, "--stream")
        write("kws_file", file_map(json.loads(run("inspect", model, "--json")), pathlib.Path(model).read_bytes()))
        write("kws_scores", scores(run("listen", model, RECORDING, "--scores")))
        run("compile", "examples/kws/model", "-o", model, "--stream", "--blocks", "160,320,1600")
        write("kws_stream", timeline(json.loads(run("inspect", model, "--json"))))


def file_map(info, data):
    """The plan's size stands at byte 32 of the header; golden vectors are the rest, with the padding."""
    plan = int.from_bytes(data[32:40], "little")
    parts = [("header", 256), ("plan", plan), ("weights", info["weights_bytes"])]
    parts += [(f"code {v['target']}", v["code_bytes"]) for v in info["variants"]]
    parts.append(("golden vectors", info["bytes"] - sum(size for _, size in parts)))
    what = {
        "weights": "float32 weights in the layout of the kernels",
        "golden vectors": "reference input and output, with padding",
    }
    return {
        "command": "longwave compile examples/kws/model -o kws.lw --stream; longwave inspect kws.lw --json",
        "producer": info["producer"],
        "file": "kws.lw",
        "format": info["format"],
        "bytes": info["bytes"],
        "targets": len(info["variants"]),
        "kernels": info["kernels"],
        "parts": [
            {"name": n, "bytes": b, "what": PARTS.get(n) or what.get(n) or "machine code of all kernels"}
            for n, b in parts
        ],
    }


def timeline(info):
    streams = [e for e in info["entries"] if e["kind"] == "stream"]
    rate = info["inputs"][0]["sample_rate"]
    clock = streams[0]["outputs"][0]["clock"]
    return {
        "command": "longwave compile examples/kws/model -o kws.lw --stream --blocks 160,320,1600; longwave inspect kws.lw --json",
        "producer": info["producer"],
        "model": info["name"],
        "sample_rate": rate,
        "blocks": [e["block"] for e in streams],
        "delay": streams[0]["outputs"][0]["delay"],
        "row_ms": 1000 * clock[1] // (clock[0] * rate),
        "state_bytes": info["state_bytes"],
    }


def scores(text):
    lines = [json.loads(line) for line in text.splitlines()]
    ready = next(line for line in lines if line["type"] == "ready")
    events = [line for line in lines if line["type"] == "keyword" and FROM <= line["t"] <= TO]
    words = []
    for event in events:
        values = [
            [line["t"], round(line["scores"][event["word"]], 3)]
            for line in lines
            if line["type"] == "scores" and FROM <= line["t"] <= TO
        ]
        words.append({"word": event["word"], "scores": values})
    return {
        "command": f"longwave listen kws.lw {RECORDING} --scores",
        "recording": RECORDING,
        "from": FROM,
        "to": TO,
        "decision": ready["decision"],
        "words": words,
        "events": [{"word": e["word"], "score": e["score"], "t": e["t"]} for e in events],
    }


def write(name, data):
    path = ROOT / "docs/benchmarks" / f"{name}.json"
    path.write_text(pretty(data) + "\n", encoding="utf-8")


def pretty(data):
    """Indented JSON whose innermost lists stay on one line."""
    import re

    text = json.dumps(data, indent=1, ensure_ascii=False)
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: "[" + re.sub(r"\s+", " ", m.group(1)) + "]", text)


main()
