"""GTCRN: a denoiser of 16 kHz audio. Rong et al., "GTCRN: A Speech Enhancement Model Requiring Ultralow Computational
Resources", ICASSP 2024.

A mask of the complex spectrum comes from 129 bands: convolutions, recurrences over the bands of each frame in both directions, and
recurrences over time of each band. Here all of it is one module over audio. Its parts have the names of the checkpoints; what is
the same in another form has the form with fewer steps (gtcrn_weights.py).
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

NAME, RATE, WINDOW, HOP = "gtcrn", 16000, 512, 256
LAG = WINDOW - HOP  # a hop is complete with the last frame that reaches it, and that frame ends with the newest sample
LOW, HIGH = 65, 64  # frequencies that are bands of their own, and bands of all others
BANDS, CHANNELS = 33, 16  # after both strides


class Block(nn.Module):
    """A convolution along the bands that halves them, or doubles them."""

    def __init__(self, conv: nn.Conv2d | nn.ConvTranspose2d, act: nn.Module) -> None:
        super().__init__()
        self.conv, self.bn, self.act = conv, nn.BatchNorm2d(conv.out_channels), act

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.act(self.bn(self.conv(x)))
        return result


class Attention(nn.Module):
    """A weight of each channel from the energy of all frames so far."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.att_gru, self.att_fc = nn.GRU(channels, 2 * channels, batch_first=True), nn.Linear(2 * channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """(1, channels, frames, bands)"""
        energy = x.square().mean(3).mT
        result: Tensor = x * self.att_fc(self.att_gru(energy)[0]).sigmoid().mT[..., None]
        return result


class Temporal(nn.Module):
    """Half of the channels through three convolutions, of which the middle one reads three frames; then both halves in turn."""

    def __init__(self, dilation: int) -> None:
        super().__init__()
        half = CHANNELS // 2
        self.before = 2 * dilation
        self.point_conv1, self.point_bn1, self.point_act = (
            nn.Conv2d(half, CHANNELS, (1, 3), padding=(0, 1)),
            nn.BatchNorm2d(CHANNELS),
            nn.PReLU(),
        )
        self.depth_conv = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=(0, 1), dilation=(dilation, 1), groups=CHANNELS)
        self.depth_bn, self.depth_act = nn.BatchNorm2d(CHANNELS), nn.PReLU()
        self.point_conv2, self.point_bn2, self.tra = nn.Conv2d(CHANNELS, half, 1), nn.BatchNorm2d(half), Attention(half)

    def forward(self, x: Tensor) -> Tensor:
        one, other = x.chunk(2, 1)
        h = self.point_act(self.point_bn1(self.point_conv1(one)))
        h = self.depth_act(self.depth_bn(self.depth_conv(F.pad(h, (0, 0, self.before, 0)))))
        h = self.tra(self.point_bn2(self.point_conv2(h)))
        return torch.stack([h, other], 2).flatten(1, 2)


class DualPath(nn.Module):
    """Over the bands of each frame in both directions, then over time for each band."""

    def __init__(self) -> None:
        super().__init__()
        self.intra_rnn = nn.GRU(CHANNELS, CHANNELS // 2, batch_first=True, bidirectional=True)
        self.inter_rnn = nn.GRU(CHANNELS, CHANNELS, batch_first=True)
        self.intra_fc, self.intra_ln = nn.Linear(CHANNELS, CHANNELS), nn.LayerNorm((BANDS, CHANNELS), eps=1e-8)
        self.inter_fc, self.inter_ln = nn.Linear(CHANNELS, CHANNELS), nn.LayerNorm((BANDS, CHANNELS), eps=1e-8)

    def forward(self, x: Tensor) -> Tensor:
        x = x[0].permute(1, 2, 0)  # (frames, bands, channels)
        x = x + self.intra_ln(self.intra_fc(self.intra_rnn(x)[0]))
        x = x + self.inter_ln(self.inter_fc(self.inter_rnn(x.transpose(0, 1))[0]).transpose(0, 1))
        return x.permute(2, 0, 1)[None]


class Gtcrn(nn.Module):
    """(1, samples) -> (1, rows, 256): a row for each 256 samples, `LAG` samples late."""

    window: Tensor

    def __init__(self) -> None:
        super().__init__()
        along: dict[str, Any] = {"kernel_size": (1, 5), "stride": (1, 2), "padding": (0, 2)}
        self.encoder = nn.ModuleList(
            [
                Block(nn.Conv2d(9, CHANNELS, **along), nn.PReLU()),
                Block(nn.Conv2d(CHANNELS, CHANNELS, **along, groups=2), nn.PReLU()),
                *(Temporal(d) for d in (1, 2, 5)),
            ]
        )
        self.dpgrnn1, self.dpgrnn2 = DualPath(), DualPath()
        self.decoder = nn.ModuleList(
            [
                *(Temporal(d) for d in (5, 2, 1)),
                Block(nn.ConvTranspose2d(CHANNELS, CHANNELS, **along, groups=2), nn.PReLU()),
                Block(nn.ConvTranspose2d(CHANNELS, 2, **along), nn.Tanh()),
            ]
        )
        high = WINDOW // 2 + 1 - LOW
        self.to_bands, self.from_bands = nn.Linear(high, HIGH, bias=False), nn.Linear(HIGH, high, bias=False)
        self.register_buffer("window", torch.hann_window(WINDOW).sqrt())

    def mask(self, re: Tensor, im: Tensor) -> Tensor:
        """Real and imaginary part (1, 2, frames, frequencies)."""
        size = (re.square() + im.square() + 1e-12).sqrt()
        x = torch.stack([size, re, im], 1)
        x = torch.cat([x[..., :LOW], self.to_bands(x[..., LOW:])], 3)
        x = F.unfold(x, (1, 3), padding=(0, 1)).unflatten(2, x.shape[2:])  # each band with its neighbours
        kept = []
        for layer in self.encoder:
            x = layer(x)
            kept.append(x)
        x = self.dpgrnn2(self.dpgrnn1(x))
        for layer in self.decoder:
            x = layer(x + kept.pop())
        return torch.cat([x[..., :LOW], self.from_bands(x[..., LOW:])], 3)

    def forward(self, audio: Tensor) -> Tensor:
        if audio.shape[1] < HOP:
            raise ValueError(f"{audio.shape[1]} samples are not a hop of {HOP}")
        bins = torch.fft.rfft(F.pad(audio, (LAG, 0)).unfold(1, WINDOW, HOP) * self.window)
        mask = self.mask(bins.real, bins.imag)
        frames = torch.fft.irfft(bins * torch.complex(mask[:, 0], mask[:, 1])) * self.window
        rows = frames.shape[1]
        signal = F.fold(frames.mT, (1, WINDOW + HOP * (rows - 1)), (1, WINDOW), stride=(1, HOP))
        return signal.reshape(1, -1)[:, : HOP * rows].reshape(1, rows, HOP)
