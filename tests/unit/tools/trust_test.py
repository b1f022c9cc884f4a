#!/usr/bin/env python3
"""Keys, signatures, versions and files without code, as the command line has them: what an attacker tries is refused."""

import json
import os
import stat
import struct

from cli_support import BAD_INPUT, CHECK_FAILED, OK, USAGE, Cli, main, model

KEY, SIGNATURE, VERSION, ROOT = 80, 112, 176, 48  # offsets in the header


class TrustTest(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.keys = {}
        for name in ("old", "new"):
            made = cls.run_cli("keygen", cls.scratch / name, "--json")
            assert made.returncode == OK, made.stderr
            cls.keys[name] = json.loads(made.stdout)["key"]
        cls.signed = cls.sign("old", "signed.lw")

    @classmethod
    def sign(cls, key, name, *options, of=None):
        done = cls.run_cli("sign", of or cls.artifact, "--key", cls.scratch / key, "-o", cls.scratch / name, *options)
        assert done.returncode == OK, done.stderr
        return cls.scratch / name

    def inspected(self, path):
        shown = self.run_cli("inspect", path, "--json")
        self.assertEqual(shown.returncode, OK, shown.stderr)
        return json.loads(shown.stdout)

    def changed(self, name, at, new, of=None):
        data = bytearray((of or self.signed).read_bytes())
        data[at : at + len(new)] = new
        path = self.scratch / name
        path.write_bytes(data)
        return path

    def test_keygen_writes_a_secret_that_only_the_user_reads_and_never_over_another(self):
        secret, public = self.scratch / "old", self.scratch / "old.pub"
        self.assertEqual(stat.S_IMODE(os.stat(secret).st_mode), 0o600)
        self.assertEqual(public.read_text().strip(), self.keys["old"])
        self.assertEqual(len(bytes.fromhex(secret.read_text())), 32)
        self.assertNotEqual(self.keys["old"], self.keys["new"])
        before = secret.read_bytes()
        self.refused(USAGE, ["this file exists", "lost key"], "keygen", secret)
        secret_alone = self.scratch / "alone"
        (self.scratch / "alone.pub").write_text("")
        self.refused(USAGE, ["alone.pub", "this file exists"], "keygen", secret_alone)
        self.assertEqual(secret.read_bytes(), before)

    def test_inspect_and_verify_tell_a_signature_from_bytes_in_its_place(self):
        shown = self.inspected(self.signed)
        self.assertEqual((shown["signed"], shown["signature"]), (True, "signed by " + self.keys["old"]))
        self.assertIn("signed by " + self.keys["old"], self.run_cli("verify", self.signed).stdout)
        self.assertEqual(self.inspected(self.artifact)["signature"], "not signed")
        other = self.sign("new", "other.lw").read_bytes()
        changed = self.sign("old", "version.lw", "--model-version", "9").read_bytes()
        wrong = {
            "zeroed": self.changed("zeroed.lw", SIGNATURE, bytes(64)),
            "foreign": self.changed("foreign.lw", SIGNATURE, other[SIGNATURE : SIGNATURE + 64]),
            "stale": self.changed("stale.lw", SIGNATURE, changed[SIGNATURE : SIGNATURE + 64]),
        }
        for name, path in wrong.items():
            with self.subTest(name):
                shown = self.inspected(path)
                self.assertEqual((shown["signed"], shown["signature"]), (False, "signature does not match"))
                self.assertIn("signature does not match", self.run_cli("inspect", path).stdout)
                self.refused(CHECK_FAILED, ["signature does not match"], "verify", path)
                self.refused(
                    BAD_INPUT,
                    ["not signed by the key"],
                    "run",
                    path,
                    "--input",
                    "audio=1600",
                    "--require-key",
                    self.keys["old"],
                )

    def test_keys_rotate_by_a_repeated_flag_or_a_file(self):
        new, run = self.sign("new", "new.lw", of=self.signed), ("--input", "audio=1600")
        both = self.scratch / "accepted.keys"
        both.write_text(f"# the key of 2025\n{self.keys['old']}\n\n  {self.keys['new']}  # the next\n")
        for path in (self.signed, new):
            for trusted in (
                [self.keys["old"], self.keys["new"]],
                [both],
                [self.scratch / "old.pub", self.scratch / "new.pub"],
            ):
                flags = [word for key in trusted for word in ("--require-key", key)]
                self.assertEqual(self.run_cli("run", path, *run, *flags).returncode, OK)
        self.refused(BAD_INPUT, ["not signed by the key"], "run", self.signed, *run, "--require-key", self.keys["new"])
        self.refused(BAD_INPUT, ["not signed by the key"], "run", self.artifact, *run, "--require-key", both)
        empty = self.scratch / "empty.keys"
        empty.write_text("# none\n")
        for bad in (empty, self.scratch / "missing.keys", self.signed, "d75a98"):
            self.refused(USAGE, ["64 hexadecimal digits"], "run", self.signed, *run, "--require-key", bad)

    def test_an_older_version_does_not_come_back(self):
        five = self.sign("old", "five.lw", "--model-version", "5")
        self.assertEqual(self.inspected(five)["version"], 5)
        self.assertEqual(self.inspected(self.sign("new", "again.lw", of=five))["version"], 5)  # signing again keeps it
        run = ("--input", "audio=1600", "--require-key", self.keys["old"], "--least-version")
        self.assertEqual(self.run_cli("run", five, *run, "5").returncode, OK)
        self.refused(BAD_INPUT, ["version 5", "6", "newer file"], "run", five, *run, "6")
        self.refused(BAD_INPUT, ["version 0", "newer file"], "run", self.signed, *run, "1")
        raised = self.changed("raised.lw", VERSION, struct.pack("<Q", 6), of=five)
        self.refused(BAD_INPUT, ["V19"], "run", raised, *run, "6")
        self.refused(USAGE, ["--require-key"], "run", five, "--input", "audio=1600", "--least-version", "5")
        self.refused(
            USAGE,
            ["--sign"],
            "compile",
            self.package,
            "-o",
            self.scratch / "no.lw",
            "--target",
            "host",
            "--model-version",
            "5",
        )

    def test_names_that_steer_a_terminal_are_bad_input_before_any_kernel_is_compiled(self):
        description, weights = model()
        for number, (character, shown) in enumerate((("\x1b", "\\x1b"), ("\u202e", "\\u202e"), ("\u009b", "\\u009b"))):
            description["layers"][3]["name"] = "head" + character
            package = self.write_package(f"steers{number}", description, weights)
            refused = self.run_cli("compile", package, "-o", self.scratch / "no.lw", "--kgen", "/bin/false")
            self.assertEqual(refused.returncode, BAD_INPUT)
            self.assertIn(
                f'layers[3].name: expected a text without control characters, found "head{shown}"', refused.stderr
            )
            self.assertNotIn(character, refused.stderr)
        self.assertFalse((self.scratch / "no.lw").exists())

    def test_a_file_without_code_says_what_it_lacks(self):
        out = self.scratch / "bare.lw"
        compiled = self.run_cli(
            "compile",
            self.package,
            "-o",
            out,
            "--target",
            "host",
            "--stream",
            "--no-code",
            "--sign",
            self.scratch / "old",
            "--model-version",
            "3",
        )
        self.assertEqual(compiled.returncode, OK, compiled.stderr)
        kernels = self.scratch / "bare.kernels.c"
        self.assertIn("bare.kernels.c", compiled.stdout)
        self.assertIn("const lw_model_kernels longwave_kernels_tiny =", kernels.read_text())
        shown = self.inspected(out)
        self.assertEqual([(v["in_file"], v["code_bytes"]) for v in shown["variants"]], [(False, 0)])
        self.assertIn(": not in the file, ", self.run_cli("inspect", out).stdout)
        self.assertEqual((shown["format"], shown["version"], shown["signed"]), ("2.5", 3, True))
        self.refused(BAD_INPUT, ["contains no code", "lw_open_options.kernels"], "run", out, "--input", "audio=1600")
        self.refused(USAGE, ["one CPU target"], "compile", self.package, "-o", out, "--no-code")
        self.refused(
            USAGE, ["one CPU target"], "compile", self.package, "-o", out, "--no-code", "--target", "host,vulkan-16k"
        )
        self.refused(USAGE, ["-o"], "compile", self.package, "-o", "-", "--no-code", "--target", "host")


if __name__ == "__main__":
    main()
