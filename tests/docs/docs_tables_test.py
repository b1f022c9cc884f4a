#!/usr/bin/env python3
"""Tables and counts of the documentation against the program: docs_tables_test.py LONGWAVE

- the layers of docs/models.md are those that `longwave compile --layers` lists;
- the limits of docs/limits.md that are options have the range of the option, and the others are the constants of the sources;
- the sizes of the trained models in docs/models.md are those of their files;
- README.md counts the commands, and has the version of CMakeLists.txt.
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGWAVE = str(pathlib.Path(sys.argv[1]).resolve())
NUMBERS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen".split()
# Row of the table, its option.
LIMITS = {
    "offline length": ("compile", "--length"),
    "block": ("compile", "--block"),
    "threads of an offline run": ("run", "--threads"),
}
# Row of the table, file, and the constant there in C++, for each number of the row.
CONSTANTS = [
    (
        "`model.json`",
        [
            ("formats/package/package.cc", r"max_json_bytes = (\d+)u << 20;"),
            ("formats/package/package.cc", r"max_json_depth = (\d+)"),
            ("formats/package/layer_reader.cc", r"max_layers = (\d+)"),
            ("formats/package/layer_reader.cc", r"max_nesting = (\d+)"),
        ],
    ),
    (
        "tensors in `weights.safetensors`",
        [
            ("formats/package/safetensors.cc", r"max_tensors = ([\d']+)"),
            ("formats/package/safetensors.cc", r"max_rank = (\d+)"),
        ],
    ),
    ("names", [("formats/package/attributes.cc", r"max_name = (\d+)")]),
    ("stream entries of a file", [("formats/artifact/rules.h", r" streams = (\d+)")]),
    ("entries of a file", [("formats/artifact/rules.h", r" entries = (\d+)")]),
    ("dimensions of a tensor in a `.lw` file", [("formats/artifact/rules.h", r" rank = (\d+)")]),
]
UNITS = {"kB": 1000, "MB": 1000**2, "M": 1000**2}


def page(name):
    return (ROOT / name).read_text(encoding="utf-8")


def differs(what, documented, found):
    if documented != found:
        sys.exit(f"{what}: the page says {documented}, the program {found}")


def layers():
    table = re.search(r"^\| Layer \| Stream.*?\n\n", page("docs/models.md"), re.M | re.S).group()
    documented = [name for row in table.split("\n")[2:-2] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    differs(
        "docs/models.md, layers",
        sorted(documented),
        subprocess.run([LONGWAVE, "compile", "--layers"], capture_output=True, text=True, check=True).stdout.split(),
    )


def table_of_options():
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([LONGWAVE, "manual", "-o", folder], check=True, stdout=subprocess.DEVNULL)
        return json.loads((pathlib.Path(folder) / "cli.json").read_text(encoding="utf-8"))


def limits(program):
    for row, (command, option) in LIMITS.items():
        documented = int(re.search(rf"^\| {row} \| ([\d,]+)", page("docs/limits.md"), re.M).group(1).replace(",", ""))
        options = next(one["options"] for one in program["commands"] if one["name"] == command)
        most = int(next(one["range"] for one in options if option in one["names"]).split()[-1])
        differs(f"docs/limits.md, {row}", documented, most)


def constants():
    for row, places in CONSTANTS:
        cell = re.search(rf"^\| {re.escape(row)} \| (.*) \|$", page("docs/limits.md"), re.M).group(1)
        documented = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?![\d.])", cell)]
        found = [int(re.search(pattern, page(file)).group(1).replace("'", "")) for file, pattern in places]
        differs(f"docs/limits.md, {row}", documented, found)


def parameters(file):
    with open(file, "rb") as opened:
        header = json.loads(opened.read(int.from_bytes(opened.read(8), "little")))
    return sum(math.prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")


def trained():
    """Sizes of the files in bytes, or numbers of parameters, in two digits."""
    rows = re.findall(r"^\| `(examples/\S+)` \|[^|]*\| ([\d.]+) (kB|MB|M) \|", page("docs/models.md"), re.M)
    if len(rows) != 4:
        sys.exit(f"docs/models.md: expected 4 trained models with sizes, found {len(rows)}")
    for name, number, unit in rows:
        files = [
            file for file in sorted((ROOT / name).rglob("*")) if file.name in ("model.json", "weights.safetensors")
        ]
        size = (
            sum(file.stat().st_size for file in files)
            if unit != "M"
            else sum(parameters(file) for file in files if file.suffix == ".safetensors")
        )
        digits = 2 if unit != "M" else 1
        differs(f"docs/models.md, {name}, {unit}", float(number), float(f"{size / UNITS[unit]:.{digits}g}"))


def version():
    documented = re.search(r"^Version ([\d.]+),", page("README.md"), re.M).group(1)
    differs(
        "README.md, version",
        documented,
        re.search(r"project\(longwave VERSION ([\d.]+)", page("CMakeLists.txt")).group(1),
    )


def count(program):
    documented = NUMBERS.index(re.search(r"All (\w+) commands", page("README.md")).group(1)) + 10
    differs("README.md, commands", documented, sum(not one.get("hidden") for one in program["commands"]))


layers()
described = table_of_options()
limits(described)
count(described)
constants()
trained()
version()
print("the tables are those of the program")
