"""Folds, intervals and counts behind the threshold of the keyword model, on made-up scores."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.kws.decision import Decision, events, moving_average, smoothing_rows  # noqa: E402
from longwave.kws.heard import Negatives, busy_parts  # noqa: E402
from longwave.kws.intervals import wilson  # noqa: E402
from longwave.kws.operating_point import PAIR, bound, choose_threshold, lowest, with_threshold  # noqa: E402
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


def test_busy_parts_give_the_events_of_the_whole() -> None:
    rng = np.random.default_rng(3)
    rows = np.zeros((60000, 12))
    rows[:, 11] = 1
    for start in rng.integers(0, 59900, 150):
        word, length, p = rng.integers(0, 10), rng.integers(3, 80), rng.uniform(0.2, 1)
        rows[start : start + length] = 0
        rows[start : start + length, word] = p
        rows[start : start + length, 11] = 1 - p
    for threshold in (0.3, 0.6, 0.9):
        decision = replace(
            Decision(smoothing_ms=300, min_count=3),
            thresholds={"default": threshold, "no": threshold - 0.05, "go": threshold + 0.05},
        )
        average = moving_average(rows, smoothing_rows(decision))
        whole = [(e.word, round(e.score, 9)) for e in events(average, decision)]
        parts = [(e.word, round(e.score, 9)) for part in busy_parts(average) for e in events(part, decision)]
        assert whole == parts and len(whole) > 5


def test_intervals_stay_between_none_and_all() -> None:
    assert wilson(0, 20)[0] == 0 and wilson(20, 20)[1] == 1


def test_the_bound_is_that_of_the_procedure() -> None:
    assert abs(bound(0, 2.9957) - 1) < 1e-3 and abs(bound(1, 4.7439) - 1) < 1e-3  # none in 3.0 h, one in 4.7 h


def test_words_keep_their_distance_from_the_threshold() -> None:
    assert with_threshold(Decision(), 0.7).thresholds == {"default": 0.7}
    moved = with_threshold(PAIR, 0.7).thresholds
    assert moved["default"] == 0.7 and moved["no"] == 0.75 and moved["up"] == 0.65 and "yes" not in moved


def test_events_are_counted_by_word() -> None:
    scores = np.zeros((2000, 12), np.float32)
    scores[100:200, 3] = scores[700:800, 3] = scores[1400:1500, 9] = 1
    found = Negatives({"a": scores, "b": scores}).by_word(with_threshold(Decision(), 0.8))
    assert found.tolist() == [0, 0, 0, 4, 0, 0, 0, 0, 0, 2]


def test_the_threshold_is_the_lowest_from_which_on_the_bound_holds() -> None:
    rows = np.zeros((3600 * 50 * 4, 3))  # 4 hours: no event is at most 0.75 per hour, one is more than 1
    rows[:, 2] = 1
    for start, height in ((1000, 0.72), (90000, 0.56)):
        rows[start : start + 100] = [height, 0, 1 - height]
    base = Decision(smoothing_ms=300, min_count=3, classes=("one", "two", "_other_"))
    negatives = Negatives({"speech": rows}, words=2)
    assert choose_threshold(negatives, base, 1.0) == 0.73
    assert choose_threshold(negatives, base, 1.3) == 0.57  # one event: 4.74 / 4 = 1.19
    assert lowest(lambda decision: decision.thresholds["default"] < 0.99, base) is None


if __name__ == "__main__":
    import tempfile

    for name, function in list(globals().items()):
        if name.startswith("test_"):
            function(Path(tempfile.mkdtemp())) if "tmp_path" in function.__code__.co_varnames[:1] else function()
