"""Hours of running speech without command words: books that synthetic voices read.

    python -m longwave.kws.reading BOOKS... -o FOLDER --hours 6

BOOKS: text files. Sentences with one of the ten words are left out, so every event is a false accept.
Voices: espeak-ng (6 English accents x 24 variants) and flite (4 voices), one after the other, so that FOLDER has as
many minutes of each program. Files of about a minute: FOLDER/<voice>-<number>.flac, 16 kHz mono; those that exist
already stay. The same books give the same files. The voices take no part in training.
"""
from __future__ import annotations

import argparse
import io
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import soundfile
from scipy.signal import resample_poly

from .labels import COMMANDS, SAMPLE_RATE

ACCENTS = ["en-gb", "en-us", "en-gb-scotland", "en-gb-x-rp", "en-gb-x-gbcwmd", "en-029"]
VARIANTS = ["m1", "f1", "m2", "f2", "m3", "f3", "m4", "f4", "m5", "f5", "m7", "Andy", "Annie", "Alex", "Alicia", "adam",
            "belinda", "benjamin", "linda", "paul", "robert", "steph", "victor", "zac"]
FLITE = ["kal16", "awb", "rms", "slt"]
WORDS_A_FILE = 170  # about a minute
RMS = 0.06  # of a file: the level of the validation clips


def sentences(book: str) -> Iterator[str]:
    """Sentences of 4 to 60 words without any of the ten words."""
    command = re.compile(r"\b(" + "|".join(COMMANDS) + r")\b", re.IGNORECASE)
    for sentence in re.split(r"(?<=[.!?;:])\s+|\n\s*\n", book):
        text = " ".join(re.sub(r"[^A-Za-z',.!?;: -]", " ", sentence).split())
        if 4 <= len(text.split()) <= 60 and not command.search(text):
            yield text


def pages(books: list[Path]) -> Iterator[str]:
    """Texts of about WORDS_A_FILE words, from the books in turn, without end while one of them has text."""
    streams = [sentences(book.read_text(encoding="utf-8", errors="replace")) for book in books]
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


def voice_of(number: int) -> tuple[str, list[str]]:
    """Name and command line of the voice of file `number`; half of the files are flite's."""
    if number % 2:
        voice = FLITE[number // 2 % len(FLITE)]
        return f"flite-{voice}", ["flite", "-voice", voice, "-o", "/dev/stdout"]
    at = number // 2
    voice = f"{ACCENTS[at % len(ACCENTS)]}+{VARIANTS[at // len(ACCENTS) % len(VARIANTS)]}"
    speed = 140 + 10 * (at % 6)  # words a minute
    return f"espeak-{voice}", ["espeak-ng", "-v", voice, "-s", str(speed), "--stdout", "--stdin"]


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
    return (samples * (RMS / max(1e-6, float(np.sqrt(np.mean(samples ** 2)))))).clip(-1, 1).astype(np.float32)


def decode(wave: bytes) -> tuple[np.ndarray, int]:
    """Samples and rate of a RIFF file on a pipe, whose sizes the program could not fill in."""
    data = wave.index(b"data") + 8
    fixed = bytearray(wave)
    fixed[4:8] = (len(wave) - 8).to_bytes(4, "little")
    fixed[data - 4:data] = (len(wave) - data).to_bytes(4, "little")
    samples, rate = soundfile.read(io.BytesIO(bytes(fixed)), dtype="float32")
    return samples, rate


def write(number: int, text: str, folder: Path) -> float:
    """Writes one file and returns its seconds."""
    name, command = voice_of(number)
    path = folder / f"{name}-{number:04}.flac"
    if not path.exists():
        part = path.with_suffix(".part")
        soundfile.write(part, speak(text, command), SAMPLE_RATE, subtype="PCM_16", format="FLAC")
        part.rename(path)
    return soundfile.info(path).duration


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("books", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--hours", type=float, default=6)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    seconds, number, source = 0.0, 0, pages(options.books)
    with ThreadPoolExecutor(options.jobs) as pool:
        while seconds < 3600 * options.hours:
            some = [(number + i, text) for i, text in zip(range(8), source)]
            if not some:
                break
            seconds += sum(pool.map(lambda page: write(page[0], page[1], options.output), some))
            number += len(some)
    print(f"{number} files, {seconds / 3600:.2f} hours")


if __name__ == "__main__":
    main()
