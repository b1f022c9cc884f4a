#!/usr/bin/env python3
"""The convolver of examples/lv2 in a host: lv2_test.py LONGWAVE SCRATCH_FOLDER

The plug-in must give the samples of `longwave run --stream`, later by the latency that it reports. Some samples are
compared with a sum over all taps in float64. The host is lv2apply, which asks for one sample at a time, and then this
program, which asks for any number.
"""

import array
import ctypes
import json
import math
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

from lv2_host import load, make_bundle, missing, read_wav, run_in_lv2apply, write_wav

LONGWAVE, SCRATCH = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
RATE, TAPS, SAMPLES = 48000, 24000, 60000
LIMIT = 1e-5  # of the peak: float32 transforms of this length; their rounding grows with the logarithm of the length


def write_model(folder, channels, responses):
    """responses: of each output and each input, the first lag first."""
    folder.mkdir()
    (folder / "model.json").write_text(
        json.dumps(
            {
                "format": "longwave-model",
                "version": 1,
                "name": "reverb",
                "inputs": [{"name": "x", "kind": "features", "width": channels, "sample_rate": RATE}],
                "layers": [{"type": "conv1d", "name": "room", "out_channels": channels, "kernel": TAPS, "bias": False}],
                "outputs": [{"name": "y", "from": "room"}],
            }
        )
    )
    taps = b"".join(response[::-1].tobytes() for row in responses for response in row)
    header = json.dumps(
        {"room.weight": {"dtype": "F32", "shape": [channels, channels, TAPS], "data_offsets": [0, len(taps)]}}
    ).encode()
    header += b" " * (-len(header) % 8)
    (folder / "weights.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + taps)


def npy(samples, channels):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({len(samples) // channels}, {channels}), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + samples.tobytes()


def silence(samples):
    return array.array("f", bytes(4 * samples))


class Convolver(unittest.TestCase):
    """Of one channel. Of two, each output hears both inputs."""

    channels, uri = 1, "urn:longwave:convolver"

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="lv2-", dir=SCRATCH))
        rng = random.Random(1)
        cls.responses = [
            [
                array.array("f", [rng.gauss(0, 0.05) * math.exp(-6 * i / TAPS) for i in range(TAPS)])
                for _ in range(cls.channels)
            ]
            for _ in range(cls.channels)
        ]
        cls.samples = array.array("f", [rng.uniform(-0.3, 0.3) for _ in range(SAMPLES * cls.channels)])
        write_model(cls.folder / "reverb", cls.channels, cls.responses)
        write_wav(cls.folder / "in.wav", cls.samples, cls.channels, RATE)
        (cls.folder / "in.npy").write_bytes(npy(cls.samples, cls.channels))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def make_bundle(self, model, name):
        path = self.folder / name
        make_bundle(path, "convolver", LONGWAVE, f"MODEL={model}", f"CHANNELS={self.channels}")
        return path

    def run_in_lv2apply(self, bundle):
        return run_in_lv2apply(bundle, self.uri, self.folder)

    def run_here(self, bundle, rate=RATE):
        """All samples in parts of many sizes, and the latency. The samples are replaced in place, as hosts may ask."""
        (path,) = bundle.iterdir()
        plugin, library = load(path / "convolver.so")
        self.assertEqual(plugin.uri, self.uri.encode())
        instance = plugin.instantiate(None, rate, f"{path}/".encode(), None)
        if not instance:
            return None, None
        signals, latency = (
            [(ctypes.c_float * SAMPLES)(*self.samples[c :: self.channels]) for c in range(self.channels)],
            ctypes.c_float(-1),
        )
        plugin.connect_port(instance, 2 * self.channels, ctypes.addressof(latency))
        plugin.activate(instance)
        rng, done = random.Random(2), 0
        while done < SAMPLES:
            n = min(SAMPLES - done, rng.choice((0, 1, 3, 63, 64, 65, 512, 2500)))
            for port in range(2 * self.channels):
                plugin.connect_port(instance, port, ctypes.addressof(signals[port % self.channels]) + 4 * done)
            plugin.run(instance, n)
            done += n
        plugin.cleanup(instance)
        rows = silence(SAMPLES * self.channels)
        for c, signal in enumerate(signals):
            rows[c :: self.channels] = array.array("f", signal)
        return rows, int(latency.value)

    def exact(self, output, t):
        """In float64, over all taps."""
        return math.fsum(
            self.responses[output][i][j] * self.samples[(t - j) * self.channels + i]
            for i in range(self.channels)
            for j in range(min(t + 1, TAPS))
        )

    def test_the_plugin_gives_the_samples_of_the_stream(self):
        for block in (1, 64, 1000):
            model = self.folder / f"reverb{block}.lw"
            subprocess.run(
                [
                    LONGWAVE,
                    "compile",
                    self.folder / "reverb",
                    "-o",
                    model,
                    "--target",
                    "host",
                    "--blocks",
                    str(block),
                    "--length",
                    str(SAMPLES),
                    "--no-check",
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            expected = json.loads(
                subprocess.run(
                    [LONGWAVE, "run", model, "--input", f"x=@{self.folder}/in.npy", "--stream", "--json"],
                    check=True,
                    capture_output=True,
                    text=True,
                ).stdout
            )["y"]["data"]
            expected = array.array("f", expected)
            bundle = self.make_bundle(model, f"block{block}")
            heard, latency = self.run_here(bundle)
            self.assertEqual(latency, block - 1)
            applied = self.run_in_lv2apply(bundle)
            self.assertEqual(applied.returncode, 0, applied.stderr)
            self.assertEqual(read_wav(self.folder / "out.wav"), heard)
            late = latency * self.channels
            self.assertEqual(heard[:late], silence(late))
            self.assertEqual(heard[late:], expected[: len(expected) - late])
            peak = max(map(abs, heard))
            for t in (0, 1, 777, 30000, SAMPLES - block):
                for output in range(self.channels):
                    self.assertLess(
                        abs(heard[(t + latency) * self.channels + output] - self.exact(output, t)), LIMIT * peak
                    )

    def test_a_model_that_looks_ahead_reports_its_delay_and_drops_no_sample(self):
        model, window, hop = self.folder / "window.lw", 4096, 64
        subprocess.run(
            [
                LONGWAVE,
                "compile",
                self.folder / "reverb",
                "-o",
                model,
                "--target",
                "host",
                "--window",
                str(window),
                "--hop",
                str(hop),
                "--no-check",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        expected = json.loads(
            subprocess.run(
                [LONGWAVE, "run", model, "--input", f"x=@{self.folder}/in.npy", "--stream", "--json"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )["y"]["data"]
        heard, latency = self.run_here(self.make_bundle(model, "window"))
        self.assertEqual(latency, (window - hop) // 2 + hop - 1)
        late = latency * self.channels
        self.assertEqual(heard[:late], silence(late))
        self.assertEqual(heard[late:], array.array("f", expected)[: len(heard) - late])

    def test_a_host_of_another_rate_is_refused(self):
        model = self.folder / "rate.lw"
        subprocess.run(
            [
                LONGWAVE,
                "compile",
                self.folder / "reverb",
                "-o",
                model,
                "--target",
                "host",
                "--blocks",
                "64",
                "--no-check",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        bundle = self.make_bundle(model, "rate")
        self.assertIsNone(self.run_here(bundle, 44100)[0])
        self.assertIsNotNone(self.run_here(bundle)[0])

    def test_a_bundle_without_a_usable_model_is_refused(self):
        model = self.folder / "damaged.lw"
        model.write_bytes(b"no model")
        result = self.run_in_lv2apply(self.make_bundle(model, "damaged"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("convolver.lw", result.stderr)


class StereoConvolver(Convolver):
    channels, uri = 2, "urn:longwave:stereo-convolver"

    def test_a_model_of_other_channels_is_refused(self):
        write_model(self.folder / "mono", 1, [[self.responses[0][0]]])
        subprocess.run(
            [
                LONGWAVE,
                "compile",
                self.folder / "mono",
                "-o",
                self.folder / "mono.lw",
                "--target",
                "host",
                "--blocks",
                "64",
                "--no-check",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        result = self.run_in_lv2apply(self.make_bundle(self.folder / "mono.lw", "mono-bundle"))
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("the model must have the channels of the plug-in", result.stderr)


if __name__ == "__main__":
    if reason := missing():
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
