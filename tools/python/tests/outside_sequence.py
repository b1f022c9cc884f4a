"""Sequence layers of other repositories, restated in short: attention, linear attention, gates, state spaces, statistics.

MODULES: name -> (module, --input text, what the refusal says or "", kind). Kind "listed": refused before attention, positions and
products had rules. Kind "recurrence": a state whose factor depends on the input, which has no op. Kind "other": chosen beside them.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

W = 8  # features of a row


class Of(nn.Module):
    """f(x, parts)"""

    def __init__(self, f, /, **parts: nn.Module) -> None:
        super().__init__()
        self.f, self.m = f, nn.ModuleDict(parts)

    def forward(self, x: Tensor) -> Tensor:
        return self.f(x, self.m)


def heads(x: Tensor, count: int = 2) -> Tensor:
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def joined(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


def qkv(**more: nn.Module) -> dict[str, nn.Module]:
    return {name: nn.Linear(W, W) for name in "qkv"} | more


def hidden(n: int) -> Tensor:
    return torch.full((n, n), float("-inf")).triu(1)


def linear_attention(x: Tensor, m) -> Tensor:
    """elu + 1, sums by einsum and cumsum (Katharopoulos et al.)."""
    q, k, v = (heads(m[name](x)) for name in "qkv")
    q, k = F.elu(q) + 1, F.elu(k) + 1
    sums = torch.einsum("bhtd,bhte->bhtde", k, v).cumsum(2)
    return joined(torch.einsum("bhtd,bhtde->bhte", q, sums) / torch.einsum("bhtd,bhtd->bht", q, k.cumsum(2))[..., None])


def linear_attention_of_pairs(x: Tensor, m) -> Tensor:
    q, k, v = (heads(m[name](x).relu() + 0.1) for name in "qkv")
    a = torch.einsum("bhtd,bhsd->bhts", q, k).tril()
    return joined(torch.einsum("bhts,bhse->bhte", a, v))


def linear_attention_of_products(x: Tensor, m) -> Tensor:
    q, k, v = (m[name](x).sigmoid() for name in "qkv")
    return (q[..., :, None] * (k[..., :, None] * v[..., None, :]).cumsum(1)).sum(-2) / W


def retention(x: Tensor, m) -> Tensor:
    """RetNet, its parallel form: rotated queries and keys, decays of the heads, a group norm, a gate."""
    n = x.shape[1]
    phase = torch.arange(n, dtype=x.dtype)[:, None] * torch.tensor([1.0, 0.1], dtype=x.dtype).repeat_interleave(2)

    def rotate(t: Tensor) -> Tensor:
        return t * phase.cos() + torch.stack([-t[..., 1::2], t[..., ::2]], -1).flatten(-2) * phase.sin()

    q, k, v = (heads(m[name](x)) for name in "qkv")
    lag = torch.arange(n, dtype=x.dtype)[:, None] - torch.arange(n, dtype=x.dtype)
    gamma = 1 - 2.0 ** (-5 - torch.arange(2, dtype=x.dtype))
    decay = torch.where(lag >= 0, gamma[:, None, None] ** lag.clamp(min=0), 0.0)
    y = joined((rotate(q) @ rotate(k).mT * decay) @ v)
    return m["o"](F.silu(m["g"](x)) * m["n"](y[0])[None])


def gated_linear_attention(x: Tensor, m) -> Tensor:
    """GLA: its forget gates depend on the input."""
    q, k, v = (m[name](x) for name in "qkv")
    fade = F.logsigmoid(m["f"](x)).cumsum(1)
    return (q * fade.exp() * ((k * (-fade).exp())[..., None] * v[..., None, :]).cumsum(1).sum(-1)) / W


def minimal_gru(x: Tensor, m) -> Tensor:
    """minGRU by a scan in logarithms."""
    z, h = m["q"](x), m["k"](x)
    values = F.logsigmoid(z) + torch.where(h >= 0, (h.relu() + 0.5).log(), -F.softplus(-h))
    fade = (-F.softplus(z)).cumsum(1)
    return (fade + torch.logcumsumexp(values - fade, 1)).exp()


def loop_of_gru(x: Tensor, m) -> Tensor:
    h, rows = x.new_zeros(1, W), []
    for t in range(x.shape[1]):
        h = m["c"](x[:, t], h)
        rows.append(h)
    return torch.stack(rows, 1)


def selective_scan(x: Tensor, m) -> Tensor:
    """mamba-minimal: a loop over the rows."""
    delta, b, c = F.softplus(m["q"](x)), m["k"](x), m["v"](x)
    h, rows = x.new_zeros(1, W, W), []
    for t in range(x.shape[1]):
        h = torch.exp(-delta[:, t, :, None]) * h + delta[:, t, :, None] * x[:, t, :, None] * b[:, t, None]
        rows.append((h * c[:, t, None]).sum(-1))
    return torch.stack(rows, 1)


def self_attention(x: Tensor, m) -> Tensor:
    return m["a"](x, x, x, attn_mask=hidden(x.shape[1]), need_weights=False, is_causal=True)[0]


def llama(x: Tensor, m) -> Tensor:
    """A block: RMS norms, rotary halves, grouped keys, a gated MLP."""
    n, half = x.shape[1], 2
    phase = torch.arange(n, dtype=x.dtype)[:, None] * (10000.0 ** (-torch.arange(half, dtype=x.dtype) / half)).repeat(2)

    def rotate(t: Tensor) -> Tensor:
        return t * phase.cos() + torch.cat([-t[..., half:], t[..., :half]], -1) * phase.sin()

    y = m["n1"](x)
    q, k, v = heads(m["q"](y)), heads(m["k2"](y), 1), heads(m["v2"](y), 1)
    k, v = k.expand(1, 2, n, 4), v.expand(1, 2, n, 4)
    x = x + m["o"](joined(F.scaled_dot_product_attention(rotate(q), rotate(k), v, is_causal=True)))
    y = m["n2"](x)
    return x + m["d"](F.silu(m["g"](y)) * m["f"](y))


class Gpt2(nn.Module):
    """A block with learned positions and scores that are written out."""

    def __init__(self) -> None:
        super().__init__()
        self.positions, self.qkv, self.o = nn.Embedding(512, W), nn.Linear(W, 3 * W), nn.Linear(W, W)
        self.n1, self.n2, self.up, self.down = (
            nn.LayerNorm(W),
            nn.LayerNorm(W),
            nn.Linear(W, 4 * W),
            nn.Linear(4 * W, W),
        )
        self.register_buffer("mask", torch.ones(512, 512).tril()[None, None])

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[1]
        x = x + self.positions(torch.arange(n))
        q, k, v = (heads(t) for t in self.qkv(self.n1(x)).split(W, 2))
        s = ((q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))).masked_fill(
            self.mask[:, :, :n, :n] == 0, float("-inf")
        )
        x = x + self.o(joined(F.softmax(s, dim=-1) @ v))
        return x + self.down(F.gelu(self.up(self.n2(x)), approximate="tanh"))


def alibi(x: Tensor, m) -> Tensor:
    q, k, v = (heads(m[name](x)) for name in "qkv")
    n = x.shape[1]
    lag = torch.arange(n)[None] - torch.arange(n)[:, None]
    s = q @ k.mT / 2 + lag * torch.tensor([0.5, 0.25])[:, None, None] + hidden(n)
    return joined(s.softmax(-1) @ v)


def causal_norm(x: Tensor, m) -> Tensor:
    """cLN: over the channels and all rows so far."""
    y = x.mT
    n = torch.arange(1, y.shape[2] + 1, dtype=x.dtype) * y.shape[1]
    total, squares = y.sum(1).cumsum(-1), y.square().sum(1).cumsum(-1)
    mean = total / n
    var = (squares - 2 * mean * total) / n + mean**2
    return ((y - mean[:, None]) / (var + 1e-5).sqrt()[:, None]).mT


def running_mean(x: Tensor, m) -> Tensor:
    return x - x.cumsum(1) / torch.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]


def causal_squeeze(x: Tensor, m) -> Tensor:
    mean = x.cumsum(1) / torch.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]
    return x * torch.sigmoid(m["k"](F.relu(m["q"](mean))))


def causal_softmax(x: Tensor, m) -> Tensor:
    """Weights of the rows so far, as sums of exponentials."""
    w = m["q"](x).tanh()
    return (w.exp() * x).cumsum(1) / w.exp().cumsum(1)


def global_norm(x: Tensor, m) -> Tensor:
    return (x - x.mean((1, 2), keepdim=True)) / (x.var((1, 2), keepdim=True, correction=0) + 1e-8).sqrt()


def lightnet(x: Tensor, m) -> Tensor:
    """Keys by a cumulative softmax, restated with cumsum, logcumsumexp and einsum."""
    q, k, v = F.silu(m["q"](x)), m["k"](x), m["v"](x)
    total = torch.logcumsumexp(k, 1)
    return torch.einsum("btd,btde->bte", q, (k.exp()[..., None] * v[:, :, None]).cumsum(1) * (-total).exp()[..., None])


def chela(x: Tensor, m) -> Tensor:
    """A short convolution, then linear attention with a gate."""
    y = F.silu(m["s"](F.pad(x.mT, (2, 0))).mT)
    return linear_attention_of_pairs(y, m) * m["g"](x).sigmoid()


def token_shift(x: Tensor, m) -> Tensor:
    """RWKV's channel mix: the row and the one before it."""
    before = F.pad(x, (0, 0, 1, 0))[:, :-1]
    k = m["k"](x * 0.3 + before * 0.7).relu().square()
    return m["q"](x + before).sigmoid() * m["v"](k)


def taylor(x: Tensor, m) -> Tensor:
    """Based: a Taylor expansion of the exponential as features."""
    q, k, v = (m[name](x)[..., :3] for name in "qkv")

    def feature(t: Tensor) -> Tensor:
        return torch.cat([torch.ones_like(t[..., :1]), t, (t[..., None] * t[..., None, :]).flatten(2) / 2**0.5], -1)

    return (feature(q)[..., None] * (feature(k)[..., None] * v[..., None, :]).cumsum(1)).sum(-2)


def cosformer(x: Tensor, m) -> Tensor:
    q, k, v = m["q"](x).relu(), m["k"](x).relu(), m["v"](x)
    phase = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * (math.pi / 2 / 2048)
    q, k = (torch.cat([t * phase.sin(), t * phase.cos()], -1) for t in (q, k))
    return torch.einsum("bld,blde->ble", q, torch.einsum("bld,ble->blde", k, v).cumsum(1))


def local_attention(x: Tensor, m) -> Tensor:
    q, k, v = (heads(m[name](x)) for name in "qkv")
    n = x.shape[1]
    far = (torch.arange(n)[:, None] - torch.arange(n)) >= 16
    return joined(F.scaled_dot_product_attention(q, k, v, attn_mask=hidden(n).masked_fill(far, float("-inf"))))


def talking_heads(x: Tensor, m) -> Tensor:
    q, k, v = (heads(m[name](x)) for name in "qkv")
    s = torch.einsum("bhts,hg->bgts", q @ k.mT, torch.tensor([[1.0, 0.2], [0.1, 1.0]]).to(x.dtype)) + hidden(x.shape[1])
    return joined(s.softmax(-1) @ v)


def fnet(x: Tensor, m) -> Tensor:
    return torch.fft.fft2(x).real


def local_gmlp(x: Tensor, m) -> Tensor:
    """A causal spatial gate of 7 rows."""
    u, v = F.gelu(m["up"](x)).chunk(2, -1)
    return m["down"](u * m["s7"](F.pad(F.layer_norm(v, (W,)).mT, (6, 0))).mT)


def per_head_norm(x: Tensor, m) -> Tensor:
    """Queries and keys of length 1 for each head, a softmax over the heads' features, an outer product."""
    q, k = F.normalize(heads(m["q"](x)), dim=-1), heads(m["k"](x)).softmax(-1)
    return joined((q[..., None] * k[..., None, :] * heads(m["v"](x))[..., None]).sum(-1))


MODULES = {
    "linear attention, einsum and cumsum": (Of(linear_attention, **qkv()), "x=1xTx8", "", "listed"),
    "linear attention, pairs of rows": (Of(linear_attention_of_pairs, **qkv()), "x=1xTx8", "", "listed"),
    "linear attention, products": (Of(linear_attention_of_products, **qkv()), "x=1xTx8", "", "other"),
    "RetNet": (
        Of(retention, **qkv(g=nn.Linear(W, W), o=nn.Linear(W, W), n=nn.GroupNorm(2, W))),
        "x=1xTx8",
        "",
        "listed",
    ),
    "GLA": (Of(gated_linear_attention, **qkv(f=nn.Linear(W, W))), "x=1xTx8", "", "recurrence"),
    "minGRU": (Of(minimal_gru, **qkv()), "x=1xTx8", "", "recurrence"),
    "GRU cell in a loop": (Of(loop_of_gru, c=nn.GRUCell(W, W)), "x=1xTx8", "a loop over the rows", "recurrence"),
    "mamba-minimal": (Of(selective_scan, **qkv()), "x=1xTx8", "a loop over the rows", "recurrence"),
    "nn.MultiheadAttention": (
        Of(self_attention, a=nn.MultiheadAttention(W, 2, batch_first=True)),
        "x=1xTx8",
        "",
        "listed",
    ),
    "nn.TransformerEncoder": (
        Of(
            lambda x, m: m["e"](x, hidden(x.shape[1]), is_causal=True),
            e=nn.TransformerEncoder(
                nn.TransformerEncoderLayer(W, 2, 16, batch_first=True), 2, enable_nested_tensor=False
            ),
        ),
        "x=1xTx8",
        "",
        "listed",
    ),
    "Llama block": (
        Of(
            llama,
            **qkv(
                k2=nn.Linear(W, 4),
                v2=nn.Linear(W, 4),
                o=nn.Linear(W, W),
                n1=nn.RMSNorm(W, eps=1e-6),
                n2=nn.RMSNorm(W, eps=1e-6),
                g=nn.Linear(W, 16),
                f=nn.Linear(W, 16),
                d=nn.Linear(16, W),
            ),
        ),
        "x=1xTx8",
        "",
        "listed",
    ),
    "GPT-2 block": (Gpt2(), "x=1xTx8", "", "listed"),
    "ALiBi": (Of(alibi, **qkv()), "x=1xTx8", "adds numbers of its own to the scores", "other"),
    "cumulative layer norm": (Of(causal_norm), "x=1xTx8", "", "listed"),
    "running mean": (Of(running_mean), "x=1xTx8", "", "listed"),
    "causal squeeze-excite": (Of(causal_squeeze, **qkv()), "x=1xTx8", "", "listed"),
    "causal softmax": (Of(causal_softmax, **qkv()), "x=1xTx8", "", "listed"),
    "global layer norm": (Of(global_norm), "x=1xTx8", "", "listed"),
    "LightNet, restated": (Of(lightnet, **qkv()), "x=1xTx8", "", "listed"),
    "CHELA, restated": (Of(chela, **qkv(s=nn.Conv1d(W, W, 3, groups=W), g=nn.Linear(W, W))), "x=1xTx8", "", "listed"),
    "RWKV channel mix": (Of(token_shift, **qkv()), "x=1xTx8", "", "other"),
    "Based": (Of(taylor, **qkv()), "x=1xTx8", "", "other"),
    "cosFormer": (Of(cosformer, **qkv()), "x=1xTx8", "", "other"),
    "Mistral's sliding window": (Of(local_attention, **qkv()), "x=1xTx8", "", "other"),
    "talking heads": (Of(talking_heads, **qkv()), "x=1xTx8", "combines", "other"),
    "FNet": (Of(fnet), "x=1xTx8", "complex values", "other"),
    "gMLP of 7 rows": (
        Of(local_gmlp, up=nn.Linear(W, 2 * W), down=nn.Linear(W, W), s7=nn.Conv1d(W, W, 7, groups=W)),
        "x=1xTx8",
        "",
        "other",
    ),
    "norms of heads": (Of(per_head_norm, **qkv()), "x=1xTx8", "", "other"),
}
