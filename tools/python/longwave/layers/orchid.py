"""The Orchid operator (Karami and Ghodsi 2024, arXiv 2402.18508) and the M2-BERT block around it, under the official
state-dict names.

x (B, L, D); [p0 p1 p2] = in_linear(x), s_i = causal depthwise convolutions of them, h = conditioning network of p2,
    y = s0 * (c @ (s1 * s2) + bias * s1 * s2) + h_res @ x + bias_res * x,   c = h_fixed + h,   out_linear(y),
where @ is a product of transforms of the whole sequence: nothing here is causal.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..package import Layer, layer

TRANSFORMS = ("fft", "fft-o", "dct", "dctxd-o")
_FFT_NORM = {"fft": "forward", "fft-o": "ortho"}


def dct(x: Tensor, orthonormal: bool) -> Tensor:
    """DCT-II over the last axis: 2 sum_t x_t cos(pi k (2t + 1) / 2L), or scaled to an orthonormal matrix."""
    return x @ _dct_matrix(x.shape[-1], orthonormal, x).T


def inverse_dct(y: Tensor, orthonormal: bool) -> Tensor:
    matrix = _dct_matrix(y.shape[-1], True, y)
    return (y if orthonormal else y / _dct_scale(y)) @ matrix


def _dct_scale(like: Tensor) -> Tensor:
    """Of the plain transform, relative to the orthonormal one."""
    length = like.shape[-1]
    scale = torch.full((length,), (2 * length) ** 0.5, dtype=like.dtype, device=like.device)
    scale[0] = 2 * length**0.5
    return scale


def _dct_matrix(length: int, orthonormal: bool, like: Tensor) -> Tensor:
    return _dct_matrix_of(length, orthonormal, like.dtype, like.device)


@lru_cache(maxsize=8)
@torch.inference_mode(False)
def _dct_matrix_of(length: int, orthonormal: bool, dtype: torch.dtype, device: torch.device) -> Tensor:
    t, k = torch.arange(length, dtype=torch.float64), torch.arange(length, dtype=torch.float64)[:, None]
    matrix = 2 * torch.cos(torch.pi * k * (2 * t + 1) / (2 * length))
    if orthonormal:
        matrix = matrix / (2 * length) ** 0.5
        matrix[0] /= 2**0.5
    return matrix.to(device, dtype)


def transform(x: Tensor, mode: str, size: int | None = None) -> Tensor:
    """(..., L) -> complex (..., size/2 + 1) for the Fourier modes, (..., L) for the cosine modes, which have no size."""
    if mode in _FFT_NORM:
        result: Tensor = torch.fft.rfft(x, n=size, norm=_FFT_NORM[mode])
        return result
    return dct(x, mode == "dctxd-o")


def inverse(y: Tensor, mode: str, size: int) -> Tensor:
    if mode in _FFT_NORM:
        result: Tensor = torch.fft.irfft(y, n=size, norm=_FFT_NORM[mode])
        return result
    return inverse_dct(y, mode == "dctxd-o")


class Sine(nn.Module):
    def __init__(self, width: int, w: float) -> None:
        super().__init__()
        self.freq = nn.Parameter(w * torch.ones(1, width))

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(self.freq * x)


class Positions(nn.Module):
    """z (1, l_max, emb): time, cosines and negative sines of the bands; t (1, l_max, 1) in [0, 1]."""

    t: Tensor

    def __init__(self, emb_dim: int, l_max: int) -> None:
        super().__init__()
        t = torch.linspace(0, 1, l_max)[None, :, None]
        angle = (2 * torch.pi * torch.arange(l_max) / l_max)[None, :, None]
        bands = (emb_dim - 1) // 2
        phase = torch.linspace(1e-4, bands - 1, bands)[None, None] * angle
        self.z = nn.Parameter(torch.cat([t, phase.cos(), -phase.sin()], -1))
        self.register_buffer("t", t)


class Modulation(nn.Module):
    def __init__(self, width: int, shift: float = 0.0) -> None:
        super().__init__()
        low, high = torch.tensor([0.3, 1.5]), torch.tensor(0.01).log()
        self.deltas = nn.Parameter(torch.linspace((high / low[1]).item(), (high / low[0]).item(), width)[None, None])
        self.shift = shift

    def forward(self, t: Tensor, k: Tensor) -> Tensor:
        return k * (torch.exp(-t * self.deltas.abs()) + self.shift)


class HyenaFilter(nn.Module):
    """An implicit kernel of l_max taps (Poli et al. 2023): an MLP with sines of a position, times a decay."""

    def __init__(
        self,
        width: int,
        l_max: int,
        order: int = 64,
        emb_dim: int = 3,
        num_inner_mlps: int = 2,
        w: float = 10,
        shift: float = 0.0,
    ) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.randn(width))
        self.pos_emb = Positions(emb_dim, l_max)
        sine = Sine(order, w)  # one object: its keys are repeated in the state dict
        layers: list[nn.Module] = [nn.Linear(emb_dim, order), sine]
        for _ in range(num_inner_mlps):
            layers += [nn.Linear(order, order), sine]
        self.implicit_filter = nn.Sequential(*layers, nn.Linear(order, width, bias=False))
        self.modulation = Modulation(width, shift)

    def taps(self, length: int) -> Tensor:
        """(length, D); at most l_max."""
        if length > self.pos_emb.z.shape[1]:
            raise ValueError(f"length expected at most l_max = {self.pos_emb.z.shape[1]}, found {length}")
        k = self.implicit_filter(self.pos_emb.z[:, :length])
        result: Tensor = self.modulation(self.pos_emb.t[:, :length], k)[0]
        return result


class _KernelNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm_conv_kernel = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.norm_conv_kernel(x)
        return result


class ConditioningConv(nn.Module):
    """Centred convolutions in groups, each followed by (GELU, but for the last, and) a LayerNorm; (B, rows, C)."""

    def __init__(self, groups: int, in_factor: int, out_factor: int, size: int = 3, n_layer: int = 1) -> None:
        super().__init__()
        out = groups * out_factor
        inputs = [groups * in_factor] + [out] * (n_layer - 1)
        self.conv1d_ls = nn.ModuleList(nn.Conv1d(n, out, size, groups=groups, padding=(size - 1) // 2) for n in inputs)
        self.norm_ls = nn.ModuleList(_KernelNorm(out) for _ in inputs)

    def forward(self, x: Tensor) -> Tensor:
        for number, (conv, norm) in enumerate(zip(self.conv1d_ls, self.norm_ls)):
            x = conv(x.transpose(1, 2)).transpose(1, 2)
            if number + 1 < len(self.conv1d_ls):
                x = F.gelu(x)
            x = norm(x)
        return x


_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "id": lambda x: x,
    "gelu": F.gelu,
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "silu": F.silu,
    "tanh": torch.tanh,
}


class ConditioningNetwork(nn.Module):
    """(B, L, D) -> the adaptive kernel: time (B, D, L) real, or its transform.

    kind: absfreq, freq or corrTime; network: convt, convf or convtf (conv2t, conv2f and conv2tf are other names of
    these). `causal`, as the published code calls it: the Fourier modes transform 2L samples, and the kernel goes back to
    time, where its first L taps are kept.
    """

    def __init__(
        self,
        width: int,
        mode: str,
        kind: str = "absfreq",
        network: str = "convtf",
        size: int = 3,
        n_layer: int = 1,
        actq: str = "id",
        causal: bool = True,
    ) -> None:
        super().__init__()
        self.options = {
            "conditioning": kind,
            "network": network,
            "kernel_size": size,
            "kernel_layers": n_layer,
            "actq": actq,
            "causal": causal,
        }
        network = network.replace("2", "")
        self.mode, self.kind, self.causal, self.fourier = mode, kind, causal, mode in _FFT_NORM
        self.on_time, self.on_frequency = network in ("convt", "convtf"), network in ("convf", "convtf")
        self.activation, self.on_magnitude = _ACTIVATIONS[actq.split("_")[0]], actq.endswith("_abs")
        if kind == "freq" and self.fourier and not self.on_frequency:
            raise ValueError("freq needs a convolution over frequency: nn convf or convtf")
        if kind == "corrTime" and self.fourier and causal:
            raise ValueError("corrTime multiplies spectra of L samples: causal must be false with fft and fft-o")
        parts = 2 if self.fourier else 1
        options = {"size": size, "n_layer": n_layer}
        if kind == "corrTime":
            self.nn_model_k = ConditioningConv(width, 1, 1, **options)
            self.nn_model_q = ConditioningConv(width, 1, 1, **options)
            if network == "convtf":
                self.nn_model_frq = ConditioningConv(width, parts, parts, **options)
            return
        over_frequency = (width, 1 if kind == "absfreq" else parts, parts)
        self.nn_model = ConditioningConv(*((width, 1, 1) if self.on_time else over_frequency), **options)
        if network == "convtf":
            self.nn_model2 = ConditioningConv(*over_frequency, **options)

    def _rows(self, x: Tensor, size: int | None = None) -> Tensor:
        """(B, L, D) -> transform, (B, rows, D)."""
        return transform(x.transpose(1, 2), self.mode, size).transpose(1, 2)

    def _joined(self, x: Tensor) -> Tensor:
        return torch.cat([x.real, x.imag], -1) if self.fourier else x

    def _activated(self, q: Tensor) -> Tensor:
        if self.on_magnitude:
            return self.activation(q.abs()) * q / q.abs().clamp(min=1e-6)
        return torch.complex(self.activation(q.real), self.activation(q.imag)) if self.fourier else self.activation(q)

    def _correlation(self, x: Tensor) -> Tensor:
        h = self._rows(self.nn_model_k(x)).conj() * self._activated(self._rows(self.nn_model_q(x)))
        if not hasattr(self, "nn_model_frq"):
            return h
        h = self.nn_model_frq(self._joined(h))
        return torch.complex(*h.chunk(2, -1)) if self.fourier else h

    def forward(self, x: Tensor) -> tuple[Tensor, bool]:
        """The kernel, and whether it is in the time domain."""
        if self.kind == "corrTime":
            return self._correlation(x).transpose(1, 2), False
        length = x.shape[1]
        size = 2 * length if self.causal else length
        h = self._rows(self.nn_model(x) if self.on_time else x, size)
        if self.kind == "freq":
            h = self._joined(h)
        else:
            h = h.real.square() + h.imag.square() if self.fourier else h.abs()
        if self.on_frequency:
            h = (self.nn_model2 if self.on_time else self.nn_model)(h)
            h = torch.complex(h[..., 0::2], h[..., 1::2]) if self.fourier else h
        h = h.transpose(1, 2)
        return (inverse(h, self.mode, size)[..., :length], True) if self.causal else (h, False)


class OrchidOperator(nn.Module):
    """(B, L, D) -> (B, L, D) for any L up to l_max; the kernel of a shorter sequence is cut, not resampled."""

    def __init__(
        self,
        d_model: int,
        l_max: int,
        transform: str = "fft",
        conditioning: dict[str, Any] | None = None,
        short_filter_order: int = 3,
        filter_order: int = 64,
        emb_dim: int = 3,
        num_inner_mlps: int = 2,
        w: float = 10,
        shift: float = 0.0,
        residual_long_conv: bool = True,
    ) -> None:
        super().__init__()
        if transform not in TRANSFORMS:
            raise ValueError(f"transform expected one of {', '.join(TRANSFORMS)}, found {transform}")
        self.mode = transform
        self.in_linear, self.out_linear = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.conv1d_short = nn.Conv1d(
            3 * d_model, 3 * d_model, short_filter_order, groups=3 * d_model, padding=short_filter_order - 1
        )
        options: dict[str, Any] = {
            "order": filter_order,
            "emb_dim": emb_dim,
            "num_inner_mlps": num_inner_mlps,
            "w": w,
            "shift": shift,
        }
        self.fixed_conv = HyenaFilter(d_model, l_max, **options)
        self.fixed_conv_res = HyenaFilter(d_model, l_max, **options) if residual_long_conv else None
        self.conv_kernel_nn = ConditioningNetwork(d_model, transform, **(conditioning or {}))
        self.options = {
            "l_max": l_max,
            "transform": transform,
            "short_conv": short_filter_order,
            "residual_long_conv": residual_long_conv,
            "filter_order": filter_order,
            "emb_dim": emb_dim,
            "num_inner_mlps": num_inner_mlps,
            "shift": shift,
        } | self.conv_kernel_nn.options

    def package_layer(self, name: str, prefix: str | None = None) -> Layer:
        """The layer of a model package whose tensors start with `prefix`."""
        return layer("orchid", name, prefix, **self.options)

    def _convolved(self, u: Tensor, static: HyenaFilter, adaptive: Tensor | None = None) -> Tensor:
        """(B, D, L): the product of transforms, plus bias times u."""
        length = u.shape[-1]
        kernel = transform(static.taps(length).T, self.mode)
        if adaptive is not None:
            kernel = kernel + adaptive
        return inverse(transform(u, self.mode) * kernel, self.mode, length) + static.bias[:, None] * u

    def forward(self, x: Tensor) -> Tensor:
        projected = self.in_linear(x)
        h, in_time = self.conv_kernel_nn(projected.chunk(3, -1)[2])
        s0, s1, s2 = self.conv1d_short(projected.transpose(1, 2))[..., : x.shape[1]].chunk(3, 1)
        y = s0 * self._convolved(s1 * s2, self.fixed_conv, transform(h, self.mode) if in_time else h)
        if self.fixed_conv_res is not None:
            y = y + self._convolved(x.transpose(1, 2), self.fixed_conv_res)
        result: Tensor = self.out_linear(y.transpose(1, 2))
        return result


class BlockDiagonalLinear(nn.Module):
    """Contiguous blocks of the features, each with its own weights (blocks, out/blocks, in/blocks)."""

    def __init__(self, inputs: int, outputs: int, blocks: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(blocks, outputs // blocks, inputs // blocks) * (blocks / inputs) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        y = torch.einsum("...ni,noi->...no", x.unflatten(-1, (self.weight.shape[0], -1)), self.weight).flatten(-2)
        return y if self.bias is None else y + self.bias


class GatedMlp(nn.Module):
    """M2-BERT's: LayerNorm(x + wo(gelu(a) * b)), [a b] = gated_layers(x) (Fu et al. 2023). blocks 0: dense."""

    def __init__(self, width: int, intermediate: int, blocks: int = 4, eps: float = 1e-12) -> None:
        super().__init__()

        def linear(inputs: int, outputs: int, bias: bool) -> nn.Module:
            return BlockDiagonalLinear(inputs, outputs, blocks, bias) if blocks else nn.Linear(inputs, outputs, bias)

        self.gated_layers, self.wo = linear(width, 2 * intermediate, False), linear(intermediate, width, True)
        self.layernorm = nn.LayerNorm(width, eps)
        self.options = {"intermediate": intermediate, "blocks": blocks, "eps": eps}

    def package_layer(self, name: str, prefix: str | None = None) -> Layer:
        return layer("m2_mlp", name, prefix, **self.options)

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.gated_layers(x).chunk(2, -1)
        result: Tensor = self.layernorm(x + self.wo(F.gelu(a) * b))
        return result


class M2Layer(nn.Module):
    """The mixer with neither residual nor norm around it, then the MLP."""

    def __init__(self, mixer: nn.Module, mlp: nn.Module) -> None:
        super().__init__()
        self.attention, self.mlp = mixer, mlp

    def package_layers(self, name: str) -> list[Layer]:
        mixer, mlp = cast(OrchidOperator, self.attention), cast(GatedMlp, self.mlp)
        return [mixer.package_layer(f"{name}.attention"), mlp.package_layer(f"{name}.mlp")]

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.mlp(self.attention(x))
        return result
