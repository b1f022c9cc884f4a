#!/usr/bin/env python3
"""What docs/denoise.md prints: docs_denoise_test.py BUILD C_COMPILER

The models give the samples as they came (tests/support/late_model.py, and a module of 384 samples' delay). All commands of the page run over the demo recording,
and each file that they write must be the recording. The lines of C and of Python run as well. What needs an audio host
that is missing is named. A command of the importer runs where its Python packages are installed.
"""

import array
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import wave

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMPORTER = ROOT / ".venv-torch/bin/python"  # tools/test --all makes it
sys.path.insert(0, str(ROOT / "tests/support"))
import late_model  # noqa: E402

LATENCY = 16 + 8 - 1  # the lag, and the rest of a block

AROUND_C = """
#include <longwave/audio_stream.h>
#include <stdio.h>
static void report_latency(unsigned samples) { fprintf(stderr, "%%u", samples); }
int main(void) {
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1;
    lw_model *model;
    static float in[1000], out[1000];
    const size_t n = fread(in, sizeof *in, 1000, stdin);
    if (lw_model_open("clean.lw", &options, &model)) return 1;
    %s
    fwrite(out, sizeof *out, n, stdout);
    lw_audio_stream_destroy(audio);
    lw_model_close(model);
    return 0;
}
"""
AROUND_PYTHON = """
import longwave
import numpy as np
noisy = np.random.default_rng(1).random(1000, np.float32)
%s
assert (clean == noisy).all() and len(block) == 441
"""


MY_MODEL = """
import torch
class Late(torch.nn.Module):
    def forward(self, audio):
        return torch.nn.functional.pad(audio, (384, 0))[..., :-384]
def make():
    return Late()
"""


def run(command, folder, **options):
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=600, **options)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done


def mirror(folder, build):
    """The tree as links, and a folder `build` of links, which takes what the commands write."""
    for name in ("runtime", "examples"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "build").mkdir()
    for path in build.iterdir():
        (folder / "build" / path.name).symlink_to(path)


def blocks(language):
    return re.findall(
        rf"^```{language}\n(.*?)^```$", (ROOT / "docs/denoise.md").read_text(encoding="utf-8"), re.M | re.S
    )


def missing(command):
    """What a command needs and this machine lacks."""
    if any(name in command for name in ("dtln", "gtcrn", "attenuate")):  # test_importer_dtln.py and so on
        return "a model of others"
    package = "lv2" if "lv2" in command else "gstreamer-base-1.0" if "gst" in command else None
    tool = "lv2apply" if package == "lv2" else "gst-launch-1.0"
    if package and (not shutil.which(tool) or subprocess.run(["pkg-config", "--exists", package]).returncode):
        return f"{tool} and the package {package}"
    return None


def samples(path):
    """Of a WAV file, of 16-bit integers or of floats, as integers."""
    data = path.read_bytes()
    at, bits = data.index(b"data") + 8, data[data.index(b"fmt ") + 22]
    data = data[at : at + int.from_bytes(data[at - 4 : at], "little")]
    return array.array("h", data if bits == 16 else [round(v * 32768) for v in array.array("f", data)])


def importer_missing():
    return (
        not IMPORTER.exists() or subprocess.run([IMPORTER, "-c", "import torch"], capture_output=True).returncode != 0
    )


def check_commands(folder, build, model):
    demo = ROOT / "examples/kws/demo.wav"
    shutil.copy(demo, folder / "noisy.wav")
    with wave.open(str(demo)) as file:
        expected = array.array("h", file.readframes(file.getnframes()))
    run([build / "longwave", "compile", model, "--block", "8", "--stream", "-o", "clean.lw"], folder)
    (folder / "my_model.py").write_text(MY_MODEL)
    (folder / "bin").mkdir()
    (folder / "bin/longwave").symlink_to(build / "longwave")
    environment = os.environ | {
        "HOME": str(folder),
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "GST_REGISTRY": str(folder / "registry"),
        "LONGWAVE_PYTHON": str(IMPORTER),
    }
    count, lacking = 0, set()
    for block in blocks("text"):
        for command in block.replace("\\\n", " ").splitlines():
            if what := missing(command):
                lacking.add(what)
                continue
            if "import my_model" in command:
                if importer_missing():
                    lacking.add(f"torch in {IMPORTER.parents[1]}")
                    continue
                command = (
                    command.replace("clean.lw", "imported.lw") + " && longwave denoise imported.lw noisy.wav clean.wav"
                )
            for old in ("clean.wav", "whole.wav"):
                (folder / old).unlink(missing_ok=True)
            run(["bash", "-euo", "pipefail", "-c", command], folder, env=environment)
            count += 1
            if "clean.wav" not in command:
                continue
            late = LATENCY if "lv2apply" in command else 0
            heard = samples(folder / "clean.wav")[late:]
            assert heard == expected[: len(expected) - late], (command, len(heard), len(expected))
    return count, lacking


def check_c(folder, compiler):
    (block,) = blocks("c")
    (folder / "program.c").write_text(AROUND_C % block)
    run(
        [
            compiler,
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "program.c",
            "-Iruntime/include",
            "-Lbuild",
            "-llongwave",
            "-o",
            "program",
        ],
        folder,
    )
    noise = array.array("f", [(7 * i % 13) / 13 for i in range(1000)])
    done = run(["./program"], folder, input=noise.tobytes(), env=os.environ | {"LD_LIBRARY_PATH": "build"})
    assert done.stderr == str(LATENCY).encode(), done.stderr
    assert array.array("f", done.stdout) == array.array("f", bytes(4 * LATENCY)) + noise[: 1000 - LATENCY]


def main():
    build, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        mirror(folder, build)
        count, lacking = check_commands(folder, build, late_model.write(folder / "late", length=500000))
        check_c(folder, compiler)
        if any((build / "python/longwave").glob("_native*")):
            (block,) = blocks("python")
            run(
                [sys.executable, "-c", AROUND_PYTHON % block],
                folder,
                env=os.environ | {"PYTHONPATH": str(build / "python")},
            )
        else:
            lacking.add("a build with the Python module")
    print(f"{count} commands of docs/denoise.md ran, and its C program")
    for what in sorted(lacking):
        print(f"not tried here: {what} is missing")


main()
