"""Random sequences of probabilities with settings, and the package silero-vad on them."""

import dataclasses
import importlib
import math
import struct
import sys
import types

VERSION = "6.2.3"
HOP = {16000: 512, 8000: 256}


@dataclasses.dataclass
class Case:
    rate: int
    length: int  # samples
    threshold: float
    negative: float | None
    min_speech: float  # ms, as all times but max_speech
    min_silence: float
    pad: float
    max_speech: float  # s
    min_cut: float
    last: bool  # cut in the last pause, not in the longest
    probabilities: list  # float32

    def line(self):
        """As segments.cc reads it. There 0 is the default, so a time of 0 is negative."""
        times = [t or -1 for t in (self.min_speech, self.min_silence, self.pad)]
        longest = 0 if math.isinf(self.max_speech) else self.max_speech
        numbers = [
            self.rate,
            self.length,
            self.threshold,
            self.negative or 0,
            *times,
            longest,
            self.min_cut or -1,
            int(self.last),
            len(self.probabilities),
            *self.probabilities,
        ]
        return " ".join(repr(n) for n in numbers)


def float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def sequence(dice, rows):
    """Speech and pauses of random lengths, with noise; some values are exactly round."""
    kind, values, p = dice.random(), [], dice.random()
    while len(values) < rows:
        level = dice.choice([0.02, 0.3, 0.42, 0.5, 0.6, 0.97])
        spread = dice.choice([0, 0.02, 0.2])
        for _ in range(dice.randint(1, dice.choice([2, 4, 12, 40]))):
            if kind < 0.15:
                p = dice.random()
            elif kind < 0.3:
                p = min(1, max(0, p + dice.uniform(-0.2, 0.2)))
            else:
                p = min(1, max(0, level + dice.uniform(-spread, spread)))
            values.append(round(p, 2) if dice.random() < 0.3 else p)
    return values[:rows]


def random_case(dice, most_rows=300):
    rate = dice.choice([16000, 16000, 8000])
    rows = dice.choice([0, 1, 2, 3, dice.randint(0, most_rows), dice.randint(0, most_rows)])
    length = rows * HOP[rate] - (dice.randrange(HOP[rate]) if rows and dice.random() < 0.5 else 0)
    threshold = dice.choice([0.5, 0.5, 0.3, 0.7, round(dice.uniform(0.02, 1), 2), dice.uniform(0.02, 1)])
    usual = dice.random() < 0.3
    pad = 30 if usual else dice.choice([0, 30, 30, 100, 33.3, 400, 1500])
    hop_s = HOP[rate] / rate
    longest = (
        math.inf
        if dice.random() < 0.4
        else 2 * hop_s + 2 * pad / 1000 + dice.choice([0.001, 0.1, 0.3, 1, 2.5, dice.uniform(0.001, 4)])
    )
    return Case(
        rate,
        length,
        threshold,
        None if dice.random() < 0.6 else dice.uniform(0.001, threshold),
        250 if usual else dice.choice([0, 32, 64, 250, 100.5, 1000]),
        100 if usual else dice.choice([0, 10, 32, 64, 100, 500, 2000]),
        pad,
        longest,
        98 if usual else dice.choice([0, 32, 98, 98, 300]),
        dice.random() < 0.3,
        [float32(p) for p in sequence(dice, rows)],
    )


def package():
    """The module utils_vad of the package, or the reason why there is none."""
    try:
        importlib.import_module("torch")
    except ImportError:
        return None, "needs PyTorch"
    if "torchaudio" not in sys.modules:  # the rule does not use it
        try:
            importlib.import_module("torchaudio")
        except ImportError:
            sys.modules["torchaudio"] = types.ModuleType("torchaudio")
    try:
        module = importlib.import_module("silero_vad.utils_vad")
        metadata = importlib.import_module("importlib.metadata")
    except ImportError:
        return None, f"needs the package silero-vad=={VERSION}"
    found = metadata.version("silero-vad")
    return (module, "") if found == VERSION else (None, f"needs the package silero-vad=={VERSION}, found {found}")


def segments_of(module, case):
    found = module.get_speech_timestamps_from_probs(
        case.probabilities,
        sampling_rate=case.rate,
        threshold=case.threshold,
        neg_threshold=case.negative,
        min_speech_duration_ms=case.min_speech,
        min_silence_duration_ms=case.min_silence,
        speech_pad_ms=case.pad,
        max_speech_duration_s=case.max_speech,
        min_silence_at_max_speech=case.min_cut,
        use_max_poss_sil_at_max_speech=not case.last,
        audio_length_samples=case.length,
    )
    return [number for segment in found for number in (segment["start"], segment["end"])]
