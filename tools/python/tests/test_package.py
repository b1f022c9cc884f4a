"""A package that is written and read again gives the same network."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave import package  # noqa: E402
from longwave.kws.decision import Decision  # noqa: E402
from longwave.kws.export import make_package  # noqa: E402
from longwave.kws.model import KwsConfig, KwsNet  # noqa: E402


@torch.no_grad()
def test_round_trip() -> None:
    torch.manual_seed(0)
    net = KwsNet(KwsConfig()).eval()
    with tempfile.TemporaryDirectory() as folder:
        package.write(make_package(net, Decision().to_json(), "test"), Path(folder))
        document, weights = package.read(Path(folder))
    assert document["format"] == "longwave-model" and document["version"] == 1
    assert all(t.dtype == torch.float32 for t in weights.values())
    assert not any("auxiliary" in key or "num_batches" in key for key in weights)
    again = KwsNet(KwsConfig()).eval()
    missing, unexpected = again.load_state_dict(weights, strict=False)
    assert all(key.startswith(("in_clips.", "in_streams.")) for key in unexpected)  # shifts, which are not trained
    assert all("auxiliary" in key or "num_batches" in key for key in missing), missing
    samples = torch.randn(1, 16000) * 0.1
    assert torch.equal(net.from_samples(samples), again.from_samples(samples))


def test_every_named_tensor_is_there() -> None:
    net = KwsNet(KwsConfig())
    made = make_package(net, Decision().to_json(), "test")
    keys = package.tensor_keys(made.layers, made.weights)
    for wanted in (
        "front_end.mel",
        "stem.conv1.bias",
        "blocks.0.norm.running_var",
        "blocks.5.layer.kernel_list.3",
        "blocks.5.layer.output_linear.0.weight",
        "norm.weight",
        "head.bias",
    ):
        assert wanted in keys, wanted
    assert len(keys) == len(set(keys))


def test_a_folder_may_be_text_and_a_prefix_may_be_empty() -> None:
    made = package.Package(
        "bare",
        [{"name": "x", "kind": "features", "width": 2}],
        [package.layer("linear", "one", "", out_features=2)],
        [{"name": "y", "from": "one"}],
        {"weight": torch.eye(2), "bias": torch.zeros(2)},
    )
    with tempfile.TemporaryDirectory() as folder:
        package.write(made, folder + "/bare")
        document, weights = package.read(folder + "/bare")
    assert document["layers"][0]["prefix"] == ""
    assert sorted(weights) == ["bias", "weight"]


if __name__ == "__main__":
    test_a_folder_may_be_text_and_a_prefix_may_be_empty()
    test_round_trip()
    test_every_named_tensor_is_there()
    print("package tests passed")
