"""What the command line tests share: a small keyword model made here, files of every kind, and running the program under test."""

import array
import json
import math
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

OK, CHECK_FAILED, USAGE, BAD_INPUT, DEVICE = 0, 1, 2, 3, 4
LONGWAVE, SCRATCH = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
# Those of all tests (tests/cache.cmake), also where a test has another XDG_CACHE_HOME.
KERNELS = pathlib.Path(os.environ.get("XDG_CACHE_HOME", SCRATCH / "cache")) / "longwave/kernels"
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
        "stem.weight": ([8, 1, 160], normal(8 * 160, 0.5)),
        "stem.bias": ([8], normal(8, 0.1)),
        **{f"long.kernel_list.{i}": ([sides, 8, 4], normal(sides * 32, 1)) for i in range(4)},
        "long.kernel_norm": ([sides, 8, 1], [4.0] * (8 * sides)),
        "long.kernel_norm_initialized": ([], [1.0]),
        "long.multiplier": ([1, 8, 1], [0.7] * 8),
        "long.D": ([1, 8], normal(8, 1)),
        "long.output_linear.weight": ([8, 8], normal(64, 0.4)),
        "long.output_linear.bias": ([8], normal(8, 0.1)),
        "head.weight": ([3, 8], normal(24, 0.5)),
        "head.bias": ([3], normal(3, 0.1)),
    }
    description = {
        "format": "longwave-model",
        "version": 1,
        "name": name,
        "inputs": [{"name": "audio", "kind": "audio", "sample_rate": RATE}],
        "layers": layers,
        "outputs": [{"name": "logits", "from": "window"}, {"name": "probabilities", "from": "softmax"}],
        "labels": ["yes", "no", "_silence_"],
        "decision": {
            "output": "probabilities",
            "ignore": ["_silence_"],
            "threshold": {"default": 0.34},
            "smoothing_ms": 50,
            "min_count": 2,
            "release": 0.5,
            "refractory_ms": 200,
        },
    }
    return description, weights


def orchid(l_max, width=4, order=4):
    """One Orchid operator on rows of features, then the mean."""
    rng = random.Random(2)
    weights = {}

    def add(key, *shape, scale=0.5):
        weights[key] = (list(shape), [rng.gauss(0, scale) for _ in range(math.prod(shape))])

    for name, outputs in (("in_linear", 3 * width), ("out_linear", width)):
        add(f"mix.{name}.weight", outputs, width)
        add(f"mix.{name}.bias", outputs)
    add("mix.conv1d_short.weight", 3 * width, 1, 3)
    add("mix.conv1d_short.bias", 3 * width)
    for name in ("fixed_conv", "fixed_conv_res"):
        add(f"mix.{name}.bias", width)
        add(f"mix.{name}.pos_emb.z", 1, l_max, 3)
        weights[f"mix.{name}.pos_emb.t"] = ([1, l_max, 1], [t / (l_max - 1) for t in range(l_max)])
        for i, inputs in ((0, 3), (2, order), (4, order)):
            add(f"mix.{name}.implicit_filter.{i}.weight", order, inputs)
            add(f"mix.{name}.implicit_filter.{i}.bias", order)
            weights[f"mix.{name}.implicit_filter.{i + 1}.freq"] = ([1, order], [10.0] * order)
        add(f"mix.{name}.implicit_filter.6.weight", width, order)
        add(f"mix.{name}.modulation.deltas", 1, 1, width)
    for name, features in (("nn_model", width), ("nn_model2", 2 * width)):
        stem = f"mix.conv_kernel_nn.{name}"
        add(f"{stem}.conv1d_ls.0.weight", features, 1, 3)
        for key in ("conv1d_ls.0.bias", "norm_ls.0.norm_conv_kernel.weight", "norm_ls.0.norm_conv_kernel.bias"):
            add(f"{stem}.{key}", features)
    return {
        "format": "longwave-model",
        "version": 1,
        "name": "orchid",
        "inputs": [{"name": "x", "kind": "features", "width": width}],
        "layers": [
            {"type": "orchid", "name": "mix", "l_max": l_max, "filter_order": order},
            {"type": "mean", "name": "mean"},
        ],
        "outputs": [{"name": "y", "from": "mean"}],
    }, weights


def wav(samples, rate=RATE, channels=1, size=None):
    data = array.array("h", samples).tobytes()
    size = len(data) if size is None else size
    return (
        b"RIFF"
        + struct.pack("<I", 36 + min(size, 1 << 30))
        + b"WAVEfmt "
        + struct.pack("<IHHIIHH", 16, 1, channels, rate, rate * channels * 2, channels * 2, 16)
        + b"data"
        + struct.pack("<I", size)
        + data
    )


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
        cls.temporary = (
            cls.scratch / "temporary"
        )  # where the program's temporary folders go: refused() sees what it leaves behind
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
    def command(cls, *arguments, cache=True):
        """Kernels come from the cache of the tests. Arguments may be bytes: names that are no text."""
        arguments = [a if isinstance(a, bytes) else str(a) for a in arguments]
        if cache and arguments and arguments[0] == "compile":
            arguments += ["--cache", str(KERNELS)]
        return [LONGWAVE, *arguments]

    @classmethod
    def environment(cls, changes):
        """This one, with changes; None removes a variable."""
        changed = {**os.environ, "TMPDIR": str(cls.temporary), **changes}
        return {name: value for name, value in changed.items() if value is not None}

    @classmethod
    def run_cli(cls, *arguments, stdin=b"", text=True, **options):
        environment = cls.environment(options.pop("environment", {}))
        options = {"stdout": subprocess.PIPE, "timeout": 300, **options, "env": environment}
        result = subprocess.run(
            cls.command(*arguments, cache=options.pop("cache", True)), input=stdin, stderr=subprocess.PIPE, **options
        )
        result.stderr = result.stderr.decode(errors="replace")
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

    def listen(self, *arguments, **options):
        result = self.run_cli("listen", self.artifact, *arguments, **options)
        self.assertEqual(result.returncode, OK, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([lines[0]["type"], lines[-2]["type"], lines[-1]["type"]], ["ready", "stats", "eof"])
        return lines


def main():
    result = unittest.main("__main__", argv=[sys.argv[0], *sys.argv[3:]], verbosity=2, exit=False).result
    for test, reason in result.skipped:
        print(f"SKIPPED: {test.id().split('.')[-1]}: {reason}")
    sys.exit(not result.wasSuccessful())
