#!/usr/bin/env python3
"""Runs the S4D example of docs/import.md: docs_python_test.py LONGWAVE

The example imports a model, and `longwave run --expected` compares it with PyTorch. Every other ```python block must
at least be Python. Without PyTorch: exit status 77.
"""
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/import.md"


def run(command, folder):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=600,
                          env=os.environ | {"PYTHONPATH": str(ROOT / "tools/python")})
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def main(longwave):
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    for block in blocks:
        compile(block, str(PAGE), "exec")
    complete = [block for block in blocks if "class S4D" in block]
    if len(complete) != 1:
        sys.exit(f"{PAGE}: expected one block with class S4D, found {len(complete)}")
    if not all(importlib.util.find_spec(name) for name in ("torch", "numpy", "safetensors")):
        print("SKIPPED: needs torch, numpy and safetensors")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "export.py").write_text(complete[0], encoding="utf-8")
        run([sys.executable, "export.py"], folder)
        run([longwave, "compile", "s4d", "-o", "s4d.lw", "--stream"], folder)
        report = run([longwave, "run", "s4d.lw", "--input", "x=@x.npy", "--expected", "logits=@logits.npy"], folder)
    found = re.search(r"largest error ([0-9.e-]+) of the peak", report)
    if not found or float(found.group(1)) > 1e-5:
        sys.exit(f"the exported model differs from PyTorch: {report}")
    print(f"{len(blocks)} blocks are Python, the S4D example is within {found.group(1)} of PyTorch")


main(str(pathlib.Path(sys.argv[1]).resolve()))
