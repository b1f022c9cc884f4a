#!/usr/bin/env python3
"""The filter of examples/lv2 in a host: lv2_filter_test.py LONGWAVE SCRATCH_FOLDER

The model gives the samples as they came (tests/support/late_model.py). So the plug-in must give its input, later by the
latency that it reports. The host is lv2apply, which asks for one sample at a time, and then this program, which asks for
blocks of 1 to 4,096.
"""

import array
import ctypes
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

from lv2_host import load, make_bundle, missing, read_wav, run_in_lv2apply, write_wav

LONGWAVE, SCRATCH = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import late_model  # noqa: E402

MODEL_RATE, ROW, LAG, BLOCK, URI = 16000, 8, 16, 8, "urn:longwave:filter"
RATES, BLOCKS = (16000, 44100, 48000), (1, 7, 64, 441, 1024, 4096)


class Filter(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="lv2-", dir=SCRATCH))
        model = cls.folder / "late.lw"
        subprocess.run(
            [
                LONGWAVE,
                "compile",
                late_model.write(cls.folder / "late", ROW, LAG, MODEL_RATE),
                "-o",
                model,
                "--target",
                "host",
                "--block",
                str(BLOCK),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        cls.bundle = cls.make_bundle(model, "bundle")
        rng = random.Random(1)
        cls.samples = array.array("f", [rng.uniform(-0.3, 0.3) for _ in range(12001)])

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def make_bundle(cls, model, name):
        path = cls.folder / name
        make_bundle(path, "filter", LONGWAVE, f"MODEL={model}")
        return path

    def heard(self, samples, rate, block, bundle=None):
        """All samples in blocks, replaced in place as hosts may ask, and the latency."""
        (path,) = (bundle or self.bundle).iterdir()
        plugin, library = load(path / "filter.so")
        self.assertEqual(plugin.uri, URI.encode())
        instance = plugin.instantiate(None, rate, f"{path}/".encode(), None)
        if not instance:
            return None, None
        signal, latency = (ctypes.c_float * len(samples))(*samples), ctypes.c_float(-1)
        plugin.connect_port(instance, 2, ctypes.addressof(latency))
        for _turn in range(2):  # activate makes it as new
            signal[:] = samples
            plugin.activate(instance)
            for done in range(0, len(samples), block):
                for port in (0, 1):
                    plugin.connect_port(instance, port, ctypes.addressof(signal) + 4 * done)
                plugin.run(instance, min(block, len(samples) - done))
            plugin.run(instance, 0)
        plugin.cleanup(instance)
        return array.array("f", signal), int(latency.value)

    def test_the_plugin_gives_the_samples_of_the_model_later_by_the_latency_it_reports(self):
        for block in BLOCKS:
            heard, latency = self.heard(self.samples, MODEL_RATE, block)
            self.assertEqual(latency, LAG + BLOCK - 1)
            self.assertEqual(heard, array.array("f", bytes(4 * latency)) + self.samples[: len(self.samples) - latency])

    def test_the_latency_by_impulse_is_the_one_that_is_reported(self):
        for rate in RATES:
            latencies = set()
            for block in BLOCKS:
                impulse = array.array("f", bytes(4 * 12001))
                impulse[3001] = 1
                heard, latency = self.heard(impulse, rate, block)
                self.assertEqual(max(range(len(heard)), key=lambda i: abs(heard[i])), 3001 + latency, (rate, block))
                latencies.add(latency)
            self.assertEqual(len(latencies), 1)

    def test_at_other_rates_a_tone_stays_what_it_is(self):
        # The resampler keeps 0.001 dB and has -100 dB of aliases, twice: below 3e-4 of the tone.
        for rate in RATES[1:]:
            tone = array.array("f", [0.5 * math.sin(2 * math.pi * 1000 * i / rate) for i in range(12001)])
            heard, latency = self.heard(tone, rate, 441)
            worst = max(abs(heard[i] - tone[i - latency]) for i in range(2000, 12001))
            self.assertLess(worst, 1.5e-4)

    def test_in_lv2apply(self):
        for rate in RATES:
            write_wav(self.folder / "in.wav", self.samples, 1, rate)
            applied = run_in_lv2apply(self.bundle, URI, self.folder)
            self.assertEqual(applied.returncode, 0, applied.stderr)
            self.assertEqual(read_wav(self.folder / "out.wav"), self.heard(self.samples, rate, 1)[0])

    def test_what_it_cannot_be_made_from_is_refused_with_the_reason(self):
        damaged = self.folder / "damaged.lw"
        damaged.write_bytes(b"no model")
        write_wav(self.folder / "in.wav", self.samples, 1, MODEL_RATE)
        result = run_in_lv2apply(self.make_bundle(damaged, "damaged"), URI, self.folder)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("filter.lw", result.stderr)
        speech = self.folder / "speech.lw"
        subprocess.run(
            [
                LONGWAVE,
                "compile",
                ROOT / "examples/vad/energy",
                "-o",
                speech,
                "--target",
                "host",
                "--stream",
                "--no-check",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        result = run_in_lv2apply(self.make_bundle(speech, "speech"), URI, self.folder)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("no output of kind audio", result.stderr)
        self.assertIsNone(self.heard(self.samples, 999, 1)[0])


if __name__ == "__main__":
    if reason := missing():
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
