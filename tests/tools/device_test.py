#!/usr/bin/env python3
"""Devices through the command line: device_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

What is there, what runs on it, and what is refused. Standard library only.
"""
import json
import random

from cli_support import BAD_INPUT, Cli, DEVICE, OK, USAGE, main, safetensors


class Devices(Cli):
    def done(self, *arguments):
        result = self.run_cli(*arguments)
        self.assertEqual(result.returncode, OK, result.stderr)
        return result.stdout

    def gpus(self):
        lines = self.done("devices", "--json").splitlines()
        self.assertEqual(json.loads(lines[0])["device"], "cpu")
        return [json.loads(line) for line in lines[1:]]

    def package_of_products(self, name="products", last=None):
        rng = random.Random(3)
        normal = lambda n: [rng.gauss(0, 0.3) for _ in range(n)]
        folder = self.scratch / name
        folder.mkdir()
        (folder / "model.json").write_text(json.dumps({
            "format": "longwave-model", "version": 1, "name": "products", "inputs": [{"name": "x", "kind": "features", "width": 6}],
            "layers": [{"type": "linear", "name": "one", "out_features": 20}, {"type": "gelu", "name": "act"}, {"type": "linear", "name": "two", "out_features": 3}]
                      + ([{"type": last, "name": "last"}] if last else []),
            "outputs": [{"name": "y", "from": "last" if last else "two"}]}), encoding="utf-8")
        (folder / "weights.safetensors").write_bytes(safetensors({
            "one.weight": ([20, 6], normal(120)), "one.bias": ([20], normal(20)), "two.weight": ([3, 20], normal(60)), "two.bias": ([3], normal(3))}))
        return folder

    def test_devices(self):
        self.assertTrue(self.done("devices").startswith("cpu "))
        for gpu in self.gpus():
            self.assertIn("name", gpu)

    def test_refusals(self):
        self.refused(USAGE, ["--device tpu", "cpu"], "run", self.artifact, "--input", "audio=1600", "--device", "tpu")
        self.refused(USAGE, ["--stream", "processor"], "run", self.artifact, "--input", "audio=1600", "--stream", "--device", "vulkan")
        self.refused(USAGE, ["vulkan-16k", "vulkan-32k"], "compile", self.package, "-o", self.scratch / "x.lw", "--target", "vulkan-16k,vulkan-32k")
        package = self.package_of_products("scores", "log_softmax")
        self.refused(BAD_INPUT, ["vulkan-32k", "layer last", "--target"], "compile", package, "-o", self.scratch / "x.lw", "--target", "host,vulkan-32k", lines=0)
        self.assertFalse((self.scratch / "x.lw").exists())
        if not self.gpus():
            self.skipTest("no Vulkan device (Debian: libvulkan1, mesa-vulkan-drivers)")
        self.refused(DEVICE, ["no Vulkan device", "nobody"], "run", self.artifact, "--input", "audio=1600", "--device", "vulkan:nobody")
        self.refused(DEVICE, ["--target vulkan-32k"], "run", self.artifact, "--input", "audio=1600", "--device", "vulkan")

    def test_run_and_verify(self):
        if not self.gpus():
            self.skipTest("no Vulkan device (Debian: libvulkan1, mesa-vulkan-drivers)")
        artifact, numbers = self.scratch / "products.lw", self.scratch / "y.npy"
        target = self.gpus()[0]["targets"][-1]
        self.done("compile", self.package_of_products(), "-o", artifact, "--target", f"host,{target}", "--length", "70")
        self.assertIn("V1-V21 hold", self.done("verify", artifact))
        self.assertIn("golden vectors within", self.done("verify", artifact, "--device", "vulkan"))
        described = json.loads(self.done("inspect", artifact, "--json"))
        self.assertEqual([entry["device"] for entry in described["entries"] if entry["kind"] == "run"], ["cpu", "gpu"])
        self.assertEqual(described["modules"][0]["target"], target)
        self.done("run", artifact, "--input", "x=50x6", "-o", f"y={numbers}")
        self.done("run", artifact, "--input", "x=50x6", "--device", "vulkan", "--expected", f"y=@{numbers}", "--limit", "1e-5")


if __name__ == "__main__":
    main()
