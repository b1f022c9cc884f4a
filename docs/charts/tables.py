"""Markdown tables of measured figures, filled in between markers of a page."""
import re
import textwrap

BLOCK = re.compile(r"(<!-- table ([\w-]+) -->\n).*?(<!-- end -->)", re.S)


def number(value):
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.10g}"


def ratio(value):
    text = f"{value:.2f}" if value >= 0.095 else f"{value:.3f}"
    return f"**{text}**" if value > 1 else text


def table(headings, rows):
    lines = ["| " + " | ".join(headings) + " |", "|---" + "|---:" * (len(headings) - 1) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def item(text):
    """One list item, wrapped to the width of a page."""
    return "\n".join(textwrap.wrap(text, 98, initial_indent="- ", subsequent_indent="  ")) + "\n"


def speed_table(group):
    rows = [(row["what"], number(row["ours"]), number(row["theirs"]), ratio(row["ratio"])) for row in group["rows"]]
    text = f"\n### {group['title']}\n\n" + table((group["unit"], "Longwave", "peer", "ratio"), rows) + "\n"
    if group["peer"] != "as named":
        text += item(f"Peer: {group['peer']}.")
    return text + item(f"Settings: {group['settings']}.") + f"\n```text\n{group['command']}\n```\n"


def zoo_speed(zoo):
    rows = [(f"`{r['name']}`", number(r["length"]), number(r["offline_ms"]), number(r["pytorch_ms"]), ratio(r["ratio"]),
             f"{r['difference']:.1e}") for r in zoo["rows"]]
    return table(("configuration", "rows", "Longwave, ms", "PyTorch, ms", "ratio", "difference"), rows)


def zoo_sizes(zoo):
    rows = [(f"`{r['name']}`", number(r["parameters"]), number(r["length"]), number(r["artifact_mb"]),
             number(r["peak_memory_mb"]), number(r["state_mb"])) for r in zoo["rows"]]
    return table(("configuration", "parameters", "rows", "file, MB", "memory, MB", "state, MB"), rows)


def zoo_streams(zoo):
    rows = [(f"`{r['name']}`", number(r["compile_s"]), number(r["stream_us_per_tick"]), number(r["state_mb"]))
            for r in zoo["rows"] if r["state_mb"] is not None]
    return table(("configuration", "compile, s", "us per tick", "state, MB"), rows)


def blocks(speed, zoo):
    """{name: Markdown}: one block per chart of speed.json, and three of zoo.json."""
    found = {"zoo-speed": zoo_speed(zoo), "zoo-sizes": zoo_sizes(zoo), "zoo-streams": zoo_streams(zoo)}
    for group in speed["groups"]:
        name = f"speed-{group['chart']}"
        found[name] = found.get(name, "") + speed_table(group)
    return {name: text if text.startswith("|") else text + "\n" for name, text in found.items()}


def fill(page, content):
    """The page with each marked block replaced; a marker without data is an error."""
    return BLOCK.sub(lambda m: m.group(1) + content[m.group(2)] + m.group(3), page)
