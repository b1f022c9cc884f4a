"""More layers of other repositories, restated in short. MODULES: as in outside_sequence.py."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from outside_sequence import Of, heads, hidden, joined, qkv
from outside_speech import AUDIO, behind
from torch import Tensor, nn


def tcn(x: Tensor, m) -> Tensor:
    """A residual block: two padded convolutions that are cut at the end."""
    y = m["a"](x.mT)[..., :-4].relu()
    y = m["b"](y)[..., :-4].relu()
    return (y + m["s"](x.mT)).relu().mT


def wavenet(x: Tensor, m) -> Tensor:
    y, skips = m["i"](x.mT), 0.0
    for i, dilation in enumerate((1, 2, 4)):
        f, g = m[f"c{i}"](behind(y, dilation)).chunk(2, 1)
        z = f.tanh() * g.sigmoid()
        skips = skips + m[f"s{i}"](z)
        y = y + m[f"r{i}"](z)
    return m["o"](skips.relu()).mT


def crepe(x: Tensor, m) -> Tensor:
    """Strided convolution of samples, norm, pooling."""
    return F.max_pool1d(m["n"](F.relu(m["c"](behind(x[:, None], 12)))), 2).mT


def yamnet(x: Tensor, m) -> Tensor:
    """A depthwise and a pointwise convolution of an image, with a stride along the frequencies."""
    y = F.relu(m["n1"](m["i"](F.pad(x[:, None], (1, 1, 2, 0)))))
    y = F.relu(m["n2"](m["d"](F.pad(y, (1, 1, 2, 0)))))
    return F.relu(m["p"](y)).mean(3).mT


def performer(x: Tensor, m) -> Tensor:
    """Random features of a softmax kernel."""
    w = torch.linspace(-1, 1, 24, dtype=x.dtype).reshape(4, 6)
    q, k, v = (heads(m[name](x)) for name in "qkv")
    q, k = ((t @ w - t.square().sum(-1, keepdim=True) / 2).exp() for t in (q, k))
    y = (q[..., None] * (k[..., None] * v[..., None, :]).cumsum(2)).sum(-2)
    return joined(y / (q * k.cumsum(2)).sum(-1, keepdim=True))


def t5_bias(x: Tensor, m) -> Tensor:
    q, k, v = (heads(m[name](x)) for name in "qkv")
    n = x.shape[1]
    bucket = (torch.arange(n)[:, None] - torch.arange(n)).clamp(0, 31)
    s = q @ k.mT + m["e"](bucket).permute(2, 0, 1) + hidden(n)
    return joined(s.softmax(-1) @ v)


def full_sub_band(x: Tensor, m) -> Tensor:
    """An LSTM over time for each band: its batch is the bands."""
    y = x[0].T[..., None]
    return m["l"](y)[0].mean(-1).T[None]


def convnext(x: Tensor, m) -> Tensor:
    y = m["d"](behind(x.mT, 6)).mT
    return x + m["b"](F.gelu(m["a"](m["n"](y)))) * 0.1


def class_token(x: Tensor, m) -> Tensor:
    """Keyword transformer: a token in front of the rows, whose row is the answer."""
    y = torch.cat([torch.ones_like(x[:, :1]), x], 1)
    q, k, v = (heads(m[name](y)) for name in "qkv")
    return joined(F.scaled_dot_product_attention(q, k, v))[:, 0]


def soft_experts(x: Tensor, m) -> Tensor:
    """A softmax over three experts, summed by einsum."""
    y = torch.stack([m[f"e{i}"](x) for i in range(3)], 2)
    return torch.einsum("bte,bted->btd", m["g"](x).softmax(-1), y)


def nyquist(x: Tensor, m) -> Tensor:
    """Anti-aliased Snake of BigVGAN: repeated samples, a filter, Snake, the filter again, every second sample."""
    taps = torch.hann_window(8, periodic=False, dtype=x.dtype)[None, None] / 4
    y = F.conv1d(behind(x[:, None].repeat_interleave(2, 2), 7), taps)
    y = y + torch.sin(1.5 * y).square() / 1.5
    return F.conv1d(behind(y, 7), taps)[..., 1::2][:, 0]


def conv_emitter(x: Tensor, m) -> Tensor:
    """SEANet's residual unit with a gate over heads and a norm of parts."""
    y = m["n"](x.unflatten(2, (2, 4))).flatten(2)
    return x + m["o"](F.elu(m["c"](behind(F.elu(y).mT, 4)))).mT


def primer(x: Tensor, m) -> Tensor:
    """Squared ReLU, and a convolution of three rows for each head behind the projections."""
    q, k, v = (heads(m[f"c{name}"](behind(m[name](x).mT, 2)).mT) for name in "qkv")
    far = (torch.arange(x.shape[1])[:, None] - torch.arange(x.shape[1])) >= 8
    y = joined(F.scaled_dot_product_attention(q, k, v, attn_mask=hidden(x.shape[1]).masked_fill(far, float("-inf"))))
    return m["d"](m["u"](x + y).relu().square())


C, C2, L = nn.Conv1d, nn.Conv2d, nn.Linear
MODULES = {
    "TCN": (
        Of(tcn, a=C(8, 6, 3, padding=4, dilation=2), b=C(6, 6, 3, padding=4, dilation=2), s=C(8, 6, 1)),
        "x=1xTx8",
        "",
        "other",
    ),
    "WaveNet": (
        Of(
            wavenet,
            i=C(8, 4, 1),
            o=C(4, 8, 1),
            **{f"c{i}": C(4, 8, 2, dilation=2**i) for i in range(3)},
            **{f"s{i}": C(4, 4, 1) for i in range(3)},
            **{f"r{i}": C(4, 4, 1) for i in range(3)},
        ),
        "x=1xTx8",
        "",
        "other",
    ),
    "CREPE": (Of(crepe, c=C(1, 6, 16, 4), n=nn.BatchNorm1d(6)), AUDIO, "", "other"),
    "YAMNet": (
        Of(
            yamnet,
            i=C2(1, 4, 3, (1, 2)),
            n1=nn.BatchNorm2d(4),
            d=C2(4, 4, 3, groups=4),
            n2=nn.BatchNorm2d(4),
            p=C2(4, 6, 1),
        ),
        "x=1xTx8",
        "",
        "other",
    ),
    "Performer": (Of(performer, **qkv()), "x=1xTx8", "", "other"),
    "T5's bias": (
        Of(t5_bias, **qkv(e=nn.Embedding(32, 2))),
        "x=1xTx8",
        "adds numbers of its own to the scores",
        "other",
    ),
    "FullSubNet": (Of(full_sub_band, l=nn.LSTM(1, 3, batch_first=True)), "x=1xTx8", "", "recurrence"),
    "ConvNeXt, causal": (
        Of(convnext, d=C(8, 8, 7, groups=8), n=nn.LayerNorm(8), a=L(8, 32), b=L(32, 8)),
        "x=1xTx8",
        "",
        "other",
    ),
    "keyword transformer": (Of(class_token, **qkv()), "x=1xTx8", "joins", "other"),
    "soft experts": (Of(soft_experts, g=L(8, 3), e0=L(8, 4), e1=L(8, 4), e2=L(8, 4)), "x=1xTx8", "", "other"),
    "BigVGAN's Snake": (Of(nyquist), AUDIO, "", "other"),
    "SEANet": (Of(conv_emitter, n=nn.LayerNorm(4), c=C(8, 4, 5), o=C(4, 8, 1)), "x=1xTx8", "", "other"),
    "Primer": (
        Of(primer, **qkv(u=L(8, 16), d=L(16, 8)), **{f"c{name}": C(8, 8, 3, groups=8) for name in "qkv"}),
        "x=1xTx8",
        "",
        "other",
    ),
}
