#!/usr/bin/env python3
"""The manual that the program writes about itself: manual_test.py LONGWAVE, from the root of the tree.

Compares docs/cli.md with the flag table, formats the man pages with groff, and asks each shell for completions.
A shell or groff that is not installed skips its part, with a line that says so. Standard library only.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

LONGWAVE = os.path.abspath(sys.argv[1])


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, **options)


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.temporary.name)
        done = run(LONGWAVE, "manual", "-o", cls.folder)
        assert done.returncode == 0, done.stderr
        cls.table = json.loads((cls.folder / "cli.json").read_text())
        cls.commands = {command["name"]: command for command in cls.table["commands"]}

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def need(self, program):
        if not shutil.which(program):
            self.skipTest(f"{program} is not installed")

    # ---- the reference

    def test_the_committed_reference_is_the_generated_one(self):
        committed = pathlib.Path("docs/cli.md").read_text(encoding="utf-8")
        generated = (self.folder / "cli.md").read_text(encoding="utf-8")
        self.assertEqual(committed, generated, "update it: longwave manual -o FOLDER && cp FOLDER/cli.md docs/cli.md")
        self.assertLessEqual(max(map(len, generated.splitlines())), 100)

    def test_help_has_every_option(self):
        for name, command in self.commands.items():
            text = run(LONGWAVE, name, "--help").stdout
            self.assertLessEqual(max(map(len, text.splitlines())), 100, name)
            for option in command["options"]:
                self.assertTrue(option["help"], f"{name} {option['names']} has help")
                for word in [*option["names"], option.get("default", ""), option.get("range", "")]:
                    self.assertIn("".join(word.split()), "".join(text.split()), name)

    def test_algorithms_are_those_of_the_compiler(self):
        convolution = next(o for o in self.commands["compile"]["options"] if "--convolution" in o["names"])
        refused = run(
            LONGWAVE, "compile", "examples/kws/model", "-o", self.folder / "x.lw", "--convolution", "nonsense"
        )
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertEqual(
            convolution["examples"], re.search(r"expected one of (.*)", refused.stderr).group(1).split(", ")
        )

    # ---- man pages

    def test_groff_formats_every_page_without_a_warning(self):
        self.need("groff")
        pages = sorted((self.folder / "man1").iterdir())
        self.assertEqual(
            {page.name for page in pages}, {"longwave.1"} | {f"longwave-{name}.1" for name in self.commands}
        )
        for page in pages:
            done = run("groff", "-man", "-ww", "-Tascii", "-P-cbou", page)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page.name)
            self.assertIn("EXIT STATUS", done.stdout)
        compile_page = run("groff", "-man", "-Tascii", "-P-cbou", self.folder / "man1/longwave-compile.1").stdout
        for option in self.commands["compile"]["options"]:
            for name in option["names"]:
                self.assertIn(name, compile_page)

    # ---- completion

    def complete_in_bash(self, *words):
        """What bash offers for the last of `words`, in a folder with a model, a sound and a subfolder."""
        script = self.folder / "bash/longwave"
        place = self.folder / "place"
        if not place.exists():
            (place / "model folder").mkdir(parents=True)
            for name in ("kws.lw", "a sound.wav"):
                (place / name).touch()
        text = f'source "{script}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _longwave; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = run("bash", "--norc", "-c", text, "bash", *words, cwd=place)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split("\n")[:-1]

    def test_bash_completes_commands_flags_values_and_files(self):
        self.need("bash")
        complete = self.complete_in_bash
        self.assertEqual(complete("longwave", "co"), ["compile"])
        self.assertLessEqual({*self.commands, "--help", "--version"}, set(complete("longwave", "")))
        self.assertEqual(complete("longwave", "compile", "--conv"), ["--convolution"])
        self.assertEqual(complete("longwave", "compile", "--weights", ""), ["float32", "bf16", "int8", "int4"])
        self.assertEqual(complete("longwave", "compile", "--weights", "=", "b"), ["bf16"])
        self.assertEqual(complete("longwave", "compile", "--weights", "="), ["float32", "bf16", "int8", "int4"])
        self.assertEqual(complete("longwave", "compile", "--target", "host,vulkan-3"), ["host,vulkan-32k"])
        self.assertEqual(complete("longwave", "run", "--device", ""), ["cpu", "vulkan", "auto"])
        self.assertEqual(complete("longwave", "listen", "--format", "s"), ["s16le", "s24le", "s24_32le", "s32le"])
        self.assertEqual(complete("longwave", "compile", "m"), ["model folder"])
        self.assertEqual(sorted(complete("longwave", "verify", "")), ["kws.lw", "model folder"])
        self.assertEqual(complete("longwave", "listen", "kws.lw", "a"), ["a sound.wav"])
        self.assertEqual(complete("longwave", "compile", "--jobs", ""), [""])
        self.assertEqual(complete("longwave", "unknown", ""), [""])
        for name, command in self.commands.items():
            flags = [flag for option in command["options"] for flag in option["names"]]
            self.assertEqual(complete("longwave", name, "-"), flags, name)

    def test_bash_accepts_the_script(self):
        self.need("bash")
        done = run("bash", "-n", self.folder / "bash/longwave")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_zsh_accepts_the_script_and_every_option(self):
        text = (self.folder / "zsh/_longwave").read_text()
        for command in self.commands.values():
            for option in command["options"]:
                for name in option["names"]:
                    self.assertRegex(text, rf"'\*?{name}=?\[")
        self.need("zsh")
        done = run("zsh", "-f", "-n", self.folder / "zsh/_longwave")
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_fish_completes_commands_flags_and_values(self):
        self.need("fish")
        script = self.folder / "fish/longwave.fish"

        def complete(line):
            done = run(
                "fish",
                "--no-config",
                "-c",
                f"source '{script}'; complete -C '{line}'",
                cwd=self.folder,
                env={**os.environ, "HOME": str(self.folder)},
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            return [offer.split("\t")[0] for offer in done.stdout.splitlines()]

        self.assertEqual(complete("longwave comp"), ["compile"])
        self.assertIn("--convolution", complete("longwave compile --"))
        self.assertEqual(sorted(complete("longwave compile --weights ")), ["bf16", "float32", "int4", "int8"])
        self.assertIn("host", complete("longwave compile --target "))
        self.assertIn("auto", complete("longwave run kws.lw --device "))


result = unittest.main("__main__", argv=[sys.argv[0], *sys.argv[2:]], verbosity=2, exit=False).result
for test, reason in result.skipped:
    print(f"SKIPPED: {test.id().split('.')[-1]}: {reason}")
sys.exit(not result.wasSuccessful())
