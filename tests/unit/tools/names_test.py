#!/usr/bin/env python3
"""Foreign text never reaches a reader unseen: characters that steer a terminal, turn the direction of writing or have no appearance are shown as escapes.
They stand everywhere that a model folder, a compiled model or a path may hold a name. Every output is searched: text, JSON, HTML, traces and errors.
"""

import hashlib
import json
import os
import pathlib
import re
import struct
import unicodedata

from cli_support import BAD_INPUT, DEVICE, OK, Cli, main, model, noise, wav

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Invisible, but allowed in names: zero width space, byte order mark, soft hyphen, word joiner, Hangul filler, variation selector, tag.
HIDDEN = "\u200b\ufeff\u00ad\u2060\u3164\ufe0f\U000e0041"
# Not allowed in names, and JSON has an escape of each: bell, escape, C1, separators, overrides, isolates.
STEERING = "\x07\x1b\x9b\u2028\u2029\u202e\u2066\u200f"
IGNORABLE = [
    range(0x34F, 0x350),
    range(0x115F, 0x1161),
    range(0x17B4, 0x17B6),
    range(0x180B, 0x1810),
    range(0x2065, 0x2066),
    range(0x3164, 0x3165),
    range(0xFE00, 0xFE10),
    range(0xFFA0, 0xFFA1),
    range(0xFFF0, 0xFFF9),
    range(0xE0000, 0xE1000),
]  # Default_Ignorable_Code_Point beside Cf


def unseen(character):
    return unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp", "Cs") or any(
        ord(character) in some for some in IGNORABLE
    )


class NamesTest(Cli):
    def clean(self, output, where):
        text = output if isinstance(output, str) else output.decode()  # UTF-8
        found = {f"U+{ord(c):04X}" for c in text if unseen(c) and c not in "\n\t"}
        self.assertFalse(found, f"{where}: {found}")

    def outputs(self, *arguments, code=OK):
        done = self.run_cli(*arguments, text=False)
        self.assertIn(done.returncode, code if isinstance(code, tuple) else (code,), (arguments, done.stderr))
        self.clean(done.stdout, arguments)
        self.clean(done.stderr, arguments)
        return done.stdout.decode() + done.stderr

    def named(self, mark):
        """The keyword model with a mark in every name."""
        description, weights = model("tiny" + mark)
        description["inputs"][0]["name"] += mark
        names = {layer["name"]: layer["name"] + mark for layer in description["layers"]}
        for layer in description["layers"]:
            layer["name"] = names[layer["name"]]
        for output in description["outputs"]:
            output["from"], output["name"] = names[output["from"]], output["name"] + mark
        description["labels"] = [label + mark for label in description["labels"]]
        description["decision"]["output"] += mark
        description["decision"]["ignore"] = [label + mark for label in description["decision"]["ignore"]]
        weights = {re.sub(r"^\w+", lambda stem: names[stem.group()], key): value for key, value in weights.items()}
        return description, weights

    def every_command(self, artifact, suffix):
        input_name = "audio" + suffix
        page, trace = self.scratch / "page.html", self.scratch / "trace.json"
        shown = (
            self.outputs("inspect", artifact)
            + self.outputs("inspect", artifact, "--steps")
            + self.outputs("inspect", artifact, "--html", page)
        )
        self.clean(page.read_bytes(), "page")
        parsed = json.loads(self.outputs("inspect", artifact, "--json", "--steps"))
        self.outputs("verify", artifact)
        self.outputs("verify", artifact, "--json")
        self.outputs("run", artifact, "--input", f"{input_name}=1600")
        self.outputs("run", artifact, "--input", f"{input_name}=1600", "--json")
        self.outputs("run", artifact, "--input", "other=1600", code=(2, 3))
        self.outputs("listen", artifact, self.speech, "--scores", "--trace", trace)
        self.clean(trace.read_bytes(), "trace")
        self.outputs("bench", artifact, "--json", "--seconds", "0.1", code=(OK, 2))
        return shown, parsed

    def test_hidden_characters_in_every_name(self):
        for mark in (HIDDEN,):
            package = self.write_package("hidden", *self.named(mark))
            made = self.scratch / "hidden.lw"
            self.outputs("compile", package, "-o", made, "--target", "host", "--stream")
            self.outputs("compile", package, "-o", made, "--target", "host", "--stream", "--json")
            self.outputs(
                "compile",
                package,
                "-o",
                made,
                "--target",
                "host",
                "--stream",
                "--dump-after",
                "lower",
                "--timings",
                code=(OK, 2),
            )
            shown, parsed = self.every_command(made, mark)
            self.assertIn("tiny\\u200b\\ufeff\\u00ad\\u2060\\u3164\\ufe0f\\U000e0041", shown)
            self.assertEqual(parsed["name"], "tiny" + mark)  # JSON keeps the value

    def test_escapes_in_the_report_of_a_compiled_model(self):
        package = self.write_package("report", *self.named("QQQQQQ"))
        made = self.scratch / "report.lw"
        self.outputs("compile", package, "-o", made, "--target", "host", "--stream")
        for character in STEERING:
            data = bytearray(made.read_bytes())
            plan_offset, plan_bytes = struct.unpack_from("<QQ", data, 24)
            plan = bytes(data[plan_offset : plan_offset + plan_bytes])
            texts = [
                text.replace(b"QQQQQQ", b"\\u%04x" % ord(character)) if b"{" in text or b'": ' in text else text
                for text in plan.split(b"\0")
            ]
            plan = b"\0".join(texts)
            self.assertIn(b"\\u%04x" % ord(character), plan)
            data[plan_offset : plan_offset + plan_bytes] = plan
            header = bytearray(data[:256])
            header[48:80], header[112:176] = bytes(32), bytes(64)
            data[48:80] = hashlib.blake2b(bytes(header) + plan, digest_size=32).digest()
            changed = self.scratch / "changed.lw"
            changed.write_bytes(data)
            shown, _ = self.every_command(changed, "QQQQQQ")
            self.assertIn(f"\\x{ord(character):02x}" if ord(character) < 128 else f"\\u{ord(character):04x}", shown)

    def test_refusals_of_a_model_folder(self):
        for number, character in enumerate(STEERING + HIDDEN + "\n"):
            mark = f"a{character}b"
            changes = {
                "name": lambda d: d.update(name=mark),
                "label": lambda d: d["labels"].__setitem__(0, mark),
                "layer type": lambda d: d["layers"][0].update(type=mark),
                "attribute": lambda d: d["layers"][0].update({mark: 1}),
                "value": lambda d: d["layers"][0].update(kernel=mark),
                "key": lambda d: d.update({mark: 1}),
                "from": lambda d: d["outputs"][0].update({"from": mark}),
                "decision": lambda d: d["decision"].update(output=mark, ignore=[mark]),
            }
            for what, change in changes.items():
                description, weights = model()
                change(description)
                package = self.write_package(f"refused {number} {what}", description, weights)
                done = self.run_cli(
                    "compile", package, "-o", self.scratch / "no.lw", "--kgen", "/bin/false", text=False
                )
                self.assertNotEqual(done.returncode, OK)
                self.clean(done.stderr, (what, mark))
            description, weights = model()
            package = self.write_package(f"refused {number} tensor", description, {**weights, mark: ([1], [0.0])})
            self.clean(
                self.run_cli("compile", package, "-o", self.scratch / "no.lw", "--kgen", "/bin/false").stderr,
                ("tensor", mark),
            )

    def test_paths(self):
        for number, character in enumerate(STEERING + HIDDEN):
            self.outputs("inspect", self.scratch / f"none{character}", code=(BAD_INPUT, DEVICE))
            folder = self.scratch / f"clips{number}"
            for label in ("yes", "no"):
                (folder / label).mkdir(parents=True)
            (folder / "yes" / f"clip{character}.wav").write_bytes(b"no audio")
            (folder / "no" / "clip.wav").write_bytes(wav(noise(1)))
            self.outputs("eval", self.artifact, folder, code=(0, 1, 2, 3))
            copied = self.scratch / f"copy{character}.lw"
            copied.write_bytes(self.artifact.read_bytes())
            self.outputs("inspect", copied, "--html", self.scratch / f"page{character}.html")
            self.outputs("verify", copied)
        self.outputs("nocommand\u202e", code=2)
        self.outputs("inspect", "--no\u202eflag", code=2)
        self.assertIn(
            "\\xff", self.outputs("inspect", os.fsencode(self.scratch) + b"/none\xff", code=(BAD_INPUT, DEVICE))
        )

    def test_every_character_of_unicode(self):
        """The characters that are shown as escapes are those of Python's tables."""
        every = [
            chr(c)
            for c in range(1, 0x110000)
            if unicodedata.category(chr(c)) not in ("Cn", "Co", "Cs") and chr(c) not in "/\n\t"
        ]
        for begin in range(0, len(every), 20000):
            part = every[begin : begin + 20000]
            done = self.run_cli("inspect", self.scratch / ("<<" + "".join(part) + ">>"))
            shown = re.search("<<(.*)>>", done.stderr, re.S).group(1)
            escape = lambda c: ("\\x%02x" if ord(c) < 128 else "\\u%04x" if ord(c) < 0x10000 else "\\U%08x") % ord(c)
            self.assertEqual(shown, "".join(escape(c) if unseen(c) else c for c in part))

    def test_every_print_goes_through_one_function(self):
        """A call of printf beside tools/cli/output would print foreign text as it is."""
        allowed = {"tools/cli/output/text.cc", "tools/cli/output/printable.cc"}
        for path in sorted((ROOT / "tools/cli").rglob("*.cc")):
            name = str(path.relative_to(ROOT))
            if name.startswith("tools/cli/manual/") or name in allowed:
                continue
            found = re.findall(r"std::(?:printf|fprintf|puts|cout|cerr)\b", path.read_text())
            self.assertFalse(found, f"{name}: use print_text (tools/cli/output/printable.h)")


if __name__ == "__main__":
    main()
