"""SGConv: structured global convolution (Li et al. 2022, "What Makes Convolutional Models Great on Long Sequence
Modeling?"), with the parameter names of the official `GConv` module so that its state dicts load unchanged.

Kernel of one layer, C' = channels (twice that when bidirectional), H = width, d = kernel_dim, N scales:
  k[:, :, o_i + m] = mu_h^(N-1-i) * resize(w_i, d -> d*s_i)[m],  s_i = 2^(max(0, i-1) + init_scale),  K = d*2^(N-1+init_scale)
then divided by the frozen buffer `kernel_norm` and cut (or zero-padded) to the sequence length.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def resize(w: Tensor, length: int, nearest: bool) -> Tensor:
    """(C', H, n) -> (C', H, length); linear means half-pixel centres with both ends held."""
    if nearest:
        return F.interpolate(w, size=length, mode="nearest")
    return F.interpolate(w, size=length, mode="linear", align_corners=False)


def causal_convolution(u: Tensor, k: Tensor) -> Tensor:
    """y[..., t] = sum_{j<=t} k[..., j] u[..., t-j] over the last axis, by FFT; broadcasts the leading axes."""
    n = u.shape[-1] + k.shape[-1]
    y = torch.fft.irfft(torch.fft.rfft(u, n=n) * torch.fft.rfft(k, n=n), n=n)
    result: Tensor = y[..., : u.shape[-1]]
    return result


def two_sided_convolution(u: Tensor, k0: Tensor, k1: Tensor) -> Tensor:
    """Adds sum_j k1[j] u[t+1+j]: the backward kernel starts at the *next* sample, as in the official code."""
    backward = causal_convolution(u.flip(-1), k1).flip(-1)  # position t holds sum_j k1[j] u[t+j]
    return causal_convolution(u, k0) + F.pad(backward[..., 1:], (0, 1))


class GConv(nn.Module):
    """One layer: long convolution + D, GELU, output projection (with GLU when `postact` is "glu").

    `mode` is the official mode string, for example "cat_randn", "cat_randn_learnable_fixed", "sum_randn_nearest",
    "cat_randn_trunc".  Input (B, H, L) when `transposed`, else (B, L, H); the output has the same layout.
    """

    multiplier: Tensor
    kernel_norm: Tensor
    kernel_norm_initialized: Tensor
    norm: nn.Sequential | nn.ModuleDict

    def __init__(
        self,
        d_model: int,
        l_max: int | None = None,
        kernel_dim: int = 32,
        n_scales: int | None = None,
        channels: int = 1,
        bidirectional: bool = False,
        mode: str = "cat_randn",
        init_scale: int = 0,
        decay_min: float = 2.0,
        decay_max: float = 2.0,
        postact: str | None = "glu",
        linear: bool = False,
        ln: bool = False,
        transposed: bool = True,
    ) -> None:
        super().__init__()
        if n_scales is None:
            if l_max is None:
                raise ValueError("give l_max or n_scales")
            n_scales = 1 + math.ceil(math.log2(l_max / kernel_dim)) - init_scale
        self.h, self.channels, self.bidirectional, self.mode = d_model, channels, bidirectional, mode
        self.kernel_dim, self.init_scale, self.l_max = kernel_dim, init_scale, l_max
        self.postact, self.linear, self.transposed = postact, linear, transposed
        copies = channels * (2 if bidirectional else 1)
        self.D = nn.Parameter(torch.randn(channels, d_model))
        if "zeros" in mode:
            make = torch.zeros
        else:
            make = torch.randn
        self.kernel_list = nn.ParameterList(nn.Parameter(make(copies, d_model, kernel_dim)) for _ in range(n_scales))
        if "learnable" in mode:
            self.register_buffer("multiplier", torch.tensor(1.0))
            decay = torch.rand(d_model) * (decay_max - decay_min) + decay_min
            self.decay = nn.Parameter(decay, requires_grad="fixed" not in mode)
        else:
            self.register_buffer("multiplier", torch.linspace(decay_min, decay_max, d_model).view(1, -1, 1))
        self.register_buffer("kernel_norm", torch.ones(copies, d_model, 1))
        self.register_buffer("kernel_norm_initialized", torch.tensor(False))
        if not linear:
            width = d_model * channels
            if postact == "glu":
                self.output_linear: nn.Module = nn.Sequential(nn.Linear(width, 2 * d_model), nn.GLU(dim=-1))
            else:
                self.output_linear = nn.Linear(width, d_model)
            self.norm = nn.Sequential() if not ln else nn.ModuleDict({"norm": nn.LayerNorm(width)})

    @property
    def kernel_length(self) -> int:
        """K, before cutting to the sequence length."""
        result: int = self.kernel_dim * 2 ** (len(self.kernel_list) - 1 + self.init_scale)
        return result

    def raw_kernel(self) -> Tensor:
        """(C', H, K) before the division by kernel_norm."""
        scales = len(self.kernel_list)
        total = self.kernel_length
        parts = []
        for i, w in enumerate(self.kernel_list):
            exponent = i if "sum" in self.mode else max(0, i - 1)
            part = resize(w, self.kernel_dim * 2 ** (exponent + self.init_scale), "nearest" in self.mode)
            parts.append(part * self.multiplier ** (scales - 1 - i))
        if "sum" in self.mode:
            padded = [F.pad(part, (0, total - part.shape[-1])) for part in parts]
            kernel = sum(padded[1:], padded[0])
        else:
            kernel = torch.cat(parts, dim=-1)
        if "learnable" in self.mode:
            positions = torch.arange(1, total + 1, dtype=kernel.dtype, device=kernel.device)
            kernel = kernel * positions ** (-self.decay[:, None])
        return kernel

    @torch.no_grad()
    def freeze_norm(self) -> None:
        """Stores the L2 norm of the full kernel once; afterwards only the stored value counts."""
        self.kernel_norm.copy_(self.raw_kernel().norm(dim=-1, keepdim=True))
        self.kernel_norm_initialized.fill_(True)

    def kernel(self, length: int | None = None) -> Tensor:
        """(C', H, min(K, length)).  Modes "expand" (resize to l_max) and "trunc" (cut at l_max, resize to length) are for
        running at another sampling rate than the trained one."""
        if not bool(self.kernel_norm_initialized):
            self.freeze_norm()
        kernel = self.raw_kernel()
        if "expand" in self.mode and self.l_max is not None:
            kernel = resize(kernel, self.l_max, "nearest" in self.mode)
        if length is not None and "trunc" in self.mode and self.l_max is not None and length != self.l_max:
            kernel = resize(kernel[..., : self.l_max], length, "nearest" in self.mode) * (self.l_max / length)
        kernel = kernel / self.kernel_norm
        return kernel if length is None else kernel[..., :length]

    def convolve(self, u: Tensor) -> Tensor:
        """(B, H, L) -> (B, C, H, L): long convolution plus D."""
        k = self.kernel(u.shape[-1])
        x = u.unsqueeze(1)
        if self.bidirectional:
            k0, k1 = k[: self.channels], k[self.channels :]
            y = two_sided_convolution(x, k0, k1)
        else:
            y = causal_convolution(x, k)
        return y + self.D[:, :, None] * x

    def forward(self, u: Tensor) -> Tensor:
        if not self.transposed:
            u = u.transpose(-1, -2)
        y = self.convolve(u).flatten(1, 2)  # channel copies slow, width fast
        if not self.linear:
            y = F.gelu(y).transpose(-1, -2)
            if isinstance(self.norm, nn.ModuleDict):
                y = self.norm["norm"](y)
            y = self.output_linear(y).transpose(-1, -2)
        return y if self.transposed else y.transpose(-1, -2)
