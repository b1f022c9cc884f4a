"""Bars of ours / theirs on a logarithmic axis, from the line at 1: to the left Longwave is faster."""

import math

from svg import Picture

RIGHT, ROW, TOP = 70, 22, 86


def ratio_text(ratio):
    return f"{ratio:.2f}" if ratio >= 0.095 else f"{ratio:.3f}"


def draw(title, subtitle, groups):
    """`groups`: [(heading, [(label, ratio)])]. A ratio above 1 is a loss and drawn in red."""
    rows = sum(len(items) + bool(heading) for heading, items in groups)
    width, height = 860, TOP + ROW * rows + 40
    labels = max(262, 30 + max(int(6.7 * len(label)) for _, items in groups for label, _ in items))
    ratios = [ratio for _, items in groups for _, ratio in items]
    low = min(0.25, 2.0 ** math.floor(math.log2(min(ratios)) - 0.6))
    high = max(2.0, 2.0 ** math.ceil(math.log2(max(ratios))))
    span = math.log2(high) - math.log2(low)

    def at(ratio):
        return labels + (width - labels - RIGHT) * (math.log2(ratio) - math.log2(low)) / span

    picture = Picture(
        width,
        height,
        title,
        f"{subtitle}. "
        + "; ".join(
            f"{heading}: " + ", ".join(f"{label} {ratio_text(r)}" for label, r in items) for heading, items in groups
        ),
    )
    picture.text(16, 26, title, size=16, bold=True)
    picture.text(16, 46, subtitle, "muted", size=12)
    picture.text(at(1) - 8, TOP - 22, "← Longwave is faster", "ours", "end", 12)
    picture.text(at(1) + 8, TOP - 22, "slower →", "loss", "start", 12)
    bottom = TOP + ROW * rows
    tick = low
    while tick <= high * 1.001:
        picture.line(at(tick), TOP - 12, at(tick), bottom, "axis" if tick == 1 else "grid")
        picture.text(at(tick), bottom + 18, f"{tick:g}" if tick >= 1 else f"1/{1 / tick:g}", "muted", "middle", 12)
        tick *= 2
    y = TOP
    for heading, items in groups:
        if heading:
            picture.rect(0, y - 4, width, ROW - 2, "surface")
            picture.text(16, y + 10, heading, bold=True, size=12)
            y += ROW
        for label, ratio in items:
            picture.text(labels - 10, y + 10, label, "ink", "end", 12)
            x, style = at(ratio), "loss" if ratio > 1 else "ours"
            picture.rect(min(x, at(1)), y - 2, max(abs(x - at(1)), 1), 15, style, 2)
            if ratio > 1:
                picture.text(x + 6, y + 10, ratio_text(ratio), "loss", "start", 12, True)
            else:
                picture.text(x - 6, y + 10, ratio_text(ratio), "ink", "end", 12)
            y += ROW
    picture.text(16, bottom + 18, "time of Longwave / time of the peer", "muted", size=12)
    return picture.svg()
