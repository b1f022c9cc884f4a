"""Keyword models for your own words.

    longwave words train --word "hey robot" --recordings DIR --negatives DIR -o my.lw
    longwave words say --word "hey robot" --count 20 -o DIR
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
from pathlib import Path

from .errors import WordsError

NEEDED = {"torch": "torch", "scipy": "scipy", "soundfile": "soundfile", "safetensors": "safetensors"}


def need_modules() -> None:
    missing = [package for module, package in NEEDED.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise WordsError(f"training needs the Python packages {', '.join(missing)}: pip install {' '.join(missing)}")


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="longwave words", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    train = verbs.add_parser("train", help="train a model for words from a few recordings")
    train.add_argument("--word", action="append", required=True, help="a word or short phrase; several are allowed")
    train.add_argument("--recordings", type=Path, required=True,
                       help="folder of recordings of the word; with several words, one folder per word in it")
    train.add_argument("--negatives", type=Path, required=True, help="folder of speech and noise without the words, 5 h or more")
    train.add_argument("-o", "--output", type=Path, required=True, help="compiled model; its card is written beside it")
    train.add_argument("--model", type=Path, help="folder for the model package too")
    train.add_argument("--rate", type=float, default=1.0, help="most false accepts per hour (default 1)")
    train.add_argument("--steps", type=int, default=700, help="training steps per head (default 700)")
    train.add_argument("--folds", type=int, default=4, choices=range(2, 11), metavar="N",
                       help="heads that each leave a part of the speakers out, to count missed words (default 4)")
    train.add_argument("--seed", type=int, default=0)
    train.add_argument("--work", type=Path, help="folder for rows of audio, kept for a next run (default: a temporary one)")
    say = verbs.add_parser("say", help="test recordings in synthetic voices that training never uses")
    say.add_argument("--word", required=True)
    say.add_argument("--count", type=int, default=20)
    say.add_argument("--seed", type=int, default=0)
    say.add_argument("-o", "--output", type=Path, required=True)
    return parser.parse_args(arguments)


def run_train(options: argparse.Namespace) -> None:
    need_modules()
    words = [word.strip() for word in options.word]
    if len(set(words)) != len(words) or not all(words) or any(word.startswith("_") for word in words):
        raise WordsError("words must differ, must not be empty and must not begin with \"_\"")
    if options.output.suffix != ".lw" or not options.output.absolute().parent.is_dir():
        raise WordsError(f"{options.output}: name a file that ends in .lw, in a folder that exists")
    from . import train

    with tempfile.TemporaryDirectory(prefix="longwave-words-") as temporary:
        card = train.train(train.Options(words, options.recordings, options.negatives, options.output,
                                         options.work or Path(temporary), options.rate, options.steps, options.seed,
                                         options.model, options.folds), lambda line: print(line, file=sys.stderr, flush=True))
    options.output.with_suffix(".card.md").write_text(card.text(), encoding="utf-8")
    print(json.dumps(card.figures(), indent=1))


def run_say(options: argparse.Namespace) -> None:
    need_modules()
    import numpy as np
    import soundfile

    from . import voices
    voices.need_programs()
    options.output.mkdir(parents=True, exist_ok=True)
    for number, voice in enumerate(voices.draw(options.count, True, options.seed)):
        samples = np.pad(voices.say(options.word, voice), 4000)
        soundfile.write(options.output / f"{voice.label()}_{number:03}.wav", samples, voices.RATE, subtype="PCM_16")
    print(f"{options.count} recordings in {options.output}")


def main(arguments: list[str] | None = None) -> int:
    options = parse(sys.argv[1:] if arguments is None else arguments)
    try:
        (run_train if options.verb == "train" else run_say)(options)
    except (WordsError, FileNotFoundError) as error:
        print(f"longwave words: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
