"""Hard negatives: near words, voices that judge nothing, batches that hold them, and where mistakes are."""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.kws import batches, hard, mining, near  # noqa: E402
from longwave.kws.labels import COMMANDS, SILENCE  # noqa: E402
from longwave.kws.model import KwsConfig, KwsNet  # noqa: E402
from longwave.kws.reading import VARIANTS  # noqa: E402
from longwave.words.mining import APART, mistakes  # noqa: E402

torch.set_num_threads(1)
ESPEAK = pytest.mark.skipif(not shutil.which("espeak-ng"), reason="espeak-ng is not installed")
TEXT = "The upper town was lost at night. We know the cup is on the table. A soft light went beyond the snow. " * 20


def test_distance_counts_sounds() -> None:
    assert near.distance(("s", "t", "0", "p"), ("s", "t", "0", "p")) == 0
    assert near.distance(("s", "t", "0", "p"), ("t", "0", "p", "s")) == 2
    assert near.distance((), ("a", "b")) == 2
    assert near.holds(("V", "p", "3"), ("V", "p")) and not near.holds(("V", "k", "p"), ("V", "p"))


@ESPEAK
def test_near_words_sound_like_a_command_but_not_the_same() -> None:
    found = near.near_words(["upper", "goal", "know", "write", "cup", "table", "offer", "yesterday"])
    assert "upper" in found["up"] and "cup" in found["up"] and "goal" in found["go"] and "offer" in found["off"]
    assert "yesterday" in found["yes"]
    alone = {word for words in found.values() for word in words}
    assert not {"know", "write", "table"} & alone


def test_no_voice_trains_and_judges() -> None:
    sets = [set(hard.TRAINING_VARIANTS), set(hard.TRIAL_VARIANTS), set(VARIANTS)]
    assert sum(map(len, sets)) == len(set.union(*sets))


@ESPEAK
def test_what_is_said_holds_no_command_but_the_commands_alone() -> None:
    options = argparse.Namespace(trial=False, seed=0, commands=20, near=20)
    said = list(islice(hard.sayings([TEXT], options), 50))
    assert [s.text for s in said[:10]] == COMMANDS and said[0].file == "yes/00000.flac"
    others = [s.text for s in said[20:]]
    assert len(others) == 30 and len(others[-1].split()) >= hard.WORDS_A_FILE
    assert not [text for text in others if re.search(r"\b(" + "|".join(COMMANDS) + r")\b", text.lower())]
    assert {s.voice.split("+")[1] for s in said} <= set(hard.TRAINING_VARIANTS)


def test_plain_text_of_a_page() -> None:
    page = (
        "{{Infobox\n| name = x\n}}\n'''Bazooka''' is a [[weapon|tube]] of [[war]].<ref name=a>{{cite}}</ref>\n| cell\n"
    )
    assert " ".join(hard.plain(page).split()) == "Bazooka is a tube of war."


def write_cache(folder: Path) -> None:
    """Each bank has a level of its own, so that a batch shows where it is from."""
    np.save(folder / "commands.npy", np.full((24, 8, 120, 40), 1, np.float16))
    np.save(folder / "commands_label.npy", np.arange(24) % 12)
    np.save(folder / "noise.npy", np.zeros((2000, 40), np.float16))
    np.save(folder / "spoken.npy", np.full((10, 120, 40), 2, np.float16))
    np.save(folder / "spoken_label.npy", np.arange(10))
    np.save(folder / "near.npy", np.full((10, 120, 40), 3, np.float16))
    np.save(folder / "chains.npy", np.full((2000, 40), 4, np.float16))
    np.save(folder / "speech.npy", np.repeat(np.linspace(-6, -5, 9000), 40).reshape(9000, 40).astype(np.float16))


def test_batches_of_the_last_stage_hold_every_bank(tmp_path: Path) -> None:
    write_cache(tmp_path)
    material = batches.Material(tmp_path)
    torch.manual_seed(0)
    clips, label, auxiliary, _ = batches.pick_clips(material, batches.HARDEN, 2000, np.random.default_rng(0))
    level = clips.mean((1, 2)).round()
    assert (auxiliary == -1).all()
    assert ((label[level == 2] >= 0) & (label[level == 2] < SILENCE)).all() and (level == 2).sum() > 100
    assert (label[level == 3] == batches.NOT_A_COMMAND).all() and (level == 3).sum() > 100
    before, *_ = batches.pick_clips(material, batches.FINETUNE, 2000, np.random.default_rng(0))
    assert not (before.mean((1, 2)).round() >= 2).any()
    rows = batches.background(material, batches.HARDEN, 400).log().mean((1, 2))
    assert 0.5 < ((rows < -4.9) & (rows > -6.1)).float().mean() < 0.7 and 0.1 < (rows > 3).float().mean() < 0.2


def test_half_of_the_speech_is_where_mistakes_are(tmp_path: Path) -> None:
    write_cache(tmp_path)
    material = batches.Material(tmp_path)
    material.mistakes = torch.tensor([7777])
    rows = batches.speech_rows(material, 600)
    assert 0.4 < (rows[:, 0, 0] == material.speech[7777, 0]).float().mean() < 0.6


class Loud(KwsNet):
    """Takes a loud frame for the third command."""

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        logits = torch.zeros(1, features.shape[1] // 2, 12)
        logits[..., 2] = 20 * (features[:, ::2, 0] > 0) - 10
        return logits


def test_mistakes_are_found_and_lie_inside_their_rows() -> None:
    speech = torch.full((40000, 40), -5.0)
    speech[20000:20050] = 1
    starts = mining.mistakes(Loud(KwsConfig()), speech)
    assert len(starts) >= 3 and ((starts <= 20020) & (starts + batches.ROW > 20020)).all()


def test_the_highest_mistakes_of_a_head_are_taken_apart_from_each_other() -> None:
    scores = np.zeros((4000, 3))
    scores[:, 2] = 1
    scores[1000:1030, 0], scores[3000:3030, 1] = 0.9, 0.4
    found = mistakes(scores, 2)
    assert found[0] in range(1000, 1045) and (np.diff(np.sort(found)) >= APART).all()
    assert any(row in range(3000, 3045) for row in found) and not len(mistakes(scores * 0.05, 2))


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q"]))
