"""The speech module of examples/web on 16-bit samples, which come as hexadecimal digits on standard input: its segments, in samples."""

import array
import json
import pathlib
import sys

from wasm_engine import Page

END = 4
models = pathlib.Path(sys.argv[1])
page = Page(models / "speech.wasm", (models / "speech.weights").read_bytes(), 0.5, 0.0, 250.0, 100.0, 30.0, 0.0)
samples = array.array("f", (value / 32768 for value in array.array("h", bytes.fromhex(sys.stdin.read()))))
segments = []


def pull():
    while page.pull():
        if page.event_kind() == END:
            segments.append([int(page.event_start()), int(page.event_end())])


for at in range(0, len(samples), 4096):
    part = samples[at : at + 4096]
    page.write(page.samples(), part.tobytes())
    done = 0
    while done < len(part):
        taken = page.push(done, len(part) - done)
        assert taken >= 0, page.text(page.error())
        done += taken
        pull()
page.check(page.finish())
pull()
print(json.dumps({"hop": page.hop(), "segments": segments}))
