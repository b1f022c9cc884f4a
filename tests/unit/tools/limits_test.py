#!/usr/bin/env python3
"""Limits of the command line: limits_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

Numbers out of range, inputs without end, and what else is refused before work begins. Standard library only.
"""

import json
import math
import random
import re
import resource
import signal
import subprocess
import sys
import time

from cli_support import BAD_INPUT, DEVICE, LONGWAVE, OK, USAGE, Cli, main, npy, safetensors
from text_package import language_model

NO_NUMBERS = ["nan", "inf", "-1e9", "1e400", "", "0x", str(1 << 64)]


def little_memory():
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))


def room(folder, taps, channels=1):
    """A model folder of one long response per channel."""
    rng = random.Random(3)
    layer = {
        "type": "conv1d",
        "name": "room",
        "out_channels": channels,
        "kernel": taps,
        "groups": channels,
        "bias": False,
    }
    folder.mkdir(exist_ok=True)
    (folder / "model.json").write_text(
        json.dumps(
            {
                "format": "longwave-model",
                "version": 1,
                "name": "room",
                "inputs": [{"name": "x", "kind": "features", "width": channels}],
                "layers": [layer],
                "outputs": [{"name": "y", "from": "room"}],
            }
        )
    )
    taps_of_all = [rng.gauss(0, 0.01) for _ in range(channels * taps)]
    (folder / "weights.safetensors").write_bytes(safetensors({"room.weight": ([channels, 1, taps], taps_of_all)}))
    return folder


class Limits(Cli):
    # ---- what a compile takes

    def peak_of(self, *arguments):
        """The report of a compile, and the most memory that it or a program of it took."""
        program = (
            "import json,resource,subprocess,sys\n"
            "done = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
            "print(json.dumps([done.returncode, done.stdout, done.stderr, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]))"
        )
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                program,
                LONGWAVE,
                "compile",
                *map(str, arguments),
                "--cache",
                self.scratch / "kernels",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        code, out, err, kilobytes = json.loads(done.stdout)
        return code, out, err, kilobytes << 10

    def test_a_second_of_response_in_many_blocks_compiles_below_a_gigabyte(self):
        folder = room(self.scratch / "second", 44100)
        code, out, err, peak = self.peak_of(
            folder,
            "-o",
            self.scratch / "second.lw",
            "--target",
            "host",
            "--json",
            "--walks",
            "2",
            "--blocks",
            "64,1,441,1024",
        )
        self.assertEqual(code, OK, err)
        report = json.loads(out)
        self.assertLess(peak, 1 << 30)
        self.assertLess(peak, report["compile_bytes"])
        self.assertLess(report["state_bytes"], 4 << 20)
        for layer in report["layers"]:
            for choice in layer["algorithms"]:
                if choice["entry"].startswith("stream"):
                    self.assertIn(choice["algorithm"], ("partitioned", "nonuniform"))

    def test_blocks_whose_state_would_be_long_are_refused_by_name(self):
        folder = room(self.scratch / "second", 44100)
        for check in ([], ["--no-check"]):
            code, _, err, peak = self.peak_of(
                folder, "-o", self.scratch / "none.lw", "--target", "host", "--blocks", "441,480,1,64,4096", *check
            )
            self.assertEqual(code, USAGE, err)
            self.assertIn("4096 does not go with 441,480,1,64", err)
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertLess(peak, 1 << 29)
            self.assertFalse((self.scratch / "none.lw").exists())

    def test_the_longest_sequences(self):
        """With the blocks of a transform and the older rows of a filter, a buffer is longer than its sequence."""
        folder = room(self.scratch / "second", 44100)
        artifact = self.scratch / "longest.lw"
        only = ["-o", artifact, "--target", "host", "--no-stream", "--no-check", "--quiet", "--memory", "100G"]
        self.assertEqual(self.run_cli("compile", folder, *only, "--length", 1 << 24).returncode, OK)
        artifact.unlink()
        for length, most in ((1 << 24, 16733056), (16733118, 16733056)):
            self.refused(
                USAGE,
                [f"a whole sequence of {length} ticks", "at most 16777216", f"pass at most --length {most}"],
                "compile",
                folder,
                *only,
                "--length",
                length,
                "--convolution",
                "direct",
            )
        self.assertEqual(
            self.run_cli("compile", folder, *only, "--length", most, "--convolution", "direct").returncode, OK
        )

    def test_a_compile_that_needs_more_than_its_memory_ends_before_it_begins(self):
        folder = room(self.scratch / "second", 44100)
        code, _, err, _ = self.peak_of(
            folder, "-o", self.scratch / "none.lw", "--target", "host", "--memory", "50M", "--blocks", "64"
        )
        self.assertEqual(code, BAD_INPUT, err)
        self.assertIn("of memory, more than the", err)
        self.assertIn("--memory", err)
        self.assertFalse((self.scratch / "none.lw").exists())

    def test_more_entries_than_a_file_has_are_refused_at_once(self):
        folder = room(self.scratch / "short", 8)
        self.refused(
            USAGE, ["--blocks", "at most 16"], "compile", folder, "--blocks", ",".join(str(n) for n in range(1, 18))
        )
        self.refused(
            USAGE, ["--length", "at most 47"], "compile", folder, "--length", ",".join(str(n) for n in range(8, 56))
        )

    def test_hops_that_never_meet_in_a_block_are_refused(self):
        folder = room(self.scratch / "hops", 8)
        layers = [
            {
                "type": "conv1d",
                "name": f"by{stride}",
                "input": "x",
                "out_channels": 1,
                "kernel": stride,
                "stride": stride,
                "bias": False,
            }
            for stride in (4093, 4091, 4079)
        ]
        model = json.loads((folder / "model.json").read_text())
        model.update(layers=layers, outputs=[{"name": layer["name"], "from": layer["name"]} for layer in layers])
        (folder / "model.json").write_text(json.dumps(model))
        (folder / "weights.safetensors").write_bytes(
            safetensors(
                {f"{layer['name']}.weight": ([1, 1, layer["kernel"]], [0.01] * layer["kernel"]) for layer in layers}
            )
        )
        code, _, err, peak = self.peak_of(
            folder, "-o", self.scratch / "none.lw", "--target", "host", "--blocks", "1", "--no-whole"
        )
        self.assertEqual(code, USAGE, err)
        self.assertIn("--blocks 1", err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertLess(peak, 1 << 29)

    # ---- numbers

    def test_every_numeric_flag_refuses_what_is_no_number_of_its_range(self):
        folder = self.scratch / "manual"
        self.assertEqual(self.run_cli("manual", "-o", folder).returncode, OK)
        table = json.loads((folder / "cli.json").read_text())
        required = {
            "model": self.artifact,
            "folder": self.package,
            "text": self.speech,
            "file": self.scratch / "key",
            "--input": "audio=1600",
            "--key": self.scratch / "key",
            "shape": self.artifact,
            "weights": self.package / "weights.safetensors",
            "--output": self.scratch / "out.lw",
            "output": self.scratch / "out.wav",
        }
        tried = 0
        for command in table["commands"]:
            needed = []
            for option in command["options"]:
                name = option.get("argument") or option["names"][-1]
                if option["required"] or name == "folder":
                    needed += [required[name]] if "argument" in option else [f"{name}={required[name]}"]
            for option in command["options"]:
                if option["takes"] != "number":
                    continue
                self.assertTrue(option.get("range"), f"{command['name']} {option['names']} has a range")
                for flag in option["names"]:
                    below = [] if option["range"].startswith("-") else ["-1"]
                    for value in NO_NUMBERS + below + (["1,nan", "nan,1"] if "separator" in option else []):
                        words = [flag, value] if len(flag) == 2 else [f"{flag}={value}"]
                        with self.subTest(command=command["name"], words=words):
                            result = self.run_cli(command["name"], *needed, *words)
                            self.assertEqual(result.returncode, USAGE, result.stderr)
                            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
                            self.assertTrue(any(name in result.stderr for name in option["names"]), result.stderr)
                            tried += 1
        self.assertGreater(tried, 30 * len(NO_NUMBERS))

    def test_numbers_inside_texts_are_checked_too(self):
        for value in NO_NUMBERS:
            self.refused(USAGE, ["--threshold"], "listen", self.artifact, self.speech, f"--threshold=yes={value}")
            self.refused(USAGE, ["--input"], "run", self.artifact, "-i", f"audio={value}")

    def test_numbers_are_decimal_and_sizes_have_units(self):
        run = ("run", self.artifact, "-i", "audio=1600", "--stream", "--json")
        ok = lambda *flags: self.assertEqual(self.run_cli(*run, *flags).returncode, OK, flags)
        ok("--memory", "500M"), ok("--memory", "2G"), ok("--memory=1GiB"), ok("--memory=500mb"), ok("--memory=99999999")
        self.refused(USAGE, ["--threads"], *run, "--threads", "0x1")
        for size in ("5X", "M", "1.5G", "5iB", f"{1 << 60}G"):
            self.refused(USAGE, ["--memory", "500M"], *run, f"--memory={size}")
        result = self.run_cli("bench", self.artifact, "--repeats", "010", "--ticks", "320", "--json")  # ten, not eight
        self.assertEqual(json.loads(result.stdout)["repeats"], 10, result.stderr)

    def test_compile_says_how_much_memory_a_long_run_needs(self):
        names = ("first", "second", "third")
        description = {
            "format": "longwave-model",
            "version": 1,
            "name": "long",
            "inputs": [{"name": "x", "kind": "features", "width": 8}],
            "layers": [{"type": "linear", "name": name, "out_features": 8} for name in names],
            "outputs": [{"name": "y", "from": "third"}],
        }
        weights = {
            f"{name}.{key}": (shape, [0.25] * math.prod(shape))
            for name in names
            for key, shape in (("weight", [8, 8]), ("bias", [8]))
        }
        package, artifact = self.write_package("long", description, weights), self.scratch / "long.lw"
        compiled = self.run_cli(
            "compile", package, "-o", artifact, "--target", "host", "--no-stream", "--length", "2000000", "--no-check"
        )
        self.assertEqual(compiled.returncode, OK, compiled.stderr)
        needed = re.search(r"^needs .* (--memory \S+M),", compiled.stdout, re.MULTILINE)
        self.assertIsNotNone(needed, compiled.stdout)
        self.refused(DEVICE, ["memory", "--memory"], "run", artifact, "-i", "x=5")
        self.assertEqual(self.run_cli("run", artifact, "-i", "x=5", *needed[1].split()).returncode, OK)
        usual = self.run_cli(
            "compile", package, "-o", artifact, "--target", "host", "--no-stream", "--length", "20", "--no-check"
        )
        self.assertNotIn("--memory", usual.stdout)

    # ---- inputs without end

    def test_a_state_without_end_is_read_as_far_as_a_state_can_be(self):
        package = self.write_package("text", *language_model("chela"))
        text = self.scratch / "text.lw"
        self.assertEqual(
            self.run_cli(
                "compile", package, "-o", text, "--target", "host", "--blocks", "1,64", "--no-check"
            ).returncode,
            OK,
        )
        self.refused(
            BAD_INPUT,
            ["/dev/zero", "--state-out", "at most"],
            "generate",
            text,
            "--state-in",
            "/dev/zero",
            "-n",
            "1",
            preexec_fn=little_memory,
        )
        state = self.scratch / "s.state"  # the largest that it writes is still read
        for flags in (["-p", "x" * 5000, "--stop", "z" * 3000, "--state-out", state], ["--state-in", state]):
            self.assertEqual(self.run_cli("generate", text, "-n", "5", *flags, text=False).returncode, OK)

    def test_an_input_beyond_the_capacity_is_refused_before_it_is_made(self):
        self.refused(
            BAD_INPUT,
            ["1000000000 rows", "at most", "--length", "--stream"],
            "run",
            self.artifact,
            "-i",
            "audio=1000000000",
            preexec_fn=little_memory,
        )

    # ---- files

    def test_an_array_in_fortran_order_is_transposed(self):
        rng = random.Random(4)
        description, weights = (
            {
                "format": "longwave-model",
                "version": 1,
                "name": "rows",
                "inputs": [{"name": "x", "kind": "features", "width": 3}],
                "layers": [{"type": "linear", "name": "one", "out_features": 2}],
                "outputs": [{"name": "y", "from": "one"}],
            },
            {"one.weight": ([2, 3], [rng.gauss(0, 1) for _ in range(6)]), "one.bias": ([2], [0.5, -0.5])},
        )
        artifact = self.scratch / "rows.lw"
        self.assertEqual(
            self.run_cli(
                "compile", self.write_package("rows", description, weights), "-o", artifact, "--target", "host"
            ).returncode,
            OK,
        )
        values = [rng.gauss(0, 1) for _ in range(15)]
        columns = [values[row * 3 + column] for column in range(3) for row in range(5)]
        file = self.scratch / "x.npy"
        rows = {}
        for order, data in (("False", values), ("True", columns)):
            named = f"'fortran_order': {order:>5}".encode()
            file.write_bytes(npy((5, 3), data).replace(b"'fortran_order': False", named))
            result = self.run_cli("run", artifact, "-i", f"x=@{file}", "--json")
            self.assertEqual(result.returncode, OK, result.stderr)
            rows[order] = json.loads(result.stdout)["y"]
        self.assertEqual(rows["True"], rows["False"])
        self.assertEqual(rows["True"]["shape"], [5, 2])

    def test_no_file_is_named_twice_in_an_error(self):
        damaged = self.scratch / "damaged.lw"
        damaged.write_bytes(self.artifact.read_bytes()[:-100] + bytes(100))
        for path in (self.scratch / "nowhere.lw", self.scratch, damaged, self.speech):
            for command in (
                ["run", path, "-i", "audio=1600"],
                ["verify", path],
                ["listen", path, self.speech],
                ["bench", path],
                ["inspect", path],
                ["score", path, self.speech],
                ["generate", path, "-p", "x"],
                ["eval", path, "--negatives", self.speech],
                ["compile", path],
            ):
                result = self.run_cli(*command)
                self.assertNotEqual(result.returncode, OK, command)
                self.assertLessEqual(result.stderr.count(str(path) + ":"), 1, result.stderr)

    # ---- the rest

    def test_a_mistyped_command_is_told_the_right_one(self):
        for typed, meant in (("compil", "compile"), ("inspekt", "inspect"), ("lisen", "listen"), ("rnu", "run")):
            result = self.refused(USAGE, [f"{typed}: unknown command"], typed, self.artifact)
            self.assertIn(f"did you mean {meant}?", result.stderr)
        self.assertNotIn("did you mean", self.refused(USAGE, ["unknown command", "--help"], "synchrophasotron").stderr)

    def test_control_c_has_one_exit_code_in_all_commands(self):
        text = self.scratch / "endless.lw"
        package = self.write_package("endless", *language_model("lightnet"))
        self.assertEqual(
            self.run_cli(
                "compile", package, "-o", text, "--target", "host", "--blocks", "1,64", "--no-check"
            ).returncode,
            OK,
        )
        commands = {
            "listen": ["listen", self.artifact, "--format", "s16le", "/dev/zero", "--realtime"],
            "generate": ["generate", text, "-p", "abc", "-n", "1000000000"],
            "bench": ["bench", self.artifact, "--ticks", "268435456"],
            "score": ["score", text, "/dev/zero"],
        }
        for name, command in commands.items():
            process = subprocess.Popen(
                self.command(*command),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=self.environment({}),
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
            if name in ("listen", "generate"):
                process.stdout.read(1)
            else:
                time.sleep(1)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            self.assertEqual((name, process.returncode), (name, -signal.SIGINT), errors.decode())
            self.assertEqual(errors, b"", name)

    def test_a_model_of_one_layer_has_bare_tensor_names_with_an_empty_prefix(self):
        description, weights = (
            {
                "format": "longwave-model",
                "version": 1,
                "name": "bare",
                "inputs": [{"name": "x", "kind": "features", "width": 2}],
                "layers": [{"type": "linear", "name": "one", "prefix": "", "out_features": 2}],
                "outputs": [{"name": "y", "from": "one"}],
            },
            {"weight": ([2, 2], [1.0, 0.0, 0.0, 2.0]), "bias": ([2], [0.5, 0.25])},
        )
        artifact, x = self.scratch / "bare.lw", self.scratch / "bare.npy"
        compiled = self.run_cli(
            "compile", self.write_package("bare", description, weights), "-o", artifact, "--target", "host"
        )
        self.assertEqual(compiled.returncode, OK, compiled.stderr)
        x.write_bytes(npy((1, 2), [3.0, 5.0]))
        self.assertEqual(
            json.loads(self.run_cli("run", artifact, "-i", f"@{x}", "--json").stdout)["y"]["data"], [3.5, 10.25]
        )

    def with_taps(self, name, taps, stride=1):
        rng = random.Random(taps)
        return self.write_package(
            name,
            {
                "format": "longwave-model",
                "version": 1,
                "name": name,
                "inputs": [{"name": "x", "kind": "features", "width": 2}],
                "layers": [{"type": "conv1d", "name": "one", "out_channels": 2, "kernel": taps, "stride": stride}],
                "outputs": [{"name": "y", "from": "one"}],
            },
            {
                "one.weight": ([2, 2, taps], [rng.gauss(0, 0.01) for _ in range(4 * taps)]),
                "one.bias": ([2], [0.0, 0.0]),
            },
        )

    def test_a_conv1d_may_have_more_than_4096_taps_and_beyond_its_limit_a_clear_error(self):
        artifact = self.scratch / "taps.lw"
        done = self.run_cli(
            "compile", self.with_taps("taps", 4100), "-o", artifact, "--target", "host", "--length", "200", "--stream"
        )
        self.assertEqual(done.returncode, OK, done.stderr)
        for limit, stride in ((65536, 2), (1048576, 1)):
            package = self.with_taps(f"too_many{stride}", limit + 1, stride)
            self.refused(
                BAD_INPUT,
                ["one", "kernel", f"at most {limit} taps", str(limit + 1)],
                "compile",
                package,
                "-o",
                self.scratch / "x.lw",
                "--target",
                "host",
            )

    def test_the_predicted_block_time_is_reported_for_each_target(self):
        targets = ["x86-64-v2", "x86-64-v3", "x86-64-v4"]
        done = self.run_cli(
            "compile",
            self.package,
            "-o",
            self.scratch / "all.lw",
            "--target",
            ",".join(targets),
            "--no-check",
            "--json",
        )
        self.assertEqual(done.returncode, OK, done.stderr)
        stream = next(entry for entry in json.loads(done.stdout)["entries"] if entry["kind"] == "stream")
        times = stream["predicted"]["targets"]
        self.assertEqual(list(times), targets)
        self.assertGreater(times["x86-64-v2"], times["x86-64-v3"])
        self.assertGreater(times["x86-64-v3"], times["x86-64-v4"])
        self.assertAlmostEqual(times["x86-64-v3"], stream["predicted"]["block_us"])


if __name__ == "__main__":
    main()
