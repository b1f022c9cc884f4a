"""Random modules (1, T, W) -> (1, T', W'), each one way to write an operation that the importer accepts.

SPELLINGS names a maker for each kind: maker(choice, width) gives the module. Its attribute `out` is W'.
"""

from __future__ import annotations

import random
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Spelled(nn.Module):
    """A function of the rows and of parameters."""

    def __init__(self, out: int, compute: Callable[..., Tensor], *parameters: Tensor, **modules: nn.Module) -> None:
        super().__init__()
        self.out, self.compute = out, compute
        self.p = nn.ParameterList(parameters)
        self.m = nn.ModuleDict(modules)

    def forward(self, x: Tensor) -> Tensor:
        return self.compute(x, *self.p, **self.m)


def linear(choice: random.Random, width: int) -> Spelled:
    out = choice.randint(1, 8)
    w, b = torch.randn(out, width), torch.randn(out)
    return Spelled(
        out,
        choice.choice(
            [
                lambda x, w, b: F.linear(x, w, b),
                lambda x, w, b: x @ w.T + b,
                lambda x, w, b: torch.matmul(w, x.mT).mT - b,
                lambda x, w, b: torch.einsum("btc,dc->btd", x, w) + b,
                lambda x, w, b: torch.einsum("dc,btc->bdt", w, x).transpose(1, 2),
                lambda x, w, b: torch.addmm(b, x[0], w.T)[None],
                lambda x, w, b: F.conv1d(x.mT, w[..., None], b).mT,
                lambda x, w, b: (x[..., None, :] * w).sum(-1) + b,
            ]
        ),
        w,
        b,
    )


def layout(choice: random.Random, width: int) -> Spelled:
    return Spelled(
        width,
        choice.choice(
            [
                lambda x: x.permute(0, 2, 1).relu().permute(0, 2, 1),
                lambda x: x.movedim(1, 2).tanh().swapaxes(1, 2),
                lambda x: x.transpose(0, 1).contiguous().sigmoid().transpose(0, 1),
                lambda x: x.squeeze(0).unsqueeze(1).flatten(1)[None],
                lambda x: x.reshape(1, x.shape[1], 1, x.shape[2]).squeeze(2).abs(),
                lambda x: x[:, None].permute(0, 3, 1, 2).reshape(1, x.shape[2], -1).mT,
                lambda x: torch.cat(list(x.split(1, -1))[::-1], -1),
            ]
        ),
    )


def parts(choice: random.Random, width: int) -> Spelled:
    """split, chunk and cat in other orders."""
    cut = choice.randint(1, width - 1) if width > 1 else 1
    return Spelled(
        width,
        choice.choice(
            [
                lambda x: torch.cat(x.split([cut, width - cut], -1)[::-1], -1) if width > 1 else x.neg(),
                lambda x: torch.cat(torch.tensor_split(x, 2, -1)[::-1], -1),
                lambda x: torch.cat([x[..., cut:], x[..., :cut].relu()], -1),
                lambda x: torch.cat([part * (1 + i) for i, part in enumerate(x.chunk(3, -1))], -1),
                lambda x: torch.roll(x, cut, -1),
                lambda x: x.flip(-1),
                lambda x: x.index_select(-1, torch.arange(width - 1, -1, -1)),
                lambda x: torch.narrow(x, -1, 0, width) * 0.5,
            ]
        ),
    )


def gated(choice: random.Random, width: int) -> Spelled:
    """Variants of GLU after one projection or two."""
    out = choice.randint(1, 6)
    act = choice.choice([torch.sigmoid, F.relu, F.gelu, F.silu, torch.tanh, lambda x: x])
    both = choice.choice(
        [
            lambda x, one, two: act(one(x)) * two(x),
            lambda x, one, two: two(x).mul(act(one(x))),
            lambda x, one, two: F.glu(torch.cat([one(x), two(x)], -1), -1),
            lambda x, one, two: F.glu(torch.cat([one(x), two(x)], -1).mT, 1).mT,
        ]
    )
    return Spelled(out, both, one=nn.Linear(width, out), two=nn.Linear(width, out, bias=False))


def convolution(choice: random.Random, width: int) -> Spelled:
    """Causal ones, dense or in groups, with dilation, padded in several ways."""
    k, dilation = choice.randint(1, 5), choice.choice([1, 1, 2, 3])
    groups = choice.choice([g for g in range(1, width + 1) if width % g == 0])
    out = groups * choice.randint(1, 3)
    conv = nn.Conv1d(width, out, k, dilation=dilation, groups=groups, bias=choice.random() < 0.5)
    reach = (k - 1) * dilation
    return Spelled(
        out,
        choice.choice(
            [
                lambda x, conv: conv(F.pad(x.mT, (reach, 0))).mT,
                lambda x, conv: conv(torch.cat([x.new_zeros(1, x.shape[2], reach), x.mT], 2)).mT,
                lambda x, conv: (
                    F.conv1d(x.mT, conv.weight, conv.bias, padding=reach, dilation=dilation, groups=groups)[
                        ..., : x.shape[1]
                    ].mT
                ),
                lambda x, conv: conv(nn.ZeroPad1d((reach, 0))(x.mT)).mT,
            ]
        ),
        conv=conv,
    )


def centred(choice: random.Random, width: int) -> Spelled:
    """Convolutions that look ahead: dense, in groups, of even length, dilated, with a stride."""
    out, k = choice.randint(1, 6), choice.randint(2, 6)
    form = choice.choice(["same", "numbers", "pad", "ahead", "stride", "groups"])
    if form == "stride":  # as many rows as floor(T / 2)
        return Spelled(out, lambda x, conv: conv(x.mT).mT, conv=nn.Conv1d(width, out, 4, stride=2, padding=1))
    if form == "groups":
        return Spelled(
            width, lambda x, conv: conv(x.mT).mT, conv=nn.Conv1d(width, width, k, padding="same", groups=width)
        )
    if form == "same":
        return Spelled(
            out,
            lambda x, conv: conv(x.mT).mT,
            conv=nn.Conv1d(width, out, k, padding="same", dilation=choice.randint(1, 2)),
        )
    if form == "numbers":
        return Spelled(out, lambda x, conv: conv(x.mT).mT, conv=nn.Conv1d(width, out, 2 * k + 1, padding=k))
    behind = choice.randint(0, k - 1) if form == "pad" else 0
    return Spelled(out, lambda x, conv: conv(F.pad(x.mT, (behind, k - 1 - behind))).mT, conv=nn.Conv1d(width, out, k))


def recurrent(choice: random.Random, width: int) -> Spelled:
    """Stacks, with a residual or a projection."""
    out, layers = choice.randint(1, 6), choice.randint(1, 3)
    rnn = choice.choice([nn.LSTM, nn.GRU])(
        width, out, layers, batch_first=choice.random() < 0.5, dropout=0.1 if layers > 1 else 0.0
    )
    first = rnn.batch_first
    run = choice.choice(
        [
            lambda x, rnn, up: rnn(x if first else x.transpose(0, 1))[0].reshape(1, x.shape[1], out),
            lambda x, rnn, up: up(x) + rnn(x if first else x.transpose(0, 1))[0].reshape(1, x.shape[1], out),
        ]
    )
    return Spelled(out, run, rnn=rnn, up=nn.Linear(width, out))


def pooled(choice: random.Random, width: int) -> Spelled:
    """Windows side by side."""
    k = choice.randint(1, 4)
    return Spelled(
        width,
        choice.choice(
            [
                lambda x: F.avg_pool1d(x.mT, k, k).mT,
                lambda x: nn.MaxPool1d(k)(x.mT).mT,
                lambda x: F.max_pool1d(F.relu(x.mT), k, k).mT,
                lambda x: F.max_pool1d(F.pad(x.mT.abs(), (k - 1, 0)), k, 1).mT,
            ]
        ),
    )


def padded(choice: random.Random, width: int) -> Spelled:
    """Means of windows with padding. A centred window looks ahead."""
    size, inside = choice.randint(2, 6), choice.random() < 0.5
    padding = choice.randint(1, size // 2)
    stride = choice.randint(max(1, size - 2 * padding), 4)  # so that the last rows have a window
    return Spelled(
        width,
        choice.choice(
            [
                lambda x: (
                    F.avg_pool1d(x.mT, size, stride, padding, count_include_pad=inside)[..., : x.shape[1] // stride].mT
                ),
                lambda x: nn.AvgPool1d(2 * padding + 1, 1, padding, count_include_pad=inside)(x.mT).mT,
                lambda x: F.avg_pool1d(F.pad(x.mT, (size - 1, 0)), size, 1).mT,
                lambda x: F.avg_pool1d(F.pad(x.mT, (padding, size - 1 - padding)), size, 1).mT,
            ]
        ),
    )


def stacked(choice: random.Random, width: int) -> Spelled:
    twice, thrice = 2 * width, 3 * width
    out, run = choice.choice(
        [
            (twice, lambda x: torch.stack([x, x.relu()], -1).flatten(2)),
            (twice, lambda x: torch.stack([x.tanh(), x], 2).reshape(1, x.shape[1], twice)),
            (twice, lambda x: torch.stack([x, torch.zeros_like(x)], -1).flatten(-2)),
            (thrice, lambda x: torch.stack([x, F.pad(x, (0, 0, 2, 0))[:, :-2], x.sigmoid()], 2).flatten(2)),
            (width, lambda x: torch.stack([x, x.relu(), x.tanh()]).sum(0)),
            (width, lambda x: torch.stack([x.mT, x.mT.sigmoid()], 0).mean(0).mT),
            (width, lambda x: torch.stack(x.unbind(1), 1).tanh()),
            (width, lambda x: torch.stack(x.unbind(-1)[::-1], -1)),
            (width + 3, lambda x: F.pad(x, (1, 2)).exp()),
        ]
    )
    return Spelled(out, run)


def products(choice: random.Random, width: int) -> Spelled:
    """A product with a sum in one operation."""
    out, beta, alpha = choice.randint(1, 6), choice.choice([0, 0.5, 1, 2]), choice.choice([1, -0.5])
    w, b = torch.randn(out, width), torch.randn(out)
    return Spelled(
        out,
        choice.choice(
            [
                lambda x, w, b: torch.baddbmm(b, x, w.T[None], beta=beta, alpha=alpha),
                lambda x, w, b: torch.baddbmm(b[:, None], w[None], x.mT, beta=beta, alpha=alpha).mT,
                lambda x, w, b: torch.baddbmm((x @ w.T).relu(), x, w.T[None], beta=beta, alpha=alpha),
                lambda x, w, b: torch.addmm(x[0, :, :1].tanh(), x[0], w.T, beta=beta, alpha=alpha)[None],
                lambda x, w, b: torch.addbmm(b, x, w.T[None], beta=beta, alpha=alpha)[None],
                lambda x, w, b: torch.addmv(x[0, :, 0], x[0], w[0], beta=beta, alpha=alpha)[None, :, None] * b,
                lambda x, w, b: torch.bmm(x, w.T[None]) - b,
            ]
        ),
        w,
        b,
    )


def blended(choice: random.Random, width: int) -> Spelled:
    w, b, number = torch.randn(width), torch.rand(width), choice.choice([1, -0.3, 2.0])
    return Spelled(
        width,
        choice.choice(
            [
                lambda x, w, b: torch.addcmul(x, x.relu(), x.tanh(), value=number),
                lambda x, w, b: torch.addcmul(b, x, w, value=number),
                lambda x, w, b: torch.addcmul(x, x[..., :1], w),
                lambda x, w, b: torch.addcdiv(x, x.tanh(), 1 + x.square(), value=number),
                lambda x, w, b: torch.addcdiv(w, x, 1 + b, value=number),
                lambda x, w, b: torch.lerp(x, x.relu(), 0.3),
                lambda x, w, b: torch.lerp(x, w, x.sigmoid()),
                lambda x, w, b: x.lerp(F.pad(x, (0, 0, 1, 0))[:, :-1], b),
                lambda x, w, b: x.clone().lerp_(x.tanh(), 0.7).addcmul_(x, w),
            ]
        ),
        w,
        b,
    )


def deviations(choice: random.Random, width: int) -> Spelled:
    """Variance and standard deviation over features."""
    correction = choice.randint(0, 1) if width > 1 else 0
    return Spelled(
        width,
        choice.choice(
            [
                lambda x: (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0) + 1e-5).sqrt(),
                lambda x: x * x.var(2, unbiased=bool(correction), keepdim=True),
                lambda x: x / (1 + torch.var(x, -1, correction=correction)[..., None]),
                lambda x: (x - x.mean(-1, True)) / (x.std(-1, correction=correction, keepdim=True) + 0.1),
                lambda x: (lambda v, m: (x - m) * torch.rsqrt(v + 1e-3))(
                    *torch.var_mean(x, -1, correction=correction, keepdim=True)
                ),
                lambda x: (lambda s, m: x * s + m)(*torch.std_mean(x, (2,), correction=correction, keepdim=True)),
                lambda x: F.normalize(x, dim=-1, eps=0.1) + x.norm(dim=-1, keepdim=True),
            ]
        ),
    )


def computed(choice: random.Random, width: int) -> Spelled:
    """Weights that a norm computes in each call, stored as such or written out."""
    out = choice.randint(1, 6)
    norm = choice.choice([nn.utils.parametrizations.weight_norm, nn.utils.parametrizations.spectral_norm])
    form = choice.choice(["linear", "conv", "lstm", "written"])
    if form == "linear":
        return Spelled(out, lambda x, m: m(x), m=norm(nn.Linear(width, out)))
    if form == "conv":
        return Spelled(out, lambda x, m: m(F.pad(x.mT, (2, 0))).mT, m=norm(nn.Conv1d(width, out, 3)))
    if form == "lstm":
        return Spelled(
            out,
            lambda x, m: m(x)[0],
            m=nn.utils.parametrizations.weight_norm(nn.LSTM(width, out, batch_first=True), "weight_hh_l0"),
        )
    return Spelled(
        out,
        choice.choice(
            [
                lambda x, v, g: F.linear(x, g * v / v.norm(dim=1, keepdim=True)),
                lambda x, v, g: F.linear(x, F.normalize(v, dim=1)) * g[:, 0],
            ]
        ),
        torch.randn(out, width),
        torch.rand(out, 1) + 0.5,
    )


def activated(choice: random.Random, width: int) -> Spelled:
    """Element-wise functions that are several accepted ones."""
    slopes = torch.rand(width)
    return Spelled(
        width,
        choice.choice(
            [
                lambda x, a: F.mish(x),
                lambda x, a: F.hardsigmoid(x),
                lambda x, a: F.logsigmoid(x),
                lambda x, a: F.selu(x),
                lambda x, a: F.celu(x, 1.5),
                lambda x, a: F.prelu(x.mT, a).mT,
                lambda x, a: F.prelu(x, a[:1]),
                lambda x, a: torch.exp2(x.clamp(-4, 4)),
                lambda x, a: torch.log2(1 + x.square()),
                lambda x, a: torch.log10(1 + x.abs()),
                lambda x, a: F.softsign(x),
                lambda x, a: F.tanhshrink(x),
            ]
        ),
        slopes,
    )


def normed(choice: random.Random, width: int) -> Spelled:
    w, b = torch.randn(width), torch.randn(width)
    return Spelled(
        width,
        choice.choice(
            [
                lambda x, w, b: F.layer_norm(x, (width,), w, b),
                lambda x, w, b: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w,
                lambda x, w, b: F.group_norm(x.mT, 1, w, b).mT,
                lambda x, w, b: F.layer_norm(x, x.shape[-1:], weight=w) + b,
                lambda x, w, b: F.batch_norm(x.mT, b, 1 + w.square(), w, b).mT,
                lambda x, w, b: F.instance_norm(x.mT, weight=w, bias=b).mT,
                lambda x, w, b: F.group_norm(x.mT, width, w, b).mT,
            ]
        ),
        w,
        b,
    )


def state_space(choice: random.Random, width: int) -> Spelled:
    """An S4D-like layer: complex modes by an FFT convolution, a skip, an activation, a projection."""
    states = choice.randint(1, 4)
    rate, turn = -0.05 - 0.2 * torch.rand(width, states), torch.pi * torch.rand(width, states)
    c, d = torch.randn(width, states, 2), torch.randn(width)

    def run(x: Tensor, rate: Tensor, turn: Tensor, c: Tensor, d: Tensor, mix: nn.Module) -> Tensor:
        n = x.shape[1]
        modes = torch.exp(torch.complex(rate, turn)[..., None] * torch.arange(n))
        k = 2 * torch.einsum("hs,hsn->hn", torch.view_as_complex(c), modes).real
        y = torch.fft.irfft(torch.fft.rfft(x.mT, n=2 * n) * torch.fft.rfft(k, n=2 * n), n=2 * n)[..., :n]
        return mix(F.gelu(y + d[:, None] * x.mT).mT)

    return Spelled(width, run, rate, turn, c, d, mix=nn.Linear(width, width))


SPELLINGS: dict[str, Callable[[random.Random, int], Spelled]] = {
    "spelled linear": linear,
    "layout": layout,
    "parts": parts,
    "gated": gated,
    "convolution": convolution,
    "looks ahead": centred,
    "recurrent": recurrent,
    "pooled": pooled,
    "normed": normed,
    "s4d": state_space,
    "padded": padded,
    "stacked": stacked,
    "products": products,
    "blended": blended,
    "deviations": deviations,
    "computed": computed,
    "activated": activated,
}
