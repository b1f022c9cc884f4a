#!/usr/bin/env python3
"""longwave compile --emit static --target wasm32, in the engine wasmtime.

    wasm_test.py BUILD

Rows are within 1e-5 of the peak of those that the compiled file gives on this machine, as everywhere for vectors of another width
(docs/numerics.md); a state that is saved here continues there. The modules of examples/web need nothing of the browser, are small, hear the words
and the segments of the recording, give audio for audio and write the text that `longwave generate` writes.
"""

import array
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import wave

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/static"), str(ROOT / "tests/support")]
import late_model  # noqa: E402
from static_cross_test import runtime_of  # noqa: E402
from static_program import (  # noqa: E402
    RECORDING,
    Program,
    distance,
    make_models,
    needs,
    read_rows,
    run,
    skip,
    words_of_file,
)

PYTHON = ROOT / ".venv-web/bin/python"  # tools/test makes it
ENGINE = ROOT / "tests/web/wasm_engine.py"
CODE, PACKED = 200_000, 70_000  # bytes of the keyword module, and gzipped
CC = ["clang", "--target=wasm32-wasi", "-msimd128", "-mbulk-memory", "-DWEIGHTS"]
TEXT_MODEL, PROMPT, CHARACTERS = ROOT / "examples/text/lightnet/model", "It was a long", 120


def needs_wasm():
    if (
        subprocess.run(
            [*CC, "-fsyntax-only", "-x", "c++", "-"],
            input="#include <cstdint>\n#include <stdio.h>",
            text=True,
            capture_output=True,
        ).returncode
        != 0
    ):
        skip("needs libc++-14-dev-wasm32, wasi-libc and libclang-rt-14-dev-wasm32")
    if not PYTHON.exists():
        skip(f"needs wasmtime in {PYTHON.parents[1]}: tools/test makes it")


def check_model(program, build, name, package, samples, flags):
    folder = program.folder
    loaded = program.compile_file(package, name, *flags)
    run(program.opener(build), samples, folder / "loaded.rows", folder / "loaded.state", "-", loaded)
    program.compile(package, name, *flags)
    weights = folder / f"{name}.weights"
    wasm = [PYTHON, ENGINE, program.build("rows.c", f"{name}.wasm"), samples]
    run(*wasm, folder / "wasm.rows", folder / "wasm.state", "-", weights)
    reference = read_rows(folder / "loaded.rows")
    apart = distance(read_rows(folder / "wasm.rows"), reference)
    assert apart <= 1e-5, f"{name}: {apart}"
    run(*wasm, folder / "second.rows", folder / "unused", folder / "loaded.state", weights)
    second = read_rows(folder / "second.rows")
    n, values = len(second[0]), len(second[1])
    moved = distance(second, (reference[0][-n:], reference[1][-values:]))
    assert moved <= 1e-5, f"{name}: after a load {moved}"
    print(
        f"{name}: {len(reference[0])} rows within {apart:.1e} of the peak, {moved:.1e} after a state of x86-64; {program.sizes}"
    )
    return loaded


def check_several(program):
    """Several models fit into one module: only the symbols of the models are seen from outside."""
    libraries = [program.folder / f"{name}.a" for name in ("chela", "lightnet", "kws")]
    run("wasm-ld", "--relocatable", "--whole-archive", *libraries, "-o", program.folder / "several.o")
    seen = run("llvm-nm", "--extern-only", "--defined-only", program.folder / "several.o").split()[2::3]
    assert sorted(seen) == ["longwave_chela", "longwave_kws12", "longwave_lightnet"], seen


def check_refusals(program, name):
    """The weights must be those of the model, complete and aligned. No file is written for a target that cannot load code."""
    wasm = program.build("weights.c", f"{name}-weights.wasm", folder=ROOT / "tests/web")
    print(run(PYTHON, ENGINE, wasm, program.folder / f"{name}.weights"), end="")
    refused = program.folder / "refused.lw"
    done = subprocess.run(
        [program.longwave, "compile", ROOT / "examples/kws/model", "-o", refused, "--target", "wasm32"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and "--emit static" in done.stderr and not refused.exists(), done.stderr


def make_page(program, build, out):
    """The filter of the page gives the samples as they came (late_model.py)."""
    late = late_model.write(program.folder / "late-folder")
    run(
        "make",
        "-s",
        "-C",
        ROOT / "examples/web",
        f"OUT={out}",
        f"LONGWAVE={program.longwave}",
        f"RUNTIME={program.runtime}",
        f"FILTER={late}",
        "all",
        "speech",
        "filter",
    )
    return out / "models"


def sizes_of(path):
    """Bytes of the file, and of what a server sends."""
    return path.stat().st_size, len(gzip.compress(path.read_bytes(), 9))


def check_words(models, expected):
    sizes = sizes_of(models / "kws.wasm")
    assert sizes[0] <= CODE and sizes[1] <= PACKED, sizes
    with wave.open(str(RECORDING)) as sound:
        samples = sound.readframes(sound.getnframes())
    heard = json.loads(run(PYTHON, ROOT / "tests/web/spotter_page.py", models, input=samples.hex()))
    assert [tuple(event) for event in heard["events"]] == expected, (heard["events"], expected)
    print(f"kws.wasm: {sizes[0]} bytes, {sizes[1]} gzipped; {len(expected)} words as on this machine")


def check_speech(program, models):
    loaded = program.compile_file(ROOT / "examples/vad/energy", "energy")
    lines = [json.loads(line) for line in run(program.longwave, "vad", loaded, RECORDING, "--json").splitlines()]
    expected = [[line["start_sample"], line["end_sample"]] for line in lines if line["type"] == "segment"]
    with wave.open(str(RECORDING)) as sound:
        samples = sound.readframes(sound.getnframes())
    heard = json.loads(run(PYTHON, ROOT / "tests/web/detector_page.py", models, input=samples.hex()))
    assert heard == {"hop": 512, "segments": expected}, (heard, expected)
    sizes = sizes_of(models / "speech.wasm")
    print(f"speech.wasm: {sizes[0]} bytes, {sizes[1]} gzipped; {len(expected)} segments as on this machine")


def check_filter(models):
    samples = array.array("f", [(7 * i % 101) / 101 - 0.5 for i in range(5001)])
    impulse = array.array("f", [float(i == 2000) for i in range(5001)])
    latencies = []
    for rate in (16000, 44100, 48000):
        for sound in (samples, impulse):
            said = json.loads(run(PYTHON, ROOT / "tests/web/filter_page.py", models, rate, input=sound.tobytes().hex()))
            heard, late = array.array("f", bytes.fromhex(said["samples"])), said["latency"]
            assert said["rate"] == rate and len(heard) == len(sound), said
            if rate == 16000:
                assert heard == array.array("f", bytes(4 * late)) + sound[: len(sound) - late]
            if sound is impulse:
                assert max(range(len(heard)), key=lambda i: abs(heard[i])) == 2000 + late, (rate, late)
        latencies.append(late)
    sizes = sizes_of(models / "filter.wasm")
    print(
        f"filter.wasm: {sizes[0]} bytes, {sizes[1]} gzipped; latency by impulse {latencies} samples at 16, 44.1 and 48 kHz, as it says"
    )


def check_text(program, models):
    loaded = program.compile_file(TEXT_MODEL, "text", "--blocks", "1,64")
    expected = run(
        program.longwave, "generate", loaded, "--prompt", PROMPT, "--tokens", CHARACTERS, "--temperature", "0"
    )
    written = run(PYTHON, ROOT / "tests/web/writer_page.py", models, PROMPT, CHARACTERS)
    assert written.strip() and written.strip() in expected, (written, expected)
    sizes = sizes_of(models / "text.wasm")
    print(
        f"text.wasm: {sizes[0]} bytes, {sizes[1]} gzipped, weights {(models / 'text.weights').stat().st_size}; the same {CHARACTERS} bytes of text"
    )


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    needs("clang", "wasm-ld", "llvm-ar", "llvm-nm", "ninja", "make")
    needs_wasm()
    runtime = runtime_of(build, "wasm32")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        program = Program(build / "longwave", runtime, folder / "wasm32", "wasm32", CC)
        for name, package, samples, flags in make_models(folder):
            loaded = check_model(program, build, name, package, samples, flags)
        check_several(program)
        check_refusals(program, "kws")
        models = make_page(program, build, folder / "page")
        check_words(models, words_of_file(program, build, loaded))
        check_speech(program, models)
        check_filter(models)
        check_text(program, models)


if __name__ == "__main__":
    sys.exit(main())
