"""Relative links of Markdown pages: the file and the heading must exist."""

import pathlib
import re
import urllib.parse

LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
PAGE = re.compile(r"(?<![\w/.-])docs/[\w./-]+?\.(?:md|svg|py|json)\b")
TREE = re.compile(r"^(?:compiler|formats|runtime|schedules|targets|tests|tools|examples|cmake|docs)/[\w./*{},+-]*$")
SOURCE = re.compile(r"(?:src|srcset)=\"([^\"]+)\"")


def without_code(source, spans=True):
    """The same text with the content of code blocks (and code spans) blanked; lines keep their numbers."""
    lines, in_fence = [], False
    for line in source.split("\n"):
        fence = re.match(r"^\s*(```|~~~)", line)
        lines.append("" if in_fence or fence else line)
        in_fence ^= bool(fence)
    text = "\n".join(lines)
    return re.sub(r"`[^`\n]*`", lambda m: " " * len(m.group(0)), text) if spans else text


def slug(heading):
    """The anchor that GitHub makes of a heading."""
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip()).replace("`", "").replace("*", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def anchors(path):
    found, counts = set(), {}
    for line in without_code(path.read_text(encoding="utf-8"), spans=False).split("\n"):
        match = re.match(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$", line)
        if match:
            name = slug(match.group(1))
            count = counts.get(name, 0)
            counts[name] = count + 1
            found.add(name if count == 0 else f"{name}-{count}")
        found.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line))
    return found


def findings(page, source, root):
    """(line, what, advice) for each dead link of one Markdown page."""
    for number, line in enumerate(without_code(source).split("\n"), 1):
        for target in LINK.findall(line) + SOURCE.findall(line):
            if re.match(r"[a-z][a-z0-9+.-]*:", target):
                continue
            name, _, anchor = target.partition("#")
            path = (page.parent / urllib.parse.unquote(name)).resolve() if name else page
            if not path.exists():
                yield number, f"dead link {target}", "link to a file that exists"
            elif anchor and path.suffix == ".md" and anchor not in anchors(path):
                yield number, f"dead anchor {target}", f"use a heading of {name or 'this page'}"
    yield from page_names(without_code(source, spans=False), root)
    yield from tree_names(page, without_code(source, spans=False), pathlib.Path(root))


def exists(folder, name):
    """Whether a file or folder of that name is there; `*` matches, and {a,b}.h stands for a.h and b.h."""
    choice = re.search(r"\{([^{}]*)\}", name)
    if choice:
        return all(exists(folder, name.replace(choice.group(0), one, 1)) for one in choice.group(1).split(","))
    return any(folder.glob(name.rstrip("/"))) if "*" in name else (folder / name).exists()


def tree_names(page, source, root):
    """(line, what, advice) for each name of a source file or folder that is gone.

    Checked are `compiler/ir/op.h` and the like anywhere, and the names in the first column of a table of a folder's
    README.md, which are relative to that folder.
    """
    relative_to_folder = page.name == "README.md" and page.parent != root
    for number, line in enumerate(source.split("\n"), 1):
        for name in re.findall(r"`([^`\s]+)`", line):
            if TREE.match(name) and "NAME" not in name and not exists(root, name):
                yield number, f"{name} does not exist", "name a file or folder that exists"
        first = re.match(r"^\|((?:\s*`[^`\s]+`,?)+)\s*\|", line)
        for name in re.findall(r"`([^`\s]+)`", first.group(1)) if first and relative_to_folder else ():
            if re.search(r"/$|\.(?:h|cc|c|py|inc|fbs|md|sh|\*)$", name) and not exists(page.parent, name):
                yield number, f"{name} does not exist in this folder", "name a file that exists"


def page_names(source, root):
    """(line, what, advice) for each page of docs/ that a text names and that does not exist."""
    for number, line in enumerate(source.split("\n"), 1):
        for name in PAGE.findall(line):
            if not (pathlib.Path(root) / name).is_file():
                yield number, f"{name} does not exist", "name a page that exists"
