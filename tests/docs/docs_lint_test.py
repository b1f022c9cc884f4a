#!/usr/bin/env python3
"""The documentation lint finds each kind of bad text, at its line, and leaves good text alone."""

import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import docs_files  # noqa: E402
import docs_links  # noqa: E402
import docs_prose  # noqa: E402
import docs_rules  # noqa: E402

LONG = "A sentence of " + "very " * 10 + "very\n" + "very " * 8 + "many words ends here."

# Markdown, its bad lines, and a part of each finding.
PAGES = [
    ("Each sum is float32.\nThe name is no JSON.", [(2, "is no")]),
    ("The core has no threads. There is no arm64 code. The list is no longer than 8.", []),
    ("It runs on the processor.", [(1, 'say "the CPU"')]),
    ("It reads 2.3 bits a byte.", [(1, 'say "per"')]),
    ("It reads a row and a byte.", []),
    ("Good.\n\n" + LONG, [(3, "26 words")]),
    ("`" + LONG + "` is code.", []),
    ("One; two; three.", [(1, "2 semicolons")]),
    ("One; two.", []),
    ("x" * 101, [(1, "101 columns")]),
    ("```text\nthe processor\n```", []),
    ("```text\n" + "x" * 101 + "\n```", [(2, "101 columns")]),
    ("## What it promises\n\nWhat it promises is here.", [(3, "starts with")]),
    ("| a | b |\n|---|---|\n| fine | put aside |", [(3, "put aside")]),
    ("- fine\n- stream equals the whole\n- a whole second", [(2, "the whole")]),
    ("See /home/x.", [(1, "machine path")]),
    ("[a](missing.md)", [(1, "dead link")]),
    ("# A page\n\n[a](#a-page) [b](#other)", [(3, "dead anchor #other")]),
    ("See docs/no-such-page.md.", [(1, "does not exist")]),
    ("Use e.g. three words. " * 3, []),
    ("One value of ten words is here for the test.\n" + "float32 is the default value of the option here.\n" * 2, []),
]

HEADER = """/** Opens a file.
 *
 * @param path  UTF-8; is no folder
 * @return LW_OK, or the status of the failure
 */
int f(const char *path); /* put aside */
const char *text = "the processor"; // a string is code
"""

SOURCE = """Status f() {
    // the processor
    log("the processor");
    if (a) return Status::input(path + ": is no JSON");
    return fail(LW_IO, format("%s: %u tokens a second", "fine"),
                b ? "the verb" : "a command");
}
"""

HELP = """Measures speed.
Usage: longwave bench [OPTIONS] model

Options:
  -h,--help                   Print this help message and exit
  --runs UINT=20              Of opening
                              and put aside
"""


def page_case(folder, number, text, expected):
    page = folder / f"page{number}.md"
    page.write_text(text + "\n", encoding="utf-8")
    run = subprocess.run([HERE / "docs_lint", page], capture_output=True, text=True)
    lines = run.stdout.splitlines()
    assert len(lines) == len(expected), (text, lines)
    for (line, part), found in zip(expected, lines):
        assert f"{page.name}:{line}: " in found and part in found, (text, found)
    assert run.returncode == (1 if expected else 0), (text, run)


def names_of_files(folder):
    """Names in comments: an existing file, one of another folder, a gone one, and those that are no comments."""
    (folder / "there").mkdir()
    cc, py = folder / "there/a_tile.cc", folder / "there/b_tile.py"
    cc.write_text(
        '// a_tile.cc, there/b_tile.py, elsewhere/b_tile.py\nputs("gone_tile.h"); // gone_tile.h\n'
        "/* Halide.h,\n   lost_tile.md */ #include <lost_tile.h>\n",
        encoding="utf-8",
    )
    py.write_text(
        '"""gone_tile.h\n\nlost_tile.py"""\nx = """\nlost_tile.h\n"""\ny = 1  \N{NUMBER SIGN} gone_tile.cc\n',
        encoding="utf-8",
    )
    found = [(name, line, what.split()[0]) for name, line, what, _ in docs_files.findings([cc, py], folder)]
    assert found == [
        ("there/a_tile.cc", 1, "elsewhere/b_tile.py"),
        ("there/a_tile.cc", 2, "gone_tile.h"),
        ("there/a_tile.cc", 4, "lost_tile.md"),
        ("there/b_tile.py", 1, "gone_tile.h"),
        ("there/b_tile.py", 3, "lost_tile.py"),
        ("there/b_tile.py", 7, "gone_tile.cc"),
    ], found


def kinds(sentences, kind):
    return [(s.line, what.split('"')[1]) for s in sentences for what, _ in docs_rules.sentence_findings(s, kind)]


def main():
    with tempfile.TemporaryDirectory() as name:
        for number, (text, expected) in enumerate(PAGES):
            page_case(pathlib.Path(name), number, text, expected)
        names_of_files(pathlib.Path(name))
    assert kinds(docs_prose.header(HEADER), "header") == [(3, "is no"), (6, "put aside")]
    found = kinds(docs_prose.messages(SOURCE), "message")
    assert found == [(4, "is no"), (5, "tokens a second"), (5, "verb")], found
    assert kinds(docs_prose.help_text(HELP), "help") == [(6, "put aside")], list(docs_prose.help_text(HELP))
    assert docs_links.slug("Rules V1-V21 (all), `x_y`") == "rules-v1-v21-all-x_y"
    print(f"{len(PAGES)} pages and three other kinds of text, each as expected")


main()
