"""Associative recall: what its sequences are, and that model and package are one."""

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools/python"))
from longwave import package

from recall.data import batch
from recall.model import RecallConfig, RecallModel, model_package
from recall.train import Training


def test_the_answer_is_the_value_that_stood_behind_the_key() -> None:
    ids, answers = batch(200, 64, 20, torch.Generator().manual_seed(1))
    assert ids.shape == (200, 64) and (ids[:, -2] == 20).all()
    for sequence, answer in zip(ids.tolist(), answers.tolist()):
        pairs = list(zip(sequence[:-2:2], sequence[1:-2:2]))
        assert all(key < 10 <= value < 20 for key, value in pairs)
        assert len(set(pairs)) == len(dict(pairs))  # a key has one value
        assert dict(pairs)[sequence[-1]] == answer


def test_no_two_sequences_share_a_dictionary_by_rule_and_a_seed_repeats_itself() -> None:
    first, again, other = (batch(50, 32, 20, torch.Generator().manual_seed(seed)) for seed in (3, 3, 4))
    assert torch.equal(first[0], again[0]) and torch.equal(first[1], again[1])
    assert not torch.equal(first[0], other[0])
    assert len(set(first[1].tolist())) > 5


@pytest.mark.parametrize("length, vocabulary", [(127, 20), (2, 20), (128, 3), (128, 21)])
def test_odd_sizes_are_refused(length: int, vocabulary: int) -> None:
    with pytest.raises(ValueError, match="expected even and at least 4"):
        batch(1, length, vocabulary, torch.Generator())


def test_a_package_has_every_weight_of_the_model(tmp_path: Path) -> None:
    model = RecallModel(RecallConfig(length=16, width=8, hidden=16, filter_order=8)).eval()
    made = model_package(model)
    package.write(made, tmp_path)
    ids, _ = batch(3, 16, 20, torch.Generator().manual_seed(2))
    assert model(ids).shape == (3, 21)
    assert (tmp_path / "model.json").exists() and (tmp_path / "weights.safetensors").exists()


def test_training_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    def training() -> Training:
        return Training(RecallConfig(length=16, width=8, hidden=16, filter_order=8), size=4, rate=1e-3, warm=3, seed=5)

    straight, stopped, resumed = training(), training(), training()
    for _ in range(6):
        straight.advance()
    for _ in range(3):
        stopped.advance()
    stopped.save(tmp_path / "checkpoint.pt")
    resumed.load(tmp_path / "checkpoint.pt")
    for _ in range(3):
        resumed.advance()
    assert resumed.step == 6
    for ours, theirs in zip(straight.model.parameters(), resumed.model.parameters()):
        assert torch.equal(ours, theirs)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__, "-q"]))
