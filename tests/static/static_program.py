"""Models that programs contain, and the programs: what the tests of this folder share."""

import array
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import wave

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/conformance"))
import families  # noqa: E402
import sc10_package  # noqa: E402

RECORDING = ROOT / "examples/kws/demo.wav"
ALLOWED = {"memcpy", "memmove", "memset"}  # all that model and runtime may leave to the program


def run(*command, **options):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


def cells():
    """An LSTM and a GRU whose states begin with other numbers than zeros."""
    units, weights, nodes, last = 8, families.Weights(7), [], "x"
    for kind, gates, given in (("lstm", 4, [2, units]), ("gru", 3, [units])):
        weights.linear(f"{kind}.in", gates * units, 24 if last == "x" else units)
        weights.normal(f"{kind}.weight", [gates * units, units], 0.4)
        weights.normal(f"{kind}.bias", [units], 0.2)
        weights.normal(f"{kind}.initial", given, 0.8)
        own = ["weight", "initial"] if kind == "lstm" else ["weight", "bias", "initial"]
        nodes.append(
            {
                "name": f"{kind}.in",
                "op": "linear",
                "inputs": [last, {"tensor": f"{kind}.in.weight"}, {"tensor": f"{kind}.in.bias"}],
                "attributes": {"bias": 1},
            }
        )
        nodes.append(
            {
                "name": kind,
                "op": kind,
                "inputs": [f"{kind}.in", *({"tensor": f"{kind}.{key}"} for key in own)],
                **({"attributes": {"reset_after": 0}} if kind == "gru" else {}),
            }
        )
        last = kind
    del weights.tensors["lstm.bias"]
    return {
        "format": "longwave-model",
        "version": 2,
        "name": "cells",
        "length": 64,
        "inputs": [{"name": "x", "kind": "features", "width": 24}],
        "graph": nodes,
        "outputs": [{"name": "y", "from": "gru"}],
    }, weights.tensors


def make_models(folder):
    """Name, model folder, input file and flags of compile: one model of audio, one CHELA, one LightNet, one of cells."""
    noise = families.Weights(5)
    noise.normal("x", [400, 24], 1.0)
    features = noise.tensors["x"][1]
    for name, package in (("chela", families.chela(24, 1)), ("lightnet", families.lightnet(24, 1)), ("cells", cells())):
        sc10_package.write(folder / name, *package)
        (folder / f"{name}.input").write_bytes(features.tobytes())
        yield name, folder / name, folder / f"{name}.input", ["--blocks", "16"]
    with wave.open(str(RECORDING)) as sound:
        samples = array.array("h", sound.readframes(5 * 16000 + 100))
    (folder / "kws.input").write_bytes(array.array("f", (value / 32768 for value in samples)).tobytes())
    yield "kws", ROOT / "examples/kws/model", folder / "kws.input", []


def read_rows(path):
    """Output and number of each row, and all values."""
    data, at, heads, values = path.read_bytes(), 0, [], array.array("f")
    while at < len(data):
        index, width, row = struct.unpack_from("<IIQ", data, at)
        heads.append((index, width, row))
        values.frombytes(data[at + 16 : at + 16 + 4 * width])
        at += 16 + 4 * width
    return heads, values


def distance(rows, reference):
    """Largest difference of two lists of rows, by the peak of the second. The rows must be the same ones."""
    assert rows[0] == reference[0] and rows[0], f"{len(rows[0])} rows, expected {len(reference[0])}"
    peak = max(abs(value) for value in reference[1])
    return max(abs(a - b) for a, b in zip(rows[1], reference[1])) / peak


class Program:
    """Compiles a model into a library, and C programs that contain it."""

    def __init__(self, longwave, runtime, folder, target, cc):
        folder.mkdir()
        self.longwave, self.runtime, self.folder, self.target, self.cc = (longwave, runtime, folder, target, cc)

    def compile(self, package, name, *flags):
        self.library = self.folder / f"{name}.a"
        out = run(
            self.longwave,
            "compile",
            package,
            "--emit",
            "static",
            "--target",
            self.target,
            "--stream",
            "--no-whole",
            "-o",
            self.library,
            *flags,
        )
        self.header = self.folder / f"{name}.h"
        text = self.header.read_text()
        self.symbol = re.search(r"extern const lw_static_model (\w+);", text).group(1)
        self.prefix = self.symbol.upper()
        self.sizes = {key: int(value) for key, value in re.findall(rf"#define {self.prefix}_(\w+) (\d+)", text)}
        return out

    def compile_file(self, package, name, *flags, target="host"):
        """The same model as a file, which a library opens."""
        flags = ["--target", target, "--stream", "--no-whole", *flags]
        run(self.longwave, "compile", package, "-o", self.folder / f"{name}.lw", *flags)
        return self.folder / f"{name}.lw"

    def opener(self, build):
        """rows.c, which opens a file with the library of the build."""
        paths = [
            ROOT / "runtime/include",
            ROOT / "tests/static/rows.c",
            f"-Wl,-rpath,{build}",
            build / "liblongwave.so",
        ]
        run("cc", "-std=c11", "-O1", "-I", *paths, "-o", self.folder / "opener")
        return self.folder / "opener"

    def build(self, source, program, *flags, folder=ROOT / "tests/static"):
        run(
            *self.cc,
            "-std=c11",
            "-O1",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-ffunction-sections",
            "-Wl,--gc-sections",
            "-I",
            ROOT / "runtime/include",
            "-include",
            self.header,
            f"-DMODEL={self.symbol}",
            f"-DPREFIX={self.prefix}",
            *flags,
            folder / source,
            self.library,
            self.runtime,
            "-o",
            self.folder / program,
        )
        return self.folder / program

    def undefined(self, linker):
        """What model and runtime, all of it, ask of the program."""
        linked = self.folder / "all.o"
        run(linker, "-r", "--whole-archive", self.library, self.runtime, "-o", linked)
        return set(run("nm", "-u", linked).replace("U", " ").split())

    def sections(self):
        """Sections of the library that a program loads: name to flags."""
        rows = re.findall(
            r"^ +\[ *\d+\] (\.\S+) +\S+ +[0-9a-f]+ [0-9a-f]+ ([0-9a-f]+) [0-9a-f]+ +([A-Z]*) ",
            run("readelf", "-SW", self.library),
            re.M,
        )
        return {name: flags for name, size, flags in rows if "A" in flags and int(size, 16) > 0}


def check_library(program, linker, helpers="$^"):
    """`helpers`: pattern of the functions that the compiler's own library provides."""
    undefined = {name for name in program.undefined(linker) if not re.match(helpers, name)}
    assert undefined <= ALLOWED, f"{program.library} and {program.runtime} leave undefined: {undefined - ALLOWED}"
    sections = program.sections()  # W: can be written; X: code
    assert sections == {f".text.{program.symbol}": "AX", f".rodata.{program.symbol}": "A"}, sections


def words_of_file(program, build, loaded):
    """What examples/c/spot.c hears in the recording with the compiled file, on this machine: milliseconds, word and percent of each."""
    spot = program.folder / "spot"
    run(
        "cc",
        "-std=c11",
        "-I",
        ROOT / "runtime/include",
        ROOT / "examples/c/spot.c",
        f"-Wl,-rpath,{build}",
        build / "liblongwave.so",
        "-o",
        spot,
    )
    heard = re.findall(r"^(\S+)  ([\d.]+)  at ([\d.]+) s", run(spot, loaded, RECORDING), re.M)
    assert len(heard) == 11, heard
    return [(round(float(seconds) * 1000), word, round(float(score) * 100)) for word, score, seconds in heard]


def words_of(output):
    """What examples/static/listen.c prints."""
    return [
        (int(ms), word, int(percent)) for ms, word, percent in re.findall(r"^(\d+) ms  (\S+)  (\d+) %", output, re.M)
    ]


def make_example(program, *arguments, name="kws"):
    """Builds examples/static with a keyword model that the program compiled."""
    for suffix in (".a", ".h"):
        (program.folder / f"kws12{suffix}").write_bytes((program.folder / f"{name}{suffix}").read_bytes())
    return run(
        "make", "-s", "-C", ROOT / "examples/static", f"OUT={program.folder}", f"RUNTIME={program.runtime}", *arguments
    )


def cut_recording(folder, seconds):
    part = folder / f"{seconds}.wav"
    with wave.open(str(RECORDING)) as whole, wave.open(str(part), "wb") as cut:
        cut.setparams(whole.getparams())
        cut.writeframes(whole.readframes(seconds * 16000))
    return part


def make_counter(folder):
    """A plugin of qemu that prints how many instructions the emulated CPU executed."""
    counter = folder / "count.so"
    run(
        "cc",
        "-shared",
        "-fPIC",
        "-Wall",
        "-Wextra",
        "-Werror",
        ROOT / "tests/static/count_instructions.c",
        "-o",
        counter,
    )
    return counter


def executed(emulator, counter, *command):
    """Instructions of a program under qemu's user emulation."""
    done = subprocess.run(
        [str(part) for part in (*emulator, "-plugin", counter, "-d", "plugin", *command)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(re.search(r"^instructions: (\d+)$", done.stderr, re.M).group(1))


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def has_clang():
    """A clang that the compiler takes for targets of which Halide writes assembly."""
    names = [os.environ.get("LONGWAVE_CLANG", ""), "clang-19", "clang-20", "clang-21", "clang-22"]
    return any(shutil.which(name) for name in names if name)


def needs(*programs):
    for name in programs:
        if not shutil.which(name):
            skip(f"needs {name}")
