"""What a keyword model is measured on with `longwave eval`: clips by label, and audio without the words.

    python -m longwave.kws.held_out DATA FOLDER

FOLDER/clips/LABEL/ has the validation clips, FOLDER/negatives the sentences and the noise that training leaves out.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import soundfile

from .. import output_files
from . import datasets
from .labels import CLASSES, SAMPLE_RATE, SILENCE


def write(file: Path, samples: np.ndarray) -> None:
    sound = io.BytesIO()
    soundfile.write(sound, samples, SAMPLE_RATE, subtype="PCM_16", format="WAV")
    output_files.write_file(file, sound.getvalue())


def link(file: Path, place: Path) -> None:
    place.unlink(missing_ok=True)
    place.symlink_to(file.resolve())


def place_clips(clips: Sequence[datasets.Clip], folder: Path) -> list[Path]:
    """FOLDER/LABEL/FILE: links to the clips, in their order. The speaker stays readable in the name of the file."""
    placed = []
    for file, label in clips:
        place = folder / CLASSES[label]
        place.mkdir(parents=True, exist_ok=True)
        own = place.name == file.parent.name
        placed.append(place / (file.name if own else f"{file.parent.name}_{file.name}"))
        link(file, placed[-1])
    if len(set(placed)) != len(placed):
        raise ValueError("two clips of one label have the same name")
    return placed


def place_negatives(data: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for file in datasets.negative_files(data, held_out=True):
        link(file, folder / file.name)
    for number, samples in enumerate(datasets.noise_halves(data, held_out=True)):
        write(folder / f"noise-{number}.wav", samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    clips = datasets.clips(options.data, "val")
    place_clips(clips, options.folder / "clips")
    if SILENCE not in {label for _, label in clips}:
        place = options.folder / "clips" / CLASSES[SILENCE]
        place.mkdir(exist_ok=True)
        for number, samples in enumerate(datasets.silence_clips(options.data, "val", max(1, len(clips) // 11))):
            write(place / f"noise-{number}.wav", samples)
    place_negatives(options.data, options.folder / "negatives")


if __name__ == "__main__":
    main()
