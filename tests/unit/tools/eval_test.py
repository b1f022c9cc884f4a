#!/usr/bin/env python3
"""`longwave eval` on clips made here: eval_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

Standard library only.
"""

import csv
import io
import json
import math
import os
import pty
import subprocess
import xml.etree.ElementTree as ElementTree

from cli_support import BAD_INPUT, OK, USAGE, Cli, main, noise, wav


class Eval(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.clips = cls.scratch / "clips"
        for number, (label, count) in enumerate((("yes", 4), ("no", 4), ("_silence_", 2))):
            (cls.clips / label).mkdir(parents=True)
            for i in range(count):
                name = f"{'xyz'[i % 3]}_nohash_{i}.wav"
                (cls.clips / label / name).write_bytes(wav(noise(1, 10 * number + i)))
        cls.noise = cls.scratch / "noise.wav"
        cls.noise.write_bytes(wav(noise(2, 99)))

    def eval(self, *flags):
        result = self.run_cli("eval", self.artifact, "--clips", self.clips, *flags)
        self.assertEqual(result.returncode, OK, result.stderr)
        return json.loads(result.stdout), result.stderr

    def heard(self, file, *flags):
        """The keyword events of `listen`, by the runtime's spotter."""
        result = self.run_cli("listen", self.artifact, file, *flags)
        self.assertEqual(result.returncode, OK, result.stderr)
        return [line for line in map(json.loads, result.stdout.splitlines()) if line["type"] == "keyword"]

    def test_kept_scores_have_the_events_of_the_spotter(self):
        for flags, threshold in (
            ([], None),
            (["--threshold", "0.4", "--release", "1"], 0.4),
            (["--threshold", "0.35", "--release", "1"], 0.35),
        ):
            found, summary = self.eval("--negatives", self.speech, *flags)
            events, heard = found["false_accept_events"], self.heard(self.speech, *flags)
            self.assertEqual([(e["word"], e["file"]) for e in events], [(e["word"], "speech.wav") for e in heard])
            for ours, theirs in zip(events, heard):
                self.assertAlmostEqual(ours["score"], theirs["score"], delta=1e-3)
                self.assertAlmostEqual(ours["t"], theirs["t"], delta=1e-2)
            self.assertIn("MLPerf Tiny", summary)
            if threshold:
                point = next(p for p in found["curve"] if p["threshold"] == threshold)
                self.assertEqual(
                    (point["missed"], point["false_accepts"]), (found["false_rejects"], found["false_accepts"])
                )
        self.assertGreater(found["false_accepts"], 0, "the case tests nothing")
        self.assertLess(found["false_rejects"], found["word_clips"], "the case tests nothing")

    def test_isolated_clips_have_the_events_of_the_spotter(self):
        flags, missed, wrong, others = ["--threshold", "0.35", "--release", "1"], 0, 0, 0
        for number, (label, count) in enumerate((("yes", 4), ("no", 4), ("_silence_", 2))):
            for i in range(count):
                file = self.scratch / "padded.wav"
                file.write_bytes(wav(noise(1, 10 * number + i) + [0] * 24000))
                words = [event["word"] for event in self.heard(file, *flags)]
                missed += label != "_silence_" and label not in words
                wrong += label != "_silence_" and sum(word != label for word in words)
                others += label == "_silence_" and len(words)
        found, _ = self.eval("--isolated", *flags)
        self.assertEqual(found["false_rejects"], missed)
        self.assertEqual((found["wrong_word_events"], found["events_on_other_clips"]), (wrong, others))
        self.assertNotIn("words", found)

    def test_curve_files(self):
        table, picture = self.scratch / "curve.csv", self.scratch / "curve.svg"
        found, _ = self.eval("--negatives", self.speech, "--curve", table, "--curve", picture)
        rows = list(csv.DictReader(io.StringIO(table.read_text())))
        self.assertEqual(
            [(float(r["threshold"]), int(r["missed"]), int(r["false_accepts"])) for r in rows],
            [(p["threshold"], p["missed"], p["false_accepts"]) for p in found["curve"]],
        )
        self.assertEqual(len(rows), 29)
        self.assertTrue(all(float(r["per_hour_bound"]) > float(r["per_hour"]) for r in rows))
        drawn = ElementTree.fromstring(picture.read_text())
        self.assertEqual(len(drawn.findall("{http://www.w3.org/2000/svg}circle")), 29 + 2)
        table.unlink(), picture.unlink()

    def bound(self, count, hours):
        """The exact upper limit, 95 %, of a Poisson count."""
        low, high = 0.0, 1000.0
        for _ in range(100):
            mean = (low + high) / 2
            less = sum(math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) for k in range(count + 1))
            low, high = (mean, high) if less > 0.05 else (low, mean)
        return low / hours

    def test_thresholds_for_a_rate(self):
        """The bound of what the runtime's spotter counts: at the chosen thresholds, and at the next lower ones."""
        negatives = ["--negatives", self.speech, "--release", "1"]
        counts = []
        for rate in (4000, 6000, 12000):
            found, summary = self.eval(*negatives, "--per-hour", str(rate))
            point, (yes, no) = found["operating_point"], found["decision"]["thresholds"].values()
            self.assertTrue(point["shown"])
            self.assertEqual((point["wanted_per_hour"], yes), (rate, no))
            hours = found["hours"]
            self.assertAlmostEqual(point["per_hour_bound"] / self.bound(found["false_accepts"], hours), 1, delta=1e-6)
            self.assertLessEqual(point["per_hour_bound"], rate)
            self.assertIn(f"at most {point['per_hour_bound']:.2f} false accepts", summary)
            again, _ = self.eval(*negatives, "--threshold", str(yes))
            counts.append(found["false_accepts"])
            self.assertEqual(again["false_accepts"], counts[-1])
            self.assertEqual(again["false_rejects"], found["false_rejects"])
            if yes > 0.3:
                below = round(yes - (0.005 if 0.9 < yes < 0.99 else 0.01), 3)
                lower, _ = self.eval(*negatives, "--threshold", str(below))
                self.assertGreater(self.bound(lower["false_accepts"], hours), rate)
        self.assertGreater(counts[-1], counts[0], "the case tests nothing")

    def test_words_keep_their_distance(self):
        found, _ = self.eval("--negatives", self.speech, "--per-hour", "6000", "--threshold", "yes=0.5,no=0.6")
        thresholds = found["decision"]["thresholds"]
        self.assertAlmostEqual(thresholds["no"] - thresholds["yes"], 0.1)

    def test_too_few_negatives(self):
        found, summary = self.eval("--negatives", self.speech, "--per-hour", "1")
        self.assertFalse(found["operating_point"]["shown"])
        self.assertIn("is not shown", summary)
        highest, _ = self.eval("--negatives", self.speech, "--threshold", "0.99")
        self.assertEqual(found["false_accepts"], highest["false_accepts"])

    def test_predictions_have_the_latency(self):
        found, _ = self.eval("--predictions", "--threshold", "0.35")
        words = [one for one in found["predictions"].values() if one["label"] != "_silence_"]
        self.assertEqual(len(words), found["word_clips"])
        self.assertEqual(sum(one["latency_ms"] is None for one in words), found["false_rejects"])
        self.assertFalse(any("latency_ms" in o for o in found["predictions"].values() if o["label"] == "_silence_"))
        isolated, _ = self.eval("--predictions", "--isolated")
        self.assertFalse(any("latency_ms" in one for one in isolated["predictions"].values()))

    def test_noise_speakers_and_latency(self):
        found, summary = self.eval("--noise", self.noise)
        words = found["words"]
        self.assertEqual([level["snr"] for level in words["noise"]], ["clean", "20 dB", "10 dB", "5 dB", "0 dB"])
        self.assertEqual(words["speakers"]["speakers"], 3)
        self.assertEqual(sum(level["words"] for level in words["noise"]), 5 * 8)
        if words["latency_ms"]:
            self.assertLessEqual(words["latency_ms"]["p50"], words["latency_ms"]["p95"])
        self.assertIn("0 dB", summary)
        self.assertNotIn("curve", found)

    def test_wrong_uses(self):
        self.refused(
            USAGE,
            ["--curve", ".csv or .svg"],
            "eval",
            self.artifact,
            "--clips",
            self.clips,
            "--negatives",
            self.speech,
            "--curve",
            self.scratch / "curve.png",
        )
        self.refused(
            USAGE,
            ["--curve", "--negatives"],
            "eval",
            self.artifact,
            "--clips",
            self.clips,
            "--curve",
            self.scratch / "c.csv",
        )
        for flags in (["--clips", self.clips], ["--negatives", self.speech, "--threshold", "yes=0.05,no=0.95"]):
            self.refused(
                USAGE,
                ["--per-hour" if "--clips" in flags else "too far apart"],
                "eval",
                self.artifact,
                *flags,
                "--per-hour",
                "1",
            )
        self.refused(
            BAD_INPUT,
            ["cannot be opened"],
            "eval",
            self.artifact,
            "--clips",
            self.clips,
            "--noise",
            self.scratch / "none.wav",
        )

    def test_debug_prints_a_line_for_each_block(self):
        result = self.run_cli("listen", self.artifact, self.speech, "--debug")
        self.assertEqual(result.returncode, OK, result.stderr)
        blocks = [line for line in map(json.loads, result.stdout.splitlines()) if line["type"] == "block"]
        self.assertEqual(len(blocks), 300)
        self.assertTrue(all(-60 < line["level_db"] < 0 and line["us"] > 0 for line in blocks))

    def test_a_terminal_shows_scores_as_bars(self):
        controller, terminal = pty.openpty()
        program = subprocess.Popen(
            self.command("listen", self.artifact, self.speech, "--scores", "--threshold", "0.35"),
            stdout=terminal,
            stderr=subprocess.PIPE,
            env=self.environment({}),
        )
        os.close(terminal)
        shown = b""
        while chunk := self.read(controller):
            shown += chunk
        os.close(controller)
        self.assertEqual(program.wait(60), OK, program.stderr.read())
        program.stderr.close()
        text = shown.decode()
        self.assertIn("\033[4A", text)  # three labels and the time, drawn in place
        self.assertIn("█", text)
        self.assertIn('"type":"eof"', text)
        self.assertNotIn('"type":"scores"', text)

    @staticmethod
    def read(controller):
        try:
            return os.read(controller, 65536)
        except OSError:  # the other end is closed
            return b""


if __name__ == "__main__":
    main()
