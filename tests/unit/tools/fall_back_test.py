#!/usr/bin/env python3
"""--fall-back with streams on a GPU: fall_back_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

The examples run as streams on the GPU with --fall-back, and give what the CPU gives. Standard library only.
"""

import json
import tempfile

from cli_support import OK, Cli, main

CACHES = tempfile.TemporaryDirectory(prefix="longwave-fall-back-test-")
WITH_FALL_BACK = ["--device", "vulkan", "--fall-back"]


class FallBack(Cli):
    @classmethod
    def environment(cls, changes):
        return super().environment({"XDG_CACHE_HOME": CACHES.name, **changes})

    def setUp(self):
        gpus = [json.loads(line) for line in self.done("devices", "--json").splitlines()[1:]]
        if not gpus:
            self.skipTest("no Vulkan device (Debian: libvulkan1, mesa-vulkan-drivers)")
        self.target = f"host,{gpus[0]['targets'][-1]}"

    def done(self, *arguments):
        result = self.run_cli(*arguments)
        self.assertEqual(result.returncode, OK, result.stderr)
        return result.stdout

    def compiled(self, package, name, *flags):
        artifact = self.scratch / name
        self.done("compile", package, "-o", artifact, "--target", self.target, "--no-check", *flags)
        return artifact

    def test_the_keyword_model_hears_the_same_words(self):
        model = self.compiled("examples/kws/model", "kws.lw", "--stream")

        def words(*flags):
            lines = [
                json.loads(line) for line in self.done("listen", model, "examples/kws/demo.wav", *flags).splitlines()
            ]
            return lines[0]["device"], [(line["word"], line["frame"]) for line in lines if line["type"] == "keyword"]

        (cpu, here), (gpu, there) = words(), words(*WITH_FALL_BACK)
        self.assertEqual(there, here)
        self.assertEqual([word for word, _ in here][:3], ["yes", "left", "stop"])
        self.assertNotEqual(gpu, cpu)

    def test_a_text_model_writes_the_same_text(self):
        model = self.compiled("examples/text/lightnet/model", "lightnet.lw", "--blocks", "1,64", "--no-whole")
        generate = ("generate", model, "-p", "Once upon a time there was a little", "-n", 24)
        text = self.done(*generate)
        self.assertEqual(len(text.encode()), 24)
        self.assertEqual(self.done(*generate, *WITH_FALL_BACK), text)

    def test_the_tiny_model_gives_the_same_rows(self):
        model, rows = self.compiled("examples/packages/tiny", "tiny-gpu.lw", "--stream"), self.scratch / "y.npy"
        name = json.loads((self.scratch.cwd() / "examples/packages/tiny/model.json").read_text())
        given, outputs = name["inputs"][0]["name"], [output["name"] for output in name["outputs"]]
        run = ("run", model, "--input", f"{given}=1600", "--stream")
        self.done(*run, "-o", f"{outputs[0]}={rows}")
        self.done(*run, *WITH_FALL_BACK, "--expected", f"{outputs[0]}=@{rows}", "--limit", "1e-5")


if __name__ == "__main__":
    main()
