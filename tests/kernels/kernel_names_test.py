#!/usr/bin/env python3
"""Kernels that are named in text: every kernel that a specification names is the name of a contract.

The compiler names kernels by their structs. Benchmarks, tools and tests write specifications as JSON, where a compiler of C++ sees no name.
A name with a part that is filled in (`long_conv_{}`) must fit at least one kernel.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTRACTS = ROOT / "schedules/contract/kernels"
MADE_UP = {"a", "b", "bilinear"}  # by tests of refusals and of the compiler
SPECIFICATION = re.compile(r'"kernel": ?"([\w{}]+)')
FOLDERS = ("compiler", "schedules", "tests", "tools", "docs")


def main():
    kernels = {
        name for path in CONTRACTS.glob("*.h") for name in re.findall(r'char \*name = "(\w+)"', path.read_text())
    }
    assert len(kernels) > 50, kernels
    seen, wrong = 0, []
    for file in (file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.is_file()):
        if file.suffix not in (".cc", ".h", ".py", ".md", ".json", ""):
            continue
        path = str(file.relative_to(ROOT))
        for name in SPECIFICATION.findall(file.read_text(encoding="utf-8", errors="replace")):
            seen += 1
            pattern = re.compile(re.sub(r"\{[^}]*\}?", r"\\w+", name) + (r"\w*" if path.endswith("run") else ""))
            fits = any(pattern.fullmatch(kernel) for kernel in kernels)
            if not fits and not (name in MADE_UP and path.startswith(("tests/unit/", "tests/kernels/"))):
                wrong.append(f"{path}: {name}")
    assert not wrong, "no kernel has this name: " + ", ".join(wrong)
    print(f"{seen} names in specifications, {len(kernels)} kernels")
    assert seen > 40


main()
