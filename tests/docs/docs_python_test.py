#!/usr/bin/env python3
"""Runs the commands and the S4D example of docs/import.md and the room of docs/examples.md: docs_python_test.py LONGWAVE

The commands import a module of the names that the page gives it. S4D imports a model, and `longwave run --expected` compares it with PyTorch. The room is compared with SciPy. Every other
```python block of these pages must at least be Python. PyTorch comes from this Python or from .venv-torch, which tools/test --all
makes. Without it: exit status 77.
"""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(command, folder):
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=600,
        env=os.environ | {"PYTHONPATH": str(ROOT / "tools/python")},
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def blocks_of(name):
    page = ROOT / "docs" / name
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)
    for block in blocks:
        compile(block, str(page), "exec")
    return blocks


def the_one_with(text, blocks):
    found = [block for block in blocks if text in block]
    if len(found) != 1:
        sys.exit(f"expected one block with {text}, found {len(found)}")
    return found[0]


def error_of(report):
    found = re.search(r"largest error ([0-9.e+-]+) of the peak", report)
    if not found or float(found.group(1)) > 1e-5:
        sys.exit(f"the model of the page differs: {report}")
    return found.group(1)


def s4d(longwave, script):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "export.py").write_text(script, encoding="utf-8")
        run([sys.executable, "export.py"], folder)
        run([longwave, "compile", "s4d", "-o", "s4d.lw", "--stream"], folder)
        return error_of(
            run([longwave, "run", "s4d.lw", "--input", "x=@x.npy", "--expected", "logits=@logits.npy"], folder)
        )


def room(longwave, script, channels):
    """Of one channel, of two that do not meet, and true stereo: channel 2 · input + output of the file leads from an input to an output."""
    import numpy
    import scipy.signal
    import soundfile

    rng = numpy.random.default_rng(1)
    response = rng.normal(0, 0.1, (3000, channels)) * numpy.exp(-numpy.arange(3000) / 600)[:, None]
    x = rng.uniform(-1, 1, (5000, min(channels, 2))).astype(numpy.float32)

    def heard(i, taps):
        return scipy.signal.fftconvolve(x[:, i].astype(float), response[:, taps])[:5000]

    if channels == 4:
        y = numpy.stack([sum(heard(i, 2 * i + o) for i in range(2)) for o in range(2)], 1)
    else:
        y = numpy.stack([heard(i, i) for i in range(channels)], 1)
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        soundfile.write(at / "room.wav", response, 48000, subtype="FLOAT")
        numpy.save(at / "x.npy", x)
        numpy.save(at / "y.npy", y.astype(numpy.float32))
        (at / "room.py").write_text(script, encoding="utf-8")
        run([sys.executable, "room.py"], folder)
        run([longwave, "compile", "reverb", "-o", "reverb.lw", "--blocks", "64"], folder)
        return error_of(
            run([longwave, "run", "reverb.lw", "--stream", "--input", "x=@x.npy", "--expected", "y=@y.npy"], folder)
        )


MODULE = """import torch
def make():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
"""
ROWS = """import my_model, numpy, torch
module = my_model.make().eval()
torch.save(module.state_dict(), "model.pt")
x = torch.randn(1, 200, 64)
numpy.save("x.npy", x[0].numpy())
numpy.save("y.npy", module(x)[0].detach().numpy())
"""


def commands(longwave):
    """Of the page, in its order."""
    page = (ROOT / "docs/import.md").read_text(encoding="utf-8")
    blocks = [
        block
        for block in re.findall(r"^```text\n(.*?)^```$", page, re.M | re.S)
        if "longwave.importer my_model:make --input" in block
    ]
    if len(blocks) != 2:
        sys.exit(f"expected one command and the same in steps, found {len(blocks)} blocks")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs = folder / "programs"
        programs.mkdir()
        (programs / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        (programs / "python").chmod(0o755)
        (programs / "longwave").symlink_to(longwave)
        (folder / "my_model.py").write_text(MODULE, encoding="utf-8")
        run([sys.executable, "-c", ROWS], folder)
        for block in blocks:
            report = run(["bash", "-euo", "pipefail", "-c", f'export PATH="{programs}:$PATH"\n{block}'], folder)
    return error_of(report)


def odd_room(script):
    """A response that is none of these."""
    import numpy
    import soundfile

    with tempfile.TemporaryDirectory() as folder:
        soundfile.write(pathlib.Path(folder) / "room.wav", numpy.ones((8, 3)), 48000, subtype="FLOAT")
        (pathlib.Path(folder) / "room.py").write_text(script, encoding="utf-8")
        done = subprocess.run([sys.executable, "room.py"], cwd=folder, capture_output=True, text=True, timeout=600)
    if done.returncode != 1 or done.stderr.strip() != "room.wav: expected 1, 2 or 4 channels, found 3":
        sys.exit(f"three channels: {done.stderr}")


def main(longwave):
    of_import, of_examples = blocks_of("import.md"), blocks_of("examples.md")
    missing = [
        name for name in ("torch", "numpy", "safetensors", "scipy", "soundfile") if not importlib.util.find_spec(name)
    ]
    other = ROOT / ".venv-torch/bin/python"
    if missing and other.exists() and sys.prefix != str(other.parents[1]):
        os.execv(other, [str(other), *sys.argv])
    if missing:
        print(f"SKIPPED: needs {', '.join(missing)}")
        sys.exit(77)
    print(f"{len(of_import) + len(of_examples)} blocks are Python")
    print(f"the module of three commands is within {commands(longwave)} of PyTorch")
    print(f"the S4D example is within {s4d(longwave, the_one_with('class S4D', of_import))} of PyTorch")
    script = the_one_with("room.wav", of_examples)
    for channels in (1, 2, 4):
        print(f"the room of {channels} channels is within {room(longwave, script, channels)} of SciPy")
    odd_room(script)


main(str(pathlib.Path(sys.argv[1]).resolve()))
