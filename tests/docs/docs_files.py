"""Names of files in the comments of sources: a file that is gone must not be named any more."""

import pathlib
import re

SOURCES = (".cc", ".h", ".c", ".cpp", ".hpp", ".inc")
SCRIPTS = (".py", ".cmake", ".sh", "CMakeLists.txt")
NAME = re.compile(r"(?<![\w./<>{}$*-])((?:[\w-]+/)*[\w-]+\.(?:h|hpp|cc|cpp|c|py|md|inc|cmake))(?![\w/])")
# Files of other projects.
OTHERS = {
    "CodeGen_Vulkan_Dev.cpp",
    "Halide.h",
    "HalideConfig.cmake",
    "Linking.md",
    "flatbuffers.h",
    "gconv_standalone.py",
    "llama.cpp",
    "lv2.h",
    "qemu-plugin.h",
    "utils_vad.py",
}
# What a usage text writes for a name that the reader chooses, and files that a command of the text makes.
CHOSEN = re.compile(r"[A-Z]+/.*|(?:[a-z]|[a-z]_test|file|more|reader|table|kws12|[A-Z]+)\.\w+")


def comments(name, source):
    """(line, text) of each comment: of C++ and C, or of scripts, with the docstrings of Python."""
    scripted, inside = not name.endswith(SOURCES), None  # inside: what a multi-line string or comment is
    for number, line in enumerate(source.split("\n"), 1):
        if scripted:
            marks, begins = line.count('"""'), line.lstrip().startswith('"""')
            is_docstring = inside == "docstring" if inside else begins
            if marks % 2 == 1:
                inside = None if inside else "docstring" if begins else "string"
            if is_docstring:
                yield number, line
            elif not inside and "#" in line:
                yield number, line.split("#", 1)[1]
        elif inside or line.lstrip().startswith("/*"):
            inside = None if "*/" in line else "comment"
            yield number, line
        elif "//" in line:
            code = re.sub(r'"(?:\\.|[^"\\])*"', '""', line)
            yield number, code.split("//", 1)[1] if "//" in code else ""


def is_source(path):
    if path.name.endswith((*SOURCES, *SCRIPTS)):
        return True
    if path.suffix:
        return False
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def findings(paths, root):
    """(file, line, what, advice) for each name that is the end of no path in `paths`, all files of the tree."""
    names = [path.relative_to(root).as_posix() for path in paths]
    ends = {"/".join(parts[first:]) for parts in (name.split("/") for name in names) for first in range(len(parts))}
    for path, name in zip(paths, names):
        if not is_source(path):
            continue
        for number, text in comments(name, path.read_text(encoding="utf-8", errors="replace")):
            for found in NAME.findall(text):
                last = pathlib.PurePosixPath(found).name
                if found not in ends and last not in OTHERS and not CHOSEN.fullmatch(found):
                    yield name, number, f"{found} does not exist", "name a file that exists"
