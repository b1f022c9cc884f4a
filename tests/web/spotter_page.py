"""The keyword module of examples/web on 16-bit samples, which come as hexadecimal digits on standard input: events as the test expects them."""

import array
import json
import pathlib
import sys

from wasm_engine import Page

models = pathlib.Path(sys.argv[1])
page = Page(models / "kws.wasm", (models / "kws.weights").read_bytes(), 0.0)
samples = array.array("f", (value / 32768 for value in array.array("h", bytes.fromhex(sys.stdin.read()))))
events, rate = [], page.sample_rate()


def pull():
    while page.pull():
        events.append(
            [round(1000 * page.event_tick() / rate), page.text(page.event_word()), round(100 * page.event_score())]
        )


for at in range(0, len(samples), page.block()):
    part = samples[at : at + page.block()]
    page.write(page.samples(), part.tobytes())
    page.check(page.push(len(part)))
    pull()
page.check(page.finish())
pull()
print(json.dumps({"events": events}))
