#!/usr/bin/env python3
"""The command line end to end: cli_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

One small keyword model is compiled once. Then: the good paths, and for each kind of bad input its exit code, one clear line, and no half-written file.
"""
import array
import json
import math
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

OK, CHECK_FAILED, USAGE, BAD_INPUT, DEVICE = 0, 1, 2, 3, 4
RATE = 16000


def safetensors(weights):
    """{key: (shape, values)} as the bytes of a safetensors file."""
    header, data = {}, b""
    for key, (shape, values) in weights.items():
        raw = array.array("f", values).tobytes()
        header[key] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


def model(name="tiny", bidirectional=False):
    """10 ms frames of raw samples -> 8 features -> a long convolution -> three classes."""
    rng = random.Random(1)
    normal = lambda n, scale: [rng.gauss(0, scale) for _ in range(n)]
    sides = 2 if bidirectional else 1
    layers = [
        {"type": "conv1d", "name": "stem", "out_channels": 8, "kernel": 160, "stride": 160},
        {"type": "relu", "name": "relu"},
        {"type": "sgconv", "name": "long", "kernel_dim": 4, "l_max": 32, "bidirectional": bidirectional},
        {"type": "linear", "name": "head", "out_features": 3},
        {"type": "mean_window", "name": "window", "frames": 10},
        {"type": "softmax", "name": "softmax"},
    ]
    weights = {
        "stem.weight": ([8, 1, 160], normal(8 * 160, 0.5)), "stem.bias": ([8], normal(8, 0.1)),
        **{f"long.kernel_list.{i}": ([sides, 8, 4], normal(sides * 32, 1)) for i in range(4)},
        "long.kernel_norm": ([sides, 8, 1], [4.0] * (8 * sides)), "long.kernel_norm_initialized": ([], [1.0]),
        "long.multiplier": ([1, 8, 1], [0.7] * 8), "long.D": ([1, 8], normal(8, 1)),
        "long.output_linear.weight": ([8, 8], normal(64, 0.4)), "long.output_linear.bias": ([8], normal(8, 0.1)),
        "head.weight": ([3, 8], normal(24, 0.5)), "head.bias": ([3], normal(3, 0.1)),
    }
    description = {
        "format": "longwave-model", "version": 1, "name": name,
        "inputs": [{"name": "audio", "kind": "audio", "sample_rate": RATE}],
        "layers": layers,
        "outputs": [{"name": "logits", "from": "window"}, {"name": "probabilities", "from": "softmax"}],
        "labels": ["yes", "no", "_silence_"],
        "decision": {"output": "probabilities", "ignore": ["_silence_"], "threshold": {"default": 0.34}, "smoothing_ms": 50, "min_count": 2,
                     "release": 0.5, "refractory_ms": 200},
    }
    return description, weights


def wav(samples, rate=RATE, channels=1, size=None):
    data = array.array("h", samples).tobytes()
    size = len(data) if size is None else size
    return (b"RIFF" + struct.pack("<I", 36 + min(size, 1 << 30)) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * channels * 2, channels * 2, 16) +
            b"data" + struct.pack("<I", size) + data)


def noise(seconds, seed=0, loudness=6000):
    rng = random.Random(seed)
    loud = lambda i: loudness * (0.2 + abs(math.sin(i / 4000)))
    return [max(-32768, min(32767, int(rng.gauss(0, loud(i))))) for i in range(int(seconds * RATE))]


def npy(shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + array.array("f", values).tobytes()


class Cli(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        SCRATCH.mkdir(parents=True, exist_ok=True)
        cls.scratch = pathlib.Path(tempfile.mkdtemp(prefix="cli-", dir=SCRATCH))
        os.chmod(cls.scratch, 0o755)
        cls.temporary = cls.scratch / "temporary"  # where the program's temporary folders go: refused() sees what it leaves behind
        cls.temporary.mkdir()
        os.chmod(cls.temporary, 0o777)
        cls.package = cls.write_package("package", *model())
        cls.artifact = cls.scratch / "tiny.lw"
        result = cls.run_cli("compile", cls.package, "-o", cls.artifact, "--target", "host", "--stream", "--json")
        assert result.returncode == OK, result.stderr
        cls.report = json.loads(result.stdout)
        cls.speech = cls.scratch / "speech.wav"
        cls.speech.write_bytes(wav(noise(3)))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.scratch)

    @classmethod
    def write_package(cls, name, description, weights):
        folder = cls.scratch / name
        folder.mkdir()
        (folder / "model.json").write_text(description if isinstance(description, str) else json.dumps(description))
        (folder / "weights.safetensors").write_bytes(weights if isinstance(weights, bytes) else safetensors(weights))
        return folder

    @classmethod
    def run_cli(cls, *arguments, stdin=b"", text=True, **options):
        # The kernels of the tests are kept between runs, apart from the user's.
        arguments = [str(a) for a in arguments]
        if arguments and arguments[0] == "compile":
            arguments += ["--cache", str(SCRATCH / "kernels")]
        environment = {**os.environ, "TMPDIR": str(cls.temporary)}
        result = subprocess.run([LONGWAVE, *arguments], input=stdin, stdout=options.pop("stdout", subprocess.PIPE), stderr=subprocess.PIPE, timeout=300,
                                env=environment, **options)
        result.stderr = result.stderr.decode()
        if text and result.stdout is not None:
            result.stdout = result.stdout.decode()
        return result

    def refused(self, code, words, *arguments, lines=1, **options):
        """The command fails with this code and says all of `words` in so many lines; the scratch folder holds no new file."""
        before = sorted(p for p in self.scratch.rglob("*"))
        result = self.run_cli(*arguments, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        errors = result.stderr.strip().splitlines()
        self.assertTrue(errors and errors[0].startswith("error: "), result.stderr)
        if lines:
            self.assertEqual(len(errors), lines, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertEqual(sorted(p for p in self.scratch.rglob("*")), before, "a file was left behind")
        return result

    # ---- good paths ---------------------------------------------------------------------------------------------------------------------------

    def test_compile_proves_stream_equals_whole(self):
        proof = self.report["proof"]
        self.assertTrue(proof["holds"])
        self.assertEqual(len(proof["variants"]), 1)
        self.assertEqual(proof["variants"][0]["cuts"], 20)
        self.assertTrue(proof["variants"][0]["bit_equal"])
        self.assertEqual(proof["variants"][0]["cut_ticks"], 8 * 160 + 80)
        self.assertEqual(proof["variants"][0]["limit"], 1e-5)
        self.assertLess(proof["variants"][0]["largest_error"], 1e-5)

    def test_compile_tells_people_what_became_of_every_layer(self):
        out = self.scratch / "human.lw"
        result = self.run_cli("compile", self.package, "-o", out, "--target", "host", "--stream")
        self.assertEqual(result.returncode, OK, result.stderr)
        for word in ("tiny", "audio 16 kHz → 3 classes", "long", "stem", "stream", "bit-equal for 20 random cuts", "targets", "wrote", "from the cache"):
            self.assertIn(word, result.stdout)
        self.assertEqual(out.read_bytes(), self.artifact.read_bytes(), "the same inputs give the same bytes")
        out.unlink()

    def test_verify_and_inspect(self):
        result = self.run_cli("verify", self.artifact, "--json", "--stream")
        self.assertEqual(result.returncode, OK, result.stderr)
        verified = json.loads(result.stdout)
        self.assertTrue(verified["ok"] and verified["variants"][0]["golden"] and verified["variants"][0]["stream"]["holds"])
        self.assertIn("V1-V20 hold", self.run_cli("verify", self.artifact).stdout)
        inspected = json.loads(self.run_cli("inspect", self.artifact, "--json").stdout)
        self.assertEqual(inspected["labels"], ["yes", "no", "_silence_"])
        self.assertEqual(inspected["bytes"], self.artifact.stat().st_size)
        self.assertEqual(inspected["report"]["name"], "tiny")
        self.assertIn("block 160", self.run_cli("inspect", self.artifact).stdout)

    def listen(self, *arguments, **options):
        result = self.run_cli("listen", self.artifact, *arguments, **options)
        self.assertEqual(result.returncode, OK, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([lines[0]["type"], lines[-2]["type"], lines[-1]["type"]], ["ready", "stats", "eof"])
        return lines

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
        for other in (self.listen(stdin=raw), self.listen("-", "--format", "s16le", "--rate", "16000", stdin=raw), self.listen("--format", "f32le", stdin=floats),
                      self.listen("-", stdin=wav(array.array("h", raw), size=0xFFFFFFFF)), self.listen(self.speech, "--chunk-ms", "1"),
                      self.listen("--input", self.speech)):
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
            result = self.run_cli("run", self.artifact, "--input", "audio=16000", "--expected", f"logits=@{expected}", *mode)
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

    def test_eval_counts(self):
        folder = self.scratch / "clips"
        for label in ("yes", "no", "_silence_"):
            (folder / label).mkdir(parents=True)
            for i in range(3):
                (folder / label / f"{i}.wav").write_bytes(wav(noise(0.5 + 0.4 * i, seed=i)))
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
        isolated = json.loads(self.run_cli("eval", self.artifact, "--clips", folder, "--isolated", "--predictions").stdout)
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
        self.refused(USAGE, [], )
        self.refused(USAGE, [], "sing")
        self.refused(USAGE, [], "compile", self.package, "--sing")
        self.refused(USAGE, ["x86-64-v9", "x86-64-v3"], "compile", self.package, "-o", self.scratch / "x.lw", "--target", "x86-64-v9")
        self.refused(USAGE, ["nothing to evaluate"], "eval", self.artifact)
        self.refused(USAGE, ["sound", "audio"], "run", self.artifact, "--input", "sound=100")
        self.refused(USAGE, ["later", "lower"], "compile", self.package, "-o", self.scratch / "x.lw", "--dump-after", "later")
        self.assertEqual(self.run_cli("--help").returncode, OK)
        self.assertEqual(self.run_cli("listen", "--help").returncode, OK)

    def test_a_model_that_looks_ahead_does_not_stream(self):
        package = self.write_package("ahead", *model("ahead", bidirectional=True))
        self.refused(USAGE, ["long", "ahead"], "compile", package, "-o", self.scratch / "x.lw", "--target", "host", "--stream", lines=None)

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
        self.bad_package("misspelt", ["kernel_dimm"], lambda d, w: d["layers"][2].update({"kernel_dimm": 4}), lines=None)

    def test_weights_that_are_not_finite(self):
        def nan(d, w):
            w["head.bias"][1][1] = math.nan
        self.bad_package("nan", ["head.bias"], nan)

    def test_all_problems_at_once(self):
        def two(d, w):
            del w["head.weight"], w["stem.bias"]
        self.bad_package("two", ["head.weight", "stem.bias"], two, lines=2)

    def test_files_that_are_not_packages(self):
        self.bad_package("nojson", ["model.json"], lambda d, w: ("{\"format\": ", w))
        self.bad_package("cut", ["head.weight", "cut short"], lambda d, w: (d, safetensors(w)[:-100]), lines=None)  # a line for each tensor
        self.bad_package("noweights", ["weights.safetensors"], lambda d, w: (d, b""))
        self.bad_package("emptyjson", ["model.json"], lambda d, w: ("", w))
        self.bad_package("listjson", ["model.json", "object"], lambda d, w: ("[]", w))
        self.bad_package("foreign", ["weights.safetensors", "no safetensors file"], lambda d, w: (d, self.speech.read_bytes()))
        self.refused(BAD_INPUT, ["tiny.lw", "found a file"], "compile", self.artifact, "-o", self.scratch / "x.lw")
        self.refused(BAD_INPUT, ["nowhere"], "compile", self.scratch / "nowhere", "-o", self.scratch / "x.lw")

    def test_headers_made_to_take_long(self):
        header = lambda text: struct.pack("<Q", len(text)) + text
        tensor = b'"k%d":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}'
        start = time.monotonic()
        self.bad_package("deepjson", ["model.json", "nested deeper"], lambda d, w: ('{"a":' * 1000000, w))
        self.bad_package("manyjson", ["model.json", "values"], lambda d, w: ('{"format":[' + "0," * 3000000 + "0]}", w))
        self.bad_package("bigjson", ["model.json", "16777216 bytes"], lambda d, w: (" " * 20000000, w))
        self.bad_package("deep", ["weights.safetensors", "nested deeper"], lambda d, w: (d, header(b'{"a":' + b"[" * 10000000)))
        self.bad_package("many", ["weights.safetensors", "values"], lambda d, w: (d, header(b"{" + b",".join(tensor % i for i in range(200000)) + b"}")))
        self.bad_package("huge", ["weights.safetensors", "cut short"], lambda d, w: (d, struct.pack("<Q", 1 << 63) + b"{}"))
        self.assertLess(time.monotonic() - start, 10)  # all six, sanitizers included; without them it is below one second

    # ---- bad audio ----------------------------------------------------------------------------------------------------------------------------

    def bad_audio(self, words, data, name="bad.wav"):
        path = self.scratch / name
        path.write_bytes(data)
        for verb in (["listen", self.artifact, path], ["run", self.artifact, "--input", f"audio=@{path}"], ["eval", self.artifact, "--negatives", path]):
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
        self.bad_audio(["decoded", "expected WAV, FLAC or Ogg"], b"no audio in here")
        for cut in (12, 20, 40):
            self.bad_audio(["ends before its first sample"], wav(noise(1))[:cut])
        self.bad_audio(["contradicts itself"], wav(noise(0.1), rate=0))
        self.bad_audio(["decoded"], b"fLaC\0\0\0\x22" + b"\x10\0" * 5, "cut.flac")
        self.bad_audio(["decoded"], b"OggS" + bytes(20), "cut.ogg")
        self.bad_audio(["MP3", "convert"], b"ID3\3" + bytes(500), "tagged.mp3")
        self.refused(BAD_INPUT, ["cli-", "folder"], "listen", self.artifact, self.scratch)
        self.refused(BAD_INPUT, ["standard input", "before its first sample"], "listen", self.artifact, stdin=wav(noise(1))[:30])
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
        for content in (b"", b"short", data[:100], data[:256], data[:-1], data + b"\0", bytes(flipped), b"\x7fELF" + data[4:], self.speech.read_bytes()):
            bad.write_bytes(content)
            for verb in (["verify", bad], ["inspect", bad], ["listen", bad, self.speech], ["run", bad, "--input", "16000"], ["bench", bad]):
                self.refused(BAD_INPUT, ["bad.lw"], *verb)
        bad.unlink()
        self.refused(BAD_INPUT, ["none.lw"], "verify", self.scratch / "none.lw")
        self.refused(BAD_INPUT, ["package"], "verify", self.package)

    def test_input_longer_than_the_capacity(self):
        self.refused(BAD_INPUT, ["48000", "16000", "--length"], "run", self.artifact, "--input", f"audio=@{self.speech}")

    # ---- a machine that refuses ---------------------------------------------------------------------------------------------------------------

    def test_full_disk(self):
        size = self.artifact.stat().st_size
        def limit_files():  # the kernel refuses to let any file grow to the artifact's size, as a full disk would
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size - 1, size - 1))
        self.refused(DEVICE, ["x.lw", "too large"], "compile", self.package, "-o", self.scratch / "x.lw", "--target", "host", "--stream", preexec_fn=limit_files)
        old = self.scratch / "old.lw"
        old.write_bytes(b"the old file")
        self.refused(DEVICE, ["old.lw"], "compile", self.package, "-o", old, "--target", "host", "--stream", preexec_fn=limit_files)
        self.assertEqual(old.read_bytes(), b"the old file")
        old.unlink()
        numbers = self.scratch / "numbers.npy"
        def limit_to_a_page():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256))
        self.refused(DEVICE, ["numbers.npy", "too large"], "run", self.artifact, "--input", "audio=16000", "-o", f"logits={numbers}", preexec_fn=limit_to_a_page)
        full_link = self.scratch / "full"
        full_link.symlink_to("/dev/full")  # through a link: a program that replaces what it should write to replaces the link only
        for verb in (["compile", self.package, "-o", full_link, "--target", "host"], ["run", self.artifact, "--input", "audio=1600", "-o", f"logits={full_link}"]):
            self.refused(DEVICE, ["full", "No space left on device"], *verb)
            self.assertTrue(full_link.is_symlink())
        full_link.unlink()
        with open("/dev/full", "wb") as full:
            self.refused(DEVICE, ["standard output"], "inspect", self.artifact, stdout=full, text=False)
            self.refused(DEVICE, ["standard output"], "listen", self.artifact, self.speech, stdout=full, text=False)

    def compile_on_a_mount(self, options, reason):
        """The artifact goes to a file system of its own, seen by this process only; it is refused with this reason and the file system stays empty."""
        folder = self.scratch / "mounted"
        folder.mkdir()
        try:
            mount = ["unshare", "-rm", "sh", "-c", f"mount -t tmpfs -o {options} none '{folder}' && exec \"$@\"", "sh"]
            try:
                able = subprocess.run([*mount, "true"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
            except FileNotFoundError:
                able = False
            if not able:
                self.skipTest("this system does not let the test mount a file system")
            command = [LONGWAVE, "compile", str(self.package), "-o", str(folder / "x.lw"), "--target", "host", "--stream", "--cache", str(SCRATCH / "kernels")]
            result = subprocess.run([*mount, "sh", "-c", '"$@"; code=$?; ls -A "$0" >&2; exit $code', str(folder), *command], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, text=True)
        finally:
            folder.rmdir()
        self.assertEqual(result.returncode, DEVICE, result.stderr)
        self.assertRegex(result.stderr, r"\Aerror: .*x\.lw.*" + reason + r"\n\Z")  # and nothing listed behind it

    def test_a_small_file_system_that_fills_up(self):
        self.compile_on_a_mount("size=16k", "No space left on device")

    def test_a_file_system_that_is_read_only(self):  # root may not write there either
        self.compile_on_a_mount("ro", "Read-only file system")

    def test_outputs_that_are_no_files(self):
        self.refused(DEVICE, ["package", "is a folder"], "compile", self.package, "-o", self.package, "--target", "host")
        self.refused(DEVICE, ["package", "is a folder"], "run", self.artifact, "--input", "audio=1600", "-o", f"logits={self.package}")
        self.refused(DEVICE, ["tiny.lw/x.lw", "Not a directory"], "compile", self.package, "-o", self.artifact / "x.lw", "--target", "host")
        pipe, got = self.scratch / "pipe", []
        os.mkfifo(pipe)
        reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
        reader.start()
        self.assertEqual(self.run_cli("compile", self.package, "-o", pipe, "--target", "host", "--stream").returncode, OK)
        reader.join(timeout=60)
        self.assertTrue(pipe.is_fifo(), "a pipe is written to, not replaced")
        self.assertEqual(got[0], self.artifact.read_bytes())
        pipe.unlink()

    def test_no_permission(self):
        locked = self.scratch / "locked"
        locked.mkdir()
        os.chmod(locked, 0o555)
        options = {}
        if os.geteuid() == 0:  # root may write anywhere: become nobody
            options["preexec_fn"] = lambda: os.setuid(65534)
            probe = subprocess.run([LONGWAVE, "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=options["preexec_fn"])
            if probe.returncode != 0:
                self.skipTest("another user cannot run the program where it lies")
        self.refused(DEVICE, ["locked"], "compile", self.package, "-o", locked / "x.lw", "--target", "host", "--stream", **options)
        secret = self.scratch / "secret.lw"
        secret.write_bytes(self.artifact.read_bytes())
        os.chmod(secret, 0)
        self.refused(BAD_INPUT, ["secret.lw"], "verify", secret, **options)
        secret.unlink()

    def test_no_such_output_folder(self):
        self.refused(DEVICE, ["nowhere"], "compile", self.package, "-o", self.scratch / "nowhere" / "x.lw", "--target", "host", "--stream")

    def test_no_room_for_temporary_files(self):
        cache = self.scratch / "cache"
        result = subprocess.run([LONGWAVE, "compile", self.package, "-o", self.scratch / "x.lw", "--target", "host", "--cache", cache], stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(self.scratch / "nowhere")}, text=True)
        self.assertEqual(result.returncode, DEVICE, result.stderr)
        self.assertRegex(result.stderr, r"\Aerror: .*temporary.*\n\Z")
        self.assertFalse((self.scratch / "x.lw").exists())
        shutil.rmtree(cache, ignore_errors=True)

    def test_no_kernel_compiler(self):
        self.refused(DEVICE, ["nowhere/kgen"], "compile", self.package, "-o", self.scratch / "x.lw", "--target", "host", "--kgen", "nowhere/kgen", "--block", "320", lines=None)

    def test_a_reader_that_goes_away_is_no_error(self):
        listen = subprocess.Popen([LONGWAVE, "listen", self.artifact, self.speech], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        listen.stdout.readline()
        listen.stdout.close()
        self.assertEqual(listen.wait(timeout=60), OK)
        self.assertEqual(listen.stderr.read(), b"")
        listen.stderr.close()


if __name__ == "__main__":
    LONGWAVE, SCRATCH = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2, exit=False).result
    for test, reason in result.skipped:
        print(f"SKIPPED: {test.id().split('.')[-1]}: {reason}")
    sys.exit(not result.wasSuccessful())
