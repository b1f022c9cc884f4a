#!/usr/bin/env python3
"""mark_checks.py SOURCE_ROOT OUT FILE...: copies of the verifier's sources in which every check can be left out by number.

A check is an operand of a condition that leads to a refusal, a call of another check, or an operand of a predicate
below. Each becomes one site. OUT/check_sites.inc lists the sites: number, file, line, text. The copies ask
attack::on(), attack::off() and attack::kept() (tests/attack/check_sites.h), so one build serves all removals.
"""

import re
import sys
from pathlib import Path

# Functions that answer a question of a check. True: the answer that lets a file pass.
PASSING = dict.fromkeys(
    [
        "probability",
        "milliseconds",
        "within",
        "apart",
        "same_dims",
        "in_place",
        "newest_of",
        "same_ports",
        "inside_field",
        "writable",
        "whenever",
        "span_bytes",
        "place_end",
        "rows_span",
        "field_bytes",
        "utf8",
    ],
    True,
)
PASSING.update(dict.fromkeys(["control", "meet", "takes_halves"], False))
# The same for variables that hold such an answer.
ANSWERS = {"same": True, "aligned": True, "in_turn": True, "layout": True, "path": False}

sites = []


def masked(text):
    """The text with comments, strings and characters blanked, so that brackets can be counted."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])+\''

    def blank(match):
        found = match.group()
        if re.fullmatch(r"'", found[0]) and re.search(r"\d$", text[: match.start()][-1:]):
            return found  # a digit separator
        return re.sub(r"[^\n]", "_" if found[0] in "\"'" else " ", found)

    return re.sub(pattern, blank, text, flags=re.S)


def closing(mask, at):
    """Where the bracket opened at `at` closes."""
    depth = 0
    for i in range(at, len(mask)):
        depth += mask[i] in "([{"
        depth -= mask[i] in ")]}"
        if depth == 0:
            return i
    raise SystemExit(f"mark_checks: no closing bracket for {mask[at : at + 60]!r}")


def split(mask, begin, end, token):
    """Ranges between the `token`s at the top level."""
    parts, depth, start, i = [], 0, begin, begin
    while i < end:
        depth += mask[i] in "([{"
        depth -= mask[i] in ")]}"
        if depth == 0 and mask.startswith(token, i):
            parts.append((start, i))
            start = i = i + len(token)
            continue
        i += 1
    return parts + [(start, end)]


class File:
    def __init__(self, path, name):
        self.name, self.text = name, path.read_text()
        self.mask = masked(self.text)
        self.edits = []  # (position, inserted text)
        self.guarded = set()  # where refusals stand that a site decides

    def site(self, begin, end, kind):
        words = " ".join(self.text[begin:end].split())
        sites.append((self.name, self.text.count("\n", 0, begin) + 1, kind, words))
        return len(sites) - 1

    def wrap(self, begin, end, before, after):
        while self.text[begin].isspace():
            begin += 1
        while self.text[end - 1].isspace():
            end -= 1
        number = self.site(begin, end, "check")
        self.edits += [(begin, before.replace("#", str(number))), (end, after.replace("#", str(number)))]

    def operands(self, begin, end, refusing):
        """Each operand of a condition: one whose truth refuses (or ... or), or one whose truth passes (and ... and)."""
        token = "||" if refusing else "&&"
        for a, b in split(self.mask, begin, end, token):
            while self.text[a].isspace():
                a += 1
            inner = a + 1 if self.mask[a] == "(" and closing(self.mask, a) == len(self.mask[:b].rstrip()) - 1 else None
            if inner and len(split(self.mask, inner, closing(self.mask, a), token)) > 1:
                self.operands(inner, closing(self.mask, a), refusing)
            elif not self.inner(a, b, refusing):
                self.wrap(a, b, "((", ") && attack::on(#))" if refusing else ") || attack::off(#))")

    def inner(self, begin, end, refusing):
        """Operands that stand deeper: in a negated bracket, or in one behind `and` (`or`, where truth passes)."""
        while self.text[end - 1].isspace():
            end -= 1
        if self.mask.startswith("!(", begin) and closing(self.mask, begin + 1) == end - 1:
            self.operands(begin + 2, end - 1, not refusing)
            return True
        a, _ = split(self.mask, begin, end, "&&" if refusing else "||")[-1]
        while self.text[a].isspace():
            a += 1
        if a == begin or self.mask[a] != "(" or closing(self.mask, a) != end - 1:
            return False
        if len(split(self.mask, a + 1, end - 1, "||" if refusing else "&&")) == 1:
            return False
        self.operands(a + 1, end - 1, refusing)
        return True

    def condition(self, begin, end):
        """The inside of an if's brackets, whose truth leads to a refusal."""
        if found := re.match(r"\s*(?:const )?(?:Broken \w+|char \*\w+) =\s+", self.mask[begin:end]):
            return self.wrap(begin + found.end(), end, "attack::kept(#, ", ")")
        begin = split(self.mask, begin, end, ";")[-1][0]
        self.operands(begin, end, True)

    def mark(self):
        mask = self.mask
        function, passing = None, None
        heads = r"^ {0,4}(?:static |inline |constexpr |\[\[nodiscard\]\] |template <[^>]*> )*(?:const )?[\w:]+(?: |\ \*| ?\& ?)\*?(\w+)\([^;{}]*\)(?: const)? \{"
        begins = [(m.start(), m.group(1)) for m in re.finditer(heads, mask, re.M)]
        lambdas = [
            (m.start(), closing(mask, m.end() - 1)) for m in re.finditer(r"\[&?\w*\]\([^;{}]*\) (?:-> [^{]*)?\{", mask)
        ]
        for found in re.finditer(r"const bool (\w+) =", mask):
            if (passing := ANSWERS.get(found.group(1))) is not None:
                self.operands(found.end(), mask.index(";", found.end()), not passing)
        for found in re.finditer(r"\bif \(|\breturn\b", mask):
            at = found.start()
            if found.group() == "return" and any(a < at < b for a, b in lambdas):
                continue
            function = next((name for start, name in reversed(begins) if start <= at), "")
            passing = PASSING.get(function)
            if found.group() == "return":
                self.returned(at, passing)
                continue
            close = closing(mask, found.end() - 1)
            body = mask[close + 1 : close + 400].lstrip()
            body = body[1:].lstrip() if body.startswith("{") else body
            refusals = (r"return broken\(", r"result = broken\(", r"return [bf](ault)?;", r"return _")
            if passing is True:
                refusals += (r"return false;", r"return \{\};")
            if passing is False:
                refusals += (r"return true;",)
            if any(re.match(r, body) for r in refusals):
                self.guarded.add(mask.find("broken(", close))
                self.condition(found.end(), close)
        for found in re.finditer(r"(?<!Broken )\bbroken\(", mask):
            if found.start() not in self.guarded and self.name.endswith(".cc"):
                raise SystemExit(
                    f"{self.name}:{mask.count(chr(10), 0, found.start()) + 1}: a refusal that no site decides"
                )

    def returned(self, at, passing):
        end = self.mask.index(";", at)
        value = self.mask[at + 6 : end]
        begin = at + 6
        if value.startswith(" broken(") and self.mask[:at].rstrip()[-1] in ":;}":
            self.guarded.add(begin + value.index("broken("))
            return self.wrap(begin, end, "attack::kept(#, ", ")")  # what is left when nothing else held
        if "broken(" in value and "?" in value:
            question = begin + value.index("?")
            self.guarded.add(begin + value.index("broken("))
            refusing = value.index("broken(") < value.index(":", value.index("?"))
            return self.operands(begin, question, refusing)
        # values of predicates, and of conditions that return one of two texts
        if re.search(r"\? nullptr : _", value) or re.search(r"\? nullptr\s*:\s*_", value):
            return self.operands(begin, begin + value.index("?"), False)
        if (
            passing is None
            or value.strip() in ("true", "false")
            or value.strip().startswith("{")
            or "[" in value.split("(")[0]
        ):
            return None
        self.operands(begin, end, not passing)

    def written(self):
        text = self.text
        for position, inserted in sorted(self.edits, key=lambda e: e[0], reverse=True):
            text = text[:position] + inserted + text[position:]
        return text


def main():
    root, out = Path(sys.argv[1]), Path(sys.argv[2])
    for name in sys.argv[3:]:
        file = File(root / name, name)
        file.mark()
        target = out / name
        target.parent.mkdir(parents=True, exist_ok=True)
        include = '#include "tests/attack/check_sites.h"\n'
        text = file.written()
        text = text.replace("#pragma once\n", "#pragma once\n" + include, 1) if name.endswith(".h") else include + text
        target.write_text(f"{text}")
    lines = [f'{{"{Path(f).name}", {line}, R"({words})"}},' for f, line, _, words in sites]
    (out / "check_sites.inc").write_text("\n".join(lines) + "\n")


main()
