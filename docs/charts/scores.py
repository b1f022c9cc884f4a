"""Keyword scores over a part of the demo recording, with threshold, release and refractory time."""

from svg import Picture

LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT = 56, 20, 92, 46, 860, 400


def draw(data):
    begin, end = data["from"], data["to"]
    words = data["words"]

    def x_at(seconds):
        return LEFT + (WIDTH - LEFT - RIGHT) * (seconds - begin) / (end - begin)

    def y_at(score):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * score

    title = "From scores to events: " + ", ".join(f"“{w['word']}”" for w in words)
    decision = data["decision"]
    picture = Picture(
        WIDTH, HEIGHT, title, "; ".join(f"{e['word']} at {e['t']} s with score {e['score']}" for e in data["events"])
    )
    picture.text(16, 26, title, size=16, bold=True)
    picture.text(
        16,
        46,
        f"kws.lw over {data['recording']}: scores averaged over {decision['smoothing_ms']:g} ms, a value every 20 ms",
        "muted",
        size=12,
    )
    for tenth in range(0, 11, 2):
        y = y_at(tenth / 10)
        picture.line(LEFT, y, WIDTH - RIGHT, y)
        picture.text(LEFT - 8, y + 4, f"{tenth / 10:.1f}", "muted", "end", 12)
    for second in range(int(begin), int(end) + 1):
        picture.text(x_at(second), HEIGHT - BOTTOM + 18, f"{second} s", "muted", "middle", 12)
    for event in data["events"]:
        over = next(
            (
                t
                for t, s in word_scores(words, event["word"])
                if t > event["t"] and s < decision["release"] * threshold(data, event["word"])
            ),
            end,
        )
        stop = min(over + decision["refractory_ms"] / 1000, end)
        picture.rect(x_at(over), TOP, x_at(stop) - x_at(over), HEIGHT - TOP - BOTTOM, "band")
        picture.text(x_at((over + stop) / 2), TOP + 14, "refractory", "muted", "middle", 11)
    for word, style in zip(words, ("line-ours", "line-theirs")):
        picture.curve([(x_at(t), y_at(s)) for t, s in word["scores"]], style)
    for event, style in zip(data["events"], ("ours", "theirs")):
        high, low = threshold(data, event["word"]), decision["release"] * threshold(data, event["word"])
        a, b = x_at(max(begin, event["t"] - 0.75)), x_at(event["t"] + 0.75)
        picture.line(a, y_at(high), b, y_at(high), f"line-{style} dash")
        picture.text(a, y_at(high) - 6, f"threshold {high:g}", style, size=12)
        picture.line(a, y_at(low), b, y_at(low), f"line-{style} dash")
        picture.text(a, y_at(low) - 6, f"release {low:g}", style, size=12)
        picture.circle(x_at(event["t"]), y_at(event["score"]), 5, style)
        picture.text(
            x_at(event["t"]),
            TOP - 12,
            f"{event['word']} {event['score']:g} at {event['t']:.2f} s",
            style,
            "middle",
            12,
            True,
        )
        picture.line(x_at(event["t"]), TOP - 6, x_at(event["t"]), HEIGHT - BOTTOM, "line-muted dash")
    return picture.svg()


def word_scores(words, name):
    return next(w["scores"] for w in words if w["word"] == name)


def threshold(data, word):
    return data["decision"]["thresholds"][word]
