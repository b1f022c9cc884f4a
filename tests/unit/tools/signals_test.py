#!/usr/bin/env python3
"""Signals during a compile: signals_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

Every signal that may end the program ends everything it started as well; nothing stays in the temporary folder.

Standard library only.
"""

import os
import pathlib
import resource
import signal
import subprocess
import time

from cli_support import OK, Cli, main

SIGNALS = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGPIPE,
    signal.SIGALRM,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGXCPU,
    signal.SIGPROF,
    signal.SIGVTALRM,
    signal.SIGPOLL,
    signal.SIGPWR,
)


def default_signals():
    for number in SIGNALS:  # whoever starts the tests may ignore some
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Signals(Cli):
    def start(self, kgen, prepare=default_signals):
        """A compile whose kernel compiler waits for ever; returns it and the numbers of all processes it has started by then."""
        started = self.scratch / "started"
        started.mkdir(exist_ok=True)
        for file in started.iterdir():
            file.unlink()
        script = self.scratch / kgen
        script.write_text(
            f'#!/bin/sh\n[ $1 = --stay ] && exit\n[ $1 = --versions ] && echo \'{{"cpu":{{}},"gpu":{{}}}}\' && exit\n: > "{started}/$$"\nwhile :; do sleep 0.1; done\n'
        )
        script.chmod(0o755)
        command = [
            "compile",
            self.package,
            "-o",
            self.scratch / "x.lw",
            "--target",
            "host",
            "--kgen",
            script,
            "--jobs",
            "2",
            "--cache",
            self.scratch / "cache",
        ]
        process = subprocess.Popen(
            self.command(*command, cache=False),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment({}),
            preexec_fn=prepare,
            start_new_session=True,
        )
        while len(list(started.iterdir())) < 2:
            self.assertIsNone(process.poll(), "the compile ended by itself")
            time.sleep(0.01)
        self.assertTrue(os.listdir(self.temporary), "the compile works in the temporary folder")
        return process, [int(file.name) for file in started.iterdir()]

    def ended(self, process, children, number):
        out, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -number, errors.decode())
        self.assertEqual((out, errors), (b"", b""))
        self.assertEqual(os.listdir(self.temporary), [])
        self.assertFalse((self.scratch / "x.lw").exists())
        for _ in range(1000):  # who was killed is gone soon, not at once
            if not any(map(self.runs, children)):
                break
            time.sleep(0.01)
        self.assertFalse([child for child in children if self.runs(child)], "programs it started still run")

    @staticmethod
    def runs(number):
        try:
            return pathlib.Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def test_a_signal_leaves_no_folder_and_no_child(self):
        for number in SIGNALS:
            process, children = self.start("kgen")
            process.send_signal(number)
            self.ended(process, children, number)

    def test_control_c_reaches_the_children_as_well_and_reports_no_failure_of_theirs(self):
        process, children = self.start("kgen")
        os.killpg(process.pid, signal.SIGINT)
        self.ended(process, children, signal.SIGINT)

    def test_a_signal_that_was_ignored_from_the_start_stays_ignored(self):
        def as_nohup():
            default_signals()
            signal.signal(signal.SIGHUP, signal.SIG_IGN)

        process, children = self.start("kgen", as_nohup)
        process.send_signal(signal.SIGHUP)
        for _ in range(20):
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        self.assertTrue(self.runs(children[0]))
        process.send_signal(signal.SIGTERM)
        self.ended(process, children, signal.SIGTERM)

    def test_children_that_nobody_waits_for_are_still_waited_for(self):
        def ignore_children():  # as some daemons start their programs: wait() then tells nothing
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)

        out = self.scratch / "x.lw"
        result = self.run_cli(
            "compile", self.package, "-o", out, "--target", "host", "--stream", "--no-check", preexec_fn=ignore_children
        )
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertEqual(out.read_bytes(), self.artifact.read_bytes())
        out.unlink()


if __name__ == "__main__":
    main()
