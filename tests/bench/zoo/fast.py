"""What does not depend on the input, computed once: kernels and their spectra, positions' sums.  The outputs
stay those of the modules."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

import torch
from longwave.layers.chela import LongTaps
from longwave.layers.lightnet import ExponentialSums
from longwave.layers.orchid import HyenaFilter
from longwave.layers.sgconv import GConv
from torch import Tensor, nn


def good_length(least: int) -> int:
    """The smallest even product of 2, 3 and 5 that is not below: lengths that real transforms are quick
    with."""
    n = least + least % 2
    while True:
        rest = n
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return n
        n += 2


def circular(k0: Tensor, k1: Tensor | None, length: int) -> Callable[[Tensor], Tensor]:
    """(..., L) -> (..., L) through one spectrum: lags 0, 1, ... of k0, and -1, -2, ... of k1 at the end of
    the circle."""
    n = good_length(2 * length)
    kernel = k0.new_zeros(*k0.shape[:-1], n)
    kernel[..., : min(k0.shape[-1], length)] = k0[..., :length]
    if k1 is not None:
        back = k1[..., : length - 1]
        kernel[..., n - back.shape[-1] :] = back.flip(-1)
    spectrum = torch.fft.rfft(kernel)
    return lambda u: torch.fft.irfft(torch.fft.rfft(u, n=n) * spectrum, n=n)[..., :length]


def _gconv(layer: GConv, length: int) -> None:
    copies, direct = layer.channels, layer.D[:, :, None]

    @functools.cache
    def convolution(rows: int) -> Callable[[Tensor], Tensor]:
        kernel = layer.kernel(rows)
        return circular(kernel[:copies], kernel[copies:] if layer.bidirectional else None, rows)

    convolution(length)
    # A later stage of an image has fewer rows.
    layer.convolve = lambda u: convolution(u.shape[-1])(u.unsqueeze(1)) + direct * u.unsqueeze(1)


def _taps(layer: LongTaps, length: int) -> None:
    convolution = circular(layer.k0, getattr(layer, "k1", None), length)
    direct = layer.D[:, None] if hasattr(layer, "D") else None

    def forward(x: Tensor) -> Tensor:
        u = x.transpose(1, 2)
        y = convolution(u) if direct is None else convolution(u) + direct * u
        return y.transpose(1, 2)

    layer.forward = forward


def _filter(layer: HyenaFilter, length: int) -> None:
    taps = layer.taps(length)
    layer.taps = lambda _: taps


def _sums(layer: ExponentialSums, length: int) -> None:
    if layer.shape:
        kernels = [layer.kernel(axis, size) for axis, size in enumerate(layer.shape)]
        layer.kernel = lambda axis, _: kernels[axis]
        return
    convolution = circular(layer.kernel(0, length), None, length)
    layer.forward = lambda x: convolution(x.transpose(1, 2)).transpose(1, 2)


def choose_chunk(net: nn.Module, given: list[Tensor], sizes: tuple[int, ...] = (16, 32, 64, 128, 256)) -> int | None:
    """Rows at a time with which causal attention is quickest here; None: there is none."""
    blocks = [module for module in net.modules() if hasattr(module, "chunk") and module.config.causal]
    if not blocks:
        return None

    def seconds(size: int) -> float:
        for block in blocks:
            block.chunk = size
        begin = time.process_time()
        net(*given)
        return time.process_time() - begin

    seconds(sizes[0])  # warm
    best = min(sizes, key=seconds)
    for block in blocks:
        block.chunk = best
    return best


def fastest(net: nn.Module, length: int) -> nn.Module:
    """`net` itself, for sequences of `length` alone from now on."""
    prepare = {GConv: _gconv, LongTaps: _taps, HyenaFilter: _filter, ExponentialSums: _sums}
    for module in net.modules():
        for kind, action in prepare.items():
            if isinstance(module, kind):
                action(module, length)
    return net
