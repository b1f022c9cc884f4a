#!/usr/bin/env python3
"""The amplifier of examples/lv2 in a host: lv2_amp_test.py LONGWAVE SCRATCH_FOLDER

The plug-in must give what PyTorch computes in float64 from the capture and the input, later by the latency that it
reports. The module is that of the importer, which test_importer_nam.py compares with NeuralAmpModelerCore. While it goes
from one capture to another, the weights of both make 1 in all.
"""

import array
import copy
import math
import os
import pathlib
import random
import resource
import shutil
import sys
import tempfile
import unittest

from lv2_host import make_bundle, missing, read_wav, run_in_lv2apply, write_wav
from lv2_worker_host import host

LONGWAVE, SCRATCH = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools/python"), str(ROOT / "tools/python/tests")]
try:
    import nam_files
    import numpy as np
    import torch
    from longwave.importer.nam.door import open_file
except ImportError:
    torch = None

RATE, LATE, FADE, SAMPLES = 48000, 63, 2048, 16000
BLOCKS = (1, 64, 441, 4096, (1, 3, 64, 441, 4096, 0, 63, 65))
LIMIT = 1e-5  # of the peak: float32
PARAMETER, URI = "urn:longwave:amp#capture", "urn:longwave:amp"


def first(seed):
    return nam_files.a1(4, 2, [1, 2, 8], seed)


def second(seed):
    return nam_files.a2(3, seed, dilations=(1, 3))


class Amp(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="lv2-", dir=SCRATCH))
        cls.shapes = [cls.nam(first(1), "first.nam"), cls.nam(second(1), "second.nam")]
        cls.bundle = cls.make_bundle("bundle", f"AMPS={cls.shapes[0]} {cls.shapes[1]}", f"INITIAL={cls.shapes[0]}")
        cls.initial = cls.bundle / "default.nam"
        cls.kept = cls.initial.rename(cls.folder / "kept.nam")
        cls.input = np.random.default_rng(5).uniform(-0.3, 0.3, SAMPLES).astype(np.float32)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def make_bundle(cls, name, *more):
        importer = {"PYTHONPATH": str(ROOT / "tools/python")}
        return make_bundle(cls.folder / name, "amp", LONGWAVE, f"PYTHON={sys.executable}", *more, **importer)

    @classmethod
    def nam(cls, made, name):
        return nam_files.written(made, cls.folder / name)

    def amp(self, rate=RATE, **named):
        return host(self.bundle, "amp.so", URI, rate, 1, **named)

    def play(self, plugin, block, choices=()):
        """The samples, and where each voice began. `choices`: (sample, path), rising."""
        samples, choices, begun = array.array("f", self.input.tolist()), list(choices), []
        rng, done = random.Random(3), 0
        while done < SAMPLES:
            step = min(block if isinstance(block, int) else rng.choice(block), SAMPLES - done)
            events = b""
            if choices and choices[0][0] <= done:
                events = plugin.set_path(PARAMETER, choices.pop(0)[1])
            part = samples[done : done + step]
            plugin.run([part], events)
            samples[done : done + step] = part
            done += step
            plugin.work()
            if plugin.answers:  # given to the plug-in behind the samples of the next call
                plugin.run([samples[done:done]])
                begun.append(done)
        return np.array(samples, np.float64), begun

    def exact(self, path):
        """What the capture answers, from the state at rest on, as late as the plug-in."""
        opened = open_file(path)
        silence = torch.zeros(1, opened.rest)
        with torch.no_grad():
            heard = torch.cat([silence, torch.tensor(self.input)[None]], 1).double()
            out = opened.module.double()(heard)[0, opened.rest :].numpy()
        return np.concatenate([np.zeros(LATE), out])[:SAMPLES], opened.rest

    def weights(self, begin, rest):
        at = np.clip(np.arange(SAMPLES) - begin - rest - LATE, -1, FADE)
        risen = 0.5 - 0.5 * np.cos(np.pi * (at + 0.5) / FADE)
        return np.where(at < 0, 0, np.where(at >= FADE, 1, risen))

    def close_to(self, found, expected):
        self.assertLess(np.abs(found - expected).max(), LIMIT * np.abs(expected).max())

    def test_each_block_size_gives_the_samples_of_the_capture(self):
        for make in (first, second):
            path = self.nam(make(7), "a.nam")
            expected, rest = self.exact(path)
            for block in BLOCKS:
                with self.amp() as plugin:
                    found, (begin,) = self.play(plugin, block, [(0, path)])
                    self.assertEqual(plugin.latency.value, LATE)
                    self.assertEqual(plugin.log, "")
                self.close_to(found, self.weights(begin, rest) * expected)

    def test_an_exchange_is_a_fade_between_the_outputs_of_both(self):
        old, new = self.nam(first(8), "old.nam"), self.nam(second(9), "new.nam")
        for one, other in ((old, new), (new, old), (old, self.nam(first(10), "same.nam"))):
            (was, rest), (becomes, other_rest) = self.exact(one), self.exact(other)
            with self.amp() as plugin:
                found, (begin, then) = self.play(plugin, BLOCKS[-1], [(0, one), (8000, other)])
            rise = self.weights(then, other_rest)
            self.close_to(found, self.weights(begin, rest) * (1 - rise) * was + rise * becomes)

    def test_of_a_container_the_largest_model_plays(self):
        path = self.nam(nam_files.container(nam_files.lstm(1, 3), first(11)), "container.nam")
        expected, rest = self.exact(path)
        with self.amp() as plugin:
            found, (begin,) = self.play(plugin, 64, [(0, path)])
        self.close_to(found, self.weights(begin, rest) * expected)

    def test_a_configuration_in_the_words_of_another_version_is_the_same(self):
        made = first(12)
        for layers in made["config"]["layers"]:
            count = len(layers["dilations"])
            layers["kernel_sizes"] = [layers.pop("kernel_size")] * count
            layers["activation"] = [{"type": "Tanh"}] * count
            layers["gating_mode"] = ["none"] * count
            layers["secondary_activation"] = [None] * count
            layers["head"] = {
                "out_channels": layers.pop("head_size"),
                "kernel_size": 1,
                "bias": layers.pop("head_bias"),
            }
            layers |= {
                "bottleneck": layers["channels"],
                "groups_input": 1,
                "slimmable": None,
                "conv_pre_film": {"active": False},
            }
            layers |= {
                "layer1x1": {"active": True, "groups": 1},
                "head1x1": {"active": False, "groups": 1, "out_channels": 1},
            }
            del layers["gated"]
        path = self.nam(made, "words.nam")
        expected, rest = self.exact(path)
        with self.amp() as plugin:
            found, (begin,) = self.play(plugin, 64, [(0, path)])
        self.close_to(found, self.weights(begin, rest) * expected)

    def test_what_does_not_fit_is_refused_with_the_reason_and_the_old_capture_plays_on(self):
        def changed(name, change, text=None):
            made = copy.deepcopy(first(13))
            change(made)
            path = self.nam(made, name)
            if text:
                path.write_text(text(path.read_text()))
            return path

        def in_layers(key, value):
            return lambda made: made["config"]["layers"][0].update({key: value})

        none = "its configuration is none of the bundle, first second"
        deep = self.folder / "deep.nam"
        deep.write_text("[" * 100000)
        binary = self.folder / "binary.nam"
        binary.write_bytes(bytes(range(256)))
        large = self.folder / "large.nam"
        large.write_bytes(b"")
        os.truncate(large, (32 << 20) + 1)
        cases = {
            changed("relu.nam", in_layers("activation", "ReLU")): none,
            changed("gated.nam", in_layers("gated", True)): none,
            changed("dilated.nam", in_layers("dilations", [1, 2, 9])): none,
            changed("unknown.nam", in_layers("something", 1)): none,
            changed("film.nam", in_layers("conv_pre_film", {"active": True, "shift": True, "groups": 1})): none,
            self.nam(nam_files.lstm(1, 3), "lstm.nam"): "is a LSTM with ",
            changed("few.nam", lambda made: made["weights"].pop()): "weights: its configuration takes",
            changed("old.nam", lambda made: made.update(version="0.4.0")): "has the version 0.4.0: expected 0.5 to 0.7",
            changed(
                "rate.nam", lambda made: made.update(sample_rate=44100)
            ): "is for 44100 Hz, and the host runs at 48000",
            changed("word.nam", lambda made: made["weights"].__setitem__(3, "x")): "weight 3 is not a number",
            changed("big.nam", lambda made: made["weights"].__setitem__(3, 1e39)): "weight 3 is not a finite number",
            changed("nan.nam", lambda made: made["weights"].__setitem__(3, math.nan)): "parse_error",
            changed(
                "twice.nam", lambda _: None, lambda text: '{"version": "0.5.0", ' + text[1:]
            ): "has a key twice: version",
            changed(
                "cut.nam", lambda _: None, lambda text: f'{{"a{"ä" * 40}": 1, "a{"ä" * 40}": 1, ' + text[1:]
            ): "has a key twice: a" + "?" * 59,
            changed(
                "list.nam", lambda made: made.update(config=[None] * 1000000)
            ): "configuration that is not an object",
            changed(
                "empty.nam", lambda made: made.update(architecture="SlimmableContainer", config={"submodels": []})
            ): "without models",
            deep: "more than 32 levels",
            binary: "parse_error",
            large: "has more than 33554432 bytes",
            self.folder / "none.nam": "no such file",
            self.folder: "is not a regular file",
        }
        good = self.nam(first(14), "good.nam")
        expected, rest = self.exact(good)
        choices = [(0, good)] + [(3000 + 600 * i, path) for i, path in enumerate(cases)]
        with self.amp() as plugin:
            found, begun = self.play(plugin, 100, choices)
            self.assertEqual(len(begun), 1, plugin.log)
            for path, reason in cases.items():
                (line,) = (line for line in plugin.log.splitlines() if line.startswith(f"{path}: "))
                self.assertIn(reason, line)
        self.close_to(found, self.weights(begun[0], rest) * expected)

    def test_a_long_value_for_all_layers_is_not_copied_for_each(self):
        made = first(16)
        made["config"]["layers"][0] |= {"dilations": [1] * 256, "activation": "x" * (16 << 20)}
        path = self.nam(made, "long.nam")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with self.amp() as plugin:
            self.play(plugin, 4096, [(0, path)])
            self.assertIn("its configuration is none of the bundle", plugin.log)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        self.assertLess(grown, 1 << 20)  # KiB: 256 copies are 4 GiB

    def test_a_bundle_that_has_lost_a_map_refuses_captures(self):
        lost = self.bundle / "first.json"
        with self.amp() as plugin:
            kept = lost.rename(self.folder / "first.json")
            try:
                self.play(plugin, 4096, [(0, self.nam(second(17), "seventeen.nam"))])
            finally:
                kept.rename(lost)
            self.assertIn("first.json of the bundle cannot be read", plugin.log)

    def test_a_host_without_features_plays_the_capture_of_the_bundle(self):
        shutil.copy(self.kept, self.initial)
        try:
            write_wav(self.folder / "in.wav", array.array("f", self.input.tolist()), 1, RATE)
            applied = run_in_lv2apply(self.bundle.parent, URI, self.folder)
        finally:
            self.initial.unlink()
        self.assertEqual(applied.returncode, 0, applied.stderr)
        expected, rest = self.exact(self.kept)
        self.close_to(np.array(read_wav(self.folder / "out.wav")), self.weights(0, rest) * expected)

    def test_the_published_sizes_have_as_many_weights_as_their_captures(self):
        sys.path.insert(0, str(ROOT / "examples/lv2"))
        import amp_shape

        for name, channels in (("a1-standard", 16), ("a1-lite", 12), ("a1-feather", 8), ("a1-nano", 4)):
            made = amp_shape.read(name)
            opened = open_file(self.nam(made, f"{name}.nam"))  # refuses another number
            self.assertEqual(opened.facts["sample_rate"], 48000)
            self.assertEqual(made["config"]["layers"][0]["channels"], channels)


if __name__ == "__main__":
    other = ROOT / ".venv-torch/bin/python"  # which tools/test --all makes
    if torch is None and other.exists() and sys.prefix != str(other.parents[1]):
        os.execv(other, [str(other), *sys.argv])
    reason = missing() or ("PyTorch is missing" if torch is None else "")
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
