"""The trained keyword network as a model package.

    python -m longwave.kws.export RUN... FOLDER [--decision decision.json] [--name kws12]

Two runs become one model, whose logits are the mean of both (pair.py).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from .. import package
from ..layers.frontend import BANDS, HOP, N_FFT, SAMPLE_RATE, WINDOW
from ..package import Package, layer, residual
from .decision import decision
from .labels import CLASSES, SILENCE, UNKNOWN
from .losses import READ
from .model import BN_EPS, KwsConfig, KwsNet

# Added to the logits of classes that are more or less frequent than in training (Menon et al. 2021, "Long-tail learning via
# logit adjustment"). Clips of every class are equally frequent. Running speech is mostly no word at all. Both were chosen on
# four folds of speakers, docs/training.md.
CLIPS = {SILENCE: -2.0, UNKNOWN: -0.5}
STREAMS = {SILENCE: 2.0}
# Half a second: two folds missed 11.0 and 12.0 % at one false accept per hour, and 14.8 and 18.8 % at 0.3 s. 0.6 s was no better.
SMOOTHING_MS = 500
THRESHOLDS = {"default": 0.8}
# Of two networks (pair.py) 37 to 59 % of the false accepts of a fold are "no". A word leaves the common threshold by 0.05 where
# its share of them is below, or above, an even one in all four folds (crossval.py: shares).
PAIR_THRESHOLDS = {"default": 0.8, "no": 0.85, "up": 0.75, "left": 0.75, "off": 0.75, "go": 0.75}


def front_end(net: KwsNet) -> package.Layer:
    return layer("log_mel", "front_end", window=WINDOW, hop=HOP, n_fft=N_FFT, bands=BANDS, offset=net.front_end.offset)


def chain(net: KwsNet) -> list[package.Layer]:
    """From features to logits; tensor prefixes are the module names of `KwsNet`."""
    config = net.config
    layers = [
        layer("conv2d", "stem.conv1", out_channels=config.stem1, kernel=[4, 5], stride=[2, 2]),
        layer("relu", "stem.relu1"),
        layer(
            "conv2d",
            "stem.depthwise",
            out_channels=config.stem1,
            kernel=[3, 3],
            stride=[1, 2],
            groups=config.stem1,
            bias=False,
        ),
        layer("conv2d", "stem.pointwise", out_channels=config.stem2, kernel=[1, 1], bias=False),
        layer("batch_norm", "stem.norm1", eps=BN_EPS),
        layer("relu", "stem.relu2"),
        layer("flatten", "stem.flatten"),
        layer("linear", "stem.project", out_features=config.width, bias=False),
        layer("batch_norm", "stem.norm2", eps=BN_EPS),
    ]
    block: Any
    for i, block in enumerate(net.blocks):
        convolution = layer(
            "sgconv",
            "sgconv",
            prefix=f"blocks.{i}.layer",
            kernel_dim=config.kernel_dim,
            l_max=block.layer.kernel_length,
            num_scales=config.n_scales,
            mode="cat_randn",
            postact="glu",
        )
        norm = layer("batch_norm", "norm", prefix=f"blocks.{i}.norm", eps=BN_EPS)
        layers.append(residual(f"blocks.{i}", norm, [convolution]))
    return layers + [layer("batch_norm", "norm", eps=BN_EPS), layer("linear", "head", out_features=len(CLASSES))]


def shifted(name: str, logits: str, shifts: dict[int, float]) -> tuple[package.Layer, dict[str, Tensor]]:
    """A batch norm that adds `shifts`, by class, to the layer `logits`, and its tensors."""
    ones = torch.ones(len(CLASSES))
    bias = 0 * ones
    for number, shift in shifts.items():
        bias[number] = shift
    tensors = {"weight": ones, "bias": bias, "running_mean": 0 * ones, "running_var": (1 - BN_EPS) * ones}
    return layer("batch_norm", name, eps=BN_EPS, input=logits), {
        f"{name}.{key}": value for key, value in tensors.items()
    }


def decision_layers(logits: str) -> tuple[list[package.Layer], dict[str, Tensor]]:
    """From the layer `logits` to both outputs, and the tensors of these layers."""
    in_streams, stream_tensors = shifted("in_streams", logits, STREAMS)
    in_clips, clip_tensors = shifted("in_clips", logits, CLIPS)
    layers = [in_streams, layer("softmax", "softmax"), in_clips, layer("mean_window", "window", frames=READ)]
    return layers, stream_tensors | clip_tensors


def audio_package(
    net: KwsNet, layers: list[package.Layer], weights: dict[str, Tensor], decision: dict[str, Any], name: str
) -> Package:
    """The front end of `net`, then `layers`, of which the last gives the logits. Outputs: "logits" of clips, the mean of the
    last 0.3 s, and "probabilities" in streams of each 20 ms frame, for the decision layer."""
    last, tensors = decision_layers(layers[-1]["name"])
    return Package(
        name=name,
        inputs=[{"name": "audio", "kind": "audio", "sample_rate": SAMPLE_RATE}],
        layers=[front_end(net)] + layers + last,
        outputs=[{"name": "logits", "from": "window"}, {"name": "probabilities", "from": "softmax"}],
        labels=CLASSES,
        decision=decision,
        weights=weights | tensors,
    )


def make_package(net: KwsNet, decision: dict[str, Any], name: str) -> Package:
    return audio_package(net, chain(net), net.state_dict(), decision, name)


def load_run(run: Path) -> KwsNet:
    """The averaged weights of a finished run, or of its last checkpoint."""
    file = run / "final.pt"
    net = KwsNet(KwsConfig())
    net.load_state_dict(torch.load(file if file.exists() else run / "checkpoint.pt")["average"])
    return net.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="+", help="one or two")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--decision", type=Path, help="decision settings (default: threshold 0.8)")
    parser.add_argument("--name", default="kws12")
    options = parser.parse_args()
    if options.decision:
        settings = json.loads(options.decision.read_text())
    else:
        settings = decision(CLASSES, THRESHOLDS if len(options.run) == 1 else PAIR_THRESHOLDS, SMOOTHING_MS)
    nets = [load_run(run) for run in options.run]
    if len(nets) > 2:
        parser.error("expected one run or two")
    if len(nets) == 2:
        from .pair import make_pair  # which needs this module

        package.write(make_pair((nets[0], nets[1]), settings, options.name), options.folder)
    else:
        package.write(make_package(nets[0], settings, options.name), options.folder)


if __name__ == "__main__":
    main()
