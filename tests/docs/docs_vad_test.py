#!/usr/bin/env python3
"""The program of docs/vad.md, and the way to it: docs_vad_test.py BUILD C_COMPILER

- the C program, compiled with the line of the page, hears the segments of `longwave vad` in a pipe of 16-bit samples
- a model of features is refused with the way out. Then the same graph as the page imports it, a step with states as ONNX files have it, gives
  segments; skipped where the Python packages of the importer are missing
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDING = ROOT / "examples/kws/demo.wav"
IMPORTER = ROOT / ".venv-torch/bin/python"  # tools/test --all makes it

GRAPH = """
import numpy as np, onnx, sys
from onnx import helper, numpy_helper
def constant(name, value, dtype=np.float32):
    return numpy_helper.from_array(np.array(value, dtype), name)
random = np.random.default_rng(3)
gates = np.zeros((1, 16, 1)); gates[0, :4] = gates[0, 8:12] = 3; gates[0, 12:] = 1
bias = np.zeros((1, 32)); bias[0, 4:8] = 4; bias[0, 8:12] = -6
nodes = [("Mul", "audio audio", "square"), ("ReduceMean", "square", "power"), ("Mul", "power loud", "level"), ("Unsqueeze", "level first", "row"),
         ("LSTM", "row w r b _ h c", "all hn cn"), ("Squeeze", "hn first", "unit"), ("MatMul", "unit out", "logit"), ("Add", "logit shift", "sum"), ("Sigmoid", "sum", "speech")]
made = [helper.make_node(op, [n if n != "_" else "" for n in reads.split()], writes.split()) for op, reads, writes in nodes]
made[1].attribute.append(helper.make_attribute("axes", [1]))
made[4].attribute.append(helper.make_attribute("hidden_size", 4))
value = lambda name, *shape: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
graph = helper.make_graph(made, "steps", [value("audio", 1, 512), value("h", 1, 1, 4), value("c", 1, 1, 4)], [value("speech", 1, 1), value("hn", 1, 1, 4), value("cn", 1, 1, 4)],
    [constant("loud", 2000), constant("first", [0], np.int64), constant("w", gates), constant("r", 0.1 * random.standard_normal((1, 16, 4))), constant("b", bias),
     constant("out", np.full((4, 1), 4)), constant("shift", [-4])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
model.ir_version = 8
onnx.save(model, sys.argv[1])
"""


def run(*command, **how):
    done = subprocess.run([str(part) for part in command], capture_output=True, **how)
    assert done.returncode == 0, (command, done.stderr.decode())
    return done.stdout.decode()


def program(build, compiler, folder):
    """The first program of the page, with its own line of the compiler."""
    page = (ROOT / "docs/vad.md").read_text()
    (folder / "speech.c").write_text(re.search(r"^```c\n(#include.*?)^```$", page, re.M | re.S)[1])
    line = (
        re.search(r"^cc (speech\.c .*)$", page, re.M)[1]
        .replace("$PWD/build", str(build))
        .replace("build/liblongwave.so", str(build / "liblongwave.so"))
    )
    run(
        compiler,
        *line.replace("runtime/include", str(ROOT / "runtime/include")).split(),
        "-Wall",
        "-Wextra",
        "-Werror",
        cwd=folder,
    )
    return folder / "speech"


def check_segments(build, speech, model):
    lines = [json.loads(line) for line in run(build / "longwave", "vad", model, RECORDING, "--json").splitlines()]
    expected = [
        f"{line['start_sample'] / 16000:.3f} s to {line['end_sample'] / 16000:.3f} s"
        for line in lines
        if line["type"] == "segment"
    ]
    heard = run(speech, model, input=RECORDING.read_bytes()[44:]).splitlines()
    assert [line for line in heard if " to " in line] == expected and len(expected) >= 3, (heard, expected)
    assert sum(line.startswith("began at ") for line in heard) >= len(expected), heard
    return len(expected)


def main():
    build, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        speech = program(build, compiler, folder)
        run(
            build / "longwave",
            "compile",
            ROOT / "examples/vad/energy",
            "-o",
            folder / "energy.lw",
            "--stream",
            "--target",
            "host",
        )
        print(f"the program of docs/vad.md: {check_segments(build, speech, folder / 'energy.lw')} segments")
        if (
            not IMPORTER.exists()
            or subprocess.run([IMPORTER, "-c", "import onnx, torch"], capture_output=True).returncode != 0
        ):
            print(
                f"SKIPPED: the import needs torch and onnx in {IMPORTER.parents[1]}, which tools/test --all makes; all else passed"
            )
            return 77
        run(IMPORTER, "-c", GRAPH, folder / "model.onnx")
        importer = [IMPORTER, "-m", "longwave.importer", folder / "model.onnx"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools/python"), "LONGWAVE": str(build / "longwave")}
        done = subprocess.run(
            [*map(str, importer), "-o", folder / "rows.lw"], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0 and "if it is audio, say its rate: --input audio=1x512@16000" in done.stderr, (
            done.stderr
        )
        done = subprocess.run(
            [build / "longwave", "vad", folder / "rows.lw", RECORDING], capture_output=True, text=True
        )
        assert done.returncode != 0 and "--input NAME=16000" in done.stderr, done.stderr
        run(*importer, "--input", "audio=16000", "-o", folder / "audio.lw", env=environment)
        print(f"model.onnx with states: {check_segments(build, speech, folder / 'audio.lw')} segments")
    return 0


if __name__ == "__main__":
    sys.exit(main())
