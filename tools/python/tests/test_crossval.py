"""Folds by speaker: what training may use, and figures pooled over folds."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.kws import batches, crossval  # noqa: E402
from longwave.kws.crossval import pooled  # noqa: E402
from longwave.kws.hard_features import chain  # noqa: E402
from longwave.kws.labels import SILENCE, UNKNOWN  # noqa: E402


def write_cache(folder: Path, folds: bool) -> np.ndarray:
    """Clips whose features are the number of their fold, so that a batch shows where it is from."""
    fold = np.arange(48) % 4
    label = np.arange(48) // 4
    np.save(folder / "commands.npy", np.broadcast_to(fold[:, None, None, None], (48, 8, 120, 40)).astype(np.float16))
    np.save(folder / "commands_label.npy", label)
    np.save(
        folder / "auxiliary.npy", np.broadcast_to(fold[:8, None, None, None] - 1, (8, 4, 120, 40)).astype(np.float16)
    )
    np.save(folder / "auxiliary_label.npy", np.arange(8) % 3)
    np.save(folder / "arabic.npy", np.full((4, 2, 120, 40), -9, np.float16))
    np.save(folder / "arabic_label.npy", np.arange(4))
    np.save(folder / "noise.npy", np.zeros((2000, 40), np.float16))
    if folds:
        np.save(folder / "commands_fold.npy", fold)
        np.save(folder / "auxiliary_fold.npy", fold[:8] - 1)  # -1: speakers who say no command
    return fold


def test_a_fold_is_left_out_of_training(tmp_path: Path) -> None:
    fold = write_cache(tmp_path, folds=True)
    material = batches.Material(tmp_path, 2)
    assert material.left_out.tolist() == np.flatnonzero(fold == 2).tolist()
    assert set(material.commands[material.commands_used, 0, 0, 0].tolist()) == {0, 1, 3}
    assert set(material.auxiliary[material.auxiliary_used, 0, 0, 0].tolist()) == {-1, 0, 1}
    assert (fold[material.silence.numpy()] != 2).all()
    torch.manual_seed(0)
    seen = set()
    for step in range(6):
        clips, label, _, _ = batches.pick_clips(material, batches.FINETUNE, 200, np.random.default_rng(step))
        seen |= set(clips[(label >= 0) & (label < UNKNOWN) & (label != SILENCE)].flatten(1).amax(1).round().tolist())
    assert seen == {0, 1, 3}
    assert material.statistics()[0].allclose(torch.full((40,), 4 / 3), atol=1e-4)


def test_chains_of_words_have_nobody_who_says_a_command(tmp_path: Path) -> None:
    write_cache(tmp_path, folds=True)
    chained = chain(tmp_path, [], np.random.default_rng(0))
    assert set(chained[:, 0].tolist()) == {-9, -1}  # Arabic words; auxiliary ones of speakers without a fold


def test_every_stage_leaves_the_fold_out(tmp_path: Path, monkeypatch) -> None:
    commands = []
    monkeypatch.setattr(crossval.subprocess, "run", lambda command, check: commands.append(command))
    options = argparse.Namespace(data=tmp_path, cache=tmp_path / "cache", share=0.5, harden=True, pair=False)
    assert crossval.trained(options, 2, tmp_path) == [tmp_path / "harden"]

    def value(command: list[str], option: str) -> str | None:
        return command[command.index(option) + 1] if option in command else None

    assert [value(command, "--stage") for command in commands] == ["pretrain", "finetune", "harden"]
    assert [value(command, "--fold") for command in commands] == ["2"] * 3
    assert [value(command, "--stop") for command in commands] == ["1500", "1375", "750"]
    assert [value(command, "--init") for command in commands] == [
        None,
        str(tmp_path / "pretrain"),
        str(tmp_path / "finetune"),
    ]
    # The second network of a pair: the same with other random numbers.
    options.pair = True
    assert crossval.trained(options, 2, tmp_path) == [tmp_path / "harden", tmp_path / "second/harden"]
    assert [value(command, "--fold") for command in commands] == ["2"] * 9
    assert [value(command, "--seed") for command in commands[3:]] == ["2"] * 3 + ["12"] * 3


def test_the_model_that_ships_leaves_nobody_out(tmp_path: Path) -> None:
    write_cache(tmp_path, folds=True)
    material = batches.Material(tmp_path, batches.NOBODY)
    assert not len(material.left_out)
    assert len(material.commands_used) == 48 and len(material.auxiliary_used) == 8


def test_a_cache_for_folds_is_not_used_without_one(tmp_path: Path) -> None:
    write_cache(tmp_path, folds=True)
    with pytest.raises(ValueError, match="give --fold"):
        batches.Material(tmp_path)
    with pytest.raises(ValueError, match="no clips of fold 4"):
        batches.Material(tmp_path, 4)


def test_a_plain_cache_uses_every_clip(tmp_path: Path) -> None:
    write_cache(tmp_path, folds=False)
    assert batches.Material(tmp_path).commands_used.tolist() == list(range(48))
    with pytest.raises(ValueError, match="prepare it with"):
        batches.Material(tmp_path, 0)


def test_figures_pool_the_folds() -> None:
    one = {
        "threshold": 0.8,
        "events_by_word": [3, 1] + [0] * 8,
        "bound_per_hour": 0.9,
        "top1": [True, True, False, True],
        "label": [0, 1, 2, SILENCE],
        "speaker": ["a", "a", "b", "s1"],
        "heard": [True, False, True],
        "heard_speaker": ["a", "a", "b"],
    }
    two = one | {
        "threshold": 0.7,
        "top1": [True] * 4,
        "speaker": ["c", "c", "d", "s2"],
        "heard": [True] * 3,
        "heard_speaker": ["c", "c", "d"],
    }
    found = pooled([one, two])
    assert found["streamed_top1"]["percent"] == 87.5 and found["streamed_top1"]["speakers"] == 6
    assert found["streamed_top1_without_silence"]["percent"] == 83.33
    assert found["shares_of_false_accepts"]["yes"] == [0.75, 0.75] and found["shares_of_false_accepts"]["go"] == [0, 0]
    assert found["missed"]["missed"] == 1 and found["missed"]["words"] == 6 and found["missed"]["speakers"] == 4


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q"]))
