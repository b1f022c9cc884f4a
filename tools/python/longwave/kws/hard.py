"""Speech that is easily taken for a command, for the last stage of training: made by synthetic voices.

    python -m longwave.kws.hard TEXTS... -o FOLDER [--hours 8] [--commands 1600] [--near 2400] [--seed 0]

FOLDER/speech/*.flac    running speech: sentences of TEXTS, and sentences of random words of TEXTS, every third of them near
                        to a command (near.py). No sentence holds a command.
FOLDER/near/*.flac      words near to a command, each alone
FOLDER/<command>/*.flac the ten commands, each alone, in the same voices: else a model learns that a synthetic voice never
                        says a command

The voices are variants of espeak-ng that the reading voices (reading.py) do not use, in two more accents. So the hours on
which thresholds are chosen are read by other voices. TEXTS must be other texts too. A stopped run goes on: files that exist
stay.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from .labels import COMMANDS, SAMPLE_RATE
from .near import near_words, vocabulary
from .reading import ACCENTS, WORDS_A_FILE, Sentences, speak

MORE_ACCENTS = ["en-gb-x-gbclan", "en-us-nyc"]
TRAINING_VARIANTS = [
    "m8",
    "AnxiousAndy",
    "Denis",
    "Diogo",
    "Gene",
    "Gene2",
    "Henrique",
    "Hugo",
    "Jacky",
    "Marco",
    "Mario",
    "Michael",
    "Mike",
    "Nguyen",
    "RicishayMax",
    "Storm",
    "Tweaky",
    "anika",
    "antonio",
    "aunty",
    "boris",
    "caleb",
    "ed",
    "edward",
    "edward2",
    "grandma",
    "grandpa",
    "gustave",
    "iven",
    "iven3",
    "john",
    "kaukovalta",
    "klatt",
    "klatt2",
    "klatt4",
    "max",
    "michel",
    "miguel",
    "norbert",
    "pablo",
    "pedro",
    "quincy",
    "rob",
    "sandro",
    "shelby",
]
TRIAL_VARIANTS = [
    "m6",
    "Andrea",
    "david",
    "klatt3",
    "marcelo",
    "iven2",
    "travis",
    "Lee",
]  # to compare trainings with each other


@dataclass(frozen=True)
class Saying:
    file: str  # in the folder
    text: str
    voice: str
    speed: int
    pitch: int

    def command(self) -> list[str]:
        return ["espeak-ng", "-v", self.voice, "-s", str(self.speed), "-p", str(self.pitch), "--stdout", "--stdin"]


def any_voice(variants: Sequence[str], rng: np.random.Generator) -> tuple[str, int, int]:
    accents = ACCENTS + MORE_ACCENTS
    return (
        f"{accents[int(rng.integers(len(accents)))]}+{variants[int(rng.integers(len(variants)))]}",
        int(rng.integers(120, 221)),
        int(rng.integers(20, 81)),
    )


def plain(page: str) -> str:
    """Text without the mark-up of MediaWiki; other text as it is."""
    page = re.sub(r"<ref[^>]*/>|<ref.*?</ref>|<!--.*?-->|\{\{[^{}]*\}\}", " ", page, flags=re.DOTALL)
    page = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]", r"\1", page)
    page = re.sub(r"\[?https?://\S*|<[^>]*>|'''?|={2,}|&\w+;", " ", page)
    return "\n".join(line for line in page.split("\n") if not line.startswith(("|", "{", "}", "!", "[[")))


def random_sentences(words: Sequence[str], near: dict[str, list[str]], rng: np.random.Generator) -> Iterator[str]:
    """Sentences of 5 to 12 words; every third word is near to a command, as often to each."""
    commands = [command for command in COMMANDS if near[command]]
    while True:
        sentence = []
        for _ in range(int(rng.integers(5, 13))):
            pool = near[commands[int(rng.integers(len(commands)))]] if rng.random() < 1 / 3 else words
            sentence.append(str(pool[int(rng.integers(len(pool)))]) + ("," if rng.random() < 0.1 else ""))
        yield " ".join(sentence).rstrip(",").capitalize() + "."


def pages(sentences: Iterator[str]) -> Iterator[str]:
    page: list[str] = []
    for sentence in sentences:
        page.append(sentence)
        if sum(len(s.split()) for s in page) >= WORDS_A_FILE:
            yield " ".join(page)
            page = []


def sayings(texts: list[str], options: argparse.Namespace) -> Iterator[Saying]:
    """Single words first, then pages without end: of the texts and of random words in turn."""
    variants = TRIAL_VARIANTS if options.trial else TRAINING_VARIANTS
    rng = np.random.default_rng([options.seed, options.trial])
    words = vocabulary(texts)
    near = near_words(words)
    for number in range(options.commands):
        word = COMMANDS[number % len(COMMANDS)]
        yield Saying(f"{word}/{number:05}.flac", word, *any_voice(variants, rng))
    for number in range(options.near):
        pool = near[COMMANDS[number % len(COMMANDS)]]
        if pool:
            yield Saying(f"near/{number:05}.flac", str(pool[int(rng.integers(len(pool)))]), *any_voice(variants, rng))
    written, made = [iter(Sentences(text)) for text in texts], random_sentences(words, near, rng)
    sources = [pages(sentence for stream in written for sentence in stream), pages(made)]
    number = 0
    while True:
        page = next(sources[number % 2], None) or next(sources[1])
        yield Saying(f"speech/{number:05}.flac", page, *any_voice(variants, rng))
        number += 1


def write(saying: Saying, folder: Path) -> float:
    """Seconds of its file, which is made if it is not there yet."""
    path = folder / saying.file
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        soundfile.write(part, speak(saying.text, saying.command()), SAMPLE_RATE, subtype="PCM_16", format="FLAC")
        part.rename(path)
    result: float = soundfile.info(path).duration
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=8, help="of running speech")
    parser.add_argument("--commands", type=int, default=1600)
    parser.add_argument("--near", type=int, default=2400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--trial", action="store_true", help="voices that neither train nor choose a threshold")
    options = parser.parse_args()
    texts = [plain(file.read_text(encoding="utf-8", errors="replace")) for file in options.texts]
    source, seconds = sayings(texts, options), 0.0
    with ThreadPoolExecutor(options.jobs) as pool:
        while seconds < 3600 * options.hours:
            some = [next(source) for _ in range(16)]
            lengths = list(pool.map(lambda saying: write(saying, options.output), some))
            seconds += sum(length for saying, length in zip(some, lengths) if saying.file.startswith("speech/"))
    print(
        f"{seconds / 3600:.2f} hours of running speech, {options.commands} commands, {options.near} words near to them"
    )


if __name__ == "__main__":
    main()
