"""The parts of a .lw file, each with its share of the bytes."""

from svg import Picture

LEFT, WIDTH, BAR, TOP = 16, 860, 46, 66


def size_text(count):
    return f"{count:,} bytes" if count < 10000 else f"{count / 1000:,.0f} kB"


def draw(data):
    parts, total = data["parts"], data["bytes"]
    height = TOP + BAR + 40 + 26 * len(parts) + 26
    title = f"What is in {data['file']}: {size_text(total)}"
    picture = Picture(WIDTH, height, title, "; ".join(f"{p['name']}: {p['bytes']:,} bytes" for p in parts))
    picture.text(16, 26, title, size=16, bold=True)
    picture.text(
        16,
        46,
        f"format {data['format']}, {data['targets']} CPU targets, {data['kernels']} kernels each",
        "muted",
        size=12,
    )
    styles = ["part4", "part5", "part1", "part2", "part2", "part2", "part3"]
    x = LEFT
    for part, style in zip(parts, styles):
        width = (WIDTH - 2 * LEFT) * part["bytes"] / total
        picture.rect(x, TOP, max(width - 2, 1), BAR, style)
        if width > 90:
            picture.text(x + width / 2, TOP + 28, part["name"], "on-fill", "middle", 13, True)
        x += width
    picture.text(LEFT, TOP + BAR + 18, "byte 0", "muted", size=12)
    picture.text(WIDTH - LEFT, TOP + BAR + 18, f"byte {total:,}", "muted", "end", 12)
    y = TOP + BAR + 48
    for part, style in zip(parts, styles):
        picture.rect(LEFT, y - 11, 14, 14, style, 2)
        picture.text(LEFT + 24, y, part["name"], size=13, bold=True)
        picture.text(330, y, size_text(part["bytes"]), "ink", "end", 13)
        picture.text(350, y, part["what"], "muted", size=12)
        y += 26
    return picture.svg()
