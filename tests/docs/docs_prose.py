"""Finds the sentences of Markdown pages, C headers, help texts and error messages.

Each function yields Sentence objects. Code spans become the word `CODE`, so a rule sees prose only.
"""

import bisect
import dataclasses
import re


@dataclasses.dataclass
class Sentence:
    line: int  # where the sentence starts
    text: str
    heading: bool = False


FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+")
HEADING = re.compile(r"^\s{0,3}#{1,6}\s+")
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|vs|Eq|Eqs|Fig|Sec|al|cf|approx)\.")
# A sentence may start with the name of a value ("float32 is the default") after a word and a full
# stop.
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9])|(?<=[a-zA-Z0-9)]{2}[.!?])\s+(?=[a-z])|\s+·\s+")


def plain(text):
    """The prose of a Markdown fragment, with the same number of lines."""
    text = re.sub(r"(`+)(.+?)\1", lambda m: "CODE" + "\n" * m.group(2).count("\n"), text, flags=re.S)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"<[^<>\s][^<>]*>", lambda m: "\n" * m.group(0).count("\n"), text)
    return text.replace("**", "").replace("\\|", "/")


def split(text, first_line, heading=False):
    """Cuts one paragraph into sentences; `text` may span several lines."""
    text = ABBREVIATION.sub(lambda m: m.group(0)[:-1] + "\u2024", text)
    starts = [0] + [m.end() for m in re.finditer("\n", text)]
    begin = 0
    for end in [m.end() for m in SENTENCE_END.finditer(text)] + [len(text)]:
        part = text[begin:end]
        lead = len(part) - len(part.lstrip())
        words = " ".join(part.split()).strip(" ·")
        if words:
            yield Sentence(first_line + bisect.bisect_right(starts, begin + lead) - 1, words, heading)
        begin = end


def cells(line):
    return [c.strip() for c in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def markdown(source):
    paragraph, start, in_fence = [], 0, False

    def flush():
        nonlocal paragraph
        block, paragraph = paragraph, []
        return split(plain("\n".join(block)), start) if block else ()

    for number, line in enumerate(source.splitlines(), 1):
        if FENCE.match(line):
            yield from flush()
            in_fence = not in_fence
            continue
        if in_fence:
            continue
        stripped = line.strip()
        if not stripped or (line.startswith("    ") and not paragraph):
            yield from flush()
        elif HEADING.match(line):
            yield from flush()
            yield from split(plain(HEADING.sub("", line)), number, heading=True)
        elif stripped.startswith("|"):
            yield from flush()
            if not re.fullmatch(r"[|:\-\s]+", stripped):
                for cell in cells(plain(line)):
                    yield from split(cell, number)
        else:
            if ITEM.match(line):
                yield from flush()
                line = ITEM.sub("", line)
            if not paragraph:
                start = number
            paragraph.append(line.strip())
    yield from flush()


COMMENT = re.compile(r"/\*.*?\*/|(?://[^\n]*(?:\n[ \t]*//[^\n]*)*)|\"(?:[^\"\\\n]|\\.)*\"", re.S)
DOXYGEN = re.compile(r"^[@\\](?:param(?:\[[a-z,]+\])?\s+\w+|retval\s+\w+|\w+)\s*")


def comment_lines(source):
    """(line number, text without comment marks) of every comment; None between two comments."""
    for match in COMMENT.finditer(source):
        text = match.group(0)
        if text.startswith('"'):
            continue
        first = source.count("\n", 0, match.start()) + 1
        for offset, line in enumerate(text.split("\n")):
            line = re.sub(r"^\s*(/\*+<?|//+<?|\*+(?!/))\s?", "", line)
            yield first + offset, re.sub(r"\s*\*+/\s*$", "", line)
        yield first, None


def header(source):
    """Sentences of the comments of a C header. A run of three spaces marks a table in a comment."""
    block, start, in_code = [], 0, False

    def flush():
        nonlocal block
        text, block = "\n".join(block), []
        return split(plain(text), start)

    for number, line in comment_lines(source):
        stripped = "" if line is None else line.strip()
        if re.match(r"[@\\](end)?code|```", stripped):
            in_code = not in_code and not stripped.startswith(("@end", "\\end"))
            yield from flush()
            continue
        if line is None:
            in_code = False
        if in_code:
            continue
        starts_unit = DOXYGEN.match(stripped) or ITEM.match(stripped) or re.search(r"\S {3,}\S", stripped)
        if not stripped or starts_unit:
            yield from flush()
        stripped = DOXYGEN.sub("", ITEM.sub("", stripped))
        if not stripped:
            continue
        for unit in re.split(r" {3,}", stripped)[:-1]:
            yield from split(plain(unit), number)
        if not block:
            start = number
        block.append(re.split(r" {3,}", stripped)[-1])
    yield from flush()


def help_text(source):
    """Sentences of a --help text: option descriptions stand in the right column, or below their option."""
    block, start = [], 0

    def flush():
        nonlocal block
        text, block = "\n".join(block), []
        return split(plain(text), start)

    for number, line in enumerate(source.splitlines(), 1):
        match = re.match(r"^ {1,8}(?:-|[a-z])\S*.*?(?: {2,}|$)(?P<text>.*)$", line)
        shown = re.match(r"^(Usage|Examples?|\s+longwave )", line)
        if not line.strip() or shown or match or re.fullmatch(r"[A-Z][\w ]*:", line):
            yield from flush()
        if not line.strip() or shown or re.fullmatch(r"[A-Z][\w ]*:", line):
            continue
        text = match.group("text") if match else line.strip()
        if text:
            if not block:
                start = number
            block.append(text.strip())
    yield from flush()


REPORTS = re.compile(
    r"\b(?:Status::(?:usage|input|check|device|internal)|fail|failure|invalid|refused?|reject(?:ed)?|"
    r"bad_state|bad_id|problem|error|broken|check|expect|SpecError|Fault|throw_\w+)\s*\("
)
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')


def arguments(source, at):
    """The text between the parenthesis that opens just before `at` and the one that closes it."""
    depth, i = 1, at
    while i < len(source) and depth:
        if source[i] == '"':
            i = LITERAL.match(source, i).end() if LITERAL.match(source, i) else i + 1
            continue
        if source[i] == "'" and (m := re.match(r"'(?:[^'\\]|\\.)'", source[i:])):
            i += m.end()
            continue
        depth += {"(": 1, ")": -1}.get(source[i], 0)
        i += 1
    return source[at : i - 1]


def messages(source):
    """Text of error messages: the string literals of a call that reports a failure, values shown as X."""
    without_comments = re.sub(r"//[^\n]*", "", source)
    for call in REPORTS.finditer(without_comments):
        inside = arguments(without_comments, call.end())
        parts = LITERAL.findall(inside)
        if not parts:
            continue
        number = without_comments.count("\n", 0, call.start()) + 1
        pieces, last = [], None
        for match in LITERAL.finditer(inside):
            between = inside[last : match.start()] if last is not None else ""
            if re.search(r"[,?]|(?<!:):(?!:)", between):  # another argument, or the other text of a condition
                pieces.append("\n")
            elif between.strip():
                pieces.append(" X ")
            pieces.append(match.group(1))
            last = match.end()
        text = re.sub(r"%[-+0-9.*#lhzjt]*[a-zA-Z]|\{[^{}]*\}", "X", "".join(pieces))
        text = text.replace('\\"', '"').replace("\\n", "\n").replace("\\t", " ")
        for line in text.split("\n"):
            for sentence in split(line, 0):
                yield Sentence(number, sentence.text)
