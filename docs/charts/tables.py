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
    if "machine" in group:
        text += item(f"Machine: {group['machine']}.")
    return text + item(f"Settings: {group['settings']}.") + f"\n```text\n{group['command']}\n```\n"


def zoo_speed(zoo):
    rows = [
        (
            f"`{r['name']}`",
            number(r["length"]),
            number(r["offline_ms"]),
            number(r["pytorch_ms"]),
            ratio(r["ratio"]),
            f"{r['difference']:.1e}",
        )
        for r in zoo["rows"]
    ]
    return table(("configuration", "rows", "Longwave, ms", "PyTorch, ms", "ratio", "difference"), rows)


def zoo_sizes(zoo):
    rows = [
        (
            f"`{r['name']}`",
            number(r["parameters"]),
            number(r["length"]),
            number(r["artifact_mb"]),
            number(r["peak_memory_mb"]),
            number(r["state_mb"]),
        )
        for r in zoo["rows"]
    ]
    return table(("configuration", "parameters", "rows", "file, MB", "memory, MB", "state, MB"), rows)


def zoo_streams(zoo):
    rows = [
        (f"`{r['name']}`", number(r["compile_s"]), number(r["stream_us_per_tick"]), number(r["state_mb"]))
        for r in zoo["rows"]
        if r["state_mb"] is not None
    ]
    return table(("configuration", "compile, s", "us per tick", "state, MB"), rows)


def exponent(value):
    return "-" if value is None else f"{value:.1e}"


def published_sizes(sizes):
    rows = [
        (
            f"`{r['name']}`",
            r["weights"],
            number(r["parameters"]),
            r["published"] or "-",
            number(r["stored_mb"]),
            f"{r['file_ratio']:.3f}",
            f"{r['compile_ratio']:.2f}",
            exponent(r["difference"]),
            exponent(r.get("rounding")),
        )
        for r in sizes["rows"]
    ]
    return table(
        ("configuration", "weights", "parameters", "printed", "stored", "file", "compile", "difference", "rounding"),
        rows,
    )


def published_tokens(sizes):
    rows = [
        (
            f"`{r['name']}`",
            r["weights"],
            number(r["token_ms"]),
            number(r.get("pytorch_token_ms")),
            ratio(r["token_ratio"]) if "token_ratio" in r else "-",
            number(r["resident_mb"]),
            number(r["own_mb"]),
            number(r.get("pytorch_resident_mb")),
        )
        for r in sizes["rows"]
        if "token_ms" in r
    ]
    return table(
        ("configuration", "weights", "token, ms", "PyTorch, ms", "ratio", "memory, MB", "own, MB", "PyTorch"), rows
    )


def published_offline(sizes):
    rows = [
        (
            f"`{r['name']}`",
            number(r["offline_ms"]),
            number(r["pytorch_ms"]),
            ratio(r["ratio"]),
            number(r["resident_mb"]),
            number(r["own_mb"]),
        )
        for r in sizes["rows"]
        if "offline_ms" in r
    ]
    return table(("configuration", "offline, ms", "PyTorch, ms", "ratio", "memory, MB", "own, MB"), rows)


def short(reason):
    text = reason.replace("|", "/").replace("<", "").replace(">", "").replace("`", "")
    return text if len(text) <= 50 else text[:47] + "..."


def megabytes(row):
    return f"{(row['model_bytes'] + row['runtime_bytes']) / 1e6:.1f}"


def import_peers(found):
    rows = []
    for r in found["rows"]:
        if "failed" in r:
            rows.append((r["model"], r["peer"], "-", "-", "-", short(r["failed"])))
            continue
        rows.append(
            (
                r["model"],
                r["peer"],
                f"{r['largest_error']:.1e}",
                number(r["second_ms"]),
                number(r["block_ms"]),
                megabytes(r),
            )
        )
    return table(("module", "importer", "error", "a second, ms", "a block, ms", "ships, MB"), rows)


def amp(found):
    rows = [
        (
            r["capture"],
            r["target"],
            number(r["block"]),
            number(r["ours_us"]),
            number(r["theirs_us"]),
            ratio(r["ratio"]),
            f"{r['difference']:.1e}",
        )
        for r in found["rows"]
    ]
    head = ("capture", "code", "block", "Longwave, us", "peer, us", "ratio", "difference")
    return table(head, rows) + "\n" + item(f"Machine: {found['machine']}.") + item(f"Peer: {found['peer']}.")


def keyword_row(r, ours):
    if "failed" in r:
        return (r["peer"], *["-"] * 7, short(r["failed"]))
    name, form = r["version"], r.get("form", "")
    ratio_to_ours = "" if r["peer"] == "longwave" else f"{ours / r['p50_us']:.2f}"
    return (
        f"{name}, {form}" if form else name,
        number(r["p50_us"]),
        number(r["p99_us"]),
        ratio_to_ours,
        number(round(r["memory_mb"], 1)),
        number(round(r["load_ms"] + r["first_ms"], 1)),
        f"{r['library_bytes'] / 1e6:.2f}",
        f"{r['model_bytes'] / 1e6:.2f}",
        f"{r['error']:.1e}",
    )


def keyword_network(found, way):
    rows = [r for r in found["rows"] if r["way"] == way]
    ours = next(r["p50_us"] for r in rows if r["peer"] == "longwave")
    return table(
        ("engine", "p50, us", "p99, us", "ratio", "memory, MB", "load, ms", "library, MB", "model, MB", "error"),
        [keyword_row(r, ours) for r in rows],
    )


def keyword_pipelines(found):
    rows = [
        (r["peer"], *["-"] * 7)
        if "failed" in r
        else (
            r["version"],
            number(r["block_ms"]),
            number(r["p50_us"]),
            number(r["p99_us"]),
            number(round(r["second_ms"], 2)),
            number(round(r["memory_mb"], 1)),
            f"{r['library_bytes'] / 1e6:.2f}",
            f"{r['model_bytes'] / 1e6:.2f}",
        )
        for r in found["rows"]
        if r["way"] == "pipeline"
    ]
    return table(
        ("pipeline", "block, ms", "p50, us", "p99, us", "ms per second", "memory, MB", "library, MB", "model, MB"), rows
    )


def attack(found):
    rows = [
        (
            f"`{r['model']}`",
            number(r["inputs"]),
            number(r["sound"]),
            number(r["ran"]),
            number(r["opened"] + r["on_gpu"]),
            f"{r['cpu_seconds'] / 3600:.2f}",
            number(round(r["inputs"] / r["cpu_seconds"])),
            number(r["findings"]),
        )
        for r in found["rows"]
        if r["cpu_seconds"]
    ]
    text = (
        table(
            ("model", "inputs", "accepted", "between guard pages", "opened", "CPU hours", "inputs/s", "findings"), rows
        )
        + "\n"
    )
    return text + item(f"Machine: {found['machine']}, {found['date']}.") + item(f"Build: {found['build']}.")


def blocks(speed, zoo, sizes, peers, keyword, attacked, amps):
    """{name: Markdown}: one block per chart of speed.json, and those of the other files."""
    found = {
        "zoo-speed": zoo_speed(zoo),
        "zoo-sizes": zoo_sizes(zoo),
        "zoo-streams": zoo_streams(zoo),
        "import-peers": import_peers(peers),
        "keyword-stream": keyword_network(keyword, "stream"),
        "keyword-window": keyword_network(keyword, "window"),
        "keyword-pipelines": keyword_pipelines(keyword),
        "published-sizes": published_sizes(sizes),
        "published-tokens": published_tokens(sizes),
        "published-offline": published_offline(sizes),
        "attack": attack(attacked),
        "amp": amp(amps),
    }
    for group in speed["groups"]:
        name = f"speed-{group['chart']}"
        found[name] = found.get(name, "") + speed_table(group)
    return {name: text if text.startswith("|") else text + "\n" for name, text in found.items()}


def fill(page, content):
    """The page with each marked block replaced; a marker without data is an error."""
    return BLOCK.sub(lambda m: m.group(1) + content[m.group(2)] + m.group(3), page)
