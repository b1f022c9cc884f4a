#!/usr/bin/env python3
"""The page of examples/web in headless Chromium: drops the recording, reads its words, listens on the audio thread, and lets the page write.

    web_page_test.py BUILD [PICTURES]

PICTURES gets the page wide and narrow, light and dark. The words must be those of this machine, at the same times; through the worklet, which
resamples from 48 kHz, the same words within 100 ms, and the segments of a speech detector within 100 ms.
"""

import functools
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading

from wasm_test import CC, RECORDING, ROOT, Program, make_page, needs, run, runtime_of, skip, words_of_file

MODULES = ROOT / ".cache/web"  # tools/test --all makes it: npm packages playwright-core and typescript
CHROMIUM = "/usr/bin/chromium"
LATE = 100  # ms: the delay of the resampler, blocks that begin elsewhere, and a lower threshold, because the resampled audio has other scores
EDGE = 0.1  # s: three rows of a speech detector, which the resampled audio may move
IMPORTER = ROOT / ".venv-torch/bin/python"  # tools/test --all makes it, with the package silero-vad


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def check_types(folder):
    package = folder / "node_modules/longwave-web"
    shutil.copytree(ROOT / "examples/web/package", package)
    shutil.copy(ROOT / "tests/web/usage.ts", folder)
    (folder / "package.json").write_text('{"type": "module"}')
    run(
        "node",
        MODULES / "node_modules/typescript/lib/tsc.js",
        "--noEmit",
        "--strict",
        "--target",
        "es2022",
        "--module",
        "nodenext",
        "--moduleDetection",
        "force",
        "--lib",
        "es2022,dom,dom.iterable",
        "--types",
        "",
        "--ignoreConfig",
        folder / "usage.ts",
        cwd=folder,
    )


def check_refusals(said):
    for text, part in zip(
        said, ("no code for browsers", "no weights in it", "finds no speech", "not a WebAssembly module"), strict=True
    ):
        assert part in text, said


def speech_models(program, page):
    """Files to drop on the page, each with its segments of the recording on this machine; and why Silero VAD is not among them."""
    folders, reason = (
        {"speech": ROOT / "examples/vad/energy"},
        f"Silero VAD in the page: needs silero-vad==6.2.3 in {IMPORTER.parents[1]}, which tools/test --all makes",
    )
    folder = page.parent
    if (
        IMPORTER.exists()
        and subprocess.run([IMPORTER, "-c", "import silero_vad, onnx"], capture_output=True).returncode == 0
    ):
        folders["silero"], reason = folder / "silero", ""
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
        run(
            "make",
            "-s",
            "-C",
            ROOT / "examples/web",
            f"OUT={folder / 'other'}",
            f"LONGWAVE={program.longwave}",
            f"RUNTIME={program.runtime}",
            f"SPEECH={folder / 'silero'}",
            "speech",
        )
        shutil.copy(folder / "other/models/speech-whole.wasm", page / "models/silero-whole.wasm")
    run(
        "llvm-objcopy",
        f"--add-section=longwave.weights={page}/models/kws.weights",
        page / "models/kws.wasm",
        page / "models/words-whole.wasm",
    )
    expected = {}
    for name, model in folders.items():
        loaded = program.compile_file(model, name)
        lines = [json.loads(line) for line in run(program.longwave, "vad", loaded, RECORDING, "--json").splitlines()]
        expected[f"{name}-whole.wasm"] = [
            [line["start_sample"] / 16000, line["end_sample"] / 16000] for line in lines if line["type"] == "segment"
        ]
        assert len(expected[f"{name}-whole.wasm"]) >= 3, expected
    return expected, reason


def check_speech(seen, expected):
    for name, segments in expected.items():
        assert seen[name]["dropped"] == segments, (name, seen[name], segments)
        assert seen[name]["16000"] == segments, (name, seen[name], segments)
        assert len(seen[name]["48000"]) == len(segments), (name, seen[name], segments)
        assert all(
            abs(a - b) <= EDGE for ours, theirs in zip(seen[name]["48000"], segments) for a, b in zip(ours, theirs)
        ), (name, seen[name], segments)
        print(
            f"{name}: {len(segments)} segments of speech in the page and through the worklet, the same samples as on this machine"
        )


def check_filter(seen):
    """The model gives the samples as they came. At 48 kHz the resampler keeps 0.001 dB and has -100 dB of aliases, twice: below 3e-4 of the tone."""
    assert seen["same"] and "latency of 1.4 ms" in seen["said"], seen
    assert seen["16000"] == {"late": 23, "worst": 0} and seen["48000"]["worst"] < 1.5e-4, seen
    print(f"a filter in the page and through the worklet, {seen['48000']['late']} samples late at 48 kHz as it says")


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    needs("clang", "wasm-ld", "llvm-ar", "ninja", "make", "node")
    if not pathlib.Path(CHROMIUM).exists() or not (MODULES / "node_modules/playwright-core").exists():
        skip(f"needs {CHROMIUM} (package chromium) and {MODULES}, which tools/test --all makes")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else folder
        program = Program(build / "longwave", runtime_of(build, "wasm32"), folder / "wasm32", "wasm32", CC)
        make_page(program, build, folder / "page")
        loaded = program.compile_file(ROOT / "examples/kws/model", "kws")
        expected = [[ms, word] for ms, word, _ in words_of_file(program, build, loaded)]
        speech, reason = speech_models(program, folder / "page")
        (folder / "types").mkdir()
        check_types(folder / "types")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder / "page"))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        seen = json.loads(
            run("node", ROOT / "tests/web/page.mjs", MODULES, CHROMIUM, url, RECORDING, pictures, *speech)
        )
        server.shutdown()
    assert seen["errors"] == [] and seen["elsewhere"] == [], (seen["errors"], seen["elsewhere"])
    check_refusals(seen["models"])
    check_speech(seen["speech"], speech)
    check_filter(seen["filter"])
    assert seen["dropped"] == expected, (seen["dropped"], expected)
    assert [word for _, word in seen["worklet"]] == [word for _, word in expected], (seen["worklet"], expected)
    assert all(abs(late - ms) <= LATE for (late, _), (ms, _) in zip(seen["worklet"], expected)), (
        seen["worklet"],
        expected,
    )
    assert seen["refusal"].startswith("letter.txt: the browser cannot decode"), seen["refusal"]
    assert seen["text"].startswith("It was a long") and len(seen["text"]) >= 600, seen["text"]
    assert seen["overflow-light"] <= 0 and seen["overflow-dark"] <= 0, "the page is wider than a phone"
    print(f"{len(expected)} words in the page, the same through the worklet; {len(seen['text'])} characters written")
    if reason:
        skip(f"{reason}; all else passed")


if __name__ == "__main__":
    sys.exit(main())
