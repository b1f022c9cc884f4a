"""What a head on the body gives as a compiled model: its threshold, missed recordings and false accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import soundfile

from .. import cleanup, programs
from ..kws.decision import decision
from ..kws.engine import evaluate
from . import body
from .head import Head
from .sounds import RATE, Clip

COMPILED, PACKAGE = "model.lw", "model"  # results in the folder of the work
OTHER = "_other_"
SMOOTHING_MS = 300


@dataclass(frozen=True)
class Figures:
    """Of a compiled model, by `longwave eval`: its threshold, and what it costs on the held-out negatives."""

    threshold: float
    events: int
    hours: float
    bound: float  # most events per hour, at 95 %
    shown: bool  # whether that is at or below the wanted rate
    latency: list[float | None]  # of each clip, in ms; None: missed
    wrong: int  # events of another word


class Measured:
    """Models of a head on the body, in the folder of the work."""

    def __init__(self, words: list[str], negatives: list[Path], rate: float, work: Path) -> None:
        self.words, self.negatives, self.rate = words, negatives, rate
        self.package, self.compiled = work / PACKAGE, work / COMPILED

    def write(self, head: Head, threshold: float) -> None:
        labels = [*self.words, OTHER]
        settings = decision(labels, {"default": threshold}, SMOOTHING_MS)
        body.write_model(head, labels, settings, "words", self.package)
        body.compile_model(self.package, self.compiled)

    def __call__(self, head: Head, clips: Sequence[tuple[Clip, int]] = ()) -> Figures:
        self.write(head, 0.9)
        with cleanup.temporary_folder() as folder:
            placed = [folder / self.words[w] / f"{clip.group}_{i}.wav" for i, (clip, w) in enumerate(clips)]
            for (clip, _), file in zip(clips, placed):
                file.parent.mkdir(exist_ok=True)
                soundfile.write(file, clip.samples, RATE)
            flags: list[str | Path] = ["--negatives", *self.negatives, "--per-hour", str(self.rate)]
            flags += ["--clips", folder, "--predictions"] if clips else []
            found = evaluate(Path(programs.program()), self.compiled, *flags)
        return Figures(
            found["decision"]["thresholds"][self.words[0]],
            found["false_accepts"],
            found["hours"],
            found["operating_point"]["per_hour_bound"],
            found["operating_point"]["shown"],
            [found["predictions"][str(file)]["latency_ms"] for file in placed],
            found["wrong_word_events"] if clips else 0,
        )
