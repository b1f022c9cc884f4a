"""Synthetic voices that say a phrase: espeak-ng and flite, run as programs.

Two sets. TRAINING voices make the clips of `train`. KEPT_BACK voices take no part in it: `say` speaks test recordings with
them.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass

import numpy as np
from scipy.signal import resample_poly

from ..kws.reading import ACCENTS, FLITE, VARIANTS, decode
from .errors import WordsError

RATE = 16000
KEPT_BACK_VARIANTS = ["m4", "f4", "m7", "Alex", "belinda", "steph", "zac"]
KEPT_BACK_FLITE = ["rms"]


@dataclass(frozen=True)
class Voice:
    program: str  # "espeak-ng" or "flite"
    name: str
    speed: int  # words per minute of espeak-ng; percent of the duration of flite
    pitch: int  # 0 to 99 of espeak-ng; mean frequency of flite in Hz, 0: its own

    def label(self) -> str:
        return f"{self.program}-{self.name}".replace("+", "-").replace("espeak-ng", "espeak")

    def command(self, text: str) -> list[str]:
        if self.program == "flite":
            settings = ["--setf", f"duration_stretch={self.speed / 100}"]
            if self.pitch:
                settings += ["--setf", f"int_f0_target_mean={self.pitch}"]
            return ["flite", "-voice", self.name, *settings, "-t", text, "-o", "/dev/stdout"]
        return ["espeak-ng", "-v", self.name, "-s", str(self.speed), "-p", str(self.pitch), "--stdout", text]


def need_programs() -> None:
    for program in ("espeak-ng", "flite"):
        if not shutil.which(program):
            raise WordsError(f"{program} was not found: install it, on Debian with apt-get install {program}")


def draw(count: int, kept_back: bool, seed: int) -> list[Voice]:
    """Random voices, a fifth of them flite's, no two alike in name, speed and pitch."""
    rng = np.random.default_rng([seed, kept_back])
    variants = [v for v in VARIANTS if (v in KEPT_BACK_VARIANTS) == kept_back]
    flite = [v for v in FLITE if (v in KEPT_BACK_FLITE) == kept_back]
    espeak = [f"{accent}+{variant}" for variant in variants for accent in ACCENTS]
    espeak = [espeak[i] for i in rng.permutation(len(espeak))]
    found: dict[Voice, None] = {}
    for number in range(50 * count):
        if len(found) == count:
            break
        if number % 5 == 4:
            found[
                Voice("flite", flite[number // 5 % len(flite)], int(rng.integers(80, 126)), int(rng.integers(85, 221)))
            ] = None
        else:
            found[
                Voice("espeak-ng", espeak[number % len(espeak)], int(rng.integers(120, 201)), int(rng.integers(25, 76)))
            ] = None
    return list(found)


def say(text: str, voice: Voice) -> np.ndarray:
    """Mono float32 samples at 16 kHz."""
    done = subprocess.run(voice.command(text), capture_output=True, check=False)
    if done.returncode or b"data" not in done.stdout:
        raise WordsError(
            f'{voice.program} could not say "{text}" with voice {voice.name}: '
            f"{done.stderr.decode(errors='replace').strip() or 'no sound came'}"
        )
    samples, rate = decode(done.stdout)
    if rate != RATE:
        common = int(np.gcd(rate, RATE))
        samples = resample_poly(samples, RATE // common, rate // common)
    return samples.astype(np.float32)
