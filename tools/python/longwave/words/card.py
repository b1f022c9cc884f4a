"""The card of a trained model: what was measured on what, and what was not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from ..kws.speakers import bootstrap
from . import body
from .measured import Figures
from .sounds import Negatives


@dataclass(frozen=True)
class Card:
    words: list[str]
    recordings: list[int]
    negatives: Negatives
    point: Figures
    folds: list[Figures]
    missed: list[tuple[str, str, bool]]  # word, speaker, missed: by the head that did not know the speaker
    delays: list[float]  # ms from the end of the word
    wrong: int  # events of another word
    block_us: float
    size: int
    seconds: float
    rate: float

    def rates(self) -> dict[str, tuple[int, int]]:
        """Missed and all recordings per word."""
        return {
            word: (sum(m for w, _, m in self.missed if w == word), sum(w == word for w, _, _ in self.missed))
            for word in self.words
        }

    def figures(self) -> dict[str, Any]:
        total = np.array([m for _, _, m in self.missed])
        return {
            "words": self.words,
            "threshold": self.point.threshold,
            "missed": {w: {"missed": m, "recordings": n} for w, (m, n) in self.rates().items()},
            "missed_percent": round(100 * float(total.mean()), 2),
            "wrong_events": self.wrong,
            "false_accepts": self.point.events,
            "hours": round(self.point.hours, 3),
            "bound_per_hour": round(self.point.bound, 3),
            "fold_thresholds": [p.threshold for p in self.folds],
            "fold_bounds_per_hour": [round(p.bound, 3) for p in self.folds],
            "delay_ms": {q: round(float(np.percentile(self.delays, p))) for q, p in (("p50", 50), ("p95", 95))}
            if self.delays
            else None,
            "block_us": self.block_us,
            "bytes": self.size,
            "seconds": round(self.seconds, 1),
        }

    def text(self) -> str:
        figures = self.figures()
        total = np.array([m for _, _, m in self.missed])
        low, high = bootstrap(total, np.array([f"{w}/{s}" for w, s, _ in self.missed]))
        rows = "\n".join(
            f"| {word} | {m} of {n} | {100 * a:.0f} to {100 * b:.0f} % |"
            for word, (m, n) in self.rates().items()
            for a, b in [binomtest(m, n).proportion_ci(method="wilson")]
        )
        shown = (
            ""
            if self.point.shown
            else (
                f"\n**The wanted bound of {self.rate:g} per hour is not shown.** Give more hours of negatives, or better recordings.\n"
            )
        )
        delay = f"{figures['delay_ms']['p50']} and {figures['delay_ms']['p95']} ms" if self.delays else "no event"
        return f"""# Model card: {", ".join(self.words)}

Made by `longwave words train`. Threshold {figures["threshold"]:g} for all words, scores averaged over 300 ms, 3 rows of 20 ms.

| figure | value |
|---|---|
| missed recordings, all words | {figures["missed_percent"]:g} % ({100 * low:.0f} to {100 * high:.0f} %, bootstrap over speakers) |
| events of another word | {self.wrong} |
| false accepts in {self.point.hours:.2f} h that were not trained on | {self.point.events} |
| most false accepts per hour, 95 % | {self.point.bound:.2f} |
| from the end of the word to the event: median, 95 % | {delay} |
| a block of 20 ms | {self.block_us:.1f} us |
| file | {self.size // 1000} kB |
{shown}
| word | missed | 95 % interval |
|---|---|---|
{rows}

- A recording counts as missed unless its event comes in it, or in the 1.5 s of silence after it (`longwave eval`).
- Missed recordings: {len(self.folds)} heads were trained, each without a part of the speakers. Each recording was heard by the
  head that did not know its speaker, at the threshold that this head needs. The speaker is the file name up to the first "_".
- The shipped head is trained on all recordings. Its threshold is the lowest with at most {self.rate:g} false accept per hour,
  at the upper 95 % Poisson bound, where the negatives are enough to show that.
- Negatives: two of five files ({self.negatives.training_seconds / 3600:.2f} h) were trained on, at most 3 h of them. The figures
  are from the others. Files of one speaker may be on both sides.
- Training: {", ".join(f'{n} recordings of "{w}"' for w, n in zip(self.words, self.recordings))}, synthetic clips of
  espeak-ng and flite, and the frozen body: the first {body.BLOCKS} blocks of the keyword model of Longwave.
- Not measured: other rooms, microphones and languages than those of the recordings and negatives.
"""
