#!/usr/bin/env python3
"""Voice activity in programs for arm64, armv7 and a Cortex-M55 under qemu: the segments and decisions of `longwave vad` on this machine.

    static_speech_test.py BUILD [--wav FILE]

Models: examples/vad/energy, and Silero VAD where .venv-torch has the package silero-vad 6.2.3. Sound: examples/kws/demo.wav. A probability may be
1e-4 away: vectors have other widths (docs/numerics.md), and that of Silero is 4e-5 away from float64 on every machine (docs/vad.md). With
Silero also what a Cortex-M55 needs for it: instructions per chunk, flash and memory.
"""

import argparse
import array
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import wave

from static_cross_test import MACHINES, runtime_of
from static_m55_test import CC as M55_CC, QEMU, Board, has_newlib
from static_program import RECORDING, ROOT, Program, has_clang, make_counter, needs, run, skip

APART = 1e-4
IMPORTER = ROOT / ".venv-torch/bin/python"  # tools/test --all makes it
RATE, CHUNK = 16000, 512
INSTRUCTIONS, FLASH, MEMORY = (
    640_000,
    1_500_000,
    40_000,
)  # of Silero VAD on a Cortex-M55: per chunk, and bytes with runtime and stack


def floats(path):
    values = array.array("f")
    values.frombytes(path.read_bytes())
    return values


def models(folder):
    """Names and model folders; and why Silero VAD is not among them."""
    found = {"energy": ROOT / "examples/vad/energy"}
    if (
        not IMPORTER.exists()
        or subprocess.run([IMPORTER, "-c", "import silero_vad, onnx"], capture_output=True).returncode != 0
    ):
        return found, f"Silero VAD: needs silero-vad==6.2.3 in {IMPORTER.parents[1]}, which tools/test --all makes"
    run(
        IMPORTER,
        "-m",
        "longwave.importer",
        "silero-vad",
        "--no-compile",
        "-o",
        folder / "silero",
        cwd=ROOT / "tools/python",
    )
    return {**found, "silero": folder / "silero"}, ""


def on_this_machine(longwave, folder, name, package, sound):
    """Segments and probabilities of the compiled file."""
    loaded, rows = folder / f"{name}.lw", folder / f"{name}.npy"
    run(longwave, "compile", package, "-o", loaded, "--target", "host", "--stream", "--no-whole")
    lines = [
        json.loads(line) for line in run(longwave, "vad", loaded, sound, "--json", "--probabilities", rows).splitlines()
    ]
    data = rows.read_bytes()
    values = array.array("f")
    values.frombytes(data[10 + int.from_bytes(data[8:10], "little") :])  # behind the header of a .npy file
    return [(line["start_sample"], line["end_sample"]) for line in lines if line["type"] == "segment"], values


def check(program, machine, target, name, package, samples, expected):
    program.compile(package, name)
    output = machine.run(program.build("speech.c", f"{name}-speech"), samples, program.folder / "rows")
    segments = [(int(start), int(end)) for start, end in re.findall(r"^segment (\d+) (\d+)$", output, re.M)]
    rows = floats(program.folder / "rows")
    assert segments == expected[0] and len(segments) >= 3, (target, name, segments, expected[0])
    assert len(rows) == len(expected[1]) and [p >= 0.5 for p in rows] == [p >= 0.5 for p in expected[1]], (target, name)
    apart = max(abs(a - b) for a, b in zip(rows, expected[1]))
    assert apart <= APART, (target, name, apart)
    print(
        f"{target}, {name}: {len(segments)} segments and {len(rows)} decisions as on this machine, probabilities within {apart:.1e}"
    )
    return {what: int(size) for what, size in re.findall(r"^(model|detector) (\d+)$", output, re.M)}


def m55_instructions(program, counter, samples, seconds):
    part = program.folder / f"{seconds}.raw"
    part.write_bytes(samples.read_bytes()[: 2 * CHUNK * 31 * seconds])
    words = ",".join(f"arg={word}" for word in ("speech", part, program.folder / "rows"))
    done = subprocess.run(
        [
            *QEMU,
            "-semihosting-config",
            f"enable=on,target=native,{words}",
            "-plugin",
            counter,
            "-kernel",
            program.folder / "silero-speech",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(re.search(r"^instructions: (\d+)$", done.stderr, re.M).group(1))


def firmware(program, folder):
    """Bytes of flash and of static variables of the firmware template with this model, its own recording left out."""
    for suffix in (".a", ".h"):
        shutil.copy(program.folder / f"silero{suffix}", folder / f"speech{suffix}")
    silence = folder / "silence.wav"
    with wave.open(str(silence), "wb") as out:
        out.setparams((1, 2, RATE, 0, "NONE", ""))
        out.writeframes(bytes(2))
    run(
        "make",
        "-s",
        "-B",
        "-C",
        ROOT / "examples/boards/firmware",
        f"OUT={folder}",
        f"RUNTIME={program.runtime}",
        f"AUDIO={silence}",
        "CFLAGS=-Werror",
        "speech",
    )
    text, data, bss = map(int, run("arm-none-eabi-size", folder / "speech.elf").splitlines()[1].split()[:3])
    return text + data, data + bss


def check_m55_needs(program, sizes, samples, folder):
    counter = make_counter(program.folder)
    a_chunk = (m55_instructions(program, counter, samples, 4) - m55_instructions(program, counter, samples, 2)) // (
        2 * 31
    )
    flash, _ = firmware(program, folder)
    stack = program.sizes["STACK_BYTES"]
    memory = sizes["model"] + sizes["detector"] + stack
    print(
        f"cortex-m55, silero: {a_chunk} instructions per chunk of 32 ms, {flash} bytes of flash with runtime and example, {memory} bytes of memory "
        f"(model {sizes['model']}, detector {sizes['detector']}, stack {stack})"
    )
    assert a_chunk <= INSTRUCTIONS and flash <= FLASH and memory <= MEMORY


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--wav", type=pathlib.Path, default=RECORDING)
    given = parser.parse_args()
    build, left_out = given.build.resolve(), []
    needs("clang", "ld.lld", "ninja", "make")
    machines = {
        target: (machine, [*machine.cc, "-static"])
        for target, machine in MACHINES.items()
        if shutil.which(machine.cc[0])
        and shutil.which(machine.emulator[0])
        and (build / f"tests/freestanding-{target}").exists()
    }
    if has_clang() and shutil.which("arm-none-eabi-gcc") and has_newlib() and shutil.which("qemu-system-arm"):
        machines["cortex-m55"] = (Board(M55_CC, [], "arm-none-eabi", "arm-none-eabi-ld", 0, "$^"), M55_CC)
    left_out += [
        f"{target}: needs its compiler and qemu" for target in (*MACHINES, "cortex-m55") if target not in machines
    ]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        with wave.open(str(given.wav)) as sound:
            (folder / "samples.raw").write_bytes(sound.readframes(sound.getnframes()))
        found, reason = models(folder)
        left_out += [reason] if reason else []
        expected = {
            name: on_this_machine(build / "longwave", folder, name, package, given.wav)
            for name, package in found.items()
        }
        for target, (machine, cc) in machines.items():
            program = Program(build / "longwave", runtime_of(build, target), folder / target, target, cc)
            for name, package in found.items():
                sizes = check(program, machine, target, name, package, folder / "samples.raw", expected[name])
            if target == "cortex-m55" and "silero" in found:
                check_m55_needs(program, sizes, folder / "samples.raw", folder)
    if left_out:
        skip("; ".join(left_out) + "; all else passed")


if __name__ == "__main__":
    sys.exit(main())
