"""Keyword models for your own words.

longwave words train --word "hey robot" --recordings DIR --negatives DIR -o my.lw
longwave words say --word "hey robot" --count 20 -o DIR
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import math
import sys
from pathlib import Path

from .. import cleanup, output_files
from .errors import WordsError
from .progress import Progress

SPEAKS = ("numpy", "scipy", "soundfile")
TRAINS = (*SPEAKS, "torch", "safetensors")


def need_modules(what: str, names: tuple[str, ...]) -> None:
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        raise WordsError(f"{what} needs the Python packages {', '.join(missing)}: pip install {' '.join(missing)}")


def count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"expected a number from 1 on, found {text!r}")
    return int(text)


def rate(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number above 0, found {text!r}")
    return value


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="longwave words", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    train = verbs.add_parser("train", help="train a model for words from a few recordings")
    train.add_argument("--word", action="append", required=True, help="a word or short phrase; several are allowed")
    train.add_argument(
        "--recordings",
        type=Path,
        required=True,
        help="folder of recordings of the word; with several words, one folder per word in it",
    )
    train.add_argument(
        "--negatives", type=Path, required=True, help="folder of speech and noise without the words, 5 h or more"
    )
    train.add_argument("-o", "--output", type=Path, required=True, help="compiled model; its card is written beside it")
    train.add_argument("--model", type=Path, help="folder for the model package too")
    train.add_argument("--rate", type=rate, default=1.0, help="most false accepts per hour (default 1)")
    train.add_argument("--steps", type=count, default=700, help="training steps per head (default 700)")
    train.add_argument(
        "--folds",
        type=int,
        default=4,
        choices=range(2, 11),
        metavar="N",
        help="heads that each leave a part of the speakers out, to count missed words (default 4)",
    )
    train.add_argument("--seed", type=int, default=0)
    train.add_argument(
        "--work", type=Path, help="folder for rows of audio, kept for a next run (default: a temporary one)"
    )
    say = verbs.add_parser("say", help="test recordings in synthetic voices that training never uses")
    say.add_argument("--word", required=True)
    say.add_argument("--count", type=count, default=20, help="how many, each in a voice of its own (default 20)")
    say.add_argument("--seed", type=int, default=0)
    say.add_argument("-o", "--output", type=Path, required=True, help="folder for the recordings")
    return parser.parse_args(arguments)


def run_train(options: argparse.Namespace) -> str:
    """The figures of the card as JSON, once all files are written."""
    need_modules("training", TRAINS)  # looked for, not imported: PyTorch takes seconds
    words = [word.strip() for word in options.word]
    if len(set(words)) != len(words) or not all(words) or any(word[0] == "_" or "/" in word for word in words):
        raise WordsError('words must differ, must not be empty, must not begin with "_" and have no "/"')
    card_file = options.output.with_suffix(".card.md")
    if options.output.suffix != ".lw":
        raise WordsError(f"{options.output}: name a file that ends in .lw")
    for file in (options.output, card_file):
        output_files.check_file(file)
    for folder in (options.model, options.work):
        if folder:
            output_files.check_folder(folder)
    progress = Progress(lambda line: print(line, file=sys.stderr, flush=True))
    progress.line("read the recordings and the list of negatives")
    from . import sounds, voices

    voices.need_programs()
    recorded = sounds.recordings(options.recordings, words)
    found = sounds.negatives(options.negatives)
    progress.line(
        f"{', '.join(f'{len(c)} recordings of {w!r}' for w, c in zip(words, recorded))}; negatives: "
        f"{found.training_seconds / 3600:.2f} h for training, {found.held_out_seconds / 3600:.2f} h for the threshold"
    )
    progress.line("load PyTorch")
    from ..kws.engine import EngineError
    from . import measured, train

    with cleanup.temporary_folder("longwave-words-") as temporary:
        work = options.work or temporary
        try:
            card = train.train(
                train.Options(
                    words,
                    options.recordings,
                    options.negatives,
                    work,
                    options.rate,
                    options.steps,
                    options.seed,
                    options.folds,
                ),
                recorded,
                found,
                progress,
            )
        except EngineError as error:
            raise WordsError(str(error)) from error
        if options.model:
            output_files.write_folder(options.model, {part.name: part for part in (work / measured.PACKAGE).iterdir()})
        output_files.write_files({options.output: work / measured.COMPILED, card_file: card.text().encode()})
    return json.dumps(card.figures(), indent=1)


def run_say(options: argparse.Namespace) -> str:
    need_modules("`say`", SPEAKS)
    import numpy as np
    import soundfile

    from . import voices

    voices.need_programs()
    output_files.check_folder(options.output)
    files = {}
    for number, voice in enumerate(voices.draw(options.count, True, options.seed)):
        samples, file = np.pad(voices.say(options.word, voice), 4000), io.BytesIO()
        soundfile.write(file, samples, voices.RATE, subtype="PCM_16", format="WAV")
        files[f"{voice.label()}_{number:03}.wav"] = file.getvalue()
    output_files.write_folder(options.output, files)
    return f"{len(files)} recordings in {options.output}"


def main(arguments: list[str] | None = None) -> int:
    options = parse(sys.argv[1:] if arguments is None else arguments)
    with cleanup.watched(interrupt_ends=True):
        try:
            text = (run_train if options.verb == "train" else run_say)(options)
        except WordsError as error:
            message = str(error)
        except OSError as error:
            message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        else:
            return output_files.print_result(text)
    print(f"longwave words: error: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
