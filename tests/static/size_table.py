"""The table of sizes in docs/static.md against what examples/static/board.c prints."""

import re

from static_program import ROOT

PAGE = ROOT / "docs/static.md"
# Row of the table: what the program prints, of flash or of memory.
ROWS = {
    "kernels": "flash  code of the model",
    "runtime and example": "flash  runtime and this program",
    "strings and the memory map": "flash  texts and the memory map",
    "plan, weights and tables": "flash  plan, weights and tables",
    "model": "memory model",
    "spotter with its stream": "memory spotter with its stream",
    "other variables": "memory other variables",
    "stack, at most": "memory stack, at most",
}
COLUMNS = {"arm64": 0, "Cortex-M55": 1, "Cortex-M55, int8": 2}


def sizes_of(output):
    return {what.strip(): int(size) for what, size in re.findall(r"^((?:flash|memory) .*?)\s(\d+)$", output, re.M)}


def check_table(output, column):
    """Each number of the column is within 2 % or 64 bytes of the one that was printed: compilers differ. Otherwise the numbers to write are printed."""
    sizes = sizes_of(output)
    expected = {row: (sizes[what], "flash" if what.startswith("flash") else "memory") for row, what in ROWS.items()}
    flash = sum(size for size, kind in expected.values() if kind == "flash")
    wrong = []
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip().replace(",", "") for cell in line.strip("|").split("|")]
        row = line.strip("|").split("|")[0].strip()
        if len(cells) != 7 or row not in expected and row != "all":
            continue
        at = 1 + 2 * COLUMNS[column]
        for where, size in (
            ((at, flash), (at + 1, sizes["memory all"]))
            if row == "all"
            else ((at + (expected[row][1] == "memory"), expected[row][0]),)
        ):
            if not cells[where].isdigit() or abs(int(cells[where]) - size) > max(64, size // 50):
                wrong.append(f"{row}: {cells[where]}, printed {size:,}")
        expected.pop(row, None)
    assert not wrong and not expected, f"{PAGE}: column {column}: {wrong}, rows that are missing: {list(expected)}"
