#!/usr/bin/env python3
"""Mistaken command lines: mistakes_test.py LONGWAVE SCRATCH_FOLDER [unittest options]

Each answer is one line, names the next step, and has the exit code of its kind. Standard library only.
"""

import array
import os
import pathlib
import pty
import shutil
import subprocess

from cli_support import BAD_INPUT, DEVICE, LONGWAVE, OK, USAGE, Cli, main, noise, wav
from text_package import language_model

ROOT = pathlib.Path(__file__).resolve().parents[3]

# What is typed, the exit code, what the answer must say. {names} are files of the test.
MISTAKES = [
    # ---- commands
    ("", USAGE, "longwave --help lists the commands"),
    ("{model}", USAGE, "write a command before it: longwave inspect {model}"),
    ("{package}", USAGE, "longwave compile {package} -o model.lw"),
    ("compil {package}", USAGE, "did you mean compile?"),
    ("rnu {model}", USAGE, "did you mean run?"),
    ("info {model}", USAGE, "use longwave inspect"),
    ("convert {package}", USAGE, "use longwave compile"),
    ("quantize {package}", USAGE, "use longwave compile --weights int8"),
    ("benchmark {model}", USAGE, "use longwave bench"),
    ("chat {text}", USAGE, "use longwave generate"),
    ("train", USAGE, "docs/training.md"),
    ("demo", USAGE, "run tools/demo in a clone"),
    ("words train --word hello", USAGE, "run tools/words in a clone"),
    ("help compil", USAGE, "did you mean compile?"),
    ("synchrophasotron", USAGE, "longwave --help lists the commands"),
    ("--json inspect {model}", USAGE, "write it after the command"),
    ("--verison", USAGE, "did you mean --version?"),
    # ---- arguments and options of any command
    ("inspect", USAGE, "MODEL is missing; usage: longwave inspect [OPTIONS] MODEL"),
    ("inspect {model} {model}", USAGE, "usage: longwave inspect [OPTIONS] MODEL"),
    ("inspect {model} --jsno", USAGE, "did you mean --json?"),
    ("inspect {model} --synchrophasotron", USAGE, "longwave inspect --help lists the options"),
    ("inspect {model} --stream", USAGE, "compile, verify and run have it"),
    ("inspect {model} --html", USAGE, "--html: needs a value: --html FILE"),
    ("inspect {model} page.html", USAGE, "did you mean --html page.html?"),
    ("inspect {model} --time", USAGE, "needs --html"),
    ("inspect nothing.lw", BAD_INPUT, "make it with longwave compile FOLDER -o nothing.lw"),
    ("listen nothing.lw {speech}", BAD_INPUT, "make it with longwave compile FOLDER -o nothing.lw"),
    ("run {package} --input 16", BAD_INPUT, "compile it first: longwave compile {package} -o model.lw"),
    ("inspect {speech}", BAD_INPUT, "is a recording, not a compiled model (.lw); name the model first"),
    ("vad {speech}", BAD_INPUT, "is a recording, not a compiled model (.lw); name the model first"),
    (
        "run {onnx} --input 16",
        BAD_INPUT,
        "is an ONNX graph, not a compiled model (.lw); import it first: longwave import {onnx}",
    ),
    ("denoise {onnx} {speech} clean.wav", BAD_INPUT, "import it first: longwave import {onnx} -o model.lw"),
    ("inspect {capture}", BAD_INPUT, "is a capture of Neural Amp Modeler"),
    ("inspect {weights}", BAD_INPUT, "is a file of weights without the graph that computes"),
    ("inspect {checkpoint}", BAD_INPUT, "is a file of weights without the graph that computes"),
    ("inspect {gguf}", BAD_INPUT, "is a GGUF file of a language model, not a compiled model"),
    ("inspect {noise}", BAD_INPUT, "is not a compiled model: check V2 failed"),
    # ---- compile, verify
    ("compile", USAGE, "the model folder is missing (longwave compile --help)"),
    ("compile {package} out.lw", USAGE, "did you mean -o out.lw?"),
    ("compile {package} --out out.lw", USAGE, "did you mean --output?"),
    ("compile {package} -o out.lw --sream", USAGE, "did you mean --stream?"),
    ("compile {package} -o out.lw --target x86-64-v9", USAGE, "x86-64-v3"),
    ("compile {package} -o out.lw --weights fp4", USAGE, "float32, bf16, int8 or int4"),
    ("compile {package} -o out.lw --target host --target arm64", USAGE, "give it once"),
    ("compile {package} -o out.lw --length 0", USAGE, "1 to"),
    ("compile {package} -o {package}", DEVICE, "name a file in it"),
    ("compile {model} -o out.lw", BAD_INPUT, "which `longwave inspect` shows"),
    ("compile {checkpoint} -o out.lw", BAD_INPUT, "python -m longwave.importer"),
    ("compile nothing -o out.lw", BAD_INPUT, "nothing"),
    ("verify {model} --device cuda", USAGE, "expected cpu"),
    # ---- run
    ("run {model}", USAGE, "--input INPUT is missing; usage: longwave run [OPTIONS] --input INPUT MODEL"),
    ("run {model} --input", USAGE, "--input: needs a value: --input INPUT"),
    ("run {model} {speech}", USAGE, "did you mean --input {speech}?"),
    ("run {model} --input {speech}", USAGE, "did you mean --input @{speech}?"),
    ("run {model} --input sound=@{speech}", USAGE, "the model has audio"),
    ("run {text} --input ids=@{speech}", USAGE, "needs a .npy file"),
    ("run {model} --input audio=999999999", BAD_INPUT, "pass --stream"),
    ("run {streaming} --input audio=1600", USAGE, "longwave run --stream"),
    ("run {features} --stream --input x=16", USAGE, "compile it with --stream"),
    ("run {model} --input audio=1600 -o logits=y.wav", USAGE, "write FILE.npy"),
    ("run {features} --input x=16 -o y.wav", USAGE, "write FILE.npy"),
    ("run {model} --input audio=1600 -o logits=y.csv", USAGE, "FILE.npy or FILE.wav"),
    ("run {model} --input audio=1600 -o y.npy", USAGE, "choose one with NAME=FILE"),
    ("run {model} --input audio=1600 --threads many", USAGE, "a whole number"),
    # ---- listen, eval
    ("listen {text} {speech}", USAGE, "use `longwave generate {text} -p TEXT`"),
    ("listen {features} {speech}", USAGE, "use `longwave run {features} --input x=@FILE.npy`"),
    ("listen {filter} {speech}", USAGE, "use `longwave run {filter} --input audio=@FILE.wav`"),
    ("listen {model} {slow}", BAD_INPUT, "--resample"),
    ("listen {model} {stereo}", BAD_INPUT, "--channel"),
    ("listen {model} {speech} --microphone default", USAGE, "leave one of them out"),
    ("listen {model} {speech} --threshold 2", USAGE, "at most 1"),
    ("listen {model} {speech} --format mp3", USAGE, "expected auto"),
    ("vad {model} {speech}", USAGE, "use `longwave listen {model} FILE.wav`"),
    ("vad {text} {speech}", USAGE, "use `longwave generate {text} -p TEXT`"),
    ("vad {filter} {speech}", USAGE, "use `longwave run {filter} --input audio=@FILE.wav`"),
    ("listen {energy} {speech}", USAGE, "use `longwave vad {energy} FILE.wav`"),
    ("vad {energy} {slow}", BAD_INPUT, "--resample"),
    ("vad {energy} {stereo}", BAD_INPUT, "--channel"),
    ("vad {energy} {speech} --threshold 2", USAGE, "0.001 to 1"),
    ("vad {energy} {speech} --negative-threshold 0.6", USAGE, "--negative-threshold is above --threshold"),
    ("vad {energy} {speech} --max-speech-s 0.1", USAGE, "room for two rows and the padding"),
    ("vad {energy} {speech} --pad-ms 3600000", USAGE, "--pad-ms"),
    ("vad {energy} {speech} --probability voice", USAGE, "the model has speech"),
    ("vad {energy} {speech} --gain loud", USAGE, "expected decibels"),
    ("vad {energy} {speech} --table --json", USAGE, "leave one of them out"),
    ("vad {energy} {speech} --labels {speech}", USAGE, "name another file"),
    ("vad {energy} {speech} --probabilities {energy}", USAGE, "name another file"),
    ("eval {model}", USAGE, "pass --clips DIR"),
    ("eval {text} --clips {package}", USAGE, "use `longwave generate {text} -p TEXT`"),
    # ---- generate, score
    ("generate {model} -p hello", USAGE, "use `longwave listen {model} FILE.wav`"),
    ("generate {text}", USAGE, "give --prompt TEXT"),
    ("generate {text} -p hello --temprature 1", USAGE, "did you mean --temperature?"),
    ("score {text}", USAGE, "TEXT is missing"),
    ("score {model} {speech}", USAGE, "use `longwave listen {model} FILE.wav`"),
    # ---- the others
    ("bench convs", USAGE, "did you mean `longwave bench conv`?"),
    ("bench {model} --stream", USAGE, "did you mean --streams?"),
    ("devices --microphone", USAGE, "did you mean --microphones?"),
    ("keygen", USAGE, "FILE is missing"),
    ("sign {model}", USAGE, "--key FILE is missing; usage: longwave sign [OPTIONS] --key FILE MODEL"),
]


def filter_model():
    """One sample in, one out."""
    return {
        "format": "longwave-model",
        "version": 1,
        "name": "filter",
        "inputs": [{"name": "audio", "kind": "audio", "sample_rate": 16000}],
        "layers": [{"type": "conv1d", "name": "one", "out_channels": 2, "kernel": 3, "stride": 1}],
        "outputs": [{"name": "y", "from": "one"}],
    }, {"one.weight": ([2, 1, 3], [0.0, 0.0, 2.0, 0.0, 0.5, 0.0]), "one.bias": ([2], [0.0, 0.0])}


def features_model():
    return {
        "format": "longwave-model",
        "version": 1,
        "name": "features",
        "inputs": [{"name": "x", "kind": "features", "width": 2}],
        "layers": [{"type": "linear", "name": "one", "out_features": 2}],
        "outputs": [{"name": "y", "from": "one"}],
    }, {"one.weight": ([2, 2], [1.0, 0.0, 0.0, 2.0]), "one.bias": ([2], [0.5, 0.25])}


class Mistakes(Cli):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.names = {"model": cls.artifact, "package": cls.package, "speech": cls.speech}
        for name, source, flags in (
            ("text", language_model("lightnet"), ["--blocks", "1,64"]),
            ("filter", filter_model(), ["--stream"]),
            ("features", features_model(), ["--no-stream"]),
        ):
            cls.names[name] = cls.compiled(cls.write_package(f"{name}_model", *source), name, *flags)
        cls.names["streaming"] = cls.compiled(cls.package, "streaming", "--stream", "--no-whole")
        cls.names["energy"] = cls.compiled(ROOT / "examples/vad/energy", "energy", "--stream")
        cls.names["checkpoint"] = cls.package / "weights.safetensors"
        for name, data in (
            ("second", wav(noise(1))),
            ("slow", wav(noise(1), 8000)),
            ("stereo", wav(noise(1), channels=2)),
        ):
            cls.names[name] = cls.scratch / f"{name}.wav"
            cls.names[name].write_bytes(data)
        for name, data in (  # the first bytes of files that are no models
            ("onnx", b"\x08\x08\x12\x07pytorch:" + bytes(100)),
            ("capture", b'{"version": "0.5.4", "architecture": "WaveNet", "config": {}}'),
            ("weights", b"PK\3\4" + bytes(60)),
            ("gguf", b"GGUF\3" + bytes(60)),
            ("noise", bytes(range(3, 200)) * 20),
        ):
            cls.names[name] = cls.scratch / f"no_model_{name}"
            cls.names[name].write_bytes(data)

    @classmethod
    def compiled(cls, package, name, *flags):
        out = cls.scratch / f"{name}.lw"
        done = cls.run_cli("compile", package, "-o", out, "--target", "host", "--no-check", "--quiet", *flags)
        assert done.returncode == OK, done.stderr
        return out

    def test_each_answer_names_the_next_step_in_one_line(self):
        for line, code, phrase in MISTAKES:
            with self.subTest(line):
                self.refused(
                    code, [phrase.format(**self.names)], *line.format(**self.names).split(), lines=1, cwd=self.scratch
                )

    def test_the_program_answers_what_people_try_first(self):
        for command in (["help"], ["--help"]):
            self.assertIn("Commands:", self.run_cli(*command).stdout)
        for command in (["help", "run"], ["run", "--help"]):
            self.assertIn("Usage: longwave run [OPTIONS] --input INPUT MODEL", self.run_cli(*command).stdout)
        self.assertEqual(self.run_cli("version").stdout, self.run_cli("--version").stdout)

    def test_a_program_without_its_benchmarks_says_how_to_get_them(self):
        folder = self.scratch / "elsewhere"
        folder.mkdir()
        self.addCleanup(shutil.rmtree, folder)
        shutil.copy(LONGWAVE, folder / "longwave")
        libraries = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(LONGWAVE)}
        for name in ("conv", "stream", "linear", "model", "block", "text"):
            for built in (False, True):  # a build folder has this file
                (folder / "CMakeCache.txt").unlink(missing_ok=True)
                if built:
                    (folder / "CMakeCache.txt").write_text("")
                done = subprocess.run(
                    [folder / "longwave", "bench", name], capture_output=True, text=True, env=libraries
                )
                self.assertEqual((done.returncode, len(done.stderr.splitlines())), (DEVICE, 1), done.stderr)
                self.assertIn("tools/setup --tests", done.stderr)
                self.assertEqual("not installed" in done.stderr, not built, done.stderr)

    def test_an_error_appears_once_where_output_and_errors_meet(self):
        command = self.command("listen", self.artifact, "--threshold", "2", self.speech)
        apart = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual((apart.stdout.count('"type":"error"'), len(apart.stderr.splitlines())), (1, 1), apart)
        together = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(together.stdout.count("--threshold 2"), 1, together.stdout)
        main_end, other_end = pty.openpty()
        process = subprocess.Popen(command, stdout=other_end, stderr=other_end, stdin=subprocess.DEVNULL)
        os.close(other_end)
        shown = b""
        try:
            while piece := os.read(main_end, 4096):
                shown += piece
        except OSError:  # the other end is closed
            pass
        process.wait()
        os.close(main_end)
        self.assertEqual(shown.count(b"--threshold 2"), 1, shown)

    def test_an_output_that_is_audio_becomes_a_wav_file(self):
        sound, numbers = self.scratch / "y.wav", self.scratch / "y.npy"
        for flags in ([], ["--stream"]):
            done = self.run_cli("run", self.names["filter"], "--input", f"@{self.names['second']}", "-o", sound, *flags)
            self.assertEqual(done.returncode, OK, done.stderr)
            self.assertEqual(
                self.run_cli(
                    "run", self.names["filter"], "--input", f"@{self.names['second']}", "-o", numbers, *flags
                ).returncode,
                OK,
            )
            expected = array.array("f", numbers.read_bytes()[-4 * 2 * 16000 :])
            channels, rate, found = read_float_wav(sound.read_bytes())
            self.assertEqual((channels, rate), (2, 16000))
            self.assertEqual(found, expected)  # also above full scale


def read_float_wav(data):
    """(channels, rate, samples) of a WAV file of float samples."""
    assert data[:4] == b"RIFF" and data[8:12] == b"WAVE"
    at, chunks = 12, {}
    while at < len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        chunks[data[at : at + 4]] = data[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
    kind, channels, rate = (int.from_bytes(chunks[b"fmt "][a:b], "little") for a, b in ((0, 2), (2, 4), (4, 8)))
    assert kind == 3, kind
    return channels, rate, array.array("f", chunks[b"data"])


if __name__ == "__main__":
    main()
