#!/usr/bin/env python3
"""Tables and counts of the documentation against the program: docs_tables_test.py LONGWAVE

- the layers of docs/models.md are those that `longwave compile --layers` lists;
- the limits of docs/limits.md that are options have the range of the option;
- README.md counts the commands.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGWAVE = str(pathlib.Path(sys.argv[1]).resolve())
NUMBERS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen".split()
# Row of the table, its option.
LIMITS = {"offline length": ("compile", "--length"), "block": ("compile", "--block"), "threads of an offline run": ("run", "--threads")}


def page(name):
    return (ROOT / name).read_text(encoding="utf-8")


def differs(what, documented, found):
    if documented != found:
        sys.exit(f"{what}: the page says {documented}, the program {found}")


def layers():
    table = re.search(r"^\| Layer \| Stream.*?\n\n", page("docs/models.md"), re.M | re.S).group()
    documented = [name for row in table.split("\n")[2:-2] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    differs("docs/models.md, layers", sorted(documented), subprocess.run([LONGWAVE, "compile", "--layers"], capture_output=True, text=True, check=True).stdout.split())


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


def count(program):
    documented = NUMBERS.index(re.search(r"All (\w+) commands", page("README.md")).group(1)) + 10
    differs("README.md, commands", documented, sum(not one.get("hidden") for one in program["commands"]))


layers()
described = table_of_options()
limits(described)
count(described)
print("the tables are those of the program")
