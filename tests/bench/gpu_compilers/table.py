"""The table of figures: its rows, its file, and what may not become worse."""

import json

TOLERANCE = 0.1  # of a figure: what a new version of a compiler or a reordered sum may change
SLACK = {"instructions": 12, "cycles": 600, "registers": 8}
SECTORS, SHARED = 4.5, 1.3  # of a request of 4 bytes a lane; over the ideal
VARIANT = "variant"  # and its number, behind the first
BY_CHANNEL = "channel-major"  # and the numbers of the arguments that lie so
MULTIPLY_ADDS = 0.7  # of the instructions of a loop, for products in registers
MULTIPLY_ADDS_BY_CHANNEL = 0.68  # where four inputs come in four loads
# Bytes are taken apart before they are multiplied. An embedding reads them where the product of the logits has them: four of a
# token in each sector.
MULTIPLY_ADDS_INT8, SECTORS_INT8 = 0.66, 8


def label(module):
    """A module by its kernel, e.g. `kws: linear in=96 out=12 rows=1 + gelu`."""
    spec = json.loads(module["spec"])
    words = [spec["kernel"]] + [f"{key}={value}" for key, value in spec.get("params", {}).items()]
    if module["variant"]:
        words.append(f"{VARIANT} {module['variant']}")
    words += ["+ " + one["op"] for one in spec.get("epilogue", [])]
    if by_channel := spec.get("channel_major"):
        words.append(BY_CHANNEL + " " + ",".join(map(str, by_channel)))
    return f"{module['model']}: {' '.join(words)}"


def rows_of(modules, found):
    rows = {}
    for module in modules:
        simulated = module["simulation"]
        _, wavefronts, ideal = simulated["shared"]
        row = {
            "sectors": round(simulated["worst_sectors"], 2),
            "shared": round(wavefronts / ideal, 2) if ideal else 0,
            "warp": dict(simulated["instructions"], barriers=simulated["barriers"]),
        }
        for fact in ("float64", "int64", "indexed_private"):
            if module[fact]:
                row[fact] = True
        if not simulated["complete"]:
            row["incomplete"] = True  # only the beginning was simulated
        if module["entry"].startswith("linear_"):
            row["entry"] = module["entry"]
        row["compilers"] = {name: figures[module["file"]] for name, figures in found.items()}
        rows[label(module)] = row
    return rows


def write_table(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(rows.items())]
        file.write("{\n" + ",\n".join(lines) + "\n}\n")


def read_table(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def print_table(rows, compilers):
    for name, row in rows.items():
        cells = []
        for compiler in compilers:
            figures = row["compilers"][compiler]
            if "failed" in figures:
                cells.append(f"{compiler} FAILED ({figures['failed']})")
                continue
            size = figures.get("registers", figures.get("cycles", "-"))
            lost = {figure: figures[figure] for figure in ("spills", "scratch") if figures.get(figure)}
            spilled = "".join(f" {figure.upper()} {count}" for figure, count in lost.items())
            loop = f" loop {figures['multiply_adds']:.0%}" if figures.get("multiply_adds") else ""
            cells.append(f"{compiler} {figures['instructions']}/{size}/{figures['waves']}{loop}{spilled}")
        facts = [fact for fact in ("float64", "int64", "indexed_private", "incomplete") if row.get(fact)]
        kinds = " ".join(f"{kind} {count}" for kind, count in row["warp"].items())
        print(
            f"{name}\n    {' · '.join(cells)} · sectors {row['sectors']} · shared {row['shared']} · {kinds} {' '.join(facts)}"
        )


def check(rows, table, compilers):
    """(problems, notes). What must hold of every module, and what must not be worse than in the table."""
    problems, notes = [], []
    for name, row in rows.items():
        before = table.get(name, {"compilers": {}})
        for fact in ("float64", "int64", "indexed_private"):
            if row.get(fact):
                problems.append(f"{name}: {fact}")
        int8 = "weights=int8" in name or name.startswith("int8: chain")
        embeds = "embedding" in name
        for figure, limit in (("sectors", SECTORS_INT8 if int8 and embeds else SECTORS), ("shared", SHARED)):
            if row[figure] > limit:
                problems.append(f"{name}: {figure} {row[figure]}, limit {limit}")
        if name not in table:
            notes.append(f"{name}: not in the table; write it again with run --write")
        for compiler in compilers:
            now, then = row["compilers"][compiler], before["compilers"].get(compiler, {})
            if "failed" in now:
                problems.append(f"{name}: {compiler}: does not compile ({now['failed']})")
                continue
            for figure in ("spills", "scratch"):
                if now.get(figure):
                    problems.append(f"{name}: {compiler}: {figure} {now[figure]}, expected 0")
            for figure, slack in SLACK.items():
                if figure in now and figure in then and now[figure] > then[figure] * (1 + TOLERANCE) + slack:
                    problems.append(f"{name}: {compiler}: {figure} {now[figure]}, the table has {then[figure]}")
            least = MULTIPLY_ADDS_INT8 if int8 else MULTIPLY_ADDS_BY_CHANNEL if BY_CHANNEL in name else MULTIPLY_ADDS
            if row.get("entry") == "linear_registers" and now.get("multiply_adds", 1) < least:
                problems.append(f"{name}: {compiler}: multiply_adds {now['multiply_adds']}, limit {least}")
            if then and now["waves"] < then.get("waves", 0):
                problems.append(f"{name}: {compiler}: waves {now['waves']}, the table has {then['waves']}")
    return problems, notes
