#!/usr/bin/env python3
"""Bad files through the command line: bad_input_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

For each kind its exit code, one clear line, and no half-written or temporary file.

Standard library only.
"""

import json
import math
import struct

from cli_support import BAD_INPUT, Cli, main, model, noise, safetensors, wav


class BadInput(Cli):
    # ---- bad packages -------------------------------------------------------------------------------------------------------------------------

    def bad_package(self, name, words, change, lines=1):
        description, weights = model()
        result = change(description, weights)
        package = self.write_package(name, *(result or (description, weights)))
        self.refused(BAD_INPUT, words, "compile", package, "-o", self.scratch / "x.lw", "--target", "host", lines=lines)

    def test_missing_weight(self):
        self.bad_package("missing", ["head.weight"], lambda d, w: w.pop("head.weight") and None)

    def test_wrong_shape(self):
        self.bad_package("shape", ["head.weight", "7"], lambda d, w: w.update({"head.weight": ([3, 7], [0.0] * 21)}))

    def test_unknown_layer_type(self):
        self.bad_package("unknown", ["wavelet"], lambda d, w: d["layers"][1].update({"type": "wavelet"}), lines=None)

    def test_misspelt_option(self):
        self.bad_package(
            "misspelt", ["kernel_dimm"], lambda d, w: d["layers"][2].update({"kernel_dimm": 4}), lines=None
        )

    def test_weights_that_are_not_finite(self):
        def nan(d, w):
            w["head.bias"][1][1] = math.nan

        self.bad_package("nan", ["head.bias"], nan)

    def test_all_problems_at_once(self):
        def two(d, w):
            del w["head.weight"], w["stem.bias"]

        self.bad_package("two", ["head.weight", "stem.bias"], two, lines=2)

    def test_files_that_are_not_packages(self):
        self.bad_package("nojson", ["model.json"], lambda d, w: ('{"format": ', w))
        self.bad_package(
            "cut", ["head.weight", "cut short"], lambda d, w: (d, safetensors(w)[:-100]), lines=None
        )  # a line for each tensor
        self.bad_package("noweights", ["weights.safetensors"], lambda d, w: (d, b""))
        self.bad_package("emptyjson", ["model.json"], lambda d, w: ("", w))
        self.bad_package("listjson", ["model.json", "object"], lambda d, w: ("[]", w))
        self.bad_package(
            "foreign", ["weights.safetensors", "no safetensors file"], lambda d, w: (d, self.speech.read_bytes())
        )
        self.refused(BAD_INPUT, ["tiny.lw", "found a file"], "compile", self.artifact, "-o", self.scratch / "x.lw")
        self.refused(BAD_INPUT, ["nowhere"], "compile", self.scratch / "nowhere", "-o", self.scratch / "x.lw")

    def test_headers_made_to_take_long(self):
        header = lambda text: struct.pack("<Q", len(text)) + text
        tensor = b'"k%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
        # A hang ends at the limit that each command has; how time grows with bytes is asked by
        # tests/unit/formats/package/speed_test.cc.
        self.bad_package("deepjson", ["model.json", "nested deeper"], lambda d, w: ('{"a":' * 1000000, w))
        self.bad_package("manyjson", ["model.json", "values"], lambda d, w: ('{"format":[' + "0," * 3000000 + "0]}", w))
        self.bad_package("bigjson", ["model.json", "16777216 bytes"], lambda d, w: (" " * 20000000, w))
        self.bad_package(
            "deep", ["weights.safetensors", "nested deeper"], lambda d, w: (d, header(b'{"a":' + b"[" * 10000000))
        )
        self.bad_package(
            "many",
            ["weights.safetensors", "values"],
            lambda d, w: (d, header(b"{" + b",".join(tensor % i for i in range(200000)) + b"}")),
        )
        self.bad_package(
            "huge", ["weights.safetensors", "cut short"], lambda d, w: (d, struct.pack("<Q", 1 << 63) + b"{}")
        )

    # ---- bad audio ----------------------------------------------------------------------------------------------------------------------------

    def bad_audio(self, words, data, name="bad.wav"):
        path = self.scratch / name
        path.write_bytes(data)
        for verb in (
            ["listen", self.artifact, path],
            ["run", self.artifact, "--input", f"audio=@{path}"],
            ["eval", self.artifact, "--negatives", path],
        ):
            result = self.refused(BAD_INPUT, [name, *words], *verb)
            if verb[0] == "listen":  # who reads the pipe learns it too; a header may already have been accepted
                kinds = [json.loads(line)["type"] for line in result.stdout.splitlines()]
                self.assertIn(kinds, (["error"], ["ready", "error"]))
        path.unlink()

    def test_audio_at_another_rate(self):
        self.bad_audio(["8000 Hz", "16000 Hz", "--resample"], wav(noise(1), rate=8000))
        path = self.scratch / "8k.wav"
        path.write_bytes(wav(noise(1), rate=8000))
        self.assertEqual(self.listen(path, "--resample")[-1]["t"], 2)
        path.unlink()

    def test_unreadable_audio(self):
        self.bad_audio(["empty"], b"")
        self.bad_audio(["is text, not audio"], b"no audio in here")
        for cut in (12, 20, 40):
            self.bad_audio(["ends before its first sample"], wav(noise(1))[:cut])
        self.bad_audio(["at 0 Hz"], wav(noise(0.1), rate=0))
        self.bad_audio(["decoded"], b"fLaC\0\0\0\x22" + b"\x10\0" * 5, "cut.flac")
        self.bad_audio(["decoded"], b"OggS" + bytes(20), "cut.ogg")
        frame = b"\xff\xfb\x90\x64" + bytes([0x55]) * 413
        self.bad_audio(["is MP3", "convert"], b"ID3\3" + bytes(6) + frame * 3, "tagged.mp3")
        self.refused(BAD_INPUT, ["cli-", "folder"], "listen", self.artifact, self.scratch)
        self.refused(
            BAD_INPUT, ["standard input", "before its first sample"], "listen", self.artifact, stdin=wav(noise(1))[:30]
        )
        self.bad_audio(["no samples"], wav([]))
        self.bad_audio(["2 channels", "--channel"], wav(noise(1), channels=2))
        self.refused(BAD_INPUT, ["none.wav", "opened"], "listen", self.artifact, self.scratch / "none.wav")
        self.refused(BAD_INPUT, ["standard input"], "listen", self.artifact, stdin=b"")

    # ---- bad artifacts ------------------------------------------------------------------------------------------------------------------------

    def test_truncated_and_foreign_artifacts(self):
        data = self.artifact.read_bytes()
        flipped = bytearray(data)
        flipped[len(data) // 2] ^= 1
        bad = self.scratch / "bad.lw"
        for content in (
            b"",
            b"short",
            data[:100],
            data[:256],
            data[:-1],
            data + b"\0",
            bytes(flipped),
            b"\x7fELF" + data[4:],
            self.speech.read_bytes(),
        ):
            bad.write_bytes(content)
            for verb in (
                ["verify", bad],
                ["inspect", bad],
                ["listen", bad, self.speech],
                ["run", bad, "--input", "16000"],
                ["bench", bad],
            ):
                self.refused(BAD_INPUT, ["bad.lw"], *verb)
        bad.unlink()
        self.refused(BAD_INPUT, ["none.lw"], "verify", self.scratch / "none.lw")
        self.refused(BAD_INPUT, ["package"], "verify", self.package)

    def test_input_longer_than_the_capacity(self):
        self.refused(
            BAD_INPUT, ["48000", "16000", "--length"], "run", self.artifact, "--input", f"audio=@{self.speech}"
        )


if __name__ == "__main__":
    main()
