#!/usr/bin/env python3
"""The version of each kernel: a hash of the sources that decide its code.

    versions.py --root FOLDER --toolchain TEXT [--out FILE]

FOLDER is the root of the source tree. The sources of a schedule are the file that registers it, the files
of `common`, and all files that these reach:
- an #include "..." reaches the header, if the header lies in the tree;
- a header reaches the sources that implement it: the source of the same name, and each source without
  registrations whose first #include from its own folder is that header;
- the built-in structures (a generated include) are the tables of schedules/long_conv/tables.
A version is the first 32 hexadecimal digits of a SHA-256 of TEXT and of the names and contents of these
files. "all sources" is the version of the program: of every file. Without --out the versions go to standard output as "FILE VERSION" lines. With --out FILE receives
rows of a C++ table. kernel_versions_test checks that no source is missing: it compares the sources with
the references between object files.
"""

import argparse
import hashlib
import pathlib
import re
import sys

# What every kernel is made with, whatever its schedule includes.
COMMON = ["schedules/halide/kernel.cc", "targets/*.cc"]
GENERATED = {"long_conv_structures.inc": "schedules/long_conv/tables/*[0-9].json"}  # all but the costs
FOLDERS = ["schedules", "targets", "formats/artifact", "formats/base", "formats/spirv"]

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)
REGISTRATION = re.compile(
    r"^\s*(?:static\s+)?const\s+(?:Kernel|Kernel<.*>|GpuSchedule|GpuSchedule<.*>)\s+\w+\s*\{", re.MULTILINE
)


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.text = {}
        for folder in FOLDERS:
            for path in sorted((self.root / folder).rglob("*")):
                if path.suffix in (".h", ".cc", ".json"):
                    self.text[path.relative_to(self.root).as_posix()] = path.read_text()
        self.includes = {name: INCLUDE.findall(text) for name, text in self.text.items()}
        self.schedules = [
            name
            for name, text in self.text.items()
            if name.endswith(".cc") and not name.startswith("schedules/halide/") and REGISTRATION.search(text)
        ]
        self.implementations = {}
        for name in self.text:
            if not name.endswith(".cc"):
                continue
            headers = {name[:-3] + ".h"}
            if name not in self.schedules:
                folder = name[: name.rindex("/") + 1]
                headers.update([header for header in self.includes[name] if header.startswith(folder)][:1])
            for header in headers:
                self.implementations.setdefault(header, []).append(name)

    def matching(self, pattern):
        return [path.relative_to(self.root).as_posix() for path in sorted(self.root.glob(pattern))]

    def next(self, name):
        for header in self.includes[name]:
            if header in self.text:
                yield header
            if header in GENERATED:
                yield from self.matching(GENERATED[header])
        yield from self.implementations.get(name, [])

    def sources(self, schedule):
        """All files that decide the code of the schedule's kernels, sorted."""
        found, open_names = set(), [schedule]
        for pattern in COMMON:
            open_names += self.matching(pattern)
        while open_names:
            name = open_names.pop()
            if name not in found:
                found.add(name)
                open_names += self.next(name)
        return sorted(found)

    def version(self, schedule, toolchain):
        return self.hash(self.sources(schedule), toolchain)

    def hash(self, names, toolchain):
        digest = hashlib.sha256(toolchain.encode() + b"\0")
        for name in names:
            digest.update(name.encode() + b"\0")
            digest.update(hashlib.sha256(self.text[name].encode()).digest())
        return digest.hexdigest()[:32]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--toolchain", required=True)
    parser.add_argument("--out")
    arguments = parser.parse_args()
    tree = Tree(arguments.root)
    if not tree.schedules:
        sys.exit("versions.py: no schedules under " + arguments.root)
    versions = [(name, tree.version(name, arguments.toolchain)) for name in sorted(tree.schedules)]
    versions.append(("all sources", tree.hash(sorted(tree.text), arguments.toolchain)))
    if not arguments.out:
        for name, version in versions:
            print(name, version)
        return
    rows = "".join('{{"{}", "{}"}},\n'.format(*pair) for pair in versions)
    pathlib.Path(arguments.out).write_text(rows)


if __name__ == "__main__":
    main()
