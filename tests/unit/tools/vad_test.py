#!/usr/bin/env python3
"""longwave vad: vad_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

The model is examples/vad/energy, whose probability is a formula of the level. That the segments of given probabilities are right shows tests/speech.
"""

import array
import json
import math
import os
import pathlib
import pty
import signal
import struct
import subprocess

from cli_support import BAD_INPUT, OK, Cli, main, model, wav

ROOT = pathlib.Path(__file__).resolve().parents[3]
ROW = 512


def tones(spans, seconds, rate=16000):
    """Silence with a tone in each span of seconds."""
    loud = lambda t: any(a <= t < b for a, b in spans)
    return [
        int(12000 * math.sin(2 * math.pi * 440 * i / rate)) if loud(i / rate) else 0 for i in range(int(seconds * rate))
    ]


def probabilities_of(samples):
    """The formula of make_energy.py."""
    samples = list(samples) + [0] * (-len(samples) % ROW)
    found = []
    for at in range(0, len(samples), ROW):
        power = sum((x / 32768) ** 2 for x in samples[at : at + ROW]) / ROW + 1e-10
        found.append(1 / (1 + math.exp(-0.5 * (10 * math.log10(power) + 45))))
    return found


def read_npy(path):
    data = path.read_bytes()
    start = 10 + struct.unpack("<H", data[8:10])[0]
    return list(array.array("f", data[start:]))


class Vad(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.energy = cls.scratch / "energy.lw"
        done = cls.run_cli(
            "compile", ROOT / "examples/vad/energy", "-o", cls.energy, "--target", "host", "--stream", "--quiet"
        )
        assert done.returncode == OK, done.stderr
        cls.samples = tones([(0.512, 1.536), (2.56, 2.688), (3.072, 4.096)], 4.7)  # 1 s, too short, 1 s
        cls.sound = cls.scratch / "tones.wav"
        cls.sound.write_bytes(wav(cls.samples))

    def vad(self, *arguments, **options):
        done = self.run_cli("vad", self.energy, *arguments, **options)
        self.assertEqual(done.returncode, OK, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def segments(self, *arguments, **options):
        return [
            (line["start_sample"], line["end_sample"])
            for line in self.vad(*arguments, **options)
            if line["type"] == "segment"
        ]

    def test_lines(self):
        lines = self.vad(self.sound)
        self.assertEqual([line["type"] for line in lines], ["ready", "segment", "segment", "stats", "eof"])
        self.assertEqual((lines[0]["row_ms"], lines[0]["sample_rate"]), (32, 16000))
        self.assertEqual(
            lines[0]["settings"],
            {"threshold": 0.5, "negative_threshold": 0.35, "min_speech_ms": 250, "min_silence_ms": 100, "pad_ms": 30},
        )
        # The pause is complete after 4 rows and the row that shows it.
        self.assertEqual(
            lines[1],
            {"type": "segment", "start": 0.482, "end": 1.566, "t": 1.696, "start_sample": 7712, "end_sample": 25056},
        )
        self.assertEqual((lines[3]["segments"], lines[3]["speech"]), (2, 2.168))
        self.assertEqual(lines[4]["t"], 4.7)
        events = self.vad(self.sound, "--events")
        self.assertEqual(
            [line["type"] for line in events[1:-2]],
            ["began", "start", "segment", "began", "dropped", "began", "start", "segment"],
        )
        self.assertEqual(events[1]["t"], 0.544)  # with the first row of speech

    def test_probabilities(self):
        file = self.scratch / "p.npy"
        rows = [line for line in self.vad(self.sound, "--scores", "--probabilities", file) if line["type"] == "row"]
        expected = probabilities_of(self.samples)
        found = read_npy(file)
        self.assertEqual((len(found), len(rows)), (len(expected), len(expected)))
        self.assertLess(max(abs(a - b) for a, b in zip(found, expected)), 1e-4)
        self.assertEqual([row["probability"] for row in rows], [round(p, 6) for p in found])
        self.assertEqual(rows[-1]["t"], 4.7)

    def test_whatever_the_container_the_reads_and_the_rate(self):
        expected = self.segments(self.sound)
        raw = array.array("h", self.samples).tobytes()
        for found in (
            self.segments("--format", "s16le", stdin=raw),
            self.segments(stdin=self.sound.read_bytes()),
            self.segments(self.sound, "--chunk-ms", "1"),
            self.segments(self.sound, "--chunk-ms", "1000"),
        ):
            self.assertEqual(found, expected)
        for rate in (8000, 44100):
            other = self.scratch / f"{rate}.wav"
            other.write_bytes(wav(tones([(0.512, 1.536), (2.56, 2.688), (3.072, 4.096)], 4.7, rate), rate))
            found = self.segments(other, "--resample")
            self.assertEqual(len(found), 2)
            for ours, theirs in zip(found, expected):
                self.assertLessEqual(max(abs(a - b) for a, b in zip(ours, theirs)), ROW)
        self.assertEqual(self.segments(stdin=wav([0])), [])

    def test_settings(self):
        self.assertEqual(len(self.segments(self.sound, "--min-speech-ms", "100")), 3)
        self.assertEqual(len(self.segments(self.sound, "--min-silence-ms", "1600")), 1)
        self.assertEqual(self.segments(self.sound, "--pad-ms", "0")[0], (8192, 24576))
        self.assertEqual(
            len(self.segments(self.sound, "--max-speech-s", "0.6", "--pad-ms", "0", "--min-speech-ms", "0")), 5
        )
        self.assertEqual(self.segments(self.sound, "--gain", "-40"), [])
        self.assertEqual(self.vad(self.sound, "--gain", "auto")[0]["settings"]["gain_db"], "auto")
        self.assertEqual(self.segments(self.sound, "--probability", "speech"), self.segments(self.sound))

    def test_labels_and_table(self):
        labels = self.scratch / "labels.txt"
        done = self.run_cli("vad", self.energy, self.sound, "--table", "--labels", labels)
        self.assertEqual(labels.read_text(), "0.482000\t1.566000\tspeech\n3.042000\t4.126000\tspeech\n")
        self.assertEqual(
            done.stdout.splitlines(),
            [
                "     start        end     length",
                "     0.482      1.566      1.084 s",
                "     3.042      4.126      1.084 s",
                "2 segments, 2.168 s of speech in 4.700 s",
            ],
        )
        ours, theirs = pty.openpty()  # a terminal gets the table
        process = subprocess.Popen(
            self.command("vad", self.energy, self.sound), stdout=theirs, stdin=subprocess.DEVNULL
        )
        self.assertEqual(process.wait(), 0)
        os.close(theirs)
        shown = b""
        while b"2 segments" not in shown:  # what it wrote comes in parts, and then an error: the other end is closed
            shown += os.read(ours, 4096)
        os.close(ours)

    def test_a_live_pipe_gives_segments_while_it_runs(self):
        """And Control-C ends the audio: the last segment and the files are there."""
        labels = self.scratch / "live.txt"
        process = subprocess.Popen(
            self.command("vad", self.energy, "--format", "s16le", "--events", "--labels", labels),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stdout.close)
        self.assertEqual(json.loads(process.stdout.readline())["type"], "ready")
        process.stdin.write(array.array("h", self.samples[: ROW * 60]).tobytes())
        process.stdin.flush()
        self.assertEqual(
            [json.loads(process.stdout.readline())["type"] for _ in range(3)], ["began", "start", "segment"]
        )
        process.stdin.write(array.array("h", self.samples[3 * 16000 : 4 * 16000]).tobytes())
        process.stdin.flush()
        self.assertEqual([json.loads(process.stdout.readline())["type"] for _ in range(2)], ["began", "start"])
        process.send_signal(signal.SIGINT)
        rest = [json.loads(line)["type"] for line in process.stdout]
        self.assertEqual(rest, ["segment", "stats", "eof"])
        self.assertEqual(process.wait(), -signal.SIGINT)
        self.assertEqual(len(labels.read_text().splitlines()), 2)

    def test_bad_input(self):
        self.refused(BAD_INPUT, ["contains no samples"], "vad", self.energy, stdin=wav([]))
        self.refused(BAD_INPUT, ["none.wav"], "vad", self.energy, self.scratch / "none.wav")
        # An output that is no probability is not taken for one.
        description, weights = model("level")
        description["layers"] = [{"type": "conv1d", "name": "level", "out_channels": 1, "kernel": 160, "stride": 160}]
        description["outputs"] = [{"name": "y", "from": "level"}]
        del description["labels"], description["decision"]
        folder = self.write_package(
            "level", description, {"level.weight": ([1, 1, 160], [1.0] * 160), "level.bias": ([1], [3.0])}
        )
        level = self.scratch / "level.lw"
        done = self.run_cli("compile", folder, "-o", level, "--target", "host", "--stream", "--quiet", "--no-check")
        self.assertEqual(done.returncode, OK, done.stderr)
        self.refused(BAD_INPUT, ["gives 3 at 0.000 s", "between 0 and 1"], "vad", level, self.sound)


if __name__ == "__main__":
    main()
