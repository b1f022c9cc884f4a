#!/usr/bin/env python3
"""The room of examples/lv2 in a host: lv2_room_test.py LONGWAVE SCRATCH_FOLDER

The plug-in must give what scipy computes in float64 from the response and the input, later by the latency that it
reports. Also while it goes from one response to another: then each sample is heard through both, with weights that make 1
in all. The host is lv2_worker_host.py, which asks for blocks of 1 to 4,096 samples, and lv2apply.
"""

import array
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

from lv2_host import make_bundle, missing, read_wav, run_in_lv2apply, write_wav
from lv2_worker_host import host

try:
    import numpy as np
    from scipy.signal import fftconvolve
except ImportError:
    np = None

LONGWAVE, SCRATCH = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
RATE, SHAPES, LATE, FADE, SAMPLES = 48000, (1000, 6000), 63, 2048, 40000
BLOCKS = (1, 64, 441, 4096, (1, 3, 64, 441, 4096, 0, 63, 65))
LIMIT = 1e-5  # of the peak: float32 transforms of this length
PARAMETER = "urn:longwave:room#response"


def noise(n, seed, size=0.3):
    return np.random.default_rng(seed).uniform(-size, size, n).astype(np.float32)


def response(n, seed, channels=1):
    rng = np.random.default_rng(seed)
    return (rng.normal(0, 0.05, (n, channels)) * np.exp(-5 * np.arange(n) / n)[:, None]).astype(np.float32)


def weights(begin, n):
    """Of the new response, at each sample."""
    at = np.clip(np.arange(n) - begin, -1, FADE)
    risen = 0.5 - 0.5 * np.cos(np.pi * (at + 0.5) / FADE)
    return np.where(at < 0, 0, np.where(at >= FADE, 1, risen))


def heard(parts, matrix, n):
    """`parts`: of each input. `matrix[i][o]`: response from input i to output o, or None."""
    out = np.zeros((len(matrix[0]), n))
    for i, row in enumerate(matrix):
        for o, taps in enumerate(row):
            if taps is not None:
                out[o] += fftconvolve(parts[i].astype(np.float64), taps.astype(np.float64))[:n]
    return out


def matrix_of(taps, channels):
    count = taps.shape[1]
    if count == 4:
        return [[taps[:, 0], taps[:, 1]], [taps[:, 2], taps[:, 3]]]
    return [[taps[:, i % count] if i == o else None for o in range(channels)] for i in range(channels)]


def late(out):
    return np.concatenate([np.zeros((len(out), LATE)), out], 1)[:, : out.shape[1]]


class Room(unittest.TestCase):
    channels, uri = 1, "urn:longwave:room"

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="lv2-", dir=SCRATCH))
        cls.bundle = cls.make_bundle("bundle")
        cls.input = [noise(SAMPLES, 10 + c) for c in range(cls.channels)]

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def make_bundle(cls, name, *more):
        return make_bundle(cls.folder / name, "room", LONGWAVE, f"SAMPLES={' '.join(map(str, SHAPES))}", *more)

    def wav(self, taps, name, rate=RATE):
        path = self.folder / name
        write_wav(path, array.array("f", taps.ravel().tolist()), taps.shape[1], rate)
        return path

    def room(self, rate=RATE, **named):
        return host(self.bundle, "room.so", self.uri, rate, self.channels, **named)

    def play(self, plugin, block, choices=(), parts=None):
        """The samples of all channels, and where each voice began. `choices`: (sample, path), rising."""
        parts, choices, begun = [array.array("f", p.tolist()) for p in parts or self.input], list(choices), []
        rng, done, n = random.Random(3), 0, len(parts[0])
        while done < n:
            step = min(block if isinstance(block, int) else rng.choice(block), n - done)
            events = b""
            if choices and choices[0][0] <= done:
                events = plugin.set_path(PARAMETER, choices.pop(0)[1])
            each = [part[done : done + step] for part in parts]
            plugin.run(each, events)
            for part, new in zip(parts, each):
                part[done : done + step] = new
            done += step
            plugin.work()
            if plugin.answers:  # given to the plug-in behind the samples of the next call
                each = [part[done:done] for part in parts]
                plugin.run(each)
                begun.append(done)
        return np.array([np.frombuffer(part, np.float32) for part in parts], np.float64), begun

    def close_to(self, found, expected):
        worst = np.abs(found - expected).max()
        self.assertLess(worst, LIMIT * np.abs(expected).max())

    def test_each_block_size_gives_the_convolution(self):
        taps = response(900, 1)
        path = self.wav(taps, "a.wav")
        for block in BLOCKS:
            with self.room() as plugin:
                found, begun = self.play(plugin, block, [(0, path)])
                (begin,) = begun
                self.assertEqual(plugin.latency.value, LATE)
                self.assertEqual(plugin.log, "")
            rise = weights(begin, SAMPLES)
            self.close_to(found, late(heard([p * rise for p in self.input], matrix_of(taps, self.channels), SAMPLES)))

    def test_the_latency_by_impulse_is_the_one_that_is_reported(self):
        taps = np.zeros((1, 1), np.float32) + 0.5
        path = self.wav(taps, "one.wav")
        for block in BLOCKS:
            impulse = [np.zeros(12000, np.float32) for _ in range(self.channels)]
            for part in impulse:
                part[10001] = 1
            with self.room() as plugin:
                found, _ = self.play(plugin, block, [(0, path)], impulse)
                for part in found:
                    self.assertEqual(np.argmax(np.abs(part)), 10001 + int(plugin.latency.value))
                    self.assertAlmostEqual(part[10001 + LATE], 0.5, 6)

    def test_an_exchange_is_a_fade_between_the_inputs_of_both(self):
        old, new = response(1000, 2), response(5000, 3)  # of both shapes
        choices = [(0, self.wav(old, "old.wav")), (12000, self.wav(new, "new.wav"))]
        for block in (64, BLOCKS[-1]):
            with self.room() as plugin:
                found, (first, second) = self.play(plugin, block, choices)
            was, rise = weights(first, SAMPLES), weights(second, SAMPLES)
            expected = heard([p * was * (1 - rise) for p in self.input], matrix_of(old, self.channels), SAMPLES)
            expected += heard([p * rise for p in self.input], matrix_of(new, self.channels), SAMPLES)
            self.close_to(found, late(expected))

    def test_many_exchanges_in_a_row_click_nowhere_and_the_newest_stays(self):
        # A tone of 100 Hz through responses of low pitch: steps between samples are small, and a click would be large.
        tone = [0.5 * np.sin(2 * np.pi * 100 * np.arange(60000) / RATE).astype(np.float32)] * self.channels
        shape = np.hanning(400)[:, None].astype(np.float32) / 200
        paths = [self.wav(shape * size, f"size{size}.wav") for size in (1, -0.7, 0.4, 0.9)]
        paths.append(self.wav(np.concatenate([np.zeros((5000, 1), np.float32), shape]), "far.wav"))
        choices = [(0, paths[0])] + [(9000 + 700 * i, paths[i % 5]) for i in range(1, 12)]
        with self.room() as plugin:
            found, begun = self.play(plugin, 256, choices, tone)
        self.assertEqual(len(begun), len(choices))
        # The second difference of the tone itself is 0.5 (2 pi 100 / 48000)^2 = 8.6e-5; a fade adds as much again.
        self.assertLess(np.abs(np.diff(found, 2)).max(), 5e-4)
        last = shape[:, 0] * np.float32(-0.7)  # of paths[1]
        expected = fftconvolve(tone[0].astype(np.float64), last.astype(np.float64))[:60000]
        settled = slice(9000 + 700 * 12 + 4 * FADE + 6000, None)
        self.close_to(found[0][settled], late(expected[None])[0][settled])

    def test_a_response_of_another_rate_sounds_the_same(self):
        # A pulse as a function of time, sampled at both rates: what the host's rate needs is known without a resampler.
        def pulse(rate):
            t = np.arange(int(0.08 * rate)) / rate
            made = np.exp(-(((t - 0.02) / 0.002) ** 2)) * np.cos(2 * np.pi * 900 * (t - 0.02))
            return (made / rate * 400)[:, None].astype(np.float32)

        for rate, other in ((48000, 44100), (48000, 96000), (44100, 48000)):
            with self.room(rate) as plugin:
                found, (begin,) = self.play(plugin, 441, [(0, self.wav(pulse(other), "pulse.wav", other))])
                self.assertEqual(plugin.log, "")
            inputs = [p * weights(begin, SAMPLES) for p in self.input]
            expected = late(heard(inputs, matrix_of(pulse(rate), self.channels), SAMPLES))
            self.assertLess(np.abs(found - expected).max(), 1e-4 * np.abs(expected).max())

    def test_what_does_not_fit_is_refused_with_the_reason_and_the_old_response_plays_on(self):
        taps, bad = response(900, 1), response(900, 4)
        good = self.wav(taps, "good.wav")
        bad[7] = math.nan
        text = self.folder / "text.wav"
        text.write_text("no sound")
        os.mkfifo(self.folder / "pipe.wav")
        empty = self.wav(np.zeros((0, 1), np.float32), "empty.wav")
        cases = {
            self.wav(bad, "nan.wav"): "sample 7 of channel 1 is nan: expected",
            self.wav(response(900, 5, 3), "three.wav"): "has 3 channels: expected 1, 2",
            self.wav(response(6001, 5), "long.wav"): "lasts 0.125 s: the longest shape of the bundle takes 0.125 s",
            self.wav(response(90, 5), "slow.wav", 900): "has 900 Hz: expected 1000 to 768000",
            self.folder / "none.wav": "no such file",
            self.folder: "is not a regular file",
            self.folder / "pipe.wav": "is not a regular file",
            text: "Format not recognised",
            empty: "has no samples",
            self.wav(
                np.full((9, 1), 1001, np.float32), "loud.wav"
            ): "sample 0 of channel 1 is 1001: expected -1000 to 1000",
        }
        if self.channels == 1:
            cases[self.wav(response(900, 5, 2), "two.wav")] = "has 2 channels, and this plug-in has one"
        choices = [(0, good)] + [(6000 + 1000 * i, path) for i, path in enumerate(cases)]
        with self.room() as plugin:
            found, begun = self.play(plugin, 100, choices)
            self.assertEqual(len(begun), 1)
            for path, reason in cases.items():
                (line,) = (line for line in plugin.log.splitlines() if line.startswith(f"{path}: "))
                self.assertIn(reason, line)
            self.assertEqual(plugin.log.count("\n"), len(cases))
        inputs = [p * weights(begun[0], SAMPLES) for p in self.input]
        self.close_to(found, late(heard(inputs, matrix_of(taps, self.channels), SAMPLES)))

    def test_state_keeps_the_path_and_the_host_hears_of_it(self):
        taps = response(900, 1)
        path = self.wav(taps, "kept.wav")
        with self.room() as plugin:
            self.assertEqual(plugin.save(), 0)
            self.assertEqual(plugin.saved, {})
            self.play(plugin, 441, [(0, path)])
            self.assertEqual(sum(str(path).encode() in told for told in plugin.told), 1)
            plugin.run([array.array("f", [0])] * self.channels, plugin.object("Get"))
            self.assertEqual(sum(str(path).encode() in told for told in plugin.told), 2)
            self.assertEqual(plugin.save(), 0)
            key, kept = plugin.urid(PARAMETER), f"{path}\0".encode()
            self.assertEqual(plugin.saved[key][0], kept)
        with self.room() as plugin:
            self.assertEqual(plugin.restore({PARAMETER: str(path)}), 0)
            found, _ = self.play(plugin, 441)
            self.assertNotEqual(plugin.restore({PARAMETER: str(self.folder / "none.wav")}), 0)
            self.assertIn("no such file", plugin.log)
        inputs = [p * weights(0, SAMPLES) for p in self.input]
        self.close_to(found, late(heard(inputs, matrix_of(taps, self.channels), SAMPLES)))

    def test_a_host_without_room_for_a_job_is_asked_again(self):
        path = self.wav(response(900, 1), "again.wav")
        silence = [array.array("f", bytes(400)) for _ in range(self.channels)]
        with self.room() as plugin:
            plugin.full.value = True
            plugin.run(silence, plugin.set_path(PARAMETER, path))
            self.assertEqual(plugin.jobs, [])
            plugin.full.value = False
            plugin.run(silence)
            self.assertEqual(len(plugin.jobs), 1)

    def test_messages_that_are_not_understood_change_nothing_and_the_log_names_them(self):
        silence = [array.array("f", bytes(400)) for _ in range(self.channels)]
        no_path, unterminated = "its value is not an atom:Path", "its path has no terminating zero"
        with self.room() as plugin:
            prop = ("property", "URID", struct.pack("<I", plugin.urid(PARAMETER)))
            for reason, events in (
                ("", plugin.set_path("urn:other", "/tmp/x.wav")),  # for others
                ("", plugin.object("Set", ("value", "Path", b"/tmp/x.wav\0"))),
                (no_path, plugin.object("Set", prop)),
                (unterminated, plugin.object("Set", prop, ("value", "Path", b"no end"))),
                (unterminated, plugin.object("Set", prop, ("value", "Path", b""))),
                (no_path, plugin.object("Set", prop, ("value", "String", b"/tmp/x.wav\0"))),
                ("longer than 4095 bytes", plugin.object("Set", prop, ("value", "Path", b"x" * 4096 + b"\0"))),
            ):
                plugin.log = ""
                plugin.run(silence, events)
                plugin.work()
                self.assertEqual(plugin.answers, [])
                self.assertIn(reason, plugin.log)
                self.assertEqual(plugin.log.count(f"a message that sets <{PARAMETER}> is ignored"), bool(reason))

    def test_a_host_without_features_plays_the_response_of_the_bundle(self):
        taps = response(800, 6)
        bundle = self.make_bundle("initial", f"INITIAL={self.wav(taps, 'initial.wav')}")
        rows = np.stack(self.input, 1).ravel()
        write_wav(self.folder / "in.wav", array.array("f", rows.tolist()), self.channels, RATE)
        applied = run_in_lv2apply(bundle.parent, self.uri, self.folder)
        self.assertEqual(applied.returncode, 0, applied.stderr)
        self.assertIn("lacks urid:map or work:schedule", applied.stderr)
        found = np.array(read_wav(self.folder / "out.wav")).reshape(-1, self.channels).T
        self.close_to(found, late(heard(self.input, matrix_of(taps, self.channels), SAMPLES)))

    def test_a_bundle_without_shapes_is_refused(self):
        bundle = self.make_bundle("bare")
        for shape in bundle.glob("room-*.lw"):
            shape.unlink()
        with host(bundle, "room.so", self.uri, RATE, self.channels) as plugin:
            self.assertIsNone(plugin.instance)
            self.assertIn("has no shape room-SAMPLES.lw", plugin.log)


class StereoRoom(Room):
    channels, uri = 2, "urn:longwave:room-stereo"

    def test_two_channels_are_left_and_right_and_four_are_each_to_each(self):
        for count in (2, 4):
            taps = response(900, 7, count)
            for block in (1000, BLOCKS[-1]):
                with self.room() as plugin:
                    found, (begin,) = self.play(plugin, block, [(0, self.wav(taps, f"of{count}.wav"))])
                inputs = [p * weights(begin, SAMPLES) for p in self.input]
                self.close_to(found, late(heard(inputs, matrix_of(taps, 2), SAMPLES)))


if __name__ == "__main__":
    other = ROOT / ".venv-torch/bin/python"  # which tools/test --all makes
    if np is None and other.exists() and sys.prefix != str(other.parents[1]):
        os.execv(other, [str(other), *sys.argv])
    reason = missing() or ("scipy is missing" if np is None else "")
    for library in ("sndfile", "soxr"):
        if subprocess.run(["pkg-config", "--exists", library]).returncode:
            reason = reason or f"{library} is missing"
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
