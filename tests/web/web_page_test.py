#!/usr/bin/env python3
"""The page of examples/web in headless Chromium: drops the recording, reads its words, listens on the audio thread, and lets the page write.

    web_page_test.py BUILD [PICTURES]

PICTURES gets the page wide and narrow, light and dark. The words must be those of this machine, at the same times; through the worklet, which
resamples from 48 kHz, the same words within 60 ms.
"""
import functools
import http.server
import json
import pathlib
import shutil
import sys
import tempfile
import threading

from wasm_test import CC, RECORDING, ROOT, Program, make_page, runtime_of, needs, run, skip, words_of_file

MODULES = ROOT / ".cache/web"  # tools/test --all makes it: npm packages playwright-core and typescript
CHROMIUM = "/usr/bin/chromium"
LATE = 60  # ms: the delay of the resampler, and blocks that begin elsewhere


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def check_types(folder):
    package = folder / "node_modules/longwave-web"
    shutil.copytree(ROOT / "examples/web/package", package)
    shutil.copy(ROOT / "tests/web/usage.ts", folder)
    (folder / "package.json").write_text('{"type": "module"}')
    run("node", MODULES / "node_modules/typescript/lib/tsc.js", "--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--moduleDetection", "force",
        "--lib", "es2022,dom,dom.iterable", "--types", "", "--ignoreConfig", folder / "usage.ts", cwd=folder)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    needs("clang", "wasm-ld", "llvm-ar", "ninja", "make", "node")
    if not pathlib.Path(CHROMIUM).exists() or not (MODULES / "node_modules/playwright-core").exists():
        skip(f"needs {CHROMIUM} (package chromium) and {MODULES}, which tools/test --all makes")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else folder
        program = Program(build / "longwave", build / "tests/kernels", runtime_of(build, "wasm32"), folder / "wasm32", "wasm32", CC)
        make_page(program, build, folder / "page")
        loaded = folder / "kws.lw"
        run(program.longwave, "compile", ROOT / "examples/kws/model", "-o", loaded, "--target", "host", "--stream", "--no-whole", "--cache", program.cache)
        expected = [[ms, word] for ms, word, _ in words_of_file(program, build, loaded)]
        (folder / "types").mkdir()
        check_types(folder / "types")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder / "page"))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/"
        seen = json.loads(run("node", ROOT / "tests/web/page.mjs", MODULES, CHROMIUM, url, RECORDING, pictures))
        server.shutdown()
    assert seen["errors"] == [] and seen["elsewhere"] == [], (seen["errors"], seen["elsewhere"])
    assert seen["dropped"] == expected, (seen["dropped"], expected)
    assert [word for _, word in seen["worklet"]] == [word for _, word in expected], (seen["worklet"], expected)
    assert all(abs(late - ms) <= LATE for (late, _), (ms, _) in zip(seen["worklet"], expected)), (seen["worklet"], expected)
    assert seen["refusal"].startswith("letter.txt: the browser cannot decode"), seen["refusal"]
    assert seen["text"].startswith("It was a long") and len(seen["text"]) >= 600, seen["text"]
    assert seen["overflow-light"] <= 0 and seen["overflow-dark"] <= 0, "the page is wider than a phone"
    print(f"{len(expected)} words in the page, the same through the worklet; {len(seen['text'])} characters written")


if __name__ == "__main__":
    sys.exit(main())
