#!/usr/bin/env python3
"""`longwave vad` with the model of the package silero-vad, over one hour of speech in noise, beside the package itself.

    hour_test.py BUILD DATA [--seconds 3600] [--seed 1]

DATA: a folder with recordings, as hour.py reads them. BUILD has the program and the Python module. The file comes from the ONNX door,
`longwave import silero-vad`, whose Python packages this interpreter needs.

- segments: equal to the sample to those of get_speech_timestamps with ONNX Runtime, for three settings
- probabilities: beside ONNX Runtime, and both beside float64. Ours may be 1e-5 away, ONNX Runtime 5e-5, and both 2e-5 from each other
- cuts of the audio: the same bits
- int8 weights: at most 0.2 % of the decisions differ
"""

import argparse
import importlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import wave

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tools/python/tests"), str(ROOT / "tools/python")]
import cases  # noqa: E402
import hour  # noqa: E402

HOP, CONTEXT = 512, 64
EXACT, THEIRS, APART, INT8 = 1e-5, 5e-5, 2e-5, 0.002
SETTINGS = [
    {},
    {"threshold": 0.3, "min_silence_duration_ms": 500, "speech_pad_ms": 200},
    {"min_speech_duration_ms": 64, "max_speech_duration_s": 8.0, "min_silence_duration_ms": 32},
]
OPTIONS = {
    "threshold": "--threshold",
    "min_silence_duration_ms": "--min-silence-ms",
    "speech_pad_ms": "--pad-ms",
    "min_speech_duration_ms": "--min-speech-ms",
    "max_speech_duration_s": "--max-speech-s",
}


def run(*command, **how):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **how)
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


class Remembered:
    """The package's own model with ONNX Runtime, which computes each probability once."""

    def __init__(self, model):
        self.model, self.found, self.at = model, [], 0

    def reset_states(self):
        self.model.reset_states()
        self.at = 0

    def __call__(self, chunk, rate):
        if self.at == len(self.found):
            self.found.append(self.model(chunk, rate))
        self.at += 1
        return self.found[self.at - 1]


def files_of(build, folder):
    """The compiled file, and one with int8 weights."""
    importer = [sys.executable, "-m", "longwave.importer", "silero-vad"]
    environment = {**os.environ, "LONGWAVE": str(build / "longwave"), "PYTHONPATH": str(ROOT / "tools/python")}
    run(*importer, "-o", folder / "speech.lw", env=environment)
    run(*importer, "--no-compile", "-o", folder / "model", env=environment)
    run(
        build / "longwave",
        "compile",
        folder / "model",
        "-o",
        folder / "int8.lw",
        "--stream",
        "--no-whole",
        "--weights",
        "int8",
        "--blocks",
        HOP,
    )
    return folder / "speech.lw", folder / "int8.lw"


def heard(build, numpy, model, sound, settings=()):
    """Segments in samples, and the probability of each row."""
    rows = sound.with_suffix(".npy")
    options = [part for name, value in dict(settings).items() for part in (OPTIONS[name], value)]
    lines = [
        json.loads(line)
        for line in run(
            build / "longwave", "vad", model, sound, "--json", "--probabilities", rows, *options
        ).splitlines()
    ]
    return [[line["start_sample"], line["end_sample"]] for line in lines if line["type"] == "segment"], numpy.load(
        rows
    ).ravel()


def by_float64(torch, samples):
    """The module of test_importer_silero.py in float64, piece by piece."""
    module = importlib.import_module("test_importer_silero").Silero().eval().double()
    audio = torch.cat([torch.zeros(CONTEXT), torch.from_numpy(samples)]).double()
    audio = torch.nn.functional.pad(audio, (0, -len(samples) % HOP))
    found, state = [], None
    with torch.no_grad():
        for at in range(0, len(audio) - CONTEXT, 1000 * HOP):
            rows, state = module.after(audio[None, at : at + 1000 * HOP + CONTEXT], state)
            found.append(rows.flatten())
    return torch.cat(found).numpy()


def check_cuts(build, numpy, model, samples, segments, rows):
    """The Python module, in other parts: the same bits."""
    sys.path.insert(0, str(build / "python"))
    for name in [name for name in sys.modules if name.split(".")[0] == "longwave"]:
        del sys.modules[name]  # the importer of the source folder, which has no native module
    longwave = importlib.import_module("longwave")
    dice = random.Random(3)
    minute = 60 * hour.RATE
    for length, cut in [
        (len(samples), lambda: 441),
        (len(samples), lambda: dice.choice([1, 160, 512, 4096, dice.randint(1, 9000)])),
        (min(minute, len(samples)), lambda: 1),
    ]:
        with longwave.open(model) as opened, longwave.SpeechDetector(opened, rows=True) as detector:
            at, events = 0, []
            while at < length:
                n = min(cut(), length - at)
                events += detector.push(samples[at : at + n])
                at += n
            if length == len(samples):
                events += detector.finish()
        ours = numpy.array([e.probability for e in events if e.kind == "row"], numpy.float32)
        assert (ours == rows[: len(ours)]).all() and len(ours) >= length // HOP
        ends = [[e.start, e.end] for e in events if e.kind == "end"]
        assert ends == segments[: len(ends)] and (length < len(samples) or len(ends) == len(segments))
    print(
        f"cuts of 441 and of 1 to 9000 samples over all of it, of 1 over {min(minute, len(samples)) // hour.RATE} s: the same bits"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    package, reason = cases.package()
    files = hour.folders(given.data)
    try:
        import numpy
        import onnxruntime
        import soundfile  # noqa: F401
        import torch
    except ImportError as e:
        reason = reason or f"needs {e.name}"
    if not package or reason or not files:
        print("SKIPPED:", reason or f"needs the recordings of {given.data}")
        return 77
    print(f"silero-vad {cases.VERSION}, onnxruntime {onnxruntime.__version__}, PyTorch {torch.__version__}")
    samples, share = hour.make(files, given.seconds, given.seed)
    print(
        f"{len(samples) / hour.RATE:.0f} s of audio, seed {given.seed}: {share:.0%} with a turn of speech; {', '.join(f'{len(v)} {k}' for k, v in files.items())}"
    )
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        with wave.open(str(folder / "hour.wav"), "wb") as out:
            out.setparams((1, 2, hour.RATE, 0, "NONE", ""))
            out.writeframes(samples.tobytes())
        speech, int8 = files_of(given.build, folder)
        floats = samples.astype(numpy.float32) / 32768
        model = Remembered(importlib.import_module("silero_vad").load_silero_vad(onnx=True))
        for settings in SETTINGS:
            theirs = [
                [s["start"], s["end"]]
                for s in package.get_speech_timestamps(torch.from_numpy(floats), model, **settings)
            ]
            ours, rows = heard(given.build, numpy, speech, folder / "hour.wav", settings)
            assert len(theirs) > given.seconds // 60, theirs
            differ = len({tuple(s) for s in ours} ^ {tuple(s) for s in theirs})
            print(
                f"{settings or 'default settings'}: {len(theirs)} segments of the package, {len(ours)} ours; {differ} differ"
            )
            assert ours == theirs
            if not settings:
                segments = ours
        other = numpy.array([float(p) for p in model.found], numpy.float32)
        exact = by_float64(torch, floats)
        apart = {
            name: abs(a.astype(float) - b).max()
            for name, a, b in (("ONNX Runtime", rows, other), ("float64", rows, exact), ("ort64", other, exact))
        }
        print(
            f"{len(rows)} probabilities, {(exact >= 0.5).mean():.0%} speech: {apart['ONNX Runtime']:.1e} from ONNX Runtime at most; from float64 {apart['float64']:.1e}, "
            f"ONNX Runtime {apart['ort64']:.1e}; {((rows >= 0.5) != (other >= 0.5)).sum()} decisions differ"
        )
        assert apart["float64"] <= EXACT and apart["ort64"] <= THEIRS and apart["ONNX Runtime"] <= APART
        check_cuts(given.build, numpy, speech, samples, segments, rows)
        ours, small = heard(given.build, numpy, int8, folder / "hour.wav")
        changed = ((small >= 0.5) != (other >= 0.5)).mean()
        print(
            f"int8 weights: {changed:.3%} of the decisions differ, the largest difference is {abs(small - other).max():.1e}; {len(ours)} segments, "
            f"{len({tuple(s) for s in ours} & {tuple(s) for s in segments})} of {len(segments)} the same"
        )
        assert 0 < abs(small - other).max() and changed <= INT8
    return 0


if __name__ == "__main__":
    sys.exit(main())
