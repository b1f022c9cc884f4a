"""The keyword network's fast paths against the plain layers, and its causality."""

from __future__ import annotations

import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.kws.model import KwsConfig, KwsNet  # noqa: E402
from longwave.layers.blockconv import causal_depthwise  # noqa: E402
from longwave.layers.conv import CausalConv2d, flatten  # noqa: E402
from longwave.layers.frontend import HOP, N_FFT, WINDOW, LogMel, mel_matrix  # noqa: E402
from longwave.layers.sgconv import causal_convolution  # noqa: E402


def randomised() -> KwsNet:
    """A network whose norms are not the identity."""
    torch.manual_seed(1)
    net = KwsNet(KwsConfig()).double().eval()
    for module in net.modules():
        if hasattr(module, "running_var"):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2.0)
            module.weight.data.uniform_(0.5, 1.5)
            module.bias.data.normal_()
    return net


def plain_forward(net: KwsNet, features: torch.Tensor) -> torch.Tensor:
    """(B, T, 40) -> (B, T/2, 12), one layer after the other as model.json lists them."""

    def convolution(source: torch.nn.Conv2d) -> CausalConv2d:
        layer = CausalConv2d(
            source.in_channels,
            source.out_channels,
            source.kernel_size,
            source.stride,
            source.groups,
            source.bias is not None,
        ).double()
        layer.load_state_dict(source.state_dict())
        return layer

    stem = net.stem
    x = torch.relu(convolution(stem.conv1)(features[:, None]))
    x = torch.relu(stem.norm1(convolution(stem.pointwise)(convolution(stem.depthwise)(x))))
    x = stem.norm2(stem.project(flatten(x)).transpose(1, 2))  # (B, width, T/2)
    for block in net.blocks:
        x = x + block.layer(block.norm(x))
    return net.head(net.norm(x).transpose(1, 2))


@torch.no_grad()
def test_same_as_plain_layers() -> None:
    net = randomised()
    features = torch.randn(2, 310, 40, dtype=torch.float64)
    fast, plain = net(features), plain_forward(net, features)
    assert fast.shape == (2, 155, 12)
    assert (fast - plain).abs().max() < 1e-9


@torch.no_grad()
def test_causal() -> None:
    net = randomised()
    features = torch.randn(1, 400, 40, dtype=torch.float64)
    other = features.clone()
    other[:, 200:] += 1.0  # output m reads features up to 2m + 1: outputs 0 to 99 stay
    difference = (net(features) - net(other)).abs().amax(2)[0]
    assert difference[:100].max() < 1e-9 and difference[100] > 0


@torch.no_grad()
def test_block_convolution() -> None:
    for taps in (1, 17, 64):
        u, k = torch.randn(5, 3, 256, dtype=torch.float64), torch.randn(5, taps, dtype=torch.float64)
        assert (causal_depthwise(u, k, torch.float64) - causal_convolution(u, k[:, None])).abs().max() < 1e-12


@torch.no_grad()
def test_front_end_frames() -> None:
    front_end = LogMel().double()
    samples = torch.randn(1600, dtype=torch.float64)
    features = front_end(samples)
    assert features.shape == (10, 40)
    mel = torch.from_numpy(mel_matrix()).double()
    n = torch.arange(WINDOW, dtype=torch.float64)
    hann = 0.5 - 0.5 * torch.cos(2 * torch.pi * n / WINDOW)
    for frame in (0, 5):
        end = (frame + 1) * HOP
        cut = torch.cat([torch.zeros(WINDOW, dtype=torch.float64), samples])[end : end + WINDOW]
        power = torch.fft.fft(cut * hann, N_FFT).abs().square()[: N_FFT // 2 + 1]
        assert (torch.log(power @ mel + 1e-5) - features[frame]).abs().max() < 1e-5


if __name__ == "__main__":
    for name, function in list(globals().items()):
        if name.startswith("test_"):
            function()
            print(name, "passed")
