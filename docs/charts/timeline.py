"""A stream in time: blocks of three sizes over one state, which is handed on, saved and loaded."""

from svg import Picture

LEFT, WIDTH, HEIGHT, TOP = 120, 860, 430, 84
SCALE = 690 / 240.0  # pixels per millisecond


def blocks_of(entry_ms, begin, end):
    return [(t, t + entry_ms) for t in range(begin, end, entry_ms)]


def draw(data):
    """Ticks 0 to 240 ms: three runs of blocks, each with another entry of the same file."""
    rate, sizes = data["sample_rate"], sorted(data["blocks"])
    times = [1000 * b // rate for b in sizes]
    small, middle, large = times
    plan = [
        (small, 0, 2 * middle, "part2"),
        (middle, 2 * middle, 4 * middle, "part1"),
        (large, large, 2 * large, "part3"),
    ]
    resume = 2 * large
    plan.append((middle, resume, resume + 2 * middle, "part1"))

    def at(ms):
        return LEFT + SCALE * ms

    title = "Three block sizes over one stream state"
    picture = Picture(
        WIDTH,
        HEIGHT,
        title,
        f"Blocks of {small}, {middle} and {large} ms advance one state of "
        f"{data['state_bytes']} bytes; the delay is {data['delay']} ticks; a saved state resumes.",
    )
    picture.text(16, 26, title, size=16, bold=True)
    picture.text(
        16,
        46,
        f"{data['model']}: entries of {small}, {middle} and {large} ms in one file, "
        f"state {data['state_bytes']:,} bytes, delay {data['delay']} ms",
        "muted",
        size=12,
    )
    rows = {"push": TOP + 14, "blocks": TOP + 74, "state": TOP + 148, "pull": TOP + 222}
    for ms in range(0, 241, 20):
        picture.line(at(ms), TOP - 8, at(ms), TOP + 268)
        if ms % 40 == 0:
            picture.text(at(ms), TOP + 286, f"{ms} ms", "muted", "middle", 12)
    for name, y in rows.items():
        picture.text(
            LEFT - 14,
            y + 17,
            {"push": "push (input)", "blocks": "blocks", "state": "state", "pull": "pull (rows)"}[name],
            "ink",
            "end",
            12,
            True,
        )
    for begin, end in ((0, 7), (7, 33), (33, 46), (46, 80), (80, 100), (100, 151), (151, 200), (200, 222), (222, 240)):
        picture.rect(at(begin) + 1, rows["push"], SCALE * (end - begin) - 2, 26, "band", 3)
    picture.text(
        at(2), rows["push"] - 6, "pieces of any size: the cuts never change a bit of the output", "muted", size=12
    )
    for size, begin, end, style in plan:
        for start, stop in blocks_of(size, begin, end):
            picture.rect(at(start) + 1, rows["blocks"], SCALE * size - 2, 30, style, 3)
            if size >= middle:
                picture.text(at((start + stop) / 2), rows["blocks"] + 20, f"{size}", "on-fill", "middle", 12, True)
    idle = [(4 * middle, large)]
    for begin, end in idle:
        for start, stop in blocks_of(middle, begin, end):
            picture.rect(at(start) + 1, rows["blocks"], SCALE * middle - 2, 30, "part1", 3)
            picture.text(at((start + stop) / 2), rows["blocks"] + 20, f"{middle}", "on-fill", "middle", 12, True)
    picture.text(at(2), rows["blocks"] - 6, f"green {small} ms", "muted", size=12)
    picture.text(at(2 * middle), rows["blocks"] - 6, f"blue {middle} ms", "muted", size=12)
    picture.text(at(large + 4), rows["blocks"] - 6, f"yellow {large} ms", "muted", size=12)
    picture.rect(at(0), rows["state"], SCALE * resume - 26, 30, "part4", 3)
    picture.rect(at(resume) + 26, rows["state"], SCALE * (240 - resume) - 26, 30, "part4", 3)
    picture.text(
        at(2), rows["state"] - 6, "lw_stream_copy hands the state to a stream with another block size", "muted", size=12
    )
    picture.text(at(resume), rows["state"] + 13, "save", "ink", "middle", 12, True)
    picture.text(at(resume), rows["state"] + 28, "load", "ink", "middle", 12, True)
    stops = [stop for size, begin, end, _ in plan for _, stop in blocks_of(size, begin, end)]
    stops += [stop for begin, end in idle for _, stop in blocks_of(middle, begin, end)]
    row_ms = data["row_ms"]
    for ms in range(row_ms, 241, row_ms):
        ready = min(s for s in stops if s >= ms)
        picture.line(at(ms), rows["pull"] + 2, at(ready), rows["pull"] + 22, "line-muted")
        picture.circle(at(ready), rows["pull"] + 24, 3.5, "ours")
    picture.text(
        at(2), rows["pull"] - 12, f"a row for every {row_ms} ms, ready when its block is computed", "muted", size=12
    )
    picture.text(
        16,
        HEIGHT - 28,
        f"A block of {large} ms costs less per row. A block of {small} ms answers sooner.",
        "muted",
        size=12,
    )
    picture.text(
        16,
        HEIGHT - 10,
        "The state is saved on one machine and loaded on another. The stream continues at the same tick.",
        "muted",
        size=12,
    )
    return picture.svg()
