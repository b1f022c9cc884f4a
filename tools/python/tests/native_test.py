#!/usr/bin/env python3
"""The Python module over the C API: models, runs, streams, spotters, generators, errors, threads. NumPy only.

LONGWAVE_PROGRAM=build/longwave PYTHONPATH=build/python python tools/python/tests/native_test.py
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import wave

import longwave
import longwave.programs
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/support"))
import late_model  # noqa: E402

WORDS = ["yes", "left", "stop", "no", "right", "up", "off", "down", "go", "on", "yes"]  # of examples/kws/demo.wav


def recording():
    with wave.open(str(ROOT / "examples/kws/demo.wav")) as file:
        return np.frombuffer(file.readframes(file.getnframes()), np.int16)


class Module:
    """Looks like a torch.nn.Module."""

    def state_dict(self):
        return {}


class NativeTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = pathlib.Path(cls.folder.name) / "kws.lw"
        cls.kws = longwave.compile(ROOT / "examples/kws/model", cls.file, stream=True)
        cls.audio = recording()

    @classmethod
    def tearDownClass(cls):
        cls.kws.close()
        cls.folder.cleanup()

    def test_info_and_report(self):
        info = self.kws.info
        self.assertEqual((info["inputs"][0]["kind"], info["inputs"][0]["sample_rate"]), ("audio", 16000))
        self.assertEqual(self.kws.labels[:2], ["yes", "no"])
        self.assertEqual(self.kws.report["name"], info["name"])
        self.assertLessEqual(self.kws.verify(), 1)

    def test_run_equals_stream_and_the_command_line(self):
        second = self.audio[:16000]
        run = self.kws.run(second)
        with self.kws.stream(format="int16") as stream:
            streamed = stream.process(second, last=True)
        for name, rows in run.items():
            np.testing.assert_array_equal(rows, self.kws.run(second.astype(np.float32) / 32768)[name])
            np.testing.assert_allclose(streamed[name], rows, atol=1e-5 * np.abs(rows).max())
        source = pathlib.Path(self.folder.name) / "x.npy"
        np.save(source, second.astype(np.float32)[:, None] / 32768)
        result = pathlib.Path(self.folder.name) / "y.npy"
        done = longwave.programs.run(
            ["run", str(self.file), "--input", f"audio=@{source}", "--output", f"logits={result}"]
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        np.testing.assert_array_equal(np.load(result), run["logits"])

    def test_any_cut_gives_the_same_rows(self):
        whole = self.kws.stream(format="int16").process(self.audio[:32000], last=True)["logits"]
        random = np.random.default_rng(5)
        stream, rows, at = self.kws.stream(format="int16"), [], 0
        while at < 32000:
            n = int(random.integers(1, 2000))
            taken = stream.push(self.audio[at : min(at + n, 32000)])
            at += taken
            rows += [row.data for row in stream if row.output == 0]
            if random.integers(4) == 0:
                state = stream.save()
                stream.close()
                stream = self.kws.stream(format="int16")
                stream.load(state)
        stream.finish()
        rows += [row.data for row in stream if row.output == 0]
        np.testing.assert_array_equal(np.stack(rows), whole)

    def test_streams_that_run_together_have_the_rows_of_single_ones(self):
        streams = [self.kws.stream(format="int16") for _ in range(3)]
        pieces = [self.audio[at : at + 3000] for at in (0, 5000, 9000)]
        with longwave.StreamBatch(self.kws) as batch:
            self.assertEqual(batch.streams, 1)  # compiled without --streams
            self.assertEqual(batch.push(streams, pieces), [3000] * 3)
            for stream, piece in zip(streams, pieces):
                with self.kws.stream(format="int16") as alone:
                    alone.push(piece)
                    rows, expected = (
                        [(row.output, row.number, row.data.tolist()) for row in some] for some in (stream, alone)
                    )
                    self.assertTrue(expected)
                    self.assertEqual(rows, expected)
            with self.assertRaisesRegex(ValueError, "a stream occurs twice"):
                batch.push([streams[0], streams[0]], pieces[:2])
            with self.assertRaisesRegex(ValueError, "expected values for 2 streams, got 3"):
                batch.push(streams[:2], pieces)
            with self.assertRaisesRegex(TypeError, "this stream takes int16 audio"):
                batch.push(streams[:1], [np.zeros(10, np.float32)])
            streams[1].close()
            with self.assertRaisesRegex(longwave.WrongStateError, "the stream is closed"):
                batch.push(streams, pieces)
        with self.assertRaisesRegex(longwave.WrongStateError, "the batch is closed"):
            batch.push(streams[:1], pieces[:1])

    def test_speech_detectors_run_together(self):
        with longwave.compile(
            ROOT / "examples/vad/energy", pathlib.Path(self.folder.name) / "together.lw", stream=True
        ) as model:
            with longwave.StreamBatch(model) as batch:
                together, alone = ([longwave.SpeechDetector(model, rows=True) for _ in range(3)] for _ in range(2))
                found = 0
                for at in range(0, len(self.audio) - 16000, 7000):
                    pieces = [self.audio[at + 5000 * i : at + 5000 * i + 7000] for i in range(3)]
                    for events, detector, piece in zip(batch.push_speech_detectors(together, pieces), alone, pieces):
                        expected = detector.push(piece)
                        self.assertEqual(
                            [(e.kind, e.start, e.end, e.tick, e.probability) for e in events],
                            [(e.kind, e.start, e.end, e.tick, e.probability) for e in expected],
                        )
                        found += len(expected)
                self.assertGreater(found, 100)
                with self.assertRaisesRegex(ValueError, "a speech detector occurs twice"):
                    batch.push_speech_detectors([together[0]] * 2, pieces[:2])
                with self.assertRaisesRegex(ValueError, "expected audio for 2 speech detectors, got 3"):
                    batch.push_speech_detectors(together[:2], pieces)
                with self.assertRaisesRegex(TypeError, "takes int16 audio"):
                    batch.push_speech_detectors(together[:1], [np.zeros(10, np.float32)])
                together[0].finish()
                with self.assertRaisesRegex(longwave.WrongStateError, "finished"):
                    batch.push_speech_detectors(together, pieces)

    def test_spotter_hears_the_words(self):
        for audio, spotter in (
            (self.audio, longwave.Spotter(self.kws)),
            (self.audio.astype(np.float32) / 32768, longwave.Spotter(self.kws, format="float32")),
        ):
            events = [
                e for at in range(0, len(audio), 999) for e in spotter.push(audio[at : at + 999])
            ] + spotter.finish()
            self.assertEqual([e.word for e in events], WORDS)
        with self.assertRaises(TypeError):
            longwave.Spotter(self.kws).push(self.audio.astype(np.float32))

    def test_speech_detector_finds_the_segments_of_the_command_line(self):
        with longwave.compile(
            ROOT / "examples/vad/energy", pathlib.Path(self.folder.name) / "energy.lw", stream=True
        ) as model:
            done = longwave.programs.run(
                [
                    "vad",
                    str(pathlib.Path(self.folder.name) / "energy.lw"),
                    str(ROOT / "examples/kws/demo.wav"),
                    "--json",
                ]
            )
            lines = [json.loads(line) for line in done.stdout.splitlines()]
            expected = [(line["start_sample"], line["end_sample"]) for line in lines if line["type"] == "segment"]
            self.assertGreater(len(expected), 10)
            for audio, options in ((self.audio, {}), (self.audio.astype(np.float32) / 32768, {"format": "float32"})):
                with longwave.SpeechDetector(model, **options) as detector:
                    self.assertEqual((detector.hop, detector.sample_rate), (512, 16000))
                    self.assertEqual(detector.segments(audio), expected)
                    events = []
                    for at in range(0, len(audio), 999):
                        events += detector.push(audio[at : at + 999])
                        detector.load(detector.save())
                    events += detector.finish()
                    self.assertEqual([(e.start, e.end) for e in events if e.kind == "end"], expected)
                    self.assertTrue(all((e.end is None) == (e.kind in ("began", "start")) for e in events))
                    self.assertEqual(events[0].start_seconds, events[0].start / 16000)
            with longwave.SpeechDetector(model, rows=True) as detector:
                rows = [e for e in detector.push(self.audio) + detector.finish() if e.kind == "row"]
                self.assertEqual(len(rows), -(-len(self.audio) // 512))
                power = (self.audio[:512].astype(np.float64) / 32768) ** 2
                logit = 0.5 * (10 * np.log10(power.mean() + 1e-10) + 45)
                self.assertAlmostEqual(rows[0].probability, 1 / (1 + np.exp(-logit)), 5)
            with self.assertRaises(TypeError):
                longwave.SpeechDetector(model).push(self.audio.astype(np.float32))
            for wrong in (
                {"threshold": 0},
                {"negative_threshold": 0.6},
                {"min_speech_ms": -1},
                {"min_silence_ms": float("nan")},
                {"max_speech_s": 0.01},
            ):
                with self.assertRaises(ValueError):
                    longwave.SpeechDetector(model, **wrong)
            with self.assertRaises(longwave.BadStateError):
                longwave.SpeechDetector(model).load(b"no state")
        with self.assertRaises(longwave.NotFoundError):
            longwave.SpeechDetector(self.kws)

    def test_audio_stream_gives_what_denoise_writes(self):
        file, out = pathlib.Path(self.folder.name) / "late.lw", pathlib.Path(self.folder.name) / "late.f32"
        with longwave.compile(late_model.write(pathlib.Path(self.folder.name) / "late"), file, stream=True) as model:
            demo = str(ROOT / "examples/kws/demo.wav")
            done = longwave.programs.run(["denoise", str(file), demo, str(out), "--output-format", "f32le"])
            self.assertEqual(done.returncode, 0, done.stderr)
            floats = self.audio.astype(np.float32) / 32768
            np.testing.assert_array_equal(np.fromfile(out, np.float32), floats)
            for audio, options in ((floats, {}), (self.audio, {"format": "int16"})):
                with longwave.AudioStream(model, **options) as stream:
                    self.assertEqual((stream.rate_in, stream.rate_out), (16000, 16000))
                    np.testing.assert_array_equal(stream.apply(audio), audio)
                    pieces = [stream.push(audio[at : at + 999]) for at in range(0, len(audio), 999)] + [stream.finish()]
                    self.assertEqual({piece.dtype for piece in pieces}, {audio.dtype})
                    np.testing.assert_array_equal(np.concatenate(pieces), audio)
                    with self.assertRaises(longwave.WrongStateError):
                        stream.push(audio[:1])
                    stream.reset()
                    self.assertEqual(len(stream.push(audio[:0])), 0)
            with longwave.AudioStream(model, live=True) as stream:
                heard = np.concatenate(
                    [stream.process(floats[at : at + 441]) for at in range(0, 9000, 441)] + [stream.process(floats[:0])]
                )
                np.testing.assert_array_equal(
                    heard, np.concatenate([np.zeros(stream.latency, np.float32), floats[: len(heard) - stream.latency]])
                )
                stream.reset()
                self.assertEqual(stream.process([np.nan, 1.0]).tolist(), [0, 0])
                self.assertEqual((stream.non_finite, stream.resets), (1, 0))
            with longwave.AudioStream(model, rate_in=48000, rate_out=8000, live=True) as stream:
                self.assertEqual([len(stream.push(np.zeros(n, np.float32))) for n in (48000, 1, 5, 6)], [8000, 0, 1, 1])
                self.assertEqual((stream.rate_in, stream.rate_out), (48000, 8000))
                with self.assertRaises(longwave.WrongStateError):
                    stream.process(floats[:1])
            with self.assertRaises(TypeError):
                longwave.AudioStream(model).push(self.audio)
            for wrong in ({"rate_in": 5}, {"format": "int32"}):
                with self.assertRaises(ValueError):
                    longwave.AudioStream(model, **wrong)
            for wrong in ({"block": 12345}, {"output": "dirt"}):
                with self.assertRaises(longwave.NotFoundError):
                    longwave.AudioStream(model, **wrong)
        with self.assertRaises(longwave.NotFoundError):
            longwave.AudioStream(self.kws)

    def test_generator_yields_tokens(self):
        with longwave.compile(ROOT / "examples/text/lightnet/model", stream=True) as model:
            prompt = np.frombuffer(b"The ", np.uint8).astype(np.int32)
            with longwave.Generator(model, log_probabilities=True) as generator:
                generator.prompt(prompt)
                tokens = [token for token, _ in zip(generator, range(20))]
                state = generator.save()
                more = [generator.next().id for _ in range(5)]
                generator.load(state)
                self.assertEqual([generator.next().id for _ in range(5)], more)
            self.assertTrue(all(0 <= t.id < 256 and t.log_probability < 0 for t in tokens))
            logits = model.run(np.concatenate([prompt, [t.id for t in tokens[:-1]]]))
            self.assertEqual([int(row.argmax()) for row in logits[len(prompt) - 1 :]], [t.id for t in tokens])

    def test_arrays_go_in_without_copies_and_others_are_converted(self):
        second = self.audio[:16000].astype(np.float32) / 32768
        expected = self.kws.run(second)["logits"]
        for same in (second.astype(np.float64), second[:, None], list(second), np.stack([second, second], 1)[:, 0]):
            np.testing.assert_array_equal(self.kws.run(same)["logits"], expected)
        # int16 samples in the upper half of int32 are the same sound.
        np.testing.assert_array_equal(self.kws.run(self.audio[:16000].astype(np.int32) << 16)["logits"], expected)

    def test_spotter_gain(self):
        quiet = (self.audio // 8).astype(np.int16)
        with longwave.Spotter(self.kws, gain=18.0) as spotter:
            self.assertAlmostEqual(spotter.gain(), 10 ** (18 / 20), places=3)
            self.assertEqual([e.word for e in spotter.push(quiet) + spotter.finish()], WORDS)
        with longwave.Spotter(self.kws) as spotter:
            self.assertEqual(spotter.gain(), 1)
        with longwave.Spotter(self.kws, gain="auto") as spotter:
            spotter.push(quiet)
            self.assertGreater(spotter.gain(), 2)

    def test_errors_say_what_was_expected(self):
        stream = self.kws.stream()
        cases = [
            (
                ValueError,
                r"expected an array \[ticks, 1\] or \[ticks\], got \[5, 3\]",
                lambda: self.kws.run(np.zeros((5, 3), np.float32)),
            ),
            (TypeError, "expected floats, or int16 or int32 audio", lambda: self.kws.run(np.zeros(5, complex))),
            (TypeError, "float32", lambda: stream.push(np.zeros(5, np.int16))),
            (longwave.InvalidArgumentError, "expected 1 inputs, got 2", lambda: self.kws.run(self.audio, self.audio)),
            (longwave.TooLongError, "", lambda: self.kws.run(np.zeros(10**6, np.float32))),
            (longwave.NotFoundError, "no such file", lambda: longwave.open("/nonexistent.lw")),
            (longwave.BadArtifactError, "not a Longwave artifact", lambda: longwave.open(ROOT / "README.md")),
            (longwave.UnsignedCodeError, "", lambda: longwave.open(self.file, keys=["11" * 32])),
            (ValueError, "64 hexadecimal digits", lambda: longwave.open(self.file, keys=["11"])),
            (ValueError, r'gain "loud": expected decibels', lambda: longwave.Spotter(self.kws, gain="loud")),
            (longwave.InvalidArgumentError, "gain_db", lambda: longwave.Spotter(self.kws, gain=61.0)),
            (TypeError, "expected floats, or int16 or int32 audio", lambda: self.kws.run(np.zeros(5, np.int64))),
            (ValueError, "give keys too", lambda: longwave.open(self.file, least_version=2)),
            (longwave.BadStateError, "", lambda: stream.load(b"no state")),
            (longwave.CompileError, "expected a folder", lambda: longwave.compile(ROOT / "README.md")),
            (ValueError, "block 7", lambda: self.kws.stream(7)),
            (
                TypeError,
                "expected a torch.nn.Module or the path of a model folder, got function",
                lambda: longwave.compile(lambda x: x),
            ),
            (
                ValueError,
                "a model folder has its own",
                lambda: longwave.compile(ROOT / "examples/kws/model", inputs=["audio=16000"]),
            ),
            (TypeError, "name the file with output=", lambda: longwave.compile(Module(), "a.lw")),
        ]
        for kind, text, call in cases:
            with self.assertRaisesRegex(kind, text):
                call()
        self.assertTrue(issubclass(longwave.BadStateError, longwave.Error))

    def test_a_module_without_torch_is_one_line(self):
        hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.startswith("longwave.importer")}
        torch, sys.modules["torch"] = sys.modules.get("torch"), None
        try:
            with self.assertRaisesRegex(
                longwave.CompileError,
                "^a module needs PyTorch and safetensors .*; install them: pip install torch safetensors$",
            ):
                longwave.compile(Module(), np.zeros((1, 64, 4), np.float32))
        finally:
            sys.modules.update(hidden)
            del sys.modules["torch"]
            if torch is not None:
                sys.modules["torch"] = torch

    def test_signed_files_open_with_their_key_alone(self):
        folder = pathlib.Path(self.folder.name)
        for command in (
            ["keygen", str(folder / "a")],
            ["keygen", str(folder / "b")],
            [
                "sign",
                str(self.file),
                "--key",
                str(folder / "a"),
                "-o",
                str(folder / "signed.lw"),
                "--model-version",
                "3",
            ],
        ):
            self.assertEqual(longwave.programs.run(command).returncode, 0, command)
        a, b = ((folder / f"{name}.pub").read_text().strip() for name in "ab")
        longwave.open(folder / "signed.lw", keys=[b, a], least_version=3).close()
        with self.assertRaises(longwave.UnsignedCodeError):
            longwave.open(folder / "signed.lw", keys=[b])
        with self.assertRaises(longwave.OldVersionError):
            longwave.open(folder / "signed.lw", keys=[a], least_version=4)

    def test_each_status_has_an_exception(self):
        header = (ROOT / "runtime/include/longwave/longwave.h").read_text(encoding="utf-8")
        for name in re.findall(r"^    LW_([A-Z_]+) = [1-9]\d+,? ", header, re.M):
            self.assertTrue(
                issubclass(getattr(longwave, name.title().replace("_", "") + "Error"), longwave.Error), name
            )

    def test_objects_keep_their_model_and_closed_ones_refuse(self):
        model = longwave.open(self.file)
        stream = model.stream(format="int16")
        model.close()
        self.assertEqual(stream.push(self.audio[:320]), 320)
        with self.assertRaises(longwave.WrongStateError):
            model.run(self.audio[:16000])
        stream.close()
        with self.assertRaises(longwave.WrongStateError):
            stream.push(self.audio[:320])
        stream.close()  # twice is fine

    def test_calls_release_the_gil_and_refuse_a_second_thread(self):
        spotter, refused, heard = longwave.Spotter(self.kws), [], []
        long_audio = np.tile(self.audio, 20)

        def push():
            try:
                heard.append(len(spotter.push(long_audio)))
            except longwave.WrongStateError as error:
                refused.append(str(error))

        threads = [threading.Thread(target=push) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(heard) + len(refused), 4)
        self.assertGreaterEqual(len(heard), 1)
        self.assertTrue(all("another thread" in text for text in refused))
        results = []
        runners = [
            threading.Thread(target=lambda: results.append(self.kws.run(self.audio[:16000])["logits"]))
            for _ in range(4)
        ]
        for thread in runners:
            thread.start()
        for thread in runners:
            thread.join()
        self.assertTrue(all((r == results[0]).all() for r in results) and len(results) == 4)

    def test_the_examples_of_the_page_run(self):
        page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
        code = "".join(re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)).replace(
            '"examples/', f'"{ROOT}/examples/'
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=self.folder.name, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_import_needs_no_more_than_numpy(self):
        code = "import sys, longwave; longwave.Model; print(sorted(m for m in sys.modules if m.split('.')[0] in ('torch', 'scipy', 'soundfile')))"
        began = time.perf_counter()
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        self.assertEqual(out.strip(), "[]")
        print(f"import in a new process: {time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    unittest.main(verbosity=1)
