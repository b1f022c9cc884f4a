"""Time per token against the tokens before it, on logarithmic axes."""

import math

from svg import Picture

LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT = 80, 50, 70, 60, 860, 460


def axis(values, base):
    return base ** math.floor(math.log(min(values), base)), base ** math.ceil(math.log(max(values), base))


def draw(data):
    points = [p for series in data["series"] for p in series["points"] + series["busy"]]
    x_low, x_high = axis([p[0] for p in points], 10)
    y_low, y_high = axis([p[1] for p in points], 10)

    def x_at(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(value / x_low) / math.log(x_high / x_low)

    def y_at(value):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * math.log(value / y_low) / math.log(y_high / y_low)

    picture = Picture(
        WIDTH,
        HEIGHT,
        data["title"],
        "; ".join(
            f"{s['name']}: " + ", ".join(f"{y:g} ms after {x:,} tokens" for x, y in s["points"] + s["busy"])
            for s in data["series"]
        ),
    )
    picture.text(16, 26, data["title"], size=16, bold=True)
    picture.text(16, 46, data["subtitle"], "muted", size=12)
    value = x_low
    while value <= x_high:
        picture.line(x_at(value), TOP, x_at(value), HEIGHT - BOTTOM)
        picture.text(x_at(value), HEIGHT - BOTTOM + 18, f"{value:,}", "muted", "middle", 12)
        value *= 10
    value = y_low
    while value <= y_high * 1.001:
        picture.line(LEFT, y_at(value), WIDTH - RIGHT, y_at(value))
        picture.text(LEFT - 8, y_at(value) + 4, f"{value:,.10g} ms", "muted", "end", 12)
        value *= 10
    picture.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, "tokens before this one", "muted", "middle", 12)
    for series in data["series"]:
        style = "ours" if series["ours"] else "theirs"
        at = [(x_at(x), y_at(y)) for x, y in series["points"]]
        picture.curve(at, f"line-{style}")
        for x, y in at:
            picture.circle(x, y, 4, style)
        for x, y in series["busy"]:
            picture.circle(x_at(x), y_at(y), 5, f"line-{style}")
            picture.text(x_at(x) + 10, y_at(y) + 4, f"{series['name']}: {y:g} ms", style, size=12)
        first, last = series["points"][0][1], series["points"][-1][1]
        value = f"{first:.3g} ms" if last < 1.1 * first else f"{first:g} to {last:g} ms"
        if len(at) == 2:
            picture.text(at[-1][0] + 10, at[-1][1] + 4, f"{series['name']}: {value}", style, size=12)
        else:  # the line reaches the right edge
            picture.text(at[0][0] + 10, at[0][1] - 10, f"{series['name']}: {value}", style, size=12)
    return picture.svg()
