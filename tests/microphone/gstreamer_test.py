#!/usr/bin/env python3
"""examples/gstreamer hears in a pipeline what `longwave listen` hears in the file: gstreamer_test.py LONGWAVE SCRATCH_FOLDER"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from devices import DEMO, LONGWAVE, ROOT, SCRATCH, compile_keywords

PACKAGES = (
    "install libgstreamer1.0-dev, libgstreamer-plugins-base1.0-dev, gstreamer1.0-tools and gstreamer1.0-plugins-good"
)


def missing():
    """Why the test cannot run; empty: it can."""
    if (
        not shutil.which("gst-launch-1.0")
        or subprocess.run(["pkg-config", "--exists", "gstreamer-base-1.0", "gstreamer-audio-1.0"]).returncode
    ):
        return f"GStreamer is missing; {PACKAGES}"
    for element in ("wavparse", "audioconvert", "audioresample"):
        if subprocess.run(["gst-inspect-1.0", element], capture_output=True).returncode:
            return f"the GStreamer element {element} is missing; {PACKAGES}"
    return ""


class Spotter(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="gstreamer-", dir=SCRATCH))
        cls.model = compile_keywords(cls.folder)
        subprocess.run(
            [
                "make",
                "-s",
                "-C",
                ROOT / "examples/gstreamer",
                f"INCLUDE={ROOT}/runtime/include",
                f"LIB={pathlib.Path(LONGWAVE).parent}",
                f"OUT={cls.folder}",
                "CFLAGS=-Werror",
            ],
            check=True,
        )
        cls.environment = {
            **os.environ,
            "GST_PLUGIN_PATH": str(cls.folder),
            "GST_REGISTRY": str(cls.folder / "registry"),
        }
        output = subprocess.run(
            [LONGWAVE, "listen", cls.model, DEMO], capture_output=True, text=True, check=True
        ).stdout
        events = [line for line in map(json.loads, output.splitlines()) if line["type"] == "keyword"]
        cls.expected = [(line["word"], line["score"], line["t"], line["t_start"]) for line in events]
        assert len(cls.expected) >= 5

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def launch(self, *pipeline):
        return subprocess.run(
            ["gst-launch-1.0", "-m", *map(str, pipeline)],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
        )

    def says(self, words, *pipeline):
        """Whether a line with these words is printed. gst-launch-1.0 of GStreamer 1.22 sometimes waits for ever after an error
        while it starts, so the program is ended."""
        command = ["gst-launch-1.0", "-m", *map(str, pipeline)]
        with subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            try:
                return any(words in line for line in process.stdout)
            finally:
                process.kill()

    def test_the_words_of_a_file(self):
        for size in (4096, 777):  # bytes per buffer: the events do not depend on it
            result = self.launch(
                "filesrc",
                f"location={DEMO}",
                f"blocksize={size}",
                "!",
                "wavparse",
                "!",
                "audioconvert",
                "!",
                "longwavespotter",
                f"model={self.model}",
                "!",
                "fakesink",
            )
            self.assertEqual(result.returncode, 0, result.stderr)
            field = r"=\((?:string|double)\)([^,;]+)"
            found = re.findall(
                rf"longwave-keyword, word{field}, score{field}, t{field}, t-start{field};", result.stdout
            )
            self.assertEqual([(word, *(round(float(v), 3) for v in values)) for word, *values in found], self.expected)

    def test_the_element_asks_for_the_rate_of_the_model(self):
        result = self.launch(
            "audiotestsrc",
            "num-buffers=10",
            "!",
            "audio/x-raw,rate=44100",
            "!",
            "audioconvert",
            "!",
            "audioresample",
            "!",
            "longwavespotter",
            f"model={self.model}",
            "!",
            "fakesink",
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(
            self.says(
                "not-negotiated",
                "audiotestsrc",
                "num-buffers=10",
                "!",
                "audio/x-raw,rate=44100",
                "!",
                "audioconvert",
                "!",
                "longwavespotter",
                f"model={self.model}",
                "!",
                "fakesink",
            )
        )

    def test_a_missing_model_ends_the_pipeline_with_its_name(self):
        for argument, words in (["model=none.lw"], "none.lw"), ([], "model=FILE.lw"):
            result = self.launch("audiotestsrc", "num-buffers=1", "!", "longwavespotter", *argument, "!", "fakesink")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(words, result.stderr + result.stdout)


if __name__ == "__main__":
    if reason := missing():
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
