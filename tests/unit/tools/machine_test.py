#!/usr/bin/env python3
"""A machine that refuses, through the command line: machine_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

Full disks, missing permissions, pipes that close: the exit code, one clear line, and no half-written or temporary file.

Standard library only.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import threading
from pathlib import Path

from cli_support import BAD_INPUT, DEVICE, KERNELS, LONGWAVE, OK, USAGE, Cli, main


class Machine(Cli):
    def test_full_disk(self):
        size = self.artifact.stat().st_size

        def limit_files():  # the kernel refuses to let any file grow to the artifact's size, as a full disk would
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size - 1, size - 1))

        self.refused(
            DEVICE,
            ["x.lw", "too large"],
            "compile",
            self.package,
            "-o",
            self.scratch / "x.lw",
            "--target",
            "host",
            "--stream",
            preexec_fn=limit_files,
        )
        old = self.scratch / "old.lw"
        old.write_bytes(b"the old file")
        self.refused(
            DEVICE,
            ["old.lw"],
            "compile",
            self.package,
            "-o",
            old,
            "--target",
            "host",
            "--stream",
            preexec_fn=limit_files,
        )
        self.assertEqual(old.read_bytes(), b"the old file")
        old.unlink()

        def limit_keys():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))

        self.refused(DEVICE, ["key", "cannot be written"], "keygen", self.scratch / "key", preexec_fn=limit_keys)
        self.assertEqual(self.run_cli("keygen", self.scratch / "key").returncode, OK)
        signed = self.scratch / "signed.lw"
        signed.write_bytes(self.artifact.read_bytes())
        self.refused(
            DEVICE, ["signed.lw", "too large"], "sign", signed, "--key", self.scratch / "key", preexec_fn=limit_files
        )
        self.assertEqual(signed.read_bytes(), self.artifact.read_bytes())
        for left in (signed, self.scratch / "key", self.scratch / "key.pub"):
            left.unlink()

        def limit_replies():  # of the kernel compiler
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))

        self.refused(
            DEVICE,
            ["longwave-kgen", "at most 512 bytes", "ulimit -f"],
            "compile",
            self.package,
            "-o",
            old,
            "--target",
            "host",
            preexec_fn=limit_replies,
        )
        numbers = self.scratch / "numbers.npy"

        def limit_to_a_page():
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))

        self.refused(
            DEVICE,
            ["numbers.npy", "too large"],
            "run",
            self.artifact,
            "--input",
            "audio=16000",
            "-o",
            f"logits={numbers}",
            preexec_fn=limit_to_a_page,
        )
        full_link = self.scratch / "full"
        full_link.symlink_to(
            "/dev/full"
        )  # through a link: a program that replaces what it should write to replaces the link only
        for verb in (
            ["compile", self.package, "-o", full_link, "--target", "host"],
            ["run", self.artifact, "--input", "audio=1600", "-o", f"logits={full_link}"],
        ):
            self.refused(DEVICE, ["full", "No space left on device"], *verb)
            self.assertTrue(full_link.is_symlink())
        full_link.unlink()
        with open("/dev/full", "wb") as full:
            self.refused(DEVICE, ["standard output"], "inspect", self.artifact, stdout=full, text=False)
            self.refused(DEVICE, ["standard output"], "listen", self.artifact, self.speech, stdout=full, text=False)

    def on_a_mount(self, options, *arguments, **changes):
        """Runs the program with a file system of its own under scratch/mounted, seen by it only; what is left there is listed on stderr."""
        folder = self.scratch / "mounted"
        folder.mkdir()
        try:
            mount = ["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o {options} none '{folder}' && exec \"$@\"", "sh"]
            try:
                able = (
                    subprocess.run([*mount, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
                    == 0
                )
            except FileNotFoundError:
                able = False
            if not able:
                self.skipTest("this system does not let the test mount a file system")
            list_after = ["sh", "-c", '"$@"; code=$?; ls -A "$0" >&2; exit $code', str(folder)]
            return subprocess.run(
                [*mount, *list_after, *self.command(*arguments, cache=False)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                env=self.environment(changes),
            )
        finally:
            folder.rmdir()

    def compile_on_a_mount(self, options, reason):
        """The artifact goes there; it is refused with this reason and the file system stays empty."""
        result = self.on_a_mount(
            options,
            "compile",
            self.package,
            "-o",
            self.scratch / "mounted" / "x.lw",
            "--target",
            "host",
            "--stream",
            "--cache",
            KERNELS,
        )
        self.assertEqual(result.returncode, DEVICE, result.stderr)
        self.assertRegex(result.stderr, r"\Aerror: .*x\.lw.*" + reason + r"\n\Z")  # and nothing listed behind it

    def test_a_small_file_system_that_fills_up(self):
        self.compile_on_a_mount("size=16k", "No space left on device")

    def test_a_file_system_that_is_read_only(self):  # root may not write there either
        self.compile_on_a_mount("ro", "Read-only file system")

    def test_a_temporary_folder_that_is_full_says_which_and_the_way_out(self):
        full, cache = self.scratch / "mounted", self.scratch / "new-kernels"
        command = ["compile", self.package, "-o", self.scratch / "x.lw", "--target", "host", "--cache"]
        result = self.on_a_mount("size=8k", *command, cache, TMPDIR=str(full))
        self.assertEqual(result.returncode, DEVICE, result.stderr)
        self.assertRegex(
            result.stderr, rf"\Aerror: TMPDIR={full}: the disk is full: .* set TMPDIR to another folder\n\Z"
        )
        self.assertFalse((self.scratch / "x.lw").exists())
        shutil.rmtree(cache)
        # Kernels of the cache are linked in memory: nothing is written there.
        self.assertEqual(self.on_a_mount("size=8k", *command, KERNELS, TMPDIR=str(full)).returncode, OK)

    def test_outputs_that_are_no_files(self):
        self.refused(
            DEVICE, ["package", "is a folder"], "compile", self.package, "-o", self.package, "--target", "host"
        )
        self.refused(
            DEVICE,
            ["package", "is a folder"],
            "run",
            self.artifact,
            "--input",
            "audio=1600",
            "-o",
            f"logits={self.package}",
        )
        self.refused(
            DEVICE,
            ["tiny.lw/x.lw", "Not a directory"],
            "compile",
            self.package,
            "-o",
            self.artifact / "x.lw",
            "--target",
            "host",
        )
        pipe, got = self.scratch / "pipe", []
        os.mkfifo(pipe)
        reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
        reader.start()
        self.assertEqual(
            self.run_cli("compile", self.package, "-o", pipe, "--target", "host", "--stream").returncode, OK
        )
        reader.join(timeout=60)
        self.assertTrue(pipe.is_fifo(), "a pipe is written to, not replaced")
        self.assertEqual(got[0], self.artifact.read_bytes())
        pipe.unlink()

    def test_no_permission(self):
        locked = self.scratch / "locked"
        locked.mkdir()
        os.chmod(locked, 0o555)
        options = {}
        if os.geteuid() == 0:  # root may write anywhere: become nobody
            options["preexec_fn"] = lambda: os.setuid(65534)
            probe = subprocess.run(
                [LONGWAVE, "--version"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                preexec_fn=options["preexec_fn"],
            )
            if probe.returncode != 0:
                self.skipTest("another user cannot run the program where it lies")
        self.refused(
            DEVICE,
            ["locked"],
            "compile",
            self.package,
            "-o",
            locked / "x.lw",
            "--target",
            "host",
            "--stream",
            **options,
        )
        secret = self.scratch / "secret.lw"
        secret.write_bytes(self.artifact.read_bytes())
        os.chmod(secret, 0)
        self.refused(BAD_INPUT, ["secret.lw"], "verify", secret, **options)
        secret.unlink()

    def test_no_such_output_folder(self):
        self.refused(
            DEVICE,
            ["nowhere"],
            "compile",
            self.package,
            "-o",
            self.scratch / "nowhere" / "x.lw",
            "--target",
            "host",
            "--stream",
        )

    def test_a_bad_temporary_folder_says_which_why_and_the_way_out(self):
        for folder, reason in (
            (self.scratch / "nowhere", "No such file or directory"),
            (self.artifact, "Not a directory"),
        ):
            self.refused(
                DEVICE,
                [f"TMPDIR={folder}", "temporary folder", reason, "set TMPDIR"],
                "compile",
                self.package,
                "-o",
                self.scratch / "x.lw",
                "--target",
                "host",
                environment={"TMPDIR": str(folder)},
            )

    def test_a_kernel_compiler_that_is_none_says_what_was_found(self):
        plain = self.scratch / "plain"
        plain.write_text("no program")
        for kgen, words in (
            ("nowhere/kgen", ["nowhere/kgen", "No such file"]),
            ("/", ["/", "Is a directory"]),
            (plain, [str(plain), "Permission denied"]),
            ("/dev/null", ["/dev/null", "regular file"]),
        ):
            self.refused(
                DEVICE,
                [*words, "longwave-kgen"],
                "compile",
                self.package,
                "-o",
                self.scratch / "x.lw",
                "--target",
                "host",
                "--kgen",
                kgen,
            )
        plain.unlink()

    def test_a_sequence_longer_than_a_kernel_can_address_says_so(self):
        keywords = (
            Path(__file__).resolve().parents[3] / "examples/kws/model"
        )  # its first kernel looks back behind the first sample
        self.refused(
            USAGE,
            ["--length", "16777216", "input audio", "pass at most --length 16776896"],
            "compile",
            keywords,
            "-o",
            self.scratch / "x.lw",
            "--target",
            "host",
            "--length",
            "16777216",
        )

    def test_without_home_there_is_no_kernel_cache_and_that_is_told_once(self):
        out = self.scratch / "x.lw"
        options = {"cache": False, "environment": {"HOME": None, "XDG_CACHE_HOME": None}}
        for more in ([], ["--json"]):
            result = self.run_cli(
                "compile", self.package, "-o", out, "--target", "host", "--no-whole", "--no-check", *more, **options
            )
            self.assertEqual(result.returncode, OK, result.stderr)
            self.assertRegex(result.stderr, r"\Anote: no kernel cache.*HOME.*--cache FOLDER\)\n\Z")
            if more:
                self.assertIn("HOME", json.loads(result.stdout)["build"]["no_cache"])
        out.unlink()

    def test_a_reader_that_goes_away_is_no_error(self):
        listen = subprocess.Popen(
            [LONGWAVE, "listen", self.artifact, self.speech], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        listen.stdout.readline()
        listen.stdout.close()
        self.assertEqual(listen.wait(timeout=60), OK)
        self.assertEqual(listen.stderr.read(), b"")
        listen.stderr.close()


if __name__ == "__main__":
    main()
