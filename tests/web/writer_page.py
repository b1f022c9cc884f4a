"""The text module of examples/web: writer_page.py MODELS PROMPT BYTES prints the most probable continuation."""

import pathlib
import sys

from wasm_engine import Page

models, prompt, count = pathlib.Path(sys.argv[1]), sys.argv[2].encode(), int(sys.argv[3])
page = Page(models / "text.wasm", (models / "text.weights").read_bytes())
page.write(page.prompt_bytes(), prompt)
page.check(page.prompt(len(prompt), 0.0, 0.0, 1.0))
print(bytes(page.next() for _ in range(count)).decode(errors="replace"))
