"""The filter module of examples/web: filter_page.py MODELS RATE. Floats come and go as hexadecimal digits, in blocks of 128, as audio worklets have them.
Prints the rate, the latency and the samples as JSON."""

import json
import pathlib
import sys

from wasm_engine import Page

BLOCK = 4 * 128
models = pathlib.Path(sys.argv[1])
page = Page(models / "filter.wasm", (models / "filter.weights").read_bytes(), int(sys.argv[2]))
samples, heard = bytes.fromhex(sys.stdin.read()), b""
for _turn in range(2):  # a reset makes it as new
    page.check(page.reset())
    heard = b""
    for at in range(0, len(samples), BLOCK):
        part = samples[at : at + BLOCK]
        page.write(page.samples(), part)
        page.check(page.process(len(part) // 4))
        heard += page.read(page.samples(), len(part))
print(json.dumps({"rate": page.sample_rate(), "latency": page.latency(), "samples": heard.hex()}))
