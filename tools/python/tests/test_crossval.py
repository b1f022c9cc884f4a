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
from longwave.kws.held_out import place_clips  # noqa: E402
from longwave.kws.labels import CLASSES, SILENCE, UNKNOWN  # noqa: E402
from longwave.kws.speakers import bootstrap, folds, speaker_of  # noqa: E402


def test_the_speaker_of_an_unknown_word_is_its_second_field() -> None:
    assert speaker_of("0a2b400e_nohash_1.flac") == "0a2b400e"
    assert speaker_of("six_a80f9f53_nohash_0.flac") == "a80f9f53"
    assert speaker_of("noise-3.flac") == "noise-3"


def test_no_speaker_is_in_two_folds() -> None:
    speakers = np.array([f"s{i % 26}" for i in range(500)])
    fold = folds(speakers, 4)
    assert all(len(set(fold[speakers == name])) == 1 for name in set(speakers))
    sizes = [len(set(speakers[fold == k])) for k in range(4)]
    assert max(sizes) - min(sizes) <= 1


def test_the_bootstrap_counts_speakers() -> None:
    rng = np.random.default_rng(0)
    speakers = np.repeat(np.arange(30), 20)
    alike = rng.random(600) < 0.1  # every speaker the same
    apart = np.repeat(rng.random(30) < 0.1, 20)  # a speaker misses all or nothing
    low, high = bootstrap(alike, speakers)
    assert low < alike.mean() < high and high - low < 0.08
    assert np.diff(bootstrap(apart, speakers))[0] > 2 * (high - low)
    # Against the normal approximation for independent clips: 1.96 * sqrt(p (1 - p) / n), within a
    # third.
    width = 2 * 1.96 * np.sqrt(alike.mean() * (1 - alike.mean()) / 600)
    assert abs((high - low) / width - 1) < 0.34


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
        "thresholds": {"yes": 0.8},
        "events_by_word": [3, 1] + [0] * 8,
        "bound_per_hour": 0.9,
        "top1": [True, True, False, True],
        "label": [0, 1, 2, SILENCE],
        "speaker": ["a", "a", "b", "s1"],
        "heard": [True, False, True],
        "heard_speaker": ["a", "a", "b"],
    }
    two = one | {
        "thresholds": {"yes": 0.7},
        "top1": [True] * 4,
        "speaker": ["c", "c", "d", "s2"],
        "heard": [True] * 3,
        "heard_speaker": ["c", "c", "d"],
    }
    found = pooled([one, two])
    assert found["streamed_top1"]["percent"] == 87.5 and found["streamed_top1"]["speakers"] == 6
    assert found["streamed_top1_without_silence"]["percent"] == 83.33
    assert found["shares_of_false_accepts"]["yes"] == [0.75, 0.75] and found["shares_of_false_accepts"]["go"] == [0, 0]
    assert found["thresholds"] == [0.8, 0.7]
    assert found["missed"]["percent"] == 16.67 and found["missed"]["clips"] == 6 and found["missed"]["speakers"] == 4


def test_placed_clips_keep_their_speakers(tmp_path: Path) -> None:
    for name in ("yes/a_nohash_0.wav", "six/a_nohash_0.wav", "two/a_nohash_0.wav"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(name.encode())
    clips = [(tmp_path / "six/a_nohash_0.wav", UNKNOWN), (tmp_path / "yes/a_nohash_0.wav", 0)]
    clips.append((tmp_path / "two/a_nohash_0.wav", UNKNOWN))
    for _ in range(2):  # again: the links are there
        placed = place_clips(clips, tmp_path / "clips")
    assert [file.read_bytes().decode() for file in placed] == [str(file.relative_to(tmp_path)) for file, _ in clips]
    assert {speaker_of(file.name) for file in placed} == {"a"} and [file.parent.name for file in placed] == [
        CLASSES[label] for _, label in clips
    ]
    with pytest.raises(ValueError, match="the same name"):
        place_clips([clips[0], clips[0]], tmp_path / "clips")


SILENT_PROGRAM = """#!/usr/bin/env python3
import json, pathlib, sys
given = sys.argv[1:]
files = sorted(pathlib.Path(given[given.index("--clips") + 1]).rglob("*")) if "--clips" in given else []
clips = [file for file in files if file.is_symlink()]
said = {"latency_ms": 200.0}
thresholds = {"yes": 0.9, "no": 0.95}
if "--per-hour" not in given:
    thresholds = dict((word, float(value)) for word, value in (one.split("=") for one in given[given.index("--threshold") + 1].split(",")))
print(json.dumps({
    "decision": {"thresholds": thresholds},
    "operating_point": {"shown": True, "per_hour_bound": 0.75},
    "hours": 4, "wrong_word_events": 1, "events_on_other_clips": 2, "clips": len(clips),
    "false_accept_events": [{"word": "no", "file": "flite-1.flac"}] * (3 if thresholds["yes"] < 0.85 else 1),
    "predictions": {str(file): {"label": file.parent.name, "predicted": "yes"} | (said if file.parent.name == "yes" else {}) for file in clips},
}))
"""


def test_a_fold_is_what_eval_says_of_it(tmp_path: Path) -> None:
    """The answers of a program that stands for `longwave`: at the chosen thresholds, and 0.1 below an even one."""
    program, data = tmp_path / "longwave", tmp_path / "data"
    program.write_text(SILENT_PROGRAM)
    program.chmod(0o755)
    for name in ("gsc12/val/yes/s_nohash_0.flac", "gsc12/val/_unknown_/six_t_nohash_0.flac", "isolated/one.wav"):
        (data / name).parent.mkdir(parents=True)
        (data / name).write_bytes(b"")
    (data / "noise").mkdir()
    clips = [(data / "gsc12/val/yes/s_nohash_0.flac", 0), (data / "gsc12/val/_unknown_/six_t_nohash_0.flac", UNKNOWN)]
    options = argparse.Namespace(longwave=program, data=data, reading=None, rate=1.0, isolated=data / "isolated")
    found = crossval.measured(options, tmp_path / "model.lw", clips, tmp_path / "scratch")
    assert found["thresholds"] == {"yes": 0.9, "no": 0.95} and found["bound_per_hour"] == 0.75
    assert found["events"] == {"flite": 1} and found["events_by_word"][:2] == [0, 3]
    assert found["top1"] == [True, False] and found["speaker"] == ["s", "t"]
    assert found["heard"] == [True] and found["heard_speaker"] == ["s"]
    assert (found["isolated_words"], found["isolated_events"], found["wrong_word"]) == (1, 2, 1)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q"]))
