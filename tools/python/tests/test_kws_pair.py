"""A model of two networks computes the mean of their logits, in PyTorch and compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave import package  # noqa: E402
from longwave.kws import audio  # noqa: E402
from longwave.kws.decision import decision  # noqa: E402
from longwave.kws.export import CLIPS, STREAMS  # noqa: E402
from longwave.kws.labels import CLASSES  # noqa: E402
from longwave.kws.losses import READ  # noqa: E402
from longwave.kws.model import KwsConfig, KwsNet  # noqa: E402
from longwave.kws.pair import make_pair  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "examples/kws/demo.wav"


def networks(same_front_end: bool) -> tuple[KwsNet, KwsNet]:
    torch.manual_seed(0)
    first, second = KwsNet(KwsConfig()).eval(), KwsNet(KwsConfig()).eval()
    for net in (first, second):  # as if it were trained: norms with statistics, other kernels
        for module in net.modules():
            if isinstance(module, (torch.nn.BatchNorm1d, torch.nn.BatchNorm2d)):
                module.running_mean.normal_(0, 0.3)
                module.running_var.uniform_(0.5, 2)
    first.front_end.mean.fill_(-7)
    first.front_end.scale.fill_(0.4)
    second.front_end.mean.copy_(
        first.front_end.mean if same_front_end else first.front_end.mean + torch.linspace(-1, 1, 40)
    )
    second.front_end.scale.copy_(first.front_end.scale * (1 if same_front_end else 1.3))
    return first, second


@pytest.mark.parametrize("same_front_end", [True, False])
def test_the_compiled_pair_gives_the_mean_of_both(tmp_path: Path, same_front_end: bool) -> None:
    program = os.environ.get("LONGWAVE")
    if not program:
        pytest.skip("LONGWAVE names no program")
    nets = networks(same_front_end)
    made = make_pair(nets, decision(CLASSES, {"default": 0.8}, 300), "pair")
    assert sum(one["type"] == "log_mel" for one in made.layers) == 1
    assert sum(one["name"] == "1.normalise" for one in made.layers) == (not same_front_end)
    package.write(made, tmp_path / "model")
    subprocess.run(
        [program, "compile", tmp_path / "model", "-o", tmp_path / "pair.lw", "--stream", "--target", "host", "--quiet"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    samples = audio.read(DEMO)[: 16000 * 5]
    soundfile.write(tmp_path / "audio.wav", samples, 16000, subtype="FLOAT")
    with torch.no_grad():
        logits = sum(net.from_samples(torch.from_numpy(samples)[None])[0] for net in nets) / 2
    expected = logits[-READ:].mean(0)
    in_streams = logits[-1].clone()
    for shifts, row in ((CLIPS, expected), (STREAMS, in_streams)):
        for number, shift in shifts.items():
            row[number] += shift
    subprocess.run(
        [
            program,
            "run",
            tmp_path / "pair.lw",
            "--stream",
            "--input",
            f"audio=@{tmp_path}/audio.wav",
            "-o",
            f"logits={tmp_path}/rows.npy",
            "-o",
            f"probabilities={tmp_path}/probabilities.npy",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    found = np.load(tmp_path / "rows.npy")[-1]
    assert np.abs(found - expected.numpy()).max() <= 2e-4 * float(expected.abs().max())  # as tests of one network
    probabilities = np.load(tmp_path / "probabilities.npy")[-1]
    assert np.abs(probabilities - in_streams.softmax(0).numpy()).max() <= 2e-4 * float(logits.abs().max())


def test_the_files_of_a_pair_hold_no_training_only_tensors(tmp_path: Path) -> None:
    package.write(make_pair(networks(True), decision(CLASSES, {"default": 0.8}, 300), "pair"), tmp_path)
    _, weights = package.read(tmp_path)
    assert not any("auxiliary" in key or "num_batches" in key for key in weights)
    assert {"0.head.weight", "1.head.weight", "1.blocks.5.layer.D", "front_end.mel"} <= set(weights)
    assert not any(key.endswith("front_end.mel") and key != "front_end.mel" for key in weights)
