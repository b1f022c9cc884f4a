#!/usr/bin/env python3
"""The command line end to end: cli_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

One small keyword model is compiled once. Good paths, and the caller's mistakes.

Standard library only.
"""

import array
import json
import shutil

from cli_support import BAD_INPUT, CHECK_FAILED, OK, USAGE, Cli, main, model, noise, npy, orchid, wav


class GoodPaths(Cli):
    # ---- good paths ---------------------------------------------------------------------------------------------------------------------------

    def test_the_model_of_two_networks_hears_ten_words_of_the_demo(self):
        out = self.scratch / "pair.lw"
        self.addCleanup(out.unlink, missing_ok=True)
        compiled = self.run_cli("compile", "examples/kws/pair", "-o", out, "--target", "host", "--stream", "--no-whole")
        self.assertEqual(compiled.returncode, OK, compiled.stderr)
        heard = self.run_cli("listen", out, "examples/kws/demo.wav")
        words = [json.loads(line)["word"] for line in heard.stdout.splitlines() if '"keyword"' in line]
        self.assertEqual(
            words, ["yes", "left", "stop", "no", "up", "off", "down", "go", "on", "yes"]
        )  # "right" stays below

    def test_compile_checks_that_the_stream_equals_the_offline_run(self):
        proof = self.report["proof"]
        self.assertTrue(proof["holds"])
        self.assertEqual(len(proof["variants"]), 1)
        self.assertEqual(proof["variants"][0]["cuts"], 20)
        self.assertTrue(proof["variants"][0]["bit_equal"])
        self.assertEqual(proof["variants"][0]["cut_ticks"], 8 * 160 + 80)
        self.assertTrue(1e-5 <= proof["variants"][0]["limit"] < 1.5e-5)  # a shallow model
        self.assertLess(proof["variants"][0]["largest_error"], 1e-5)

    def test_compile_reports_every_layer(self):
        out = self.scratch / "human.lw"
        result = self.run_cli("compile", self.package, "-o", out, "--target", "host", "--stream")
        self.assertEqual(result.returncode, OK, result.stderr)
        for word in (
            "tiny",
            "audio 16 kHz → 3 classes",
            "long",
            "stem",
            "stream",
            "bit-equal for 20 random cuts",
            "targets",
            "wrote",
            "from the cache",
        ):
            self.assertIn(word, result.stdout)
        self.assertEqual(out.read_bytes(), self.artifact.read_bytes(), "the same inputs give the same bytes")
        out.unlink()

    def test_verify_and_inspect(self):
        result = self.run_cli("verify", self.artifact, "--json", "--stream")
        self.assertEqual(result.returncode, OK, result.stderr)
        verified = json.loads(result.stdout)
        self.assertTrue(
            verified["ok"] and verified["variants"][0]["golden"] and verified["variants"][0]["stream"]["holds"]
        )
        self.assertIn("file      checks passed (V1-V20)", self.run_cli("verify", self.artifact).stdout)
        inspected = json.loads(self.run_cli("inspect", self.artifact, "--json").stdout)
        self.assertEqual(inspected["labels"], ["yes", "no", "_silence_"])
        self.assertEqual(inspected["bytes"], self.artifact.stat().st_size)
        self.assertEqual(inspected["report"]["name"], "tiny")
        self.assertIn("block 160", self.run_cli("inspect", self.artifact).stdout)

    def test_golden_vectors_can_be_left_out_of_the_file(self):
        sizes, limits = {}, []
        for flags in ((), ("--no-golden",)):
            out = self.scratch / f"golden{len(flags)}.lw"
            result = self.run_cli("compile", self.package, "-o", out, "--target", "host", "--stream", "--json", *flags)
            self.assertEqual(result.returncode, OK, result.stderr)
            self.assertEqual(json.loads(result.stdout)["artifact_bytes"], out.stat().st_size)
            parts = json.loads(self.run_cli("inspect", out, "--json").stdout)["parts"]
            self.assertEqual(sum(part["bytes"] for part in parts), out.stat().st_size)
            sizes[flags] = {part["name"]: part["bytes"] for part in parts}
            variant = json.loads(self.run_cli("verify", "--stream", "--json", out).stdout)["variants"][0]
            limits.append(variant["stream"]["limit"])
        whole, without = sizes.values()
        self.assertNotIn("golden vectors", without)
        self.assertEqual(whole["weights"], without["weights"])
        self.assertGreater(whole["golden vectors"], 0)
        result = self.run_cli("verify", "--stream", out)
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertIn("no golden vectors in the file", result.stdout)
        self.assertEqual((variant["golden"], variant["worst_of_limit"]), (None, None))
        self.assertEqual(*limits)
        self.assertGreater(limits[0], 1e-5, "the limit of streams without a limit of golden vectors")
        result = self.run_cli("compile", self.package, "-o", out, "--target", "host,vulkan-16k", "--no-golden")
        self.assertEqual(result.returncode, USAGE, result.stderr)

    def test_a_signed_artifact_opens_with_its_key_alone(self):
        secret, out = self.scratch / "secret.key", self.scratch / "signed.lw"
        secret.write_text("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60\n")  # RFC 8032, test 1
        public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
        compiled = self.run_cli(
            "compile", self.package, "-o", out, "--target", "host", "--stream", "--no-check", "--sign", secret
        )
        self.assertEqual(compiled.returncode, OK, compiled.stderr)
        self.assertIn(public, compiled.stdout)
        self.assertTrue(json.loads(self.run_cli("inspect", out, "--json").stdout)["signed"])
        self.assertEqual(self.run_cli("verify", out, "--require-key", public).returncode, OK)
        self.assertEqual(self.run_cli("run", out, "--input", "audio=16000", "--require-key", public).returncode, OK)
        other = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
        for artifact, key in ((out, other), (self.artifact, public)):
            self.refused(BAD_INPUT, ["not signed by the key"], "listen", artifact, self.speech, "--require-key", key)
        self.refused(USAGE, ["64 hexadecimal digits"], "verify", out, "--require-key", "d75a98")
        secret.write_text("not a key\n")
        self.refused(
            BAD_INPUT,
            ["longwave keygen"],
            "compile",
            self.package,
            "-o",
            self.scratch / "none.lw",
            "--no-proof",
            "--sign",
            secret,
        )
        for file in (secret, out):
            file.unlink()

    def test_listen_hears_the_same_whatever_the_container_and_the_reads(self):
        lines = self.listen(self.speech)
        self.assertEqual(lines[0]["model"], "tiny")
        self.assertEqual((lines[0]["block_ms"], lines[0]["delay_ms"]), (10, 0))
        words = [line for line in lines if line["type"] == "keyword"]
        self.assertTrue(words)
        for word in words:
            self.assertLessEqual({"type", "word", "score", "t", "t_start"}, word.keys())
            self.assertIn(word["word"], ("yes", "no"))
            self.assertLessEqual(word["t_start"], word["t"])
        self.assertEqual(lines[-1]["t"], 3)
        raw = self.speech.read_bytes()[44:]
        floats = array.array("f", [s / 32768 for s in array.array("h", raw)]).tobytes()
        for other in (
            self.listen("--format", "s16le", stdin=raw),
            self.listen("-", "--format", "s16le", "--rate", "16000", stdin=raw),
            self.listen("--format", "f32le", stdin=floats),
            self.listen("-", stdin=wav(array.array("h", raw), size=0xFFFFFFFF)),
            self.listen(self.speech, "--chunk-ms", "1"),
            self.listen("--input", self.speech),
        ):
            self.assertEqual([line for line in other if line["type"] == "keyword"], words)

    def test_listen_takes_thresholds_from_the_command_line(self):
        lines = self.listen(self.speech, "--threshold", "yes=1,no=1")
        self.assertFalse([line for line in lines if line["type"] == "keyword"])
        self.assertEqual(lines[0]["decision"]["thresholds"], {"yes": 1, "no": 1})
        self.refused(USAGE, ["maybe", "yes, no"], "listen", self.artifact, self.speech, "--threshold", "maybe=0.5")

    def test_run_whole_and_streamed_agree_with_each_other_and_with_expected_values(self):
        whole = json.loads(self.run_cli("run", self.artifact, "--input", "audio=16000", "--json").stdout)
        self.assertEqual(whole["logits"]["shape"], [100, 3])
        expected = self.scratch / "expected.npy"
        expected.write_bytes(npy([100, 3], whole["logits"]["data"]))
        for mode in ([], ["--stream"]):
            result = self.run_cli(
                "run", self.artifact, "--input", "audio=16000", "--expected", f"logits=@{expected}", *mode
            )
            self.assertEqual(result.returncode, OK, result.stderr)
        out = self.scratch / "out.npy"
        self.run_cli("run", self.artifact, "-i", f"audio=@{self.cut_speech()}", "-o", f"logits={out}")
        self.assertTrue(out.read_bytes().startswith(b"\x93NUMPY"))
        out.unlink()
        wrong = whole["logits"]["data"]
        wrong[0] += 1
        expected.write_bytes(npy([100, 3], wrong))
        result = self.run_cli("run", self.artifact, "--input", "audio=16000", "--expected", f"logits=@{expected}")
        self.assertEqual(result.returncode, CHECK_FAILED, result.stderr)
        expected.unlink()

    def cut_speech(self):
        path = self.scratch / "second.wav"
        path.write_bytes(wav(noise(1)))
        return path

    def clips(self):
        """Three clips for each of the three labels, of 0.5, 0.9 and 1.3 seconds."""
        folder = self.scratch / "clips"
        for number, label in enumerate(("yes", "no", "_silence_")):
            (folder / label).mkdir(parents=True)
            for i in range(3):
                (folder / label / f"{i}.wav").write_bytes(
                    wav(noise(0.5 + 0.4 * i, seed=3 * number + i, loudness=300 * 4**i))
                )
        return folder

    def test_eval_waits_for_rows_that_are_late(self):
        """Over a window that holds all that the model remembers on both sides of its middle, eval finds what it finds without delay."""
        folder, late = self.clips(), self.scratch / "late.lw"
        compiled = self.run_cli(
            "compile", self.package, "-o", late, "--target", "host", "--window", "32000", "--hop", "1600", "--json"
        )
        self.assertEqual(compiled.returncode, OK, compiled.stderr)
        self.assertEqual(json.loads(compiled.stdout)["entries"][-1]["delay"], 15200)
        for flags in ([], ["--isolated"]):
            arguments = ["--clips", folder, "--negatives", self.speech, "--predictions", *flags]
            found, expected = (
                json.loads(self.run_cli("eval", artifact, *arguments).stdout) for artifact in (late, self.artifact)
            )
            for key in (
                "accuracy",
                "confusion",
                "clips",
                "word_clips",
                "false_rejects",
                "wrong_word_events",
                "events_on_other_clips",
                "false_accepts",
            ):
                self.assertEqual(found[key], expected[key], key)
            self.assertEqual(len(found["predictions"]), 9)
            for clip, prediction in expected["predictions"].items():
                for a, b in zip(found["predictions"][clip]["outputs"], prediction["outputs"], strict=True):
                    self.assertAlmostEqual(a, b, delta=1e-5 * max(map(abs, prediction["outputs"])))
        late.unlink()
        shutil.rmtree(folder)

    def test_eval_counts(self):
        folder = self.clips()
        result = self.run_cli("eval", self.artifact, "--clips", folder, "--negatives", folder / "yes", self.speech)
        self.assertEqual(result.returncode, OK, result.stderr)
        json_lines = result.stdout.splitlines()
        self.assertEqual(len(json_lines), 1)
        result = json.loads(json_lines[0])
        self.assertEqual(result["clips"], 9)
        self.assertEqual(sum(map(sum, result["confusion"])), 9)
        self.assertAlmostEqual(result["accuracy"], sum(result["confusion"][i][i] for i in range(3)) / 9)
        self.assertEqual(result["word_clips"], 6)
        self.assertAlmostEqual(result["hours"], (0.5 + 0.9 + 1.3 + 3) / 3600, places=6)
        self.assertAlmostEqual(result["false_accepts_per_hour"], result["false_accepts"] / result["hours"])
        isolated = json.loads(
            self.run_cli("eval", self.artifact, "--clips", folder, "--isolated", "--predictions").stdout
        )
        self.assertEqual(len(isolated["predictions"]), 9)
        (folder / "perhaps").mkdir()
        self.refused(BAD_INPUT, ["no label", "perhaps"], "eval", self.artifact, "--clips", folder)
        shutil.rmtree(folder)

    def test_bench_states_the_machine_beside_the_figures(self):
        result = json.loads(self.run_cli("bench", self.artifact, "--seconds", "1", "--repeats", "2", "--json").stdout)
        for key in ("machine", "version", "variant", "open_to_first_output", "stream", "run", "artifact_bytes"):
            self.assertIn(key, result)
        self.assertGreater(result["stream"]["real_time_factor"], 0)

    # ---- the caller's mistakes ----------------------------------------------------------------------------------------------------------------

    def test_usage(self):
        self.refused(USAGE, ["a command is required", "longwave --help"])
        self.refused(USAGE, ["the model folder is missing"], "compile")
        self.refused(USAGE, [], "sing")
        self.refused(USAGE, [], "compile", self.package, "--sing")
        self.refused(
            USAGE,
            ["x86-64-v9", "x86-64-v3"],
            "compile",
            self.package,
            "-o",
            self.scratch / "x.lw",
            "--target",
            "x86-64-v9",
        )
        self.refused(
            USAGE,
            ["fp4", "float32, bf16, int8 or int4"],
            "compile",
            self.package,
            "-o",
            self.scratch / "x.lw",
            "--weights",
            "fp4",
        )
        self.refused(
            USAGE,
            ["--weights int4 is for CPUs"],
            "compile",
            self.package,
            "-o",
            self.scratch / "x.lw",
            "--weights",
            "int4",
            "--target",
            "host,vulkan-32k",
        )
        self.refused(USAGE, ["nothing to evaluate"], "eval", self.artifact)
        self.refused(USAGE, ["sound", "unknown input", "audio"], "run", self.artifact, "--input", "sound=100")
        self.refused(
            USAGE, ["later", "lower"], "compile", self.package, "-o", self.scratch / "x.lw", "--dump-after", "later"
        )
        self.assertEqual(self.run_cli("--help").returncode, OK)
        self.assertEqual(self.run_cli("listen", "--help").returncode, OK)

    def test_compile_lists_the_layer_types(self):
        names = self.run_cli("compile", "--layers").stdout.split()
        self.assertEqual(names, sorted(set(names)))
        self.assertLessEqual({"conv1d", "linear", "sgconv", "softmax"}, set(names))
        self.assertEqual(json.loads(self.run_cli("compile", "--layers", "--json").stdout), names)
        package = self.write_package("misspelt", *model("misspelt"))
        text = (package / "model.json").read_text().replace('"sgconv"', '"sgconf"')
        (package / "model.json").write_text(text)
        self.refused(
            BAD_INPUT,
            ["sgconf", "longwave compile --layers", "sgconv"],
            "compile",
            package,
            "-o",
            self.scratch / "x.lw",
        )

    def test_the_former_name_of_no_check_is_accepted(self):
        out = self.scratch / "unchecked.lw"
        for flag in ("--no-check", "--no-proof"):
            result = self.run_cli("compile", self.package, "-o", out, "--target", "host", "--stream", flag)
            self.assertEqual(result.returncode, OK, result.stderr)
            self.assertNotIn("bit-equal", result.stdout)
            self.assertEqual(out.read_bytes(), self.artifact.read_bytes())
        self.assertNotIn("--no-proof", self.run_cli("compile", "--help").stdout)
        out.unlink()

    def compiled(self, package, name, *flags):
        out = self.scratch / f"{name}.lw"
        result = self.run_cli("compile", package, "-o", out, "--target", "host", "--json", *flags)
        self.assertEqual(result.returncode, OK, result.stderr)
        return out, json.loads(result.stdout)

    def first(self, artifact, given):
        result = self.run_cli("run", artifact, "--input", given, "--json")
        self.assertEqual(result.returncode, OK, result.stderr)
        return next(iter(json.loads(result.stdout).values()))["data"]

    def test_an_option_that_is_given_twice_is_named(self):
        self.refused(
            USAGE,
            ["--target: given 2 times; give it once"],
            "compile",
            "model",
            "--target",
            "host",
            "--target",
            "x86-64-v2",
        )

    def test_layers_of_one_length_run_at_each_length_that_was_asked_for(self):
        package = self.write_package("lengths", *orchid(20))
        both, report = self.compiled(package, "both", "--lengths", "12,20")
        runs = [entry for entry in report["entries"] if entry["kind"] == "run"]
        self.assertEqual(
            [(entry["name"], entry["capacity"], entry["fixed_by"]) for entry in runs],
            [("run 12", 12, "mix"), ("run 20", 20, "mix")],
        )
        for length in (12, 20):
            alone, _ = self.compiled(package, f"only{length}", "--length", length)
            self.assertEqual(self.first(both, f"x={length}x4"), self.first(alone, f"x={length}x4"))
        self.assertEqual(self.run_cli("verify", both).returncode, OK)
        self.refused(
            BAD_INPUT,
            ["16 rows", "mix reads the whole sequence and takes only 20 or 12: compile with --length 16"],
            "run",
            both,
            "--input",
            "x=16x4",
        )
        self.refused(BAD_INPUT, ["21 rows"], "run", both, "--input", "x=21x4")
        self.refused(
            USAGE,
            ["--length", "12 is given twice"],
            "compile",
            package,
            "-o",
            self.scratch / "x.lw",
            "--target",
            "host",
            "--lengths",
            "12,20,12",
        )
        self.refused(
            USAGE,
            ["--length", "--no-whole"],
            "compile",
            self.package,
            "-o",
            self.scratch / "x.lw",
            "--target",
            "host",
            "--lengths",
            "1600,16000",
            "--no-whole",
        )
        self.refused(
            USAGE,
            ["--length 64", "too short for layer", "input ticks for one row"],
            "compile",
            "examples/kws/model",
            "-o",
            self.scratch / "x.lw",
            "--length",
            "64",
        )

    def test_short_sequences_go_through_the_shortest_entry_that_takes_them(self):
        several, report = self.compiled(self.package, "several", "--lengths", "16000,1600", "--stream")
        self.assertEqual([entry["capacity"] for entry in report["entries"] if entry["kind"] == "run"], [16000, 1600])
        alone, _ = self.compiled(self.package, "alone", "--length", "1600")
        for rows in (1600, 800):
            self.assertEqual(self.first(several, f"audio={rows}"), self.first(alone, f"audio={rows}"))
        self.assertEqual(self.first(several, "audio=3200"), self.first(self.artifact, "audio=3200"))

    def test_a_model_that_looks_ahead_does_not_stream(self):
        package = self.write_package("ahead", *model("ahead", bidirectional=True))
        self.refused(
            USAGE,
            ["long", "ahead"],
            "compile",
            package,
            "-o",
            self.scratch / "x.lw",
            "--target",
            "host",
            "--stream",
            lines=None,
        )
        self.refused(
            USAGE,
            ["--window N", "--hop M"],
            "compile",
            package,
            "-o",
            self.scratch / "x.lw",
            "--target",
            "host",
            "--stream",
            lines=None,
        )

    def test_a_model_that_looks_ahead_slides_over_a_stream(self):
        package, out = self.write_package("slides", *model("slides", bidirectional=True)), self.scratch / "slides.lw"
        result = self.run_cli("compile", package, "-o", out, "--target", "host", "--window", "8000", "--hop", "1600")
        self.assertEqual(result.returncode, OK, result.stderr)
        for word in (
            "looks ahead",
            "window 8000, hop 1600 (100 ms), delay 3200",
            "equals runs over its windows within 0.0e+00",
            "bit-equal for 20 random cuts",
        ):
            self.assertIn(word, result.stdout)
        self.assertIn("window 8000, hop 1600 (100 ms), delay 3200", self.run_cli("inspect", out).stdout)
        verified = json.loads(self.run_cli("verify", out, "--json", "--stream").stdout)["variants"][0]["stream"]
        self.assertTrue(verified["holds"])
        self.assertEqual(
            (verified["window"], verified["block"], verified["delay"], verified["limit"]), (8000, 1600, 3200, 0)
        )
        ready = json.loads(self.run_cli("listen", out, self.speech).stdout.splitlines()[0])
        self.assertEqual((ready["block_ms"], ready["delay_ms"]), (100.0, 200.0))
        self.refused(
            USAGE, ["--window", "--hop"], "compile", package, "-o", out, "--target", "host", "--window", "8000"
        )
        self.refused(
            USAGE,
            ["--hop 1500", "logits"],
            "compile",
            package,
            "-o",
            out,
            "--target",
            "host",
            "--window",
            "6000",
            "--hop",
            "1500",
        )
        for flags in (["--blocks", "160"], ["--stream"], ["--no-stream"], ["--length", "16000"]):
            self.refused(
                USAGE,
                ["--window", "excludes", flags[0]],
                "compile",
                package,
                "-o",
                out,
                "--target",
                "host",
                "--window",
                "8000",
                "--hop",
                "1600",
                *flags,
            )


if __name__ == "__main__":
    main()
