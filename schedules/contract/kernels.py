#!/usr/bin/env python3
"""The kernels of docs/kernels.md, from their contracts.

    kernels.py [--root FOLDER] [--check]

Each file of schedules/contract/kernels is a section, each struct in it a kernel: its comment, its params
with the ranges of their types, its arguments with the comments behind them. The page has them between two
marks. Without --check the page is written; with it, a difference ends the program with status 1.
"""

import argparse
import pathlib
import re
import sys
import textwrap

BEGIN, END = "<!-- kernels: made by schedules/contract/kernels.py -->", "<!-- end of kernels -->"
# Files, with the titles of their sections.
SECTIONS = {
    "audio": "Audio",
    "linear": "Linear layers",
    "conv": "Short convolutions",
    "long_conv": "Long convolutions",
    "long_conv_blocks": "Long convolutions in blocks",
    "long_conv_lanes": "Long convolutions of few channels",
    "long_conv_gpu": "Long convolutions on a GPU",
    "transforms": "Transforms and circular convolutions",
    "attention": "Attention",
    "positions": "Positions",
    "recurrent": "Recurrences",
    "selection": "Lanes and rows that move",
    "norms": "Norms and softmax",
    "pooling": "Pooling",
    "pointwise": "Pointwise",
}
KINDS = {"Input": "inputs", "Weight": "weights", "Scalar": "scalars", "Output": "outputs", "State": "state"}
# `struct Name {`, a member with its comment, and comments that go on.
STRUCT = re.compile(r"^((?://.*\n)+)struct (\w+) \{\n((?:.|\n)*?)^\};", re.MULTILINE)
MEMBER = re.compile(r"^ *(?:typename Of::)?([\w:]+(?:<[^;]*>)?) ([\w, ]+);(?: *// ?(.*))?$")
BROKEN = re.compile(r"(typename Of::\w+|>)\n +(\w+;)")  # a member on two lines
COMMENT = re.compile(r"^( +)// ?(.*)$")
MEMBERS_INDENT = 8  # spaces: a comment that stands deeper goes on behind a member


def plain(comment):
    """A comment as lines of the page. An empty line ends a paragraph."""
    text = "\n".join(line.removeprefix("//").strip() for line in comment.strip().split("\n"))
    paragraphs = [textwrap.fill(part, 98) for part in text.split("\n\n")]
    return "\n\n".join(paragraphs).split("\n")


def number(text):
    text = text.strip()
    return re.sub(r"\(?1 << (\d+)\)?", r"2^\1", text)


def param(kind, name):
    """What stands before the comment: name, default and range."""
    base, _, inside = kind.partition("<")
    inside = inside.rstrip(">")
    parts = [number(part) for part in inside.split(",")] if base not in ("Choice", "ChoiceOr") else inside.split(",")
    if base == "Streams":
        return f"{name} = 1", "1 .. 64"
    if base == "Required":
        return name, f"{parts[0]} .. {parts[1]}"
    if base == "Default":
        absent = parts[0].lstrip("-").isdigit() and parts[1].isdigit() and int(parts[0]) < int(parts[1])
        return f"[{name}]" if absent else f"{name} = {parts[0]}", f"{parts[1]} .. {parts[2]}"
    if base == "Optional":
        return f"[{name}]", f"{parts[0]} .. {parts[1]}"
    if base in ("Flag", "FlagOr"):
        return f"{name} = {int(inside == 'true')}", "0 or 1"
    if base == "Real":
        return name, "a number above 0" if inside.endswith("positive") else "a number from 0 on"
    if base == "Several":
        return name, f"a list of up to {parts[0]}, {parts[1]} .. {parts[2]}"
    if base in ("Choice", "ChoiceOr"):
        words = [word.strip().strip('"') for word in parts]
        return (f"{name} = {words[0]}" if base == "ChoiceOr" else name), " | ".join(words)
    sys.exit(f"kernels.py: unknown kind of param '{kind}'")


def members(body):
    """[kind, name, comment] of each member. A comment stands behind it, or in lines of its own before it."""
    found, before = [], ""
    for line in BROKEN.sub(r"\1 \2", body).split("\n"):
        member, comment = MEMBER.match(line), COMMENT.match(line)
        if comment and found and len(comment[1]) > MEMBERS_INDENT:
            found[-1][2] = f"{found[-1][2]} {comment[2]}".strip()
        elif comment:
            before = f"{before} {comment[2]}".strip()
        elif member and not line.lstrip().startswith(("static", "return", "using")):
            kind, names, behind = member.groups()
            note = f"{before} {behind or ''}".strip()
            found += [[kind, name.strip(), note] for name in names.split(",")]
            before = ""
    return found


def table(rows):
    """Lines of three columns: what it is (once), name, the rest, wrapped."""
    width = max(len(name) for _, name, _ in rows) + 2
    lines, before = [], None
    for head, name, rest in rows:
        start = f"{head if head != before else '':<9}{name:<{width}}"
        before = head
        for word in rest.split():
            if len(start) + len(word) > 98 and start.strip():
                lines.append(start.rstrip())
                start = " " * (9 + width)
            start += word + " "
        lines.append(start.rstrip())
    return lines


def kernel(comment, body):
    name = re.search(r'name = "(\w+)"', body)[1]
    own, _, arguments = body.partition("template <class Of> struct Arguments {")
    own = re.sub(r"LW_PARAMS\([^)]*\)", "", own, flags=re.DOTALL)
    own = re.sub(r"^.*static constexpr const char \*name.*$", "", own, flags=re.MULTILINE)
    arguments = re.sub(r"LW_ARGUMENTS\([^)]*\)", "", arguments, flags=re.DOTALL)
    for macro, part in (("LW_PARAMS", own), ("LW_ARGUMENTS", arguments)):
        listed = re.search(rf"{macro}\(([^)]*)\)", body)[1].replace("\n", " ").split(",")
        found = [member for _, member, _ in members(part)]
        if sorted(found) != sorted(name.strip() for name in listed):
            sys.exit(f"kernels.py: {name}: {macro} lists other members than these: {', '.join(found)}")
    rows = []
    for kind, member, note in members(own):
        shown, range_ = param(kind, member)
        rows.append(["params", shown, f"{range_}{'; ' if note else ''}{note}"])
    for kind, member, note in members(arguments):
        rows.append([KINDS.get(kind.rstrip("s"), "count"), member + ("_0 .." if kind.endswith("s") else ""), note])
    return ["### " + name, "", *plain(comment), "", "```text", *table(rows), "```", ""]


def page(root):
    folder = root / "schedules/contract/kernels"
    unknown = {path.stem for path in folder.glob("*.h")} - set(SECTIONS)
    if unknown:
        sys.exit(f"kernels.py: SECTIONS lacks {', '.join(sorted(unknown))}")
    lines = []
    for section, title in SECTIONS.items():
        path = folder / f"{section}.h"
        if not path.exists():
            continue
        text = path.read_text()
        lines += ["## " + title, "", *plain(text[: text.index("#pragma once")]), ""]
        for comment, _, body in STRUCT.findall(text):
            if "const char *name" in body:
                lines += kernel(comment, body)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    root = pathlib.Path(arguments.root)
    target = root / "docs/kernels.md"
    before = target.read_text()
    made = f"{before[: before.index(BEGIN)]}{BEGIN}\n\n{page(root)}\n{before[before.index(END) :]}"
    if arguments.check and made != before:
        sys.exit("docs/kernels.md differs from the contracts: run schedules/contract/kernels.py")
    if not arguments.check:
        target.write_text(made)


if __name__ == "__main__":
    main()
