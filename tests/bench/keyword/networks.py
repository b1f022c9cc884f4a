"""The keyword network behind its front end, in forms that exporters take: a window of one second, and a step with its state.

Both compute what KwsNet computes in training, with the trained weights. Batch norms are factors and offsets already.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tools/python"), str(ROOT / "tests/bench/torch")]
from longwave.kws.model import KwsConfig, KwsNet  # noqa: E402
from longwave.package import read  # noqa: E402
from onnx_peers import Exported  # noqa: E402

FRAMES, PAST = 2, 63  # new frames of 10 ms in a step; rows of 20 ms that a long convolution remembers
SEEN = 4  # frames that the first layer reads in a step: the caller keeps two
WINDOW = 100  # frames in a second


def trained() -> KwsNet:
    net = KwsNet(KwsConfig())
    net.load_state_dict(read(ROOT / "examples/kws/model")[1], strict=False)
    return net.eval().requires_grad_(False)


def features(net: KwsNet) -> Tensor:
    """(1, T, 40) of the demo recording, whole steps."""
    import soundfile

    samples, rate = soundfile.read(ROOT / "examples/kws/demo.wav", dtype="float32")
    assert rate == 16000
    found = net.front_end(torch.from_numpy(samples)[None])
    return found[:, : found.shape[1] // FRAMES * FRAMES]


def affine(norm: nn.Module) -> tuple[Tensor, Tensor]:
    """Factor and offset of a batch norm."""
    scale = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    return scale, norm.bias - norm.running_mean * scale


class Affine(nn.Module):
    """A batch norm of (1, channels, ...) as a factor and an offset."""

    def __init__(self, norm: nn.Module, axes: int) -> None:
        super().__init__()
        self.scale, self.offset = (value.reshape(-1, *[1] * axes) for value in affine(norm))

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale + self.offset


def without_batch_norms(net: KwsNet) -> KwsNet:
    """The same network for an exporter that stumbles over batch norms."""
    net = copy.deepcopy(net)
    for module in net.modules():
        for name, child in module.named_children():
            if isinstance(child, (nn.BatchNorm1d, nn.BatchNorm2d)):
                setattr(module, name, Affine(child, 2 if isinstance(child, nn.BatchNorm2d) else 1))
    return net


class Step(nn.Module):
    """(1, 4, 40) features and the state in, (1, 1, 12) logits and the state out. The state: two rows of the stem, and the last
    63 inputs of each long convolution. (A state that is an input unchanged made OpenVINO compute nonsense.)

    `by_product`: taps times inputs, summed, with time as the slow axis. Otherwise a depthwise convolution, with time as the fast
    axis, as PyTorch has it.
    """

    def __init__(self, net: KwsNet, by_product: bool) -> None:
        super().__init__()
        self.stem, self.head, self.by_product = net.stem, net.head, by_product
        self.project_norm = affine(net.stem.norm2)
        self.norm = affine(net.norm)
        self.blocks = []
        for block in net.blocks:
            taps = (block.layer.raw_kernel() / block.layer.kernel_norm)[0].clone()  # (96, 64), newest first
            taps[:, 0] += block.layer.D[0]
            taps = taps.flip(-1)
            self.blocks.append(
                (*affine(block.norm), taps.t()[None] if by_product else taps[:, None], block.layer.output_linear[0])
            )

    def state(self) -> list[Tensor]:
        """Of the beginning."""
        width = self.head.in_features
        past = (1, PAST, width) if self.by_product else (1, width, PAST)
        return [torch.zeros(1, self.stem.conv1.out_channels, 2, 20), *(torch.zeros(past) for _ in self.blocks)]

    def forward(self, features: Tensor, rows: Tensor, *past: Tensor) -> tuple[Tensor, ...]:
        stem = self.stem
        x = F.relu(F.conv2d(features[:, None], stem.conv1.weight, stem.conv1.bias, stride=(2, 2), padding=(0, 2)))
        x = torch.cat([rows, x], 2)
        state = [x[:, :, 1:]]
        x = F.relu(stem.norm1(stem.pointwise(stem.depthwise(x))))
        x = stem.project(x.permute(0, 2, 3, 1).flatten(2))
        x = x * self.project_norm[0] + self.project_norm[1]
        for (scale, offset, taps, linear), before in zip(self.blocks, past):
            u = x * scale + offset
            if self.by_product:
                seen = torch.cat([before, u], 1)
                state.append(seen[:, 1:])
                y = (seen * taps).sum(1, keepdim=True)
            else:
                seen = torch.cat([before, u.transpose(1, 2)], 2)
                state.append(seen[:, :, 1:])
                y = F.conv1d(seen, taps, groups=taps.shape[0]).transpose(1, 2)
            x = x + F.glu(linear(F.gelu(y)), dim=-1)
        return (self.head(x * self.norm[0] + self.norm[1]), *state)


class Remembering(nn.Module):
    """The step with its state in buffers of the module, for engines that keep those."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.step = step
        self.n = len(step.state())
        for i, value in enumerate(step.state()):
            self.register_buffer(f"state{i}", value)

    def forward(self, features: Tensor) -> Tensor:
        row, *state = self.step(features, *(getattr(self, f"state{i}") for i in range(self.n)))
        for i, value in enumerate(state):
            getattr(self, f"state{i}").copy_(value)
        return row


class Window(nn.Module):
    """(1, 100, 40) features in, the newest row of logits out. What the network heard before the window is forgotten."""

    def __init__(self, net: KwsNet, toeplitz: bool) -> None:
        super().__init__()
        self.whole = Exported(net, WINDOW // FRAMES, toeplitz)

    def forward(self, features: Tensor) -> Tensor:
        return self.whole(features)[:, -1:]


def expected(net: KwsNet, heard: Tensor) -> tuple[numpy.ndarray, numpy.ndarray]:
    """In float64: the rows of the stream, and of the window that ends with each step (a second on)."""
    net, heard = net.double(), heard.double()
    windows = heard[0].unfold(0, WINDOW, FRAMES).transpose(1, 2)  # (n, 100, 40)
    stream = net(heard)[0].numpy()
    ends = net(windows)[:, -1].numpy()
    net.float()
    return stream, ends
