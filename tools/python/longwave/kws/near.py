"""Words that sound like a command: their phonemes are close to those of a command, or hold them.

espeak-ng gives the phonemes. "Upper", "goal" and "stopped" are near. "Know" and "write" sound the same (`homophones`), so they
are never said alone. Sentences to train on may hold them; sentences on which false accepts are counted may not (reading.py).
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence

from .labels import COMMANDS

Sounds = tuple[str, ...]


def phonemes(words: Sequence[str]) -> list[Sounds]:
    """The phonemes of each word without stress, as espeak-ng says it alone in American English."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(f"{word}.\n" for word in words))
        file.flush()
        done = subprocess.run(
            ["espeak-ng", "-q", "-x", "--sep=_", "-v", "en-us", "-f", file.name],
            capture_output=True,
            text=True,
            check=True,
        )
    lines = [
        tuple(re.sub("[',%=|]", "", sound) for sound in line.split("_"))
        for line in done.stdout.split("\n")[: len(words)]
    ]
    if len(lines) != len(words):
        raise ValueError(f"espeak-ng gave {len(lines)} lines for {len(words)} words")
    return lines


def distance(one: Sounds, two: Sounds) -> int:
    """Fewest phonemes to put in, take out or change (Levenshtein)."""
    row = list(range(len(two) + 1))
    for i, a in enumerate(one):
        before, row[0] = row[0], i + 1
        for j, b in enumerate(two):
            before, row[j + 1] = row[j + 1], min(row[j + 1] + 1, row[j] + 1, before + (a != b))
    return row[-1]


def holds(long: Sounds, short: Sounds) -> bool:
    return any(long[i : i + len(short)] == short for i in range(len(long) - len(short) + 1))


def vocabulary(texts: Iterable[str], without: Sequence[str] = COMMANDS) -> list[str]:
    """The words of 2 to 12 letters that `texts` have at least twice, in the order of the alphabet."""
    count: dict[str, int] = {}
    for text in texts:
        for word in re.findall(r"\b[a-z]{2,12}\b", text):
            count[word] = count.get(word, 0) + 1
    return sorted(word for word, times in count.items() if times > 1 and word not in without)


def homophones(texts: Iterable[str], words: Sequence[str]) -> list[str]:
    """The words of `texts`, in lower case, that sound the same as one of `words` and are spelled differently."""
    spelled = {word.lower() for text in texts for word in re.findall(r"[A-Za-z]+", text)} - {
        word.lower() for word in words
    }
    wanted, candidates = set(phonemes(words)), sorted(spelled)
    return [word for word, sounds in zip(candidates, phonemes(candidates)) if sounds in wanted]


def near_words(words: Sequence[str]) -> dict[str, list[str]]:
    """For each command those of `words` that sound like it, but not the same."""
    commands = dict(zip(COMMANDS, phonemes(COMMANDS)))
    found: dict[str, list[str]] = {command: [] for command in COMMANDS}
    for word, sounds in zip(words, phonemes(words)):
        if sounds in commands.values():
            continue
        for command, wanted in commands.items():
            if distance(sounds, wanted) <= (1 if len(wanted) < 4 else 2) or (
                holds(sounds, wanted) and len(sounds) <= 3 * len(wanted)
            ):
                found[command].append(word)
    return found
