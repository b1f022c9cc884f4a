#!/usr/bin/env python3
"""`longwave listen --microphone`: microphone_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

A recording that comes through a capture device gives the events of the file, whatever the device does meanwhile.
"""

import array
import json
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import wave

from devices import DEMO, LONGWAVE, PLUGIN, SCRATCH, compile_keywords, configuration, demo_samples

UNPLUGGED = "was unplugged"  # how each scripted device ends


class Microphone(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="microphone-", dir=SCRATCH))
        cls.model = compile_keywords(cls.folder)
        samples = demo_samples()
        files = {
            "mono": samples,
            "stereo": array.array("h", [value for s in samples for value in (0, s)]),
            "tripled": array.array("h", [s for s in samples for _ in range(3)]),
        }  # 48 kHz
        for name, content in files.items():
            (cls.folder / f"{name}.raw").write_bytes(content.tobytes())
        mono, stereo, tripled = (f'infile "{cls.folder}/{name}.raw"' for name in files)
        cls.environment = configuration(
            cls.folder,
            {
                "mic": f'type scripted {mono} hint {{ show on description "Scripted microphone" }}',
                "plugged": "type plug slave.pcm mic",
                "overrun": f"type scripted {mono} overrun 80000",
                "sleep": f"type scripted {mono} sleep 80000",
                "stereo": f"type scripted {stereo} channels 2",
                "rate": f"type scripted {tripled} rate 48000",
                "plugged_rate": "type plug slave.pcm rate",
                "fast": f"type scripted {mono} speed 20",
                "silence": "type null",
                "file": f'type file file "/dev/null" infile "{cls.folder}/mono.raw" format raw slave.pcm {{ type null }}',
                "mulaw": "type mulaw slave { pcm { type null } format S16_LE }",
            },
        )
        cls.expected = cls.events(cls.run_listen(DEMO).stdout)
        assert len(cls.expected) >= 5

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def run_listen(cls, *arguments):
        return subprocess.run(
            [LONGWAVE, "listen", cls.model, *map(str, arguments)],
            env=cls.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def listen(self, device, *flags):
        """All that is printed until the device is unplugged."""
        result = self.run_listen("--microphone", device, *flags)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn(UNPLUGGED, result.stderr.splitlines()[-1])
        self.assertIn(UNPLUGGED, json.loads(result.stdout.splitlines()[-1])["message"])
        return self.events(result.stdout), result.stderr.splitlines()[:-1]

    def refused(self, code, words, *arguments):
        result = self.run_listen(*arguments)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)  # libasound adds no lines of its own
        for word in words:
            self.assertIn(word, result.stderr)

    @staticmethod
    def events(output):
        return [line for line in map(json.loads, output.splitlines()) if line["type"] == "keyword"]

    def test_a_device_gives_the_events_of_the_file(self):
        for device in ("mic", "plugged"):
            self.assertEqual(self.listen(device), (self.expected, []), device)

    def test_an_overrun_and_a_sleeping_machine_are_reported_and_survived(self):
        for device, words in (("overrun", "(overrun 1)"), ("sleep", "the machine slept")):
            events, notices = self.listen(device)
            self.assertEqual(events, self.expected, device)
            self.assertEqual(len(notices), 1)
            self.assertIn(words, notices[0])

    def test_a_stopped_program_reports_the_overrun_that_follows(self):
        process = subprocess.Popen(
            [LONGWAVE, "listen", self.model, "--microphone", "fast"],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        first = process.stdout.readline()  # it listens
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)  # 10 s of audio: 20 times the buffer of the device
        process.send_signal(signal.SIGCONT)
        out, errors = process.communicate(timeout=300)
        self.assertEqual(self.events(first + out), self.expected)
        self.assertIn("overrun 1)", errors)
        self.assertIn(UNPLUGGED, errors)

    def test_a_channel_is_chosen_and_never_mixed(self):
        self.assertEqual(self.listen("stereo", "--channel", "2"), (self.expected, []))
        self.assertEqual(self.listen("stereo", "--channel", "1", "--channels", "2"), ([], []))
        self.refused(3, ["2 channels", "--channel 1"], "--microphone", "stereo")
        self.refused(3, ["cannot deliver 4 channels"], "--microphone", "stereo", "--channels", "4", "--channel", "1")

    def test_another_rate_is_refused_or_converted_as_that_of_a_file(self):
        self.refused(3, ["48000 Hz", "16000 Hz", "--resample"], "--microphone", "rate")
        self.refused(3, ["does not record at 16000 Hz"], "--microphone", "rate", "--rate", "16000", "--resample")
        # ALSA's own converter must not come between: the same samples in a file give the same
        # events.
        file = self.folder / "rate.wav"
        with wave.open(str(file), "wb") as out:
            out.setparams((1, 2, 48000, 0, "NONE", ""))
            out.writeframes((self.folder / "tripled.raw").read_bytes())
        expected = self.events(self.run_listen(file, "--resample").stdout)
        self.assertGreaterEqual(len(expected), 5)
        for device in ("rate", "plugged_rate"):
            self.assertEqual(self.listen(device, "--resample"), (expected, []), device)

    def test_control_c_ends_it_with_the_last_lines(self):
        for device in ("silence", "file"):
            process = subprocess.Popen(
                [LONGWAVE, "listen", self.model, "--microphone", device],
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
            lines = [process.stdout.readline()]
            if device == "file":  # ALSA gives silence after the end of the file
                lines += [process.stdout.readline() for _ in self.expected]
                self.assertEqual(self.events("".join(lines)), self.expected)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=60)
            self.assertEqual((process.returncode, errors), (-signal.SIGINT, ""), device)
            self.assertEqual([json.loads(line)["type"] for line in out.splitlines()[-2:]], ["stats", "eof"])

    def test_unknown_devices_and_formats_give_one_clear_line(self):
        self.refused(4, ["nothing", "longwave devices --microphones"], "--microphone", "nothing")
        self.refused(4, ["mulaw", "S16_LE", "plug:'mulaw'"], "--microphone", "mulaw")
        self.refused(2, ["--microphone"], DEMO, "--microphone", "mic")
        self.refused(2, ["--microphone"], "--format", "s16le", "--microphone", "mic")

    def test_devices_lists_the_microphones(self):
        command = [LONGWAVE, "devices", "--microphones"]
        listed = subprocess.run(
            [*command, "--json"], env=self.environment, capture_output=True, text=True, check=True
        ).stdout
        self.assertEqual(
            [json.loads(line) for line in listed.splitlines()],
            [{"microphone": "mic", "description": "Scripted microphone"}],
        )
        listed = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True).stdout
        self.assertEqual(listed.split(), ["mic", "Scripted", "microphone"])


class WithoutAlsa(unittest.TestCase):
    def test_a_build_without_alsa_says_what_to_install(self):
        with tempfile.TemporaryDirectory(prefix="microphone-", dir=SCRATCH) as folder:
            for command in (
                ["listen", compile_keywords(pathlib.Path(folder)), "--microphone", "default"],
                ["devices", "--microphones"],
            ):
                result = subprocess.run([LONGWAVE, *command], capture_output=True, text=True)
                self.assertEqual(result.returncode, 4)
                self.assertIn("install libasound2-dev", result.stderr)


def load_tests(loader, _, pattern):
    return loader.loadTestsFromTestCase(Microphone if PLUGIN.exists() else WithoutAlsa)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
