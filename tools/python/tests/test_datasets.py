"""The full Speech Commands layout, on a tiny made-up folder, through features and one training batch."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import soundfile
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.kws import batches, datasets, features, losses  # noqa: E402
from longwave.kws.labels import COMMANDS, SILENCE, UNKNOWN  # noqa: E402


def write_layout(root: Path) -> None:
    rng = np.random.default_rng(0)
    for word in [*COMMANDS, "bed", "cat"]:
        (root / word).mkdir()
        for i in range(4):
            soundfile.write(root / word / f"{i:08x}_nohash_0.wav", 0.1 * rng.standard_normal(15000), 16000, "PCM_16")
    (root / "_background_noise_").mkdir()
    soundfile.write(root / "_background_noise_" / "hiss.wav", 0.01 * rng.standard_normal(160000), 16000, "PCM_16")
    (root / "validation_list.txt").write_text(
        "".join(f"{w}/00000001_nohash_0.wav\n" for w in [*COMMANDS, "bed", "cat"])
    )
    (root / "testing_list.txt").write_text("yes/00000002_nohash_0.wav\n")


def test_speech_commands_layout() -> None:
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache_folder:
        root, cache = Path(folder), Path(cache_folder)
        write_layout(root)
        train, val = datasets.clips(root, "train"), datasets.clips(root, "val")
        names = {str(f.relative_to(root)) for f, _ in train}
        assert "yes/00000002_nohash_0.wav" not in names and not names & {str(f.relative_to(root)) for f, _ in val}
        assert sum(label < SILENCE for _, label in train) == 29 and sum(label < SILENCE for _, label in val) == 10
        assert any(label == UNKNOWN for _, label in train)
        features.prepare_commands(root, cache)
        features.prepare_background(root, cache)
        material = batches.Material(cache)
        torch.manual_seed(0)
        for step in range(3):
            batch = batches.make_batch(material, batches.FINETUNE, 8, np.random.default_rng(step))
            assert batch.features.shape == (8, batches.ROW, 40) and torch.isfinite(batch.features).all()
            held = batch.label != batches.EMPTY
            assert (batch.ends[held] >= batches.CLIP).all() and (batch.ends <= batches.ROW).all()
            logits = torch.randn(8, batches.ROW // 2, 12)
            allowed = losses.allowed_words(batch.ends, batch.label, logits.shape[1])
            missed, false = losses.detection_loss(logits, batch.ends, batch.label, allowed)
            assert torch.isfinite(missed).all() and torch.isfinite(false)


if __name__ == "__main__":
    test_speech_commands_layout()
    print("dataset test passed")
