"""Text that others wrote, such as a key of a checkpoint or the message of an exception, as it may be printed."""

from __future__ import annotations

MOST = 400  # characters of one text


def visible(text: object, most: int = MOST) -> str:
    """One line in which every character can be seen: control, format and direction characters, line separators and
    surrogates become escapes such as \\x1b and \\u202e. The middle of a very long text is left out."""
    line = str(text)
    if len(line) > most:
        line = f"{line[: most * 2 // 3]}...{line[-most // 3 :]}"
    return "".join(
        c if c.isprintable() and c not in UNSEEN else c.encode("unicode_escape").decode("ascii") for c in line
    )


# Characters that count as letters or marks and yet show nothing: fillers, joiners, variation selectors.
UNSEEN = {
    chr(c)
    for c in (
        0x34F,
        0x115F,
        0x1160,
        0x17B4,
        0x17B5,
        0x2800,
        0x3164,
        0xFFA0,
        *range(0x180B, 0x1810),
        *range(0xFE00, 0xFE10),
        *range(0xE0100, 0xE01F0),
    )
}
