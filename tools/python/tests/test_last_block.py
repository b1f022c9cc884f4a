"""The last block on stored rows: the rows are those of the network, only the last block changes, mistakes become fewer."""
from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.kws import last_block  # noqa: E402
from longwave.kws.batches import CLIP, NOT_A_COMMAND, SLOTS  # noqa: E402
from longwave.kws.shipped import load_folder  # noqa: E402

torch.set_num_threads(1)
MODEL = Path(__file__).resolve().parents[3] / "examples/kws/model"


def test_stored_rows_and_the_last_block_are_the_network() -> None:
    net = load_folder(MODEL)
    features = torch.randn(2, 512, 40, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        whole = net(features)
        parts = net.head(last_block.last(net, last_block.before_last(net, features)).permute(1, 2, 0))
    # bfloat16 has 8 bits: the largest logit differs by a few parts in 256.
    assert (whole - parts).abs().max() < 0.05 * whole.abs().max()


def test_only_the_last_block_learns_and_it_learns_the_streams(tmp_path: Path) -> None:
    net = load_folder(MODEL)
    torch.manual_seed(0)
    hidden = 2 * torch.randn(96, 4, 256)
    ends = (torch.arange(1, SLOTS + 1) * CLIP).expand(4, -1)
    label = torch.full((4, SLOTS), NOT_A_COMMAND)
    label[0, 0] = 3
    rows = tmp_path / "rows"
    rows.mkdir()
    torch.save([(hidden.half(), ends, label, torch.ones(4, SLOTS), None, None)], rows / "batches-0of1.pt")
    # Noise that the shipped head takes for a command here and there.
    for name in last_block.SHARES:
        np.save(rows / f"{name}-0000.npy", (4 * np.random.default_rng(1).standard_normal((3000, 96))).astype(np.float16))
    options = argparse.Namespace(model=MODEL, rows=rows, out=tmp_path / "run", steps=24, rate=4e-3, missed=0.25, false=0.8, seed=0)
    last_block.train(options)
    new = torch.load(tmp_path / "run/final.pt")["average"]
    changed = {key for key, value in net.state_dict().items() if not key.startswith("auxiliary.") and not torch.equal(value, new[key])}
    assert changed and all(key.startswith(("blocks.5.", "norm.", "head.")) for key in changed)
    assert not any("running" in key for key in changed)
    stream = np.load(rows / "speech-0000.npy")
    before = last_block.mistakes(load_folder(MODEL), stream)
    net.load_state_dict(net.state_dict() | {key: value for key, value in new.items() if not key.startswith("auxiliary.")})
    assert len(last_block.mistakes(net, stream)) < len(before)


if __name__ == "__main__":
    import pytest
    sys.exit(pytest.main([__file__, "-q"]))
