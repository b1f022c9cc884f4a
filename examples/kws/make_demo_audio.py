#!/usr/bin/env python3
"""Makes demo.wav: command words and other speech, spoken by espeak-ng in several voices, with quiet between.

    python make_demo_audio.py demo.wav [--check]

16 kHz, mono, 16 bit.  No recording of a person is in it.  The result is the same on every run of the same espeak-ng
version (made with 1.51).  `--check` needs PyTorch and prints the words that the model in model/ finds beside the
expected ones.  Synthetic voices are far from the people the model was trained on: voice, pitch and speed of
each command were picked from a handful so that most words are found; what is missed is left in and shown.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.signal import resample_poly

RATE = 16000
HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Line:
    text: str
    voice: str
    pitch: int = 50  # 0 to 99
    speed: int = 150  # words a minute
    command: bool = True


SCRIPT = [
    Line("yes", "en-gb"),
    Line("left", "en-us+m3"),
    Line("Could you bring me a glass of water, please?", "en-gb", command=False),
    Line("stop", "en-us+m3"),
    Line("no", "en-us"),
    Line("right", "en-us+f2"),
    Line("up", "en-gb-x-rp", 60),
    Line("We talked about the weather all evening.", "en-us+f3", command=False),
    Line("off", "en-us+f2"),
    Line("down", "en-gb-x-rp", 40),
    Line("go", "en-us", 55),
    Line("on", "en-gb-scotland"),
    Line("The second bus leaves at seven.", "en-us+m3", command=False),
    Line("yes", "en-us+Annie", 60),
]


def speak(line: Line) -> np.ndarray:
    """Float samples at 16 kHz with the silence around them cut off."""
    command = ["espeak-ng", "-v", line.voice, "-p", str(line.pitch), "-s", str(line.speed), "--stdout", line.text]
    data = subprocess.run(command, check=True, capture_output=True).stdout
    with wave.open(io.BytesIO(data)) as file:
        rate = file.getframerate()
        samples = np.frombuffer(data[44:], "<i2").astype(np.float64) / 32768
    divisor = np.gcd(rate, RATE)
    samples = resample_poly(samples, RATE // divisor, rate // divisor)
    loud = np.where(np.abs(samples) > 0.01)[0]
    return samples[max(0, loud[0] - 400) : loud[-1] + 400]


def compose(script: list[Line], gap: float = 1.25) -> tuple[np.ndarray, list[tuple[float, float, str]]]:
    """Samples, and (start, end, word) in seconds of each command."""
    rng = np.random.default_rng(1)
    parts, words, at = [np.zeros(int(gap * RATE))], [], gap
    for line in script:
        samples = speak(line)
        samples *= 0.4 / np.abs(samples).max()
        if line.command:
            words.append((at, at + len(samples) / RATE, line.text))
        parts += [samples, np.zeros(int(gap * RATE))]
        at += len(samples) / RATE + gap
    track = np.concatenate(parts)
    return track + 3e-4 * rng.standard_normal(len(track)), words


def save(track: np.ndarray, file: Path) -> None:
    with wave.open(str(file), "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(RATE)
        out.writeframes(np.round(np.clip(track, -1, 1) * 32767).astype("<i2").tobytes())


def check(track: np.ndarray, words: list[tuple[float, float, str]]) -> None:
    """Expected words beside the found ones: an event counts from the word's start until 1.5 s after its end."""
    sys.path.insert(0, str(HERE.parents[1] / "tools" / "python"))
    import torch
    from longwave import package
    from longwave.kws import decision, streams
    from longwave.kws.labels import CLASSES
    from longwave.kws.model import KwsConfig, KwsNet

    document, weights = package.read(HERE / "model")
    net = KwsNet(KwsConfig())
    net.load_state_dict(weights, strict=False)
    settings = document["decision"]
    rules = decision.Decision(
        settings["threshold"],
        settings["smoothing_ms"],
        settings["min_count"],
        settings["release"],
        settings["refractory_ms"],
    )
    with torch.no_grad():
        rows = streams.softmax(streams.logits(net.eval(), np.round(track * 32767).astype(np.float32) / 32768))
    events = decision.detect(rows, rules)
    left = list(events)
    found = 0
    print(f"{'expected':>16}   found")
    for start, end, word in words:
        mine = [e for e in left if start <= e.seconds <= end + 1.5]
        left = [e for e in left if e not in mine]
        found += any(CLASSES[e.word] == word for e in mine)
        print(
            f"{start:7.2f} s {word:>6}   "
            + (", ".join(f"{CLASSES[e.word]} {e.score:.2f} at {e.seconds:.2f} s" for e in mine) or "-")
        )
    print(
        f"found {found} of {len(words)}; events elsewhere: "
        + (", ".join(f"{CLASSES[e.word]} at {e.seconds:.2f} s" for e in left) or "none")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?", default=HERE / "demo.wav")
    parser.add_argument("--check", action="store_true", help="run the model in model/ on it")
    parser.add_argument("--words", type=Path, help="write the expected words and times as JSON")
    options = parser.parse_args()
    track, words = compose(SCRIPT)
    save(track, options.file)
    print(f"{options.file}: {len(track) / RATE:.1f} s, {sum(line.command for line in SCRIPT)} commands")
    if options.words:
        options.words.write_text(
            json.dumps([{"start": round(s, 2), "end": round(e, 2), "word": w} for s, e, w in words])
        )
    if options.check:
        check(track, words)


if __name__ == "__main__":
    main()
