#!/usr/bin/env python3
"""Devices through the command line: device_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

What is there, what runs on it, and what is refused. Standard library only.
"""

import json
import random
import tempfile

from cli_support import BAD_INPUT, CHECK_FAILED, DEVICE, OK, USAGE, Cli, main, safetensors

CACHES = tempfile.TemporaryDirectory(prefix="longwave-device-test-")


def wide_and_two_sided(channels=256):
    """A long convolution whose points over 100,000 rows are more than a buffer of a GPU may have."""
    normal = lambda n: [random.Random(n).gauss(0, 1) for _ in range(n)]
    weights = {
        **{f"long.kernel_list.{i}": ([2, channels, 4], normal(8 * channels)) for i in range(4)},
        "long.kernel_norm": ([2, channels, 1], [4.0] * (2 * channels)),
        "long.kernel_norm_initialized": ([], [1.0]),
        "long.multiplier": ([1, channels, 1], [0.7] * channels),
        "long.D": ([1, channels], normal(channels)),
    }
    description = {
        "format": "longwave-model",
        "version": 1,
        "name": "two_sided",
        "inputs": [{"name": "x", "kind": "features", "width": channels}],
        "layers": [
            {"type": "sgconv", "name": "long", "kernel_dim": 4, "l_max": 32, "bidirectional": True, "linear": True}
        ],
        "outputs": [{"name": "y", "from": "long"}],
    }
    return description, weights


class Devices(Cli):
    @classmethod
    def environment(cls, changes):
        """What is kept of GPUs stays apart from the user's."""
        return super().environment({"XDG_CACHE_HOME": CACHES.name, **changes})

    def done(self, *arguments, **options):
        result = self.run_cli(*arguments, **options)
        self.assertEqual(result.returncode, OK, result.stderr)
        return result.stdout

    def gpus(self):
        lines = self.done("devices", "--json").splitlines()
        self.assertEqual(json.loads(lines[0])["device"], "cpu")
        return [json.loads(line) for line in lines[1:]]

    def package_of_products(self, name="products"):
        rng = random.Random(3)
        normal = lambda n: [rng.gauss(0, 0.3) for _ in range(n)]
        folder = self.scratch / name
        folder.mkdir()
        (folder / "model.json").write_text(
            json.dumps(
                {
                    "format": "longwave-model",
                    "version": 1,
                    "name": name,
                    "inputs": [{"name": "x", "kind": "features", "width": 6}],
                    "layers": [
                        {"type": "linear", "name": "one", "out_features": 20},
                        {"type": "gelu", "name": "act"},
                        {"type": "linear", "name": "two", "out_features": 3},
                    ],
                    "outputs": [{"name": "y", "from": "two"}],
                }
            ),
            encoding="utf-8",
        )
        (folder / "weights.safetensors").write_bytes(
            safetensors(
                {
                    "one.weight": ([20, 6], normal(120)),
                    "one.bias": ([20], normal(20)),
                    "two.weight": ([3, 20], normal(60)),
                    "two.bias": ([3], normal(3)),
                }
            )
        )
        return folder

    def test_devices(self):
        self.assertTrue(self.done("devices").startswith("cpu "))
        for gpu in self.gpus():
            self.assertIn("name", gpu)

    def test_refusals(self):
        self.refused(USAGE, ["--device tpu", "cpu"], "run", self.artifact, "--input", "audio=1600", "--device", "tpu")
        self.refused(
            USAGE,
            ["vulkan-16k", "vulkan-32k"],
            "compile",
            self.package,
            "-o",
            self.scratch / "x.lw",
            "--target",
            "vulkan-16k,vulkan-32k",
        )
        package = self.write_package("two_sided", *wide_and_two_sided())
        self.refused(
            BAD_INPUT,
            ["vulkan-32k", "layer long", "MiB", "--target"],
            "compile",
            package,
            "-o",
            self.scratch / "x.lw",
            "--target",
            "host,vulkan-32k",
            "--length",
            "100000",
            lines=0,
        )
        self.assertFalse((self.scratch / "x.lw").exists())
        if not self.gpus():
            self.skipTest("no Vulkan device (Debian: libvulkan1, mesa-vulkan-drivers)")
        self.refused(
            DEVICE,
            ["no Vulkan device", "nobody"],
            "run",
            self.artifact,
            "--input",
            "audio=1600",
            "--device",
            "vulkan:nobody",
        )
        self.refused(
            DEVICE, ["--target vulkan-32k"], "run", self.artifact, "--input", "audio=1600", "--device", "vulkan"
        )

    def test_run_and_verify(self):
        if not self.gpus():
            self.skipTest("no Vulkan device (Debian: libvulkan1, mesa-vulkan-drivers)")
        artifact, numbers = self.scratch / "products.lw", self.scratch / "y.npy"
        target = self.gpus()[0]["targets"][-1]
        self.done("compile", self.package_of_products(), "-o", artifact, "--target", f"host,{target}", "--length", "70")
        self.assertIn("file      checks passed (V1-V21)", self.done("verify", artifact))
        self.assertIn("golden vectors within", self.done("verify", artifact, "--device", "vulkan"))
        self.assertRegex(
            self.done("verify", artifact, "--stream", "--device", "vulkan"),
            "golden vectors within .*\n +stream equals the offline run within .*, bit-equal for 20 random cuts",
        )
        verified = json.loads(self.done("verify", artifact, "--stream", "--device", "vulkan", "--json"))
        self.assertTrue(verified["ok"] and verified["stream"]["holds"] and verified["stream"]["bit_equal"])
        self.assertGreater(verified["stream"]["rows"], 60)
        described = json.loads(self.done("inspect", artifact, "--json"))
        self.assertEqual([entry["device"] for entry in described["entries"] if entry["kind"] == "run"], ["cpu", "gpu"])
        self.assertEqual(described["modules"][0]["target"], target)
        self.done("run", artifact, "--input", "x=50x6", "-o", f"y={numbers}")
        self.done(
            "run", artifact, "--input", "x=50x6", "--device", "vulkan", "--expected", f"y=@{numbers}", "--limit", "1e-5"
        )
        self.done(
            "run",
            artifact,
            "--input",
            "x=50x6",
            "--stream",
            "--device",
            "vulkan",
            "--expected",
            f"y=@{numbers}",
            "--limit",
            "1e-5",
        )
        for streams in json.loads(
            self.done("bench", artifact, "--streams", "1,3", "--device", "vulkan", "--repeats", "2", "--json")
        )["streams_at_once"]:
            self.assertGreater(streams["ticks_per_second"], 0)
        windowed = self.scratch / "windowed.lw"
        self.done(
            "compile",
            self.package_of_products("windowed"),
            "-o",
            windowed,
            "--target",
            f"host,{target}",
            "--window",
            "32",
            "--hop",
            "16",
        )
        self.done("run", windowed, "--input", "x=64x6", "--stream", "-o", f"y={numbers}")
        self.done(
            "run",
            windowed,
            "--input",
            "x=64x6",
            "--stream",
            "--device",
            "vulkan",
            "--expected",
            f"y=@{numbers}",
            "--limit",
            "1e-5",
        )
        self.assertTrue(
            json.loads(self.done("verify", windowed, "--stream", "--device", "vulkan", "--json"))["stream"]["holds"]
        )
        self.assertEqual(
            len(
                json.loads(
                    self.done("bench", windowed, "--streams", "1,2", "--device", "vulkan", "--repeats", "2", "--json")
                )["streams_at_once"]
            ),
            2,
        )
        benched = json.loads(self.done("bench", artifact, "--device", "vulkan", "--repeats", "2", "--json"))
        self.assertEqual(benched["device"], self.gpus()[0]["name"])
        self.assertGreater(benched["stream"]["memory_bytes"], 256 << 10)  # on the device, with room to exchange states
        here = json.loads(self.done("bench", artifact, "--repeats", "2", "--json"))
        self.assertGreater(benched["stream"]["memory_bytes"], here["stream"]["memory_bytes"])
        self.assertEqual([stream["block"] for stream in benched["streams"]], [1])
        self.assertIn("run", benched)
        self.kept_between_runs(artifact)
        self.placed_by_cost(artifact)

    def test_float16(self):
        package, artifact, numbers = (
            self.package_of_products("halves"),
            self.scratch / "halves.lw",
            self.scratch / "halves.npy",
        )
        for extra, words in (
            ([], ["--gpu-storage f16", "--target host,vulkan-32k"]),
            (["--target", "host,vulkan-16k", "--no-whole"], ["--no-whole"]),
            (["--target", "host,vulkan-16k", "--window", "32", "--hop", "16"], ["--window"]),
        ):
            self.refused(USAGE, words, "compile", package, "-o", artifact, "--gpu-storage", "f16", *extra)
        self.refused(USAGE, ["f8", "f32 or f16"], "compile", package, "-o", artifact, "--gpu-storage", "f8")
        compile_it = (
            "compile",
            package,
            "-o",
            artifact,
            "--target",
            "host,vulkan-16k",
            "--length",
            "70",
            "--gpu-storage",
            "f16",
        )
        self.assertRegex(
            self.done(*compile_it),
            "float16 in [0-9]+ of [0-9]+ buffers, .* moved, with float32 .*\n +float16 alone moves an output by [0-9.e-]+ of its peak",
        )
        report = json.loads(self.done(*compile_it, "--json").splitlines()[-1])
        self.assertGreater(report["precision"]["float16"]["rounding"], 1e-5)
        stored = [entry["storage"] for entry in report["entries"] if "storage" in entry]
        self.assertEqual([entry["float16"] for entry in stored], [1])  # between the two products
        if not self.gpus():
            self.skipTest("no Vulkan device (Debian: libvulkan1, mesa-vulkan-drivers)")
        self.assertTrue(json.loads(self.done("verify", artifact, "--stream", "--device", "vulkan", "--json"))["ok"])
        self.done("run", artifact, "--input", "x=50x6", "-o", f"y={numbers}")
        run = ("run", artifact, "--input", "x=50x6", "--device", "vulkan", "--expected", f"y=@{numbers}", "--limit")
        self.done(*run, "5e-3")
        self.assertEqual(self.run_cli(*run, "1e-6").returncode, CHECK_FAILED)

    def kept_between_runs(self, artifact):
        """Pipelines, the proof and what was measured lie in a folder of the user's; whatever becomes of it, results are the same."""
        cache = self.scratch / "cache"
        environment = {"XDG_CACHE_HOME": str(cache)}
        run = ("run", artifact, "--input", "x=50x6", "--device", "vulkan", "--json")
        first = self.done(*run, environment=environment)
        folder = cache / "longwave" / "vulkan"
        entries = sorted(folder.iterdir())
        self.assertEqual(len(entries), 2)  # pipelines and proof
        self.assertEqual(
            [oct(entry.stat().st_mode & 0o777) for entry in [folder, *entries]], ["0o700", "0o600", "0o600"]
        )
        self.assertEqual(self.done(*run, environment=environment), first)
        for entry in entries:
            entry.write_bytes(entry.read_bytes()[:-1])
        self.assertEqual(self.done(*run, environment=environment), first)
        folder.chmod(0o777)
        refused = self.run_cli(*run, environment=environment)
        self.assertEqual((refused.returncode, refused.stdout), (OK, first))
        self.assertIn("note: no cache for GPUs", refused.stderr)
        folder.chmod(0o700)

    def placed_by_cost(self, artifact):
        run, environment = (
            ("run", artifact, "--input", "x=50x6", "--device", "auto", "--json"),
            {"XDG_CACHE_HOME": str(self.scratch / "costs")},
        )
        for remembered in (False, True):
            result = self.run_cli(*run, environment=environment)
            self.assertEqual(result.returncode, OK, result.stderr)
            placement = json.loads(result.stdout)["placement"]
            self.assertEqual((placement["of"], placement["remembered"]), ("run of 70 ticks", remembered))
            self.assertGreater(min(placement["cpu_ms"], placement["gpu_ms"]), 0)
            self.assertEqual(placement["device"] == "cpu", placement["cpu_ms"] <= placement["gpu_ms"])
            self.assertIn("on the CPU and", result.stderr)
        streamed = self.run_cli("run", artifact, "--input", "x=50x6", "--stream", "--device", "auto")
        self.assertEqual(streamed.returncode, OK, streamed.stderr)
        self.assertRegex(streamed.stderr, "auto: .*: a block of 1 ticks takes .* on the CPU and ")
        self.assertIn("golden", self.done("verify", artifact, "--device", "auto"))

    def test_without_code_for_a_gpu_auto_is_the_processor_and_says_why(self):
        for verb in (
            ("run", self.artifact, "--input", "audio=1600"),
            ("bench", self.artifact, "--repeats", "1", "--ticks", "1600", "--streams", "1,3"),
            ("verify", self.artifact),
            ("listen", self.artifact, "-", "--format", "s16le"),
        ):
            result = self.run_cli(*verb, "--device", "auto", stdin=b"\0" * 3200)
            self.assertEqual(result.returncode, OK, result.stderr)
            self.assertTrue(result.stderr.startswith("auto: cpu: "), result.stderr)


if __name__ == "__main__":
    main()
