"""The text's split and streams, the baselines against definitions written out, and the training forms of both stacks against their
layers, their packages and a run that was stopped and went on."""

from __future__ import annotations

import argparse
import json
import lzma
import math
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE))
from longwave import package, train_text  # noqa: E402
from longwave.layers.chela import ChelaModel  # noqa: E402
from longwave.text import (  # noqa: E402
    baselines,
    data,
    evaluate,
    export,
    model as text_model,  # noqa: E402
)
from longwave.text.muon import Muon, orthogonal  # noqa: E402

SMALL = {
    "chela": {"width": 16, "depth": 2, "taps": 12, "hidden": 24, "heads": 2},
    "lightnet": {"width": 16, "depth": 2, "short_conv": 4, "hidden": 24, "heads": 2, "gate_rank": 4},
}
FAMILIES = sorted(SMALL)


def write_folder(root: Path, size: int = 4000) -> None:
    """Words in a random order, so that there is something to learn, in files whose order by path is not that of writing."""
    rng = random.Random(3)
    words = [bytes(rng.choice(b"abcdefghij") for _ in range(rng.randint(2, 6))) for _ in range(12)]
    (root / "sub").mkdir()
    for name in ("z.txt", "sub/a.md", "B.txt"):
        (root / name).write_bytes(b" ".join(rng.choice(words) for _ in range(size))[:size])


def logits_of(model: torch.nn.Module, ids: torch.Tensor) -> torch.Tensor:
    return model(ids) if isinstance(model, ChelaModel) else model(ids)[1]


def randomised(family: str) -> torch.nn.Module:
    """Norm weights, gamma and beta away from ones and zeros."""
    torch.manual_seed(2)
    model = text_model.make(family, **SMALL[family]).double()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name or "gamma" in name or "beta" in name:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def test_the_three_parts_of_every_file_make_up_the_file_and_stand_in_order_of_path() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_folder(root)
        assert [path.name for path in data.files(root)] == ["B.txt", "a.md", "z.txt"]
        texts = [path.read_bytes() for path in data.files(root)]
        assert all(b"".join(data.cut(text, part) for part in data.PARTS) == text for text in texts)
        assert data.read(root, "train") == b"".join(text[:3600] for text in texts)
        assert data.read(root, "validation") == b"".join(text[3600:3720] for text in texts)
        assert data.read(root, "held_out") == b"".join(text[3720:] for text in texts)
        assert data.cut(b"abc", "train") == b"ab" and data.cut(b"abc", "held_out") == b"c"


def test_a_folder_without_files_is_refused() -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.raises(ValueError, match="found none"):
        data.read(Path(folder), "train")


def test_rows_go_on_where_their_last_window_ended_unless_they_start_afresh() -> None:
    text = random.Random(1).randbytes(5000)
    streams = data.Streams(text, rows=6, length=64, seed=4, longest=3, kept=0)
    before, lengths, runs = None, [], np.zeros(6, int)
    for step in range(40):
        inputs, targets, fresh = streams.window(step)
        assert (inputs[:, 1:] == targets[:, :-1]).all()
        if before is None:
            assert fresh.all()
        else:
            assert (inputs[~fresh, 0] == before[~fresh, -1]).all()
            lengths += list(runs[fresh])
        runs = np.where(fresh, 1, runs + 1)
        before = targets
    assert min(lengths) == 1 and 4 <= max(lengths) <= 8


def test_a_place_changes_under_a_kept_state_as_often_as_was_asked() -> None:
    text = random.Random(1).randbytes(50000)
    streams = data.Streams(text, rows=50, length=64, seed=4, longest=1, kept=0.75)
    _, before, fresh = streams.window(0)
    assert fresh.all()
    moved = kept = 0
    for step in range(1, 60):
        inputs, targets, fresh = streams.window(step)
        elsewhere = inputs[:, 0] != before[:, -1]  # and once in 256 a place that begins with the same byte
        moved, kept = moved + elsewhere.sum(), kept + (elsewhere & ~fresh).sum()
        assert not (fresh & ~elsewhere).sum() > 5
        before = targets
    assert moved > 1500 and 0.7 < kept / moved < 0.8


def test_streams_that_are_loaded_go_on_the_same() -> None:
    text = bytes(range(256)) * 8
    one, other = data.Streams(text, 3, 64, 0), data.Streams(text, 3, 64, 0)
    for step in range(5):
        one.window(step)
    other.load(one.state())
    assert all((a == b).all() for a, b in zip(one.window(5), other.window(5)))


def test_xz_is_that_of_the_command_line() -> None:
    train, held = b"the quick brown fox " * 200, b"the lazy dog and the quick fox " * 40

    def size(text: bytes) -> int:
        try:
            return len(subprocess.run(["xz", "-9", "-c"], input=text, stdout=subprocess.PIPE, check=True).stdout)
        except FileNotFoundError:
            pytest.skip("no xz program")

    assert baselines.xz_bits(held) == 8 * size(held) / len(held)
    assert baselines.xz_bits_after(train, held) == 8 * (size(train + held) - size(train)) / len(held)
    assert lzma.decompress(lzma.compress(train, preset=9)) == train


def witten_bell(train: bytes, context: bytes, following: int, order: int) -> float:
    """The definition, counted afresh."""
    if order < 0:
        return 1 / 256
    context = context[len(context) - order :]
    seen = Counter(train[i] for i in range(order, len(train)) if train[i - order : i] == context)
    shorter = witten_bell(train, context, following, order - 1)
    return (seen[following] + len(seen) * shorter) / (sum(seen.values()) + len(seen)) if seen else shorter


def test_the_ngram_is_the_one_of_witten_and_bell() -> None:
    rng = random.Random(5)
    train, held = (bytes(rng.choice(b"aabbc\xff") for _ in range(n)) for n in (400, 60))
    for order, bits in enumerate(baselines.ngram_bits(train, held, 4)):
        cost = sum(-math.log2(witten_bell(train, held[:t], held[t], min(t, order))) for t in range(len(held)))
        assert bits == pytest.approx(cost / len(held), rel=1e-12)


def test_the_ngram_gives_every_context_a_distribution() -> None:
    train = b"abracadabra" * 3
    for context in (b"abra", b"zzzz", b"\xff\xff\xffa"):
        assert sum(witten_bell(train, context, byte, 4) for byte in range(256)) == pytest.approx(1)
    for longest in (-1, 8):
        with pytest.raises(ValueError, match="0 to 7"):
            baselines.ngram_bits(train, train, longest)


@pytest.mark.parametrize("family", FAMILIES)
def test_windows_with_carried_state_are_the_layers_over_the_whole(family: str) -> None:
    model, ids = randomised(family), torch.randint(0, 256, (3, 512))
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            whole, state, parts, at = logits_of(model, ids), text_model.fresh_state(model, 3), [], 0
            for length in (64, 256, 192):
                logits, state = text_model.windowed(model)(ids[:, at : at + length], state)
                parts.append(logits)
                at += length
    finally:
        torch.set_default_dtype(torch.float32)
    assert (torch.cat(parts, 1) - whole).abs().max() < 1e-11


@pytest.mark.parametrize("family", FAMILIES)
def test_gradients_are_those_of_the_layers(family: str) -> None:
    model, ids = randomised(family).float(), torch.randint(0, 256, (2, 128))

    def gradients(logits: torch.Tensor) -> torch.Tensor:
        model.zero_grad()
        F.cross_entropy(logits.flatten(0, 1), ids.flatten()).backward()
        return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])

    plain = gradients(logits_of(model, ids))
    fast = gradients(text_model.windowed(model)(ids, text_model.fresh_state(model, 2))[0])
    assert (plain - fast).abs().max() < 1e-5 * plain.abs().max()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_row_that_starts_afresh_forgets_and_the_others_do_not(family: str) -> None:
    model, ids = randomised(family).float(), torch.randint(0, 256, (2, 128))
    run, fresh = text_model.windowed(model), text_model.fresh_state(model, 1)
    with torch.no_grad():
        _, state = run(ids[:, :64], text_model.fresh_state(model, 2))
        carried, _ = run(ids[:, 64:], state)
        mixed, _ = run(ids[:, 64:], text_model.restart(state, fresh, torch.tensor([True, False])))
        alone, _ = run(ids[:1, 64:], fresh)
    assert (mixed[1] - carried[1]).abs().max() < 1e-5
    assert (mixed[0] - alone[0]).abs().max() < 1e-5
    assert (mixed[0] - carried[0]).abs().max() > 1e-3


@pytest.mark.parametrize("family", FAMILIES)
def test_a_package_gives_the_model_back(family: str) -> None:
    model, ids = randomised(family).float(), torch.randint(0, 256, (1, 70))
    with tempfile.TemporaryDirectory() as folder:
        package.write(export.as_package(model, "small"), Path(folder))
        document, _ = package.read(Path(folder))
        again = export.from_package(Path(folder))
    assert document["outputs"] == [{"name": "logits", "from": "logits"}]
    with torch.no_grad():
        assert torch.equal(logits_of(model, ids), logits_of(again, ids))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_cost_of_bytes_is_that_of_one_long_sequence(family: str) -> None:
    model = randomised(family).float()
    text = random.Random(7).randbytes(2 * evaluate.WINDOW + 77)
    ids = torch.tensor(list(text))[None]
    with torch.no_grad():
        expected = F.cross_entropy(logits_of(model, ids)[0, :-1], ids[0, 1:], reduction="none") / math.log(2)
    found = evaluate.costs(model, text)
    assert len(found) == len(text) and found[0] == 8.0
    assert np.abs(found[1:] - expected.numpy()).max() < 1e-4


def test_figures_by_source_are_means_over_files_and_subfolders() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_folder(root, 1000)
        bits = np.concatenate(
            [
                np.full(len(data.cut(path.read_bytes(), "held_out")), value)
                for path, value in zip(data.files(root), (1.0, 2.0, 4.0))
            ]
        )
        assert evaluate.by_source(root, "held_out", bits) == {"B.txt": 1.0, "sub": 2.0, "z.txt": 4.0}


def test_muon_makes_updates_nearly_orthogonal() -> None:
    torch.manual_seed(0)
    for shape in ((20, 50), (50, 20), (32, 32)):
        values = torch.linalg.svdvals(orthogonal(torch.randn(shape)))
        assert 0.4 < values.min() and values.max() < 1.4
    weight = torch.nn.Parameter(torch.zeros(16, 16))
    optimiser = Muon([weight], lr=0.1)
    weight.grad = torch.eye(16)
    optimiser.step()
    assert (weight - torch.diag(weight.diag())).abs().max() < 1e-6 and (weight.diag() < 0).all()


def options(root: Path, out: Path, family: str, **changes: object) -> argparse.Namespace:
    sizes = [f"{name}={n}" for name, n in SMALL[family].items()]
    return argparse.Namespace(
        **(
            {
                "data": root,
                "family": family,
                "out": out,
                "steps": 120,
                "stop": None,
                "rows": 4,
                "length": 64,
                "rate": 0.03,
                "longest": 4,
                "kept": 0.5,
                "ratio": 0.5,
                "decay": 0.1,
                "seed": 0,
                "threads": 1,
                "save_every": 60,
                "compile": False,
                "set": sizes,
            }
            | changes
        )
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_a_run_that_was_stopped_ends_where_the_other_does_and_learns(family: str) -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as out_folder:
        root, out = Path(folder), Path(out_folder)
        write_folder(root, 13000)
        train_text.train(options(root, out / "through", family))
        train_text.train(options(root, out / "cut", family, stop=73))
        train_text.train(options(root, out / "cut", family))
        through, cut = (torch.load(out / name / "final.pt") for name in ("through", "cut"))
        assert through["steps"] == cut["steps"] == 120
        assert all(torch.equal(through["average"][key], cut["average"][key]) for key in through["average"])
        text = data.read(root, "held_out")
        trained = evaluate.costs(export.from_run(out / "cut"), text).mean()
        assert trained < 5.5, "120 steps are enough to see that few bytes occur"
        assert json.loads((out / "cut" / "options.json").read_text())["family"] == family


def test_a_folder_with_too_little_text_to_validate_on_is_refused() -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as out:
        write_folder(Path(folder))
        with pytest.raises(SystemExit, match="360 bytes of validation text"):
            train_text.train(options(Path(folder), Path(out), "chela"))


def test_the_rate_warms_up_holds_and_falls_to_zero() -> None:
    rates = [train_text.share_of_rate(step, 1000) for step in range(1001)]
    assert rates[0] == 0.01 and rates[99] == rates[699] == 1.0 and rates[1000] == 0.0
    assert rates[850] == pytest.approx(0.5)
    assert all(a >= b for a, b in zip(rates[700:], rates[701:]))
