"""Golden states: saved states of small models that every later version loads.

states/FAMILY/          the model package, `saved.state` after 100 ticks, and `rows.f32`: the rows of the next 60 ticks
states/older_NAME/      an artifact of format 2.3 or older (`model.artifact`) instead of the package, for x86-64-v2
"""

import array
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
STATES = HERE / "states"
sys.path.insert(0, str(HERE.parent / "conformance"))
import state_streams  # noqa: E402

BEFORE, AFTER = 100, 60  # ticks; 100 cuts a block
OPTIONS = {"orchid": ["--window", "32", "--hop", "4"]}  # looks ahead: its stream slides a window


def samples(first: int, ticks: int) -> list:
    """Values in [-1, 1] from integers alone: the same in every version of Python."""
    at = first * state_streams.WIDTH
    return [i * 7919 % 2003 / 1001.5 - 1 for i in range(at, at + ticks * state_streams.WIDTH)]


def compile_package(longwave, package, artifact, options=()):
    options = list(options) or OPTIONS.get(package.name) or ["--stream", "--no-whole", "--blocks", "16,4"]
    command = [longwave, "compile", package, "-o", artifact, *options]
    if "--target" not in options:
        command += ["--target", "x86-64-v2"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr}"


def write(folder: pathlib.Path, state: bytes, rows: list):
    (folder / "saved.state").write_bytes(state)
    values = array.array("f", (x for _, row in rows for x in row))
    if sys.byteorder == "big":
        values.byteswap()
    (folder / "rows.f32").write_bytes(values.tobytes())
    (folder / "rows.json").write_text(json.dumps({"first": rows[0][0], "width": len(rows[0][1])}) + "\n")


def read_rows(folder: pathlib.Path) -> list:
    values, shape = array.array("f", (folder / "rows.f32").read_bytes()), json.loads((folder / "rows.json").read_text())
    if sys.byteorder == "big":
        values.byteswap()
    width = shape["width"]
    return [(shape["first"] + i, values[i * width : (i + 1) * width]) for i in range(len(values) // width)]
