#!/usr/bin/env python3
"""The element longwavefilter of examples/gstreamer: gstreamer_filter_test.py LONGWAVE SCRATCH_FOLDER

The model gives the samples as they came (tests/support/late_model.py), so the element must as well. How many samples stay
in it is counted by gstreamer_probe.c and must be the latency that the element reports.
"""

import array
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
import wave

from devices import DEMO, LONGWAVE, ROOT, SCRATCH, demo_samples
from gstreamer_test import PACKAGES, missing

sys.path.insert(0, str(ROOT / "tests/support"))
import late_model  # noqa: E402

ROW, LAG, BLOCK, RATE = 8, 16, 8, 16000


def compiled(folder, name, source, *options):
    model = folder / f"{name}.lw"
    subprocess.run(
        [LONGWAVE, "compile", source, "-o", model, "--target", "host", "--no-check", *options],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return model


class Filter(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="gstreamer-", dir=SCRATCH))
        cls.model = compiled(
            cls.folder, "late", late_model.write(cls.folder / "late", ROW, LAG, RATE), "--block", str(BLOCK)
        )
        subprocess.run(
            [
                "make",
                "-s",
                "-C",
                ROOT / "examples/gstreamer",
                f"INCLUDE={ROOT}/runtime/include",
                f"LIB={pathlib.Path(LONGWAVE).parent}",
                f"OUT={cls.folder}",
                "CFLAGS=-Werror",
            ],
            check=True,
        )
        flags = subprocess.run(
            ["pkg-config", "--cflags", "--libs", "gstreamer-app-1.0"], check=True, capture_output=True, text=True
        ).stdout.split()
        cls.probe = cls.folder / "probe"
        subprocess.run(
            ["cc", "-O1", "-Wall", "-Werror", ROOT / "tests/microphone/gstreamer_probe.c", *flags, "-o", cls.probe],
            check=True,
        )
        cls.environment = {
            **os.environ,
            "GST_PLUGIN_PATH": str(cls.folder),
            "GST_REGISTRY": str(cls.folder / "registry"),
        }

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def launch(self, *pipeline):
        return subprocess.run(
            ["gst-launch-1.0", *map(str, pipeline)], env=self.environment, capture_output=True, text=True, timeout=300
        )

    def measured(self, samples, rate, per_buffer):
        done = subprocess.run(
            [self.probe, str(rate), str(per_buffer), f"longwavefilter model={self.model}"],
            env=self.environment,
            input=samples.tobytes(),
            capture_output=True,
            timeout=300,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return array.array("f", done.stdout), json.loads(done.stderr)

    def test_a_file_comes_back_sample_by_sample(self):
        for size in (4096, 777):  # bytes per buffer
            out = self.folder / "out.wav"
            result = self.launch(
                "filesrc",
                f"location={DEMO}",
                f"blocksize={size}",
                "!",
                "wavparse",
                "!",
                "audioconvert",
                "!",
                "longwavefilter",
                f"model={self.model}",
                "!",
                "audioconvert",
                "dithering=none",
                "!",
                "audio/x-raw,format=S16LE",
                "!",
                "wavenc",
                "!",
                "filesink",
                f"location={out}",
            )
            self.assertEqual(result.returncode, 0, result.stderr)
            with wave.open(str(out)) as file:
                self.assertEqual(file.getframerate(), RATE)
                self.assertEqual(array.array("h", file.readframes(file.getnframes())), demo_samples())

    def test_no_more_samples_stay_in_it_than_the_latency_says_and_once_as_many(self):
        rng = random.Random(1)
        noise = array.array("f", [rng.uniform(-0.3, 0.3) for _ in range(1000)])
        for per_buffer in (1, 7, 64, 441, 4096):
            heard, said = self.measured(noise, RATE, per_buffer)
            self.assertEqual(heard, noise)
            self.assertEqual(said["wrong_times"], 0)
            self.assertEqual(said["latency"], round((LAG + BLOCK - 1) * 1e9 / RATE))
            if per_buffer == 1:
                self.assertEqual(said["longest"], LAG + BLOCK - 1)
            self.assertLessEqual(said["longest"], LAG + BLOCK - 1)

    def test_other_rates_are_converted_and_nothing_is_shifted(self):
        for rate in (44100, 48000):
            tone = array.array("f", [0.5 * math.sin(2 * math.pi * 1000 * i / rate) for i in range(9001)])
            heard, said = self.measured(tone, rate, 441)
            self.assertEqual((len(heard), said["wrong_times"]), (len(tone), 0))
            self.assertLessEqual(said["longest"], said["latency"] * rate / 1e9 + 0.5)
            # The resampler keeps 0.001 dB and has -100 dB of aliases, twice: below 3e-4 of the tone.
            self.assertLess(max(abs(a - b) for a, b in list(zip(heard, tone))[1000:-1000]), 1.5e-4)
            impulse = array.array("f", bytes(4 * 6001))
            impulse[3001] = 1
            heard, _ = self.measured(impulse, rate, 4096)
            self.assertEqual(max(range(6001), key=lambda i: abs(heard[i])), 3001)

    def test_what_it_cannot_be_made_from_ends_the_pipeline_with_the_reason(self):
        speech = compiled(self.folder, "speech", ROOT / "examples/vad/energy", "--stream")
        for argument, words in (
            ([f"model={speech}"], "no output of kind audio"),
            (["model=none.lw"], "none.lw"),
            ([], "model=FILE.lw"),
        ):
            result = self.launch("audiotestsrc", "num-buffers=1", "!", "longwavefilter", *argument, "!", "fakesink")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(words, result.stderr + result.stdout)


if __name__ == "__main__":
    if reason := missing():
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    if subprocess.run(["pkg-config", "--exists", "gstreamer-app-1.0"]).returncode:
        print(f"SKIPPED: the library gstreamer-app-1.0 is missing; {PACKAGES}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
