"""Hours of running speech without command words: books that synthetic voices read.

    python -m longwave.kws.reading BOOKS... -o FOLDER --hours 6 [--seed 0] [--without "hey robot"]

BOOKS: text files. Sentences with one of the ten words are left out, so every event is a false accept. So are sentences with a
word that sounds the same, for no model can tell them apart: "know", "write". --homophones keeps these.
Voices: espeak-ng (6 English accents x 24 variants) and flite (4 voices), one after the other, so that FOLDER has about
as many minutes of each program. Files of about a minute: FOLDER/<voice>-<number>.flac, 16 kHz mono. The same books and
seed give the same files. Another seed reads other pages, with the voices in another order. A stopped run goes on: files
that exist stay. FOLDER/files.csv lists them: file, program, voice, words per minute, seconds, first words, digest of the
text. FOLDER/reading.json holds the totals, among them the sentences left out.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import resample_poly

from .. import output_files
from .labels import COMMANDS, SAMPLE_RATE
from .near import homophones

ACCENTS = ["en-gb", "en-us", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbcwmd", "en-029"]
VARIANTS = [
    "m1",
    "f1",
    "m2",
    "f2",
    "m3",
    "f3",
    "m4",
    "f4",
    "m5",
    "f5",
    "m7",
    "Andy",
    "Annie",
    "Alex",
    "Alicia",
    "adam",
    "belinda",
    "benjamin",
    "linda",
    "paul",
    "robert",
    "steph",
    "victor",
    "zac",
]
FLITE = ["kal16", "awb", "rms", "slt"]
WORDS_A_FILE = 170  # about a minute
RMS = 0.06  # of a file: the level of the validation clips


@dataclass
class Sentences:
    """Sentences of 4 to 60 words of `book`, from the part `start` of it on and around; those with a word of `without` are left out."""

    book: str
    without: Sequence[str] = tuple(COMMANDS)
    start: float = 0.0
    left_out: int = 0

    def __iter__(self) -> Iterator[str]:
        banned = re.compile(r"\b(" + "|".join(re.escape(word) for word in self.without) + r")\b", re.IGNORECASE)
        parts = re.split(r"(?<=[.!?;:])\s+|\n\s*\n", self.book)
        first = int(self.start * len(parts))
        for sentence in parts[first:] + parts[:first]:
            text = " ".join(re.sub(r"[^A-Za-z',.!?;: -]", " ", sentence).split())
            if not 4 <= len(text.split()) <= 60:
                continue
            if banned.search(text):
                self.left_out += 1
            else:
                yield text


def pages(books: Sequence[Sentences]) -> Iterator[str]:
    """Texts of about WORDS_A_FILE words, from the books in turn, until none of them has text."""
    streams = [iter(book) for book in books]
    while streams:
        for stream in list(streams):
            page, words = [], 0
            for sentence in stream:
                page.append(sentence)
                words += len(sentence.split())
                if words >= WORDS_A_FILE:
                    break
            if words >= WORDS_A_FILE:
                yield " ".join(page)
            else:
                streams.remove(stream)


def voices(seed: int) -> tuple[list[str], list[str]]:
    """The voices of espeak-ng and of flite in the order in which they read; seed 0 keeps the order of the lists."""
    espeak = [f"{accent}+{variant}" for variant in VARIANTS for accent in ACCENTS]
    if seed == 0:
        return espeak, FLITE
    rng = np.random.default_rng(seed)
    return [espeak[i] for i in rng.permutation(len(espeak))], [FLITE[i] for i in rng.permutation(len(FLITE))]


@dataclass(frozen=True)
class Voice:
    program: str  # "espeak" or "flite"
    name: str
    speed: int  # words per minute, 0: the voice's own

    def command(self) -> list[str]:
        if self.program == "flite":
            return ["flite", "-voice", self.name, "-o", "/dev/stdout"]
        return ["espeak-ng", "-v", self.name, "-s", str(self.speed), "--stdout", "--stdin"]


def voice_of(number: int, seed: int = 0) -> Voice:
    """The voice of file `number`; half of the files are flite's."""
    espeak, flite = voices(seed)
    at = number // 2
    if number % 2:
        return Voice("flite", flite[at % len(flite)], 0)
    return Voice("espeak", espeak[at % len(espeak)], 140 + 10 * (at % 6))


def speak(text: str, command: list[str]) -> np.ndarray:
    """Mono float32 at 16 kHz, at the level RMS."""
    if command[0] == "flite":
        done = subprocess.run([*command[:-2], "-t", text, *command[-2:]], capture_output=True, check=True)
    else:
        done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    samples, rate = decode(done.stdout)
    if rate != SAMPLE_RATE:
        common = np.gcd(rate, SAMPLE_RATE)
        samples = resample_poly(samples, SAMPLE_RATE // common, rate // common)
    return (samples * (RMS / max(1e-6, float(np.sqrt(np.mean(samples**2)))))).clip(-1, 1).astype(np.float32)


def decode(wave: bytes) -> tuple[np.ndarray, int]:
    """Samples and rate of a RIFF file on a pipe, whose sizes the program could not fill in."""
    data = wave.index(b"data") + 8
    fixed = bytearray(wave)
    fixed[4:8] = (len(wave) - 8).to_bytes(4, "little")
    fixed[data - 4 : data] = (len(wave) - data).to_bytes(4, "little")
    samples, rate = soundfile.read(io.BytesIO(bytes(fixed)), dtype="float32")
    return samples, rate


@dataclass(frozen=True)
class Reading:
    file: str
    voice: Voice
    seconds: float
    text: str

    def row(self) -> list[str]:
        digest = hashlib.sha256(self.text.encode()).hexdigest()[:16]
        return [
            self.file,
            self.voice.program,
            self.voice.name,
            str(self.voice.speed),
            f"{self.seconds:.2f}",
            " ".join(self.text.split()[:6]),
            digest,
        ]


def write(number: int, text: str, folder: Path, seed: int) -> Reading:
    """Writes one file if it is not there yet."""
    voice = voice_of(number, seed)
    path = folder / f"{voice.program}-{voice.name}-{number:04}.flac"
    if not path.exists():
        part = path.with_suffix(".part")
        soundfile.write(part, speak(text, voice.command()), SAMPLE_RATE, subtype="PCM_16", format="FLAC")
        part.rename(path)
    return Reading(path.name, voice, soundfile.info(path).duration, text)


def read_aloud(books: Sequence[Sentences], folder: Path, hours: float, seed: int, jobs: int) -> list[Reading]:
    """Reads until `folder` has that many hours or the books end."""
    done: list[Reading] = []
    source = pages(books)
    with ThreadPoolExecutor(jobs) as pool:
        while sum(reading.seconds for reading in done) < 3600 * hours:
            some = [(len(done) + i, text) for i, text in zip(range(8), source)]
            if not some:
                break
            done += pool.map(lambda page: write(page[0], page[1], folder, seed), some)
    return done


def save_list(done: Sequence[Reading], folder: Path) -> None:
    lines = io.StringIO(newline="")
    table = csv.writer(lines)
    table.writerow(["file", "program", "voice", "words_per_minute", "seconds", "first_words", "text_sha256"])
    table.writerows(reading.row() for reading in done)
    output_files.write_text(folder / "files.csv", lines.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("books", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without", action="append", help="leave out sentences with this (default: the ten words)")
    parser.add_argument("--homophones", action="store_true", help="keep words that sound the same as one left out")
    options = parser.parse_args()
    for program in ("espeak-ng", "flite"):
        if not shutil.which(program):
            raise SystemExit(f"{program} is not installed: apt-get install {program}")
    options.output.mkdir(parents=True, exist_ok=True)
    start = float(np.random.default_rng(options.seed).random()) if options.seed else 0.0
    texts = [book.read_text(encoding="utf-8", errors="replace") for book in options.books]
    without = options.without or COMMANDS
    if not options.homophones:
        without = [*without, *homophones(texts, without)]
    books = [Sentences(text, without, start) for text in texts]
    done = read_aloud(books, options.output, options.hours, options.seed, options.jobs)
    save_list(done, options.output)
    totals = {
        "seed": options.seed,
        "books": [book.name for book in options.books],
        "without": without,
        "files": len(done),
        "sentences_left_out": sum(book.left_out for book in books),
        "hours": {
            p: round(sum(r.seconds for r in done if r.voice.program == p) / 3600, 3) for p in ("espeak", "flite")
        },
    }
    output_files.write_text(options.output / "reading.json", json.dumps(totals, indent=1))
    print(json.dumps(totals))


if __name__ == "__main__":
    main()
