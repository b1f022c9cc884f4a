"""Every row of the table of accepted operations in docs/import.md: a module of the operations that it names becomes the ops that
it promises."""

from __future__ import annotations

import re

import importer_models as models
import pytest
import torch
import torch.nn.functional as F
from importer_checks import ROOT, imported, kinds
from torch import Tensor, nn

W, S, B = torch.linspace(-1, 1, 16).reshape(4, 4), torch.rand(4) + 0.5, torch.linspace(-1, 1, 4)


TAPS = torch.randn(4, 1, 70, generator=torch.Generator().manual_seed(3))


def transformed(x: Tensor) -> Tensor:
    n = x.shape[1] + 70
    return torch.fft.irfft(torch.fft.rfft(x.mT, n) * torch.fft.rfft(TAPS[:, 0], n), n)[..., : x.shape[1]].mT


def written(x: Tensor) -> Tensor:
    z = torch.empty(1, x.shape[1], 8)
    z[:, :, :4] = x.tanh()
    z[:, :, 4:] = x.exp()
    return z


def convolved(x: Tensor, left: int, right: int, count: int, groups: int = 4) -> Tensor:
    return F.conv1d(
        F.pad(x.mT, (left, right)), TAPS[..., :count] if groups == 4 else torch.ones(4, 4, count), groups=groups
    ).mT


def power(x: Tensor) -> Tensor:
    return (
        torch.stft(F.pad(x, (48, 0)), 64, 16, window=torch.hann_window(64), center=False, return_complex=True).abs()
        ** 2
    )


def image(x: Tensor) -> Tensor:
    return F.conv2d(F.pad(x[:, None], (1, 1, 2, 0)), torch.ones(2, 1, 3, 3)).permute(0, 2, 1, 3).flatten(2)


def heads(x: Tensor) -> Tensor:
    return x.reshape(1, -1, 2, 2)


def linear_attention(x: Tensor) -> Tensor:
    state = torch.einsum("bthd,bthe->bthde", heads(x.tanh()), heads(x)).cumsum(1)
    return torch.einsum("bthd,bthde->bthe", heads(x.sigmoid()), state).flatten(2)


def mixed(x: Tensor) -> Tensor:
    n = x.shape[1] + 70
    return torch.fft.irfft(
        torch.einsum(
            "bcl,cl,dc->bdl", torch.fft.rfft(x.mT, n), torch.fft.rfft(TAPS[:, 0], n), torch.ones(3, 4).cfloat()
        ),
        n,
    )[..., : x.shape[1]].mT


def masked(x: Tensor) -> Tensor:
    return torch.fft.rfft(x) * torch.complex(x[..., :3].sigmoid(), x[..., 1:])


class Of(nn.Module):
    """A layer, and how it is called."""

    def __init__(self, layer: nn.Module, call) -> None:
        super().__init__()
        self.layer, self.call = layer, call

    def forward(self, x: Tensor) -> Tensor:
        return self.call(self.layer, x)


def over_time(layer: nn.Module) -> nn.Module:
    return Of(layer, lambda layer, x: layer(x.mT).mT)


def recurrent(layer: nn.Module) -> nn.Module:
    return Of(layer, lambda layer, x: layer(x)[0])


# What the first cell of the row begins with: modules, or functions of rows (1, T, 4).
ROWS: dict[str, list] = {
    "FFT convolution with constant taps": [transformed],
    "`linear`, `matmul`, `einsum`": [
        lambda x: F.linear(x, W),
        lambda x: x @ W,
        lambda x: torch.einsum("btc,cd->btd", x, W),
        over_time(nn.Conv1d(4, 3, 1)),
    ],
    "`addmm`, `baddbmm`": [
        lambda x: torch.addmm(B, x[0], W)[None],
        lambda x: torch.baddbmm(B[None, None], x, W[None]),
        lambda x: torch.addbmm(B, x, W[None])[None],
    ],
    "`conv1d`, `conv2d` (time, frequency)": [lambda x: convolved(x, 2, 0, 3, 1), image],
    "any zeros around the frequencies": [image],
    "the same with one filter of 64 taps": [lambda x: convolved(x, 69, 0, 70)],
    "the same with later rows": [lambda x: convolved(x, 2, 2, 5, 1), lambda x: convolved(x, 2, 2, 5)],
    "several rows joined to one": [lambda x: x.reshape(1, x.shape[1] // 4, 16)],
    "windows of samples, by": [
        (lambda x: F.pad(x, (48, 0)).unfold(1, 64, 16), "audio=8000"),
        (lambda x: F.pad(x[0], (48, 0)).as_strided((x.shape[1] // 16, 64), (16, 1))[None], "audio=8000"),
    ],
    "windows of samples, `rfft`": [(power, "audio=8000")],
    "batch norm, constants": [over_time(nn.BatchNorm1d(4)), lambda x: x * S + B],
    "`layer_norm`, `rms_norm`": [
        lambda x: F.layer_norm(x, (4,)),
        lambda x: F.rms_norm(x, (4,)),
        lambda x: (x - x.mean(-1, True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt(),
    ],
    "`relu`, `gelu`": [F.relu, F.gelu, F.silu, F.elu, F.leaky_relu, F.hardswish, F.softplus, lambda x: x.clamp(-1, 1)],
    "`sigmoid`, `tanh`": [
        torch.sigmoid,
        torch.tanh,
        torch.exp,
        lambda x: (x.abs() + 1).log(),
        lambda x: (x.abs() + 1).sqrt(),
        lambda x: (x.abs() + 1).rsqrt(),
        torch.abs,
    ],
    "`sin`, `cos`, `erf`": [
        torch.sin,
        torch.cos,
        torch.erf,
        lambda x: (3 * x).floor(),
        lambda x: (3 * x).round(),
        torch.sign,
    ],
    "whole and half powers": [
        lambda x: x**2,
        lambda x: x**3,
        lambda x: x**5,
        lambda x: (x.abs() + 1) ** -1.5,
        lambda x: (x.abs() + 0.1) ** 0.3,
        lambda x: 2.0**x,
        lambda x: (x.abs() + 0.1) ** x,
    ],
    "`tan`, `sinh`": [
        torch.tan,
        torch.sinh,
        torch.cosh,
        torch.expm1,
        torch.erfc,
        lambda x: (3 * x).ceil(),
        lambda x: (3 * x).trunc(),
        lambda x: x % 0.7,
        lambda x: torch.hypot(x, x.tanh()),
    ],
    "`maximum`, `minimum`": [
        lambda x: torch.maximum(x, x.flip(-1)),
        lambda x: torch.minimum(x, B),
        lambda x: torch.clamp(x, -S, S),
        lambda x: torch.maximum(x, torch.tensor(0.2)),
    ],
    "comparisons and truths": [
        lambda x: (x > 0.1) * x,
        lambda x: (x >= x.flip(-1)).float(),
        lambda x: ((x > 0) & (x < 1) | ~(x > -1)).float(),
        lambda x: (x == x.relu()).float(),
    ],
    "`where`, `masked_fill`": [
        lambda x: torch.where(x > 0, x.abs().log(), 0.0),
        lambda x: x.masked_fill(x > 0.5, float("-inf")).softmax(-1),
        lambda x: x.masked_fill(B > 0, 2.0),
        lambda x: F.threshold(x, 0.1, -2.0),
        F.hardshrink,
    ],
    "`matmul`, `bmm`, `einsum` of two": [
        linear_attention,
        lambda x: torch.einsum("...i,...j->...ij", x, x.tanh()).flatten(2),
        lambda x: (heads(x) @ heads(x.tanh())).flatten(2),
        lambda x: torch.bmm(heads(x)[0], heads(x.tanh())[0]).flatten(1)[None],
    ],
    "largest or smallest": [lambda x: x.amax(-1, keepdim=True), lambda x: x.min(-1)[0][..., None] + x],
    "`prelu` with one slope": [
        lambda x: F.prelu(x, torch.tensor([0.2])),
        lambda x: F.prelu(x.mT, torch.tensor([0.2, -1.0, 3.0, 0.5])).mT,
    ],
    "`mish`, `selu`": [F.mish, F.selu, F.celu, F.hardsigmoid, F.logsigmoid],
    "`exp2`, `log2`": [torch.exp2, lambda x: torch.log2(x.abs() + 1), lambda x: torch.log10(x.abs() + 1)],
    "`glu`": [F.glu],
    "`softmax`, `log_softmax`": [lambda x: x.softmax(-1), lambda x: x.log_softmax(-1)],
    "`+`, `-`, `*`, `/` of rows": [
        lambda x: x + x.tanh(),
        lambda x: x - x.tanh(),
        lambda x: x * x.tanh(),
        lambda x: x / (x.abs() + 1),
    ],
    "the same of rows and a mean": [
        lambda x: x - x.mean(1, True),
        lambda x: x * x.amax(1, True),
        lambda x: x + x[:, :1],
        lambda x: x + x[:, -1:],
    ],
    "`lerp`, `addcmul`": [
        lambda x: torch.lerp(x, x.tanh(), 0.3),
        lambda x: torch.addcmul(x, x.tanh(), x.sigmoid()),
        lambda x: torch.addcdiv(x, x.tanh(), x.abs() + 1),
    ],
    "`var`, `std`, `norm`": [
        lambda x: x.var(-1, keepdim=True, correction=0),
        lambda x: x.std(-1, keepdim=True),
        lambda x: x.norm(dim=-1, keepdim=True),
        lambda x: F.normalize(x, dim=-1),
    ],
    "`split`, `chunk`": [
        lambda x: torch.cat(x.split(2, -1)[::-1], -1),
        lambda x: torch.cat(x.chunk(2, -1)[::-1], -1),
        lambda x: torch.stack([x[..., 0], x[..., 2]], -1),
        lambda x: F.pad(x.tanh(), (1, 1)),
    ],
    "a value that is written": [written],
    "one feature spread": [lambda x: x[..., :1].expand(-1, -1, 4)],
    "rows that come later": [lambda x: F.pad(x.mT, (3, 0))[..., : x.shape[1]].mT],
    "mean, sum, maximum, first or last row": [
        lambda x: x.mean(1),
        lambda x: x.sum(1),
        lambda x: x.amax(1),
        lambda x: x[:, 0],
        lambda x: x[:, -1],
    ],
    "mean, sum, maximum over time and features": [
        lambda x: x.mean((1, 2)),
        lambda x: x.sum((1, 2)),
        lambda x: x.amax((1, 2)),
        nn.Sequential(models.Function(lambda x: F.adaptive_avg_pool1d(x.mT, 1))),
    ],
    "a convolution of such a row": [lambda x: F.conv1d(x.mT.mean(2, keepdim=True), TAPS[:, :, :1], groups=4)],
    "`max_pool`, `avg_pool` (1d, 2d)": [lambda x: F.max_pool1d(x.mT, 2).mT, lambda x: F.avg_pool1d(x.mT, 2).mT],
    "`avg_pool1d` that looks ahead": [lambda x: F.avg_pool1d(x.mT, 3, 1, 1).mT],
    "`LSTM`, `GRU`: forward": [
        recurrent(nn.LSTM(4, 3, 2, batch_first=True)),
        recurrent(nn.GRU(4, 3, batch_first=True)),
    ],
    "the same with a batch of bands": [
        Of(
            nn.GRU(2, 3, batch_first=True),
            lambda m, x: m(heads(x)[0].transpose(0, 1))[0].transpose(0, 1).flatten(1)[None],
        )
    ],
    "the same over the bands": [
        Of(nn.LSTM(2, 3, batch_first=True, bidirectional=True), lambda m, x: m(heads(x)[0])[0].flatten(1)[None])
    ],
    "`GRU` and `RNN` so, from one state": [
        Of(
            nn.GRU(2, 3, batch_first=True),
            lambda m, x: m(heads(x)[0], torch.full((1, x.shape[1], 3), 0.5, dtype=x.dtype))[0].flatten(1)[None],
        )
    ],
    "`conv_transpose2d` with stride": [
        lambda x: F.conv_transpose2d(x[:, None], torch.ones(1, 2, 1, 4), stride=(1, 2)).permute(0, 2, 1, 3).flatten(2)
    ],
    "`F.unfold`": [
        lambda x: F.unfold(x[:, None], (1, 3), padding=(0, 1)).unflatten(2, x.shape[1:]).permute(0, 2, 1, 3).flatten(2)
    ],
    "`cumsum`, `logcumsumexp`": [lambda x: x.cumsum(1), lambda x: x.logcumsumexp(1)],
    "`cumsum`, `cumprod`, `cummax`, `cummin` over features": [
        lambda x: x.cumsum(2) + x.cumprod(2),
        lambda x: x.cummax(2).values - x.cummin(2).values,
    ],
    "`group_norm`, `instance_norm`": [over_time(nn.GroupNorm(2, 4)), over_time(nn.InstanceNorm1d(4))],
    "the same with any other size": [
        (lambda x: torch.stft(F.pad(x, (30, 0)), 40, 10, center=False, return_complex=True).abs(), "audio=16000"),
        lambda x: torch.fft.rfft(x).abs(),
    ],
    "complex masks": [
        lambda x: masked(x).real,
        lambda x: torch.polar(x[..., :3].sigmoid(), torch.fft.rfft(x).angle()).imag,
        lambda x: (torch.fft.rfft(x) * (x[..., :3] + 1j * x[..., 1:])).imag,
    ],
    "`irfft`": [lambda x: torch.fft.irfft(masked(x), n=4)],
    "`istft`": [
        (
            lambda x: torch.istft(
                torch.stft(F.pad(x, (12, 0)), 16, 4, center=False, return_complex=True) * 2,
                16,
                4,
                length=x.shape[1] // 4 * 4,
            ),
            "audio=16000",
        ),
        lambda x: F.fold(x.mT, (1, x.shape[1] + 3), (1, 4), stride=(1, 1))[:, 0, 0, : x.shape[1]],
        lambda x: F.conv_transpose1d(x.mT, torch.eye(4)[:, None], stride=2)[..., : 2 * x.shape[1]],
    ],
    "nearest `interpolate`": [
        lambda x: F.interpolate(x.mT, scale_factor=2).mT,
        lambda x: x.repeat_interleave(2, 1),
        lambda x: x.reshape(1, -1, 2),
    ],
    "`conv_transpose1d`, cut": [
        lambda x: F.conv_transpose1d(x.mT, torch.ones(4, 3, 4), stride=2)[..., : 2 * x.shape[1]]
    ],
    "`conv1d` inside each row": [lambda x: F.conv1d(x[0][:, None], torch.ones(2, 1, 3), padding=1).flatten(1)[None]],
    "features that a pad": [
        lambda x: F.pad(x, (2, 1), mode="reflect"),
        lambda x: F.pad(x, (1, 1), mode="replicate"),
        lambda x: F.pad(x, (1, 2), mode="circular"),
    ],
    "`RNN` with tanh": [recurrent(nn.RNN(4, 3, batch_first=True))],
    "the same that mixes": [mixed],
    "the same over parts": [lambda x: heads(x).softmax(-1).flatten(2)],
    "`softmax` over time": [lambda x: x.softmax(1)],
    "norms of parts": [
        lambda x: F.layer_norm(heads(x), (2,)).flatten(2),
        lambda x: F.rms_norm(heads(x), (2,), eps=1e-6).flatten(2),
        lambda x: F.group_norm(x[0], 2)[None],
    ],
    "softmax attention": [
        lambda x: F.scaled_dot_product_attention(x, x.tanh(), x, is_causal=True),
        lambda x: (x @ x.tanh().mT).softmax(-1) @ x,
    ],
    "the same without softmax": [lambda x: (x @ x.tanh().mT).tril() @ x],
    "constants that change": [
        lambda x: x.cumsum(1) / torch.arange(1, x.shape[1] + 1)[:, None],
        lambda x: x + torch.arange(x.shape[1], dtype=x.dtype).sin()[:, None],
    ],
    "`conv_transpose2d` that makes": [
        lambda x: F.conv_transpose2d(x[:, None], torch.ones(1, 2, 2, 1), stride=(2, 1)).permute(0, 2, 1, 3).flatten(2)
    ],
    "`embedding`": [(nn.Embedding(11, 4), "ids=1xT:11")],
}


def table() -> dict[str, str]:
    """First cell -> second, of the page."""
    page = (ROOT / "docs/import.md").read_text(encoding="utf-8")
    rows = re.search(r"^\| PyTorch \| becomes \|\n\|---\|---\|\n((?:\|.*\n)+)", page, re.M)[1]
    return dict(re.findall(r"^\| (.*?) \| (.*?) \|$", rows, re.M))


def row_of(begin: str) -> tuple[str, str]:
    found = [row for row in table().items() if row[0].startswith(begin)]
    assert len(found) == 1, begin
    return found[0]


def test_every_row_has_a_module() -> None:
    assert sorted(row_of(begin)[0] for begin in ROWS) == sorted(table())


@pytest.mark.parametrize("begin, number", [(begin, n) for begin, modules in ROWS.items() for n in range(len(modules))])
def test_a_row_is_what_the_table_says(begin: str, number: int) -> None:
    torch.manual_seed(1)
    accepted, becomes = row_of(begin)
    module, spec = ROWS[begin][number] if isinstance(ROWS[begin][number], tuple) else (ROWS[begin][number], "x=1xTx4")
    module = module if isinstance(module, nn.Module) else models.Function(module)
    made = imported(module, spec, length=1601 if "audio" in spec else 61)
    assert max(made.report["errors"].values()) <= 1e-10
    if "parts" in becomes:
        return
    promised = set(
        re.findall(r"`(\w+)`", accepted if "the same" in becomes else "" if "as above" in becomes else becomes)
    )
    if "as above" in becomes:
        promised = set(re.findall(r"`(\w+)`", becomes)) | {"conv2d", "long_conv"}
    found = set(kinds(made))
    assert found & promised, f"{accepted}: {found}, none of {promised}"
