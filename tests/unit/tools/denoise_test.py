#!/usr/bin/env python3
"""longwave denoise: denoise_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

The models are hand-made: a matrix over rows of 128 samples whose result is known, so the expected samples are the input itself.
"""

import array
import json
import random
import signal
import struct
import subprocess
import time

from cli_support import BAD_INPUT, OK, USAGE, Cli, main, safetensors, wav

ROW, LAG, RATE = 8, 16, 16000


def floats(path):
    """The samples of a WAV file of 32-bit floats, and its rate."""
    data = path.read_bytes()
    at = data.index(b"data")
    return list(array.array("f", data[at + 8 :])), struct.unpack("<I", data[24:28])[0]


class Denoise(Cli):
    @classmethod
    def folder(cls, name, **output):
        """Rows of ROW samples as they came, LAG samples later."""
        made = cls.scratch / name
        made.mkdir(exist_ok=True)
        node = lambda n, op, inputs, **attributes: {"name": n, "op": op, "inputs": inputs, "attributes": attributes}
        graph = [
            node(
                "rows/conv",
                "conv2d",
                ["audio", {"tensor": "w"}],
                stride_t=ROW,
                stride_f=1,
                groups=1,
                bias=0,
                frequency=0,
            ),
            node("late/shift", "shift", ["rows/conv"], rows=LAG // ROW),
        ]
        model = {
            "format": "longwave-model",
            "version": 2,
            "name": "late",
            "inputs": [{"name": "audio", "kind": "audio", "sample_rate": RATE}],
            "length": 4096,
            "graph": graph,
            "outputs": [{"name": "clean", "from": "late/shift", **output}],
        }
        (made / "model.json").write_text(json.dumps(model))
        eye = [1.0 if t == o else 0.0 for o in range(ROW) for t in range(ROW)]
        (made / "weights.safetensors").write_bytes(safetensors({"w": ([ROW, 1, ROW, 1], eye)}))
        return made

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.late = cls.scratch / "late.lw"
        done = cls.run_cli(
            "compile",
            cls.folder("late", kind="audio", lag=LAG),
            "-o",
            cls.late,
            "--target",
            "host",
            "--block",
            "8",
            "--quiet",
        )
        assert done.returncode == OK, done.stderr
        random.seed(7)
        cls.samples = [random.randint(-20000, 20000) for _ in range(1003)]
        cls.want = [s / 32768 for s in cls.samples]
        cls.sound = cls.scratch / "noise.wav"
        cls.sound.write_bytes(wav(cls.samples))

    def denoise(self, *arguments, **options):
        out = self.scratch / "out.wav"
        done = self.run_cli("denoise", self.late, self.sound, out, "--json", *arguments, **options)
        self.assertEqual(done.returncode, OK, done.stderr)
        return json.loads(done.stdout), *floats(out)

    def test_a_name_that_says_another_format(self):
        for name, form, expected in (
            ("out.mp3", "wav", "the name says mp3, and wav is written; name a .wav file and convert it"),
            ("out.s16le", "wav", "the name says raw samples, and --output-format is wav; pass --output-format s16le"),
            ("out.f32le", "s16le", "pass --output-format f32le"),
            ("out.MP3", "wav", "the name says mp3"),
            ("out.aiff", "wav16", "the name says aiff, and wav16 is written"),
            ("out.WAV", "s16le", "the name says WAV"),
            ("out.pcm", "wav", "the name says raw samples, and wav has a header"),
        ):
            done = self.run_cli("denoise", self.late, self.sound, self.scratch / name, "--output-format", form)
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertIn(expected, done.stderr)
            self.assertFalse((self.scratch / name).exists())

    def test_same_length_and_no_latency(self):
        said, samples, rate = self.denoise()
        self.assertEqual((samples, rate), (self.want, RATE))
        self.assertEqual(said["latency_samples"], LAG + ROW - 1)

    def test_kept_latency_is_the_one_that_is_said(self):
        said, samples, _ = self.denoise("--keep-latency")
        late = said["latency_samples"]
        self.assertEqual(samples, [0.0] * late + self.want[: len(self.want) - late])

    def test_a_file_takes_the_largest_block(self):
        blocks = self.scratch / "blocks.lw"
        done = self.run_cli(
            "compile", self.scratch / "late", "-o", blocks, "--target", "host", "--blocks", "8,64", "--quiet"
        )
        self.assertEqual(done.returncode, OK, done.stderr)
        for options, block in (((), 64), (("--keep-latency",), 8)):
            done = self.run_cli("denoise", blocks, self.sound, self.scratch / "out.wav", "--json", *options)
            self.assertEqual(done.returncode, OK, done.stderr)
            late = json.loads(done.stdout)["latency_samples"]
            self.assertEqual(late, LAG + block - 1)
            self.assertEqual(
                floats(self.scratch / "out.wav")[0],
                ([0.0] * late + self.want)[: len(self.want)] if options else self.want,
            )
        done = self.run_cli(
            "denoise", blocks, "-", "-", "--format", "s16le", "--json", stdin=struct.pack("<h", 1), text=False
        )
        self.assertEqual(json.loads(done.stderr)["latency_samples"], LAG + 7)

    def test_pipes(self):
        raw = struct.pack(f"<{len(self.samples)}h", *self.samples)
        done = self.run_cli(
            "denoise", self.late, "-", "-", "--format", "s16le", "--output-format", "s16le", stdin=raw, text=False
        )
        self.assertEqual(done.returncode, OK, done.stderr)
        self.assertEqual(done.stdout, raw)

    def test_other_rates_come_back(self):
        import math

        tone = [int(8000 * math.sin(2 * math.pi * 440 * i / 44100)) for i in range(9001)]
        path, out = self.scratch / "tone.wav", self.scratch / "tone_out.wav"
        path.write_bytes(wav(tone, 44100))
        done = self.run_cli("denoise", self.late, path, out)
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn("44100", done.stderr)
        done = self.run_cli("denoise", self.late, path, out, "--resample")
        self.assertEqual(done.returncode, OK, done.stderr)
        samples, rate = floats(out)
        self.assertEqual((len(samples), rate), (9001, 44100))
        # The filters are flat to 0.001 dB and reach over some milliseconds at the ends.
        worst = max(abs(a - b / 32768) for a, b in list(zip(samples, tone))[600:-600])
        self.assertLess(worst, 2e-4)

    def test_refusals(self):
        done = self.run_cli("denoise", self.late, self.sound, self.sound)
        self.assertEqual(done.returncode, USAGE)
        plain = self.scratch / "plain.lw"
        done = self.run_cli("compile", self.folder("plain"), "-o", plain, "--target", "host", "--block", "8", "--quiet")
        self.assertEqual(done.returncode, OK, done.stderr)
        done = self.run_cli("denoise", plain, self.sound, self.scratch / "x.wav")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("no output of the model is audio", done.stderr)
        self.assertIn("--output NAME=audio", done.stderr)
        self.assertFalse((self.scratch / "x.wav").exists())
        done = self.run_cli("denoise", self.late, self.sound, self.scratch / "x.wav", "--output-format", "s16le")
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("the name says WAV", done.stderr)

    def test_arguments_that_are_missing_or_exchanged(self):
        for arguments, expected in (
            (("denoise", self.late, "x.wav"), "OUTPUT is missing; x.wav is the INPUT; write - for standard input"),
            (("denoise", self.late), "OUTPUT is missing; usage: longwave denoise [OPTIONS] MODEL [INPUT] OUTPUT"),
            (("denoise", self.late, "--microphone", "default", "x.wav"), "or pass --output x.wav to write it"),
        ):
            done = self.run_cli(*arguments)
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertIn(expected, done.stderr)
        done = self.run_cli("denoise", self.sound, self.late, "x.wav")
        self.assertEqual(done.returncode, BAD_INPUT, done.stderr)
        self.assertIn("noise.wav: is a recording, not a compiled model (.lw); name the model first", done.stderr)

    def test_inputs_that_are_nothing_or_almost(self):
        path, out = self.scratch / "small.wav", self.scratch / "small_out.wav"
        for made, expected in ((b"", "is empty"), (wav([]), "contains no samples")):
            path.write_bytes(made)
            done = self.run_cli("denoise", self.late, path, out)
            self.assertEqual(done.returncode, BAD_INPUT, done.stderr)
            self.assertIn(expected, done.stderr)
            self.assertFalse(out.exists())
        path.write_bytes(wav([8192]))
        done = self.run_cli("denoise", self.late, path, out)
        self.assertEqual((done.returncode, done.stderr), (OK, ""))
        self.assertEqual(floats(out)[0], [0.25])

    def test_the_rest_of_a_raw_sample_is_told(self):
        done = self.run_cli(
            "denoise", self.late, "-", "-", "--format", "s16le", "--output-format", "s16le", stdin=b"\0\1\2", text=False
        )
        self.assertEqual((done.returncode, done.stdout), (OK, b"\0\1"))
        self.assertIn("ends inside a sample; its last 1 byte is left out", done.stderr)

    def test_control_c_before_the_first_sample_keeps_the_file_that_is_there(self):
        kept = self.scratch / "kept.wav"
        kept.write_bytes(b"as it was")
        process = subprocess.Popen(
            self.command("denoise", self.late, "--format", "s16le", "-", kept),
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment({}),
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        process.stdin.write(b"\0")  # half a sample: the model is open when it has been read
        process.stdin.flush()
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), -signal.SIGINT)
        process.stdin.close()
        process.stderr.close()
        self.assertEqual(kept.read_bytes(), b"as it was")

    def test_a_rate_that_contradicts_the_rows_is_refused(self):
        done = self.run_cli(
            "compile", self.folder("wrong", kind="audio", sample_rate=8000), "-o", self.scratch / "w.lw", "--quiet"
        )
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn("16000", done.stderr)

    def test_run_writes_the_rows_as_samples(self):
        out = self.scratch / "run.wav"
        done = self.run_cli("run", self.late, "-i", f"audio=@{self.sound}", "-o", f"clean={out}")
        self.assertEqual(done.returncode, OK, done.stderr)
        samples, rate = floats(out)
        self.assertEqual((samples, rate), ([0.0] * LAG + self.want[: 1000 - LAG], RATE))
        for ending, code, same in (("s16le", "h", self.samples), ("f32le", "f", self.want)):
            out = self.scratch / f"run.{ending}"
            done = self.run_cli("run", self.late, "-i", f"audio=@{self.sound}", "--stream", "-o", f"clean={out}")
            self.assertEqual(done.returncode, OK, done.stderr)
            self.assertEqual(list(array.array(code, out.read_bytes())), [0] * LAG + same[: 1000 - LAG])

    def test_listen_names_the_command_that_writes_audio(self):
        done = self.run_cli("listen", self.late, self.sound)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("use `longwave denoise", done.stderr)


if __name__ == "__main__":
    main()
