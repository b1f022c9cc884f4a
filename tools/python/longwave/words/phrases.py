"""What the synthetic voices say: the words, and phrases that are near to them and must not fire."""

from __future__ import annotations

import numpy as np

# Common English words, so that a part of a phrase next to any of them is known not to be the
# phrase.
COMMON = (
    "time year people way day man thing woman life child world school state family student group country problem hand part "
    "place case week company system program question work night point home water room mother area money story fact month "
    "lot right study book eye job word business issue side kind head house service friend father power hour game line end "
    "member law car city name team minute idea body back parent face level office door health person art war history party "
    "result change morning reason research girl guy moment air teacher force hey hello okay listen computer music light "
    "kitchen radio robin robert rabbit rocket ready never really today open close start please"
).split()


def near_misses(words: list[str], count: int, rng: np.random.Generator) -> list[str]:
    """Parts of the words, parts beside common words, and common words alone; never one of the words itself."""
    parts = sorted({part for word in words for part in word.lower().split()})
    banned = {word.lower() for word in words}
    found: list[str] = []
    while len(found) < count:
        kind = rng.random()
        common = [str(w) for w in rng.choice(COMMON, 3, replace=False)]
        part = parts[rng.integers(len(parts))]
        if kind < 0.45 and any(" " in word for word in words):
            several = [p for word in words if " " in word for p in word.lower().split()]
            part = several[rng.integers(len(several))]
            text = [part, f"{part} {common[0]}", f"{common[0]} {part}"][rng.integers(3)]
        elif kind < 0.6 and len(part) >= 4:
            text = part[: len(part) // 2] if rng.random() < 0.5 else part[len(part) // 2 :]
        elif kind < 0.8:
            text = common[0]
        else:
            text = " ".join(common[: int(rng.integers(2, 4))])
        if text not in banned:
            found.append(text)
    return found
