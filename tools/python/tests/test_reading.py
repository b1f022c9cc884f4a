"""Books read by synthetic voices: which sentences, which voices, the same files again, and a run that goes on."""

from __future__ import annotations

import csv
import json
import shutil
import sys
from pathlib import Path

import pytest
import soundfile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.kws import reading  # noqa: E402
from longwave.kws.near import homophones  # noqa: E402
from longwave.kws.reading import Sentences, pages, read_aloud, save_list, voice_of  # noqa: E402

TEXT = "He went up the hill and down again. The ship sailed over the calm sea today. Stop! I know the man well. " * 100


def test_books_are_read_without_command_words() -> None:
    book = Sentences(TEXT)
    assert set(book) == {"The ship sailed over the calm sea today.", "I know the man well."}
    assert book.left_out == 100  # the short "Stop!" is too short anyway
    assert len(next(pages([book])).split()) >= 170


def test_other_words_can_be_left_out() -> None:
    assert set(Sentences(TEXT, ["ship", "the man"])) == {"He went up the hill and down again."}


@pytest.mark.skipif(not shutil.which("espeak-ng"), reason="espeak-ng is not installed")
def test_words_that_sound_the_same_are_found() -> None:
    assert homophones(["I know that we Write to a playwright. Now, the rite!"], ["no", "right"]) == [
        "know",
        "rite",
        "write",
    ]
    assert homophones(["No, no."], ["no"]) == []


@pytest.mark.parametrize("kept", [False, True])
def test_words_that_sound_the_same_are_read_only_if_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    missing = [program for program in ("espeak-ng", "flite") if not shutil.which(program)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    (tmp_path / "book.txt").write_text(TEXT)
    monkeypatch.setattr(
        sys,
        "argv",
        [
            "reading",
            str(tmp_path / "book.txt"),
            "-o",
            str(tmp_path / "out"),
            "--hours",
            "0.02",
            *(["--homophones"] if kept else []),
        ],
    )
    reading.main()
    totals = json.loads((tmp_path / "out/reading.json").read_text())
    assert ("know" in totals["without"]) != kept
    assert totals["sentences_left_out"] == (100 if kept else 200)


def test_a_start_in_the_middle_reads_all_of_the_book() -> None:
    text = "Number one is here now. Number two is here now. Number three is here now. Number four is here now."
    plain, turned = list(Sentences(text, ["xyz"])), list(Sentences(text, ["xyz"], start=0.5))
    assert turned == plain[2:] + plain[:2]


def test_both_programs_read_and_a_seed_changes_the_order() -> None:
    assert {voice_of(n).command()[0] for n in range(10)} == {"espeak-ng", "flite"}
    first, other = [voice_of(n, 0) for n in range(40)], [voice_of(n, 7) for n in range(40)]
    assert first != other and other == [voice_of(n, 7) for n in range(40)]
    assert len({voice.name for voice in first}) == 24  # 20 of espeak-ng, 4 of flite


def test_a_reading_is_the_same_again_and_goes_on(tmp_path: Path) -> None:
    missing = [program for program in ("espeak-ng", "flite") if not shutil.which(program)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    done = read_aloud([Sentences(TEXT)], one, 0.05, 3, 1)
    save_list(done, one)
    files = sorted(one.glob("*.flac"))
    assert len(files) == len(done) and all(soundfile.info(f).samplerate == 16000 for f in files)
    with open(one / "files.csv", encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert [row["file"] for row in rows] == [reading.file for reading in done]
    # A folder with one of the files gets the others, and keeps that one.
    shutil.copy2(files[0], two)
    before = (two / files[0].name).stat().st_mtime_ns
    again = read_aloud([Sentences(TEXT)], two, 0.05, 3, 1)
    assert (two / files[0].name).stat().st_mtime_ns == before
    assert [r.file for r in again] == [r.file for r in done]
    assert all((two / f.name).read_bytes() == f.read_bytes() for f in files)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q"]))
