"""Random modules (1, T, W) -> (1, T', W') of functions, choices, products, spectra, overlap-add, faster rows, running statistics,
positions and attention.

OPERATIONS names a maker for each kind: maker(choice, width) gives the module. Its attribute `out` is W'.
"""

from __future__ import annotations

import math
import random

import torch
import torch.nn.functional as F
from random_spellings import Spelled
from torch import Tensor, nn


def functions(choice: random.Random, width: int) -> Spelled:
    k = choice.choice([0.5, 1.0, 1.7])
    return Spelled(
        width,
        choice.choice(
            [
                lambda x: torch.sin(k * x) - x.cos(),
                lambda x: x.erf() + k * torch.erfc(x),
                lambda x: torch.tan(x.tanh() * k) + x.expm1().tanh(),
                lambda x: torch.sinh(x.tanh()) * torch.cosh(k * x.tanh()),
                lambda x: (k * x).floor() + x.ceil() * 0.5,
                lambda x: x.round() + (k * x).trunc(),
                lambda x: x.frac() * x.sign(),
                lambda x: torch.remainder(x, k) + x,
                lambda x: torch.fmod(x, k),
                lambda x: torch.hypot(x, x + k),
                lambda x: torch.div(x, k, rounding_mode="floor") + x,
                lambda x: torch.div(x, k, rounding_mode="trunc"),
                lambda x: torch.floor_divide(x, k) + 1,
                lambda x: x + (1 / k) * torch.sin(k * x).square(),
                lambda x: F.softsign(x) + F.tanhshrink(x),
                lambda x: x.sin() / (x.abs() + k),
                lambda x: torch.logaddexp(x, x * k),
                lambda x: x.square().add(k).log2() + x.abs().add(k).log10(),
                lambda x: torch.exp2(x.tanh() * k),
                lambda x: x.abs().log1p() * x.sgn(),
                lambda x: torch.special.erf(x * k),
                lambda x: x.sigmoid().logit(),
                lambda x: torch.atan(x) * k,
            ]
        ),
    )


def powers(choice: random.Random, width: int) -> Spelled:
    k = choice.choice([2, 3, -1, 5, -2, 0.5, 1.5, -0.5, 0.3, 2.7, 0])
    return Spelled(
        width,
        choice.choice(
            [
                lambda x: (x.abs() + 0.5) ** k,
                lambda x: torch.pow(2.0, x.tanh()) * k,
                lambda x: (x.abs() + 1).pow(x.tanh()),
                lambda x: x**3 / (1 + x**4),
                lambda x: (x.square() + 1).pow(torch.full((width,), float(k))),
                lambda x: (1 + x * x).rsqrt() * k,
            ]
        ),
    )


def comparisons(choice: random.Random, width: int) -> Spelled:
    c = choice.uniform(-0.5, 0.5)
    return Spelled(
        width,
        choice.choice(
            [
                lambda x: torch.where(x > c, x, -x),
                lambda x: torch.where((x > c) & (x < c + 1), x, 0.0),
                lambda x: (x >= c).to(x.dtype) * x + (x < c) * 2,
                lambda x: torch.where((x <= c) | (x.abs() > 1), x.tanh(), x * 2),
                lambda x: x.masked_fill(x > c, 0.25),
                lambda x: x.masked_fill(~(x > c), c),
                lambda x: F.threshold(x, c, 2.0),
                lambda x: F.hardshrink(x, abs(c)) + F.softshrink(x, abs(c)),
                lambda x: torch.where(x > x.flip(-1), x, x.flip(-1) * 2),
                lambda x: torch.where((x > 0) ^ (x.flip(-1) > 0), x, 0.5 * x),
                lambda x: torch.where(torch.arange(width) % 2 == 0, x, x.tanh()),
                lambda x: (x > c).float().to(x.dtype) + x,
                lambda x: torch.where(x.sign() == 1, x, x - 1),
                lambda x: torch.where(x.round() != 0, x, c),
                lambda x: torch.logical_and(x > c, x < 1).type_as(x) + x,
                lambda x: torch.where(torch.logical_not(x > c), x, 1.0),
                # the smallest stays: torch gives no numbers where a row has none left
                lambda x: x.masked_fill(x > x.mean(-1, keepdim=True) + abs(c), float("-inf")).softmax(-1),
                lambda x: x * (x > c),
                lambda x: torch.heaviside(x, torch.zeros(1, dtype=x.dtype)) + x,
                lambda x: F.relu6(x) + F.hardtanh(x, -abs(c) - 0.1, 0.7),
                lambda x: torch.isclose(x, x) * x,
            ]
        ),
    )


def extremes(choice: random.Random, width: int) -> Spelled:
    c = round(choice.uniform(-0.5, 0.5) * 1024) / 1024  # a constant tensor holds it in float32 and float64 alike
    return Spelled(
        width,
        choice.choice(
            [
                lambda x, p: torch.maximum(x, x.flip(-1)),
                lambda x, p: torch.minimum(x, x.tanh()),
                lambda x, p: x.clamp(min=x.flip(-1)),
                lambda x, p: x.clamp(-0.3, c + 1),
                lambda x, p: x.clamp(p - 1, p + 1),
                lambda x, p: torch.fmax(x, -x),
                lambda x, p: torch.fmin(x, torch.full((width,), c)),
                lambda x, p: torch.maximum(x, p),
                lambda x, p: x - x.amax(-1, keepdim=True),
                lambda x, p: x - x.min(-1, keepdim=True).values,
                lambda x, p: torch.max(x, 0 * x),
                lambda x, p: x.clip(max=c),
                lambda x, p: torch.maximum(x, torch.tensor(c, dtype=x.dtype)),
                lambda x, p: x - x.aminmax(dim=-1, keepdim=True).min,
            ]
        ),
        torch.randn(width),
    )


def products(choice: random.Random, width: int) -> Spelled:
    """Of matrices that both depend on the input."""
    a, b, d = choice.randint(1, 3), choice.randint(1, 4), choice.randint(1, 3)
    q, k = nn.Linear(width, a * b), nn.Linear(width, b * d)
    name, forms = choice.choice(
        [
            ("matmul", lambda x, q, k: (q(x).reshape(1, -1, a, b) @ k(x).reshape(1, -1, b, d)).flatten(2)),
            (
                "transposed",
                lambda x, q, k: torch.matmul(q(x).reshape(1, -1, b, a).mT, k(x).reshape(1, -1, d, b).mT).flatten(2),
            ),
            ("bmm", lambda x, q, k: torch.bmm(q(x)[0].reshape(-1, a, b), k(x)[0].reshape(-1, b, d)).flatten(1)[None]),
            (
                "einsum",
                lambda x, q, k: torch.einsum(
                    "zted,ztdf->ztef", q(x).reshape(1, -1, a, b), k(x).reshape(1, -1, b, d)
                ).flatten(2),
            ),
            (
                "axes",
                lambda x, q, k: torch.einsum(
                    "...ed,...df->...fe", q(x).unflatten(2, (a, b)), k(x).unflatten(2, (b, d))
                ).flatten(2),
            ),
            (
                "sums",
                lambda x, q, k: (
                    (q(x).unflatten(2, (a, b))[..., None] * k(x).unflatten(2, (b, d))[:, :, None]).sum(3).flatten(2)
                ),
            ),
            (
                "time last",
                lambda x, q, k: torch.einsum(
                    "zedt,zdft->ztef", q(x).mT.unflatten(1, (a, b)), k(x).mT.unflatten(1, (b, d))
                ).flatten(2),
            ),
            ("outer", lambda x, q, k: torch.einsum("bti,btj->btij", q(x), k(x)).flatten(2)),
            (
                "dot",
                lambda x, q, k: torch.einsum(
                    "btdi,btdi->btd", q(x).unflatten(2, (a, b)), q(x).unflatten(2, (a, b)).tanh()
                ),
            ),
            ("vector", lambda x, q, k: (q(x).unflatten(2, (a, b)) @ k(x).unflatten(2, (b, d))[..., :1]).squeeze(-1)),
        ]
    )
    return Spelled({"outer": a * b * b * d, "dot": a, "vector": a}.get(name, a * d), forms, q=q, k=k)


def linear_attention(choice: random.Random, width: int) -> Spelled:
    h, d, e = choice.randint(1, 2), choice.randint(1, 3), choice.randint(1, 3)
    norm = choice.random() < 0.5

    def run(x: Tensor, q: nn.Module, k: nn.Module, v: nn.Module) -> Tensor:
        q, k, v = q(x).sigmoid().unflatten(2, (h, d)), k(x).sigmoid().unflatten(2, (h, d)), v(x).unflatten(2, (h, e))
        y = torch.einsum("bthd,bthde->bthe", q, torch.einsum("bthd,bthe->bthde", k, v).cumsum(1))
        return (y / ((q * k.cumsum(1)).sum(-1, keepdim=True) if norm else 8)).flatten(2)

    def heads_first(x: Tensor, q: nn.Module, k: nn.Module, v: nn.Module) -> Tensor:
        q, k, v = (m(x).unflatten(2, (h, -1)).transpose(1, 2) for m in (q, k, v))
        return ((q[..., None] * (k[..., None] * v[..., None, :]).cumsum(2)).sum(-2) / 8).transpose(1, 2).flatten(2)

    return Spelled(
        h * e,
        choice.choice([run, heads_first]),
        q=nn.Linear(width, h * d),
        k=nn.Linear(width, h * d),
        v=nn.Linear(width, h * e),
    )


def row_spectrum(choice: random.Random, width: int) -> Spelled:
    """Transforms inside each row, masks, inverse transforms."""
    n = choice.choice([width, width + 1, 2 * width, max(4, width)])
    mask = choice.choice(
        [
            lambda s, m: s * m,
            lambda s, m: m * s,
            lambda s, m: s * torch.complex(m, m.tanh()),
            lambda s, m: torch.polar(s.abs() * m, s.angle()),
            lambda s, m: torch.view_as_complex(torch.view_as_real(s) * m[..., None]),
            lambda s, m: torch.complex(s.real * m, s.imag),
            lambda s, m: s.conj() * m,
            lambda s, m: s * s + s,
            lambda s, m: s * m - s,
            lambda s, m: s * 1j,
            lambda s, m: s / (m + 1),
            lambda s, m: (s - s.conj() * 0.5) * (1 + 2j),
        ]
    )

    def run(x: Tensor, m: nn.Module) -> Tensor:
        spectrum = torch.fft.rfft(x, n)
        return torch.fft.irfft(mask(spectrum, m(x).sigmoid()), n)

    return Spelled(n, run, m=nn.Linear(width, n // 2 + 1))


def magnitudes(choice: random.Random, width: int) -> Spelled:
    n = choice.choice([width, width + 3])
    return Spelled(
        n // 2 + 1,
        choice.choice(
            [
                lambda x: torch.fft.rfft(x, n).abs(),
                lambda x: torch.fft.rfft(x, n).abs().square() * 0.1,
                lambda x: torch.fft.rfft(x, n).real,
                lambda x: torch.fft.rfft(x, n).imag,
                lambda x: torch.view_as_real(torch.fft.rfft(x, n)).square().sum(-1).add(0.1).sqrt(),
                lambda x: (torch.fft.rfft(x, n) * torch.fft.rfft(x, n).conj()).real,
            ]
        ),
    )


def overlap(choice: random.Random, width: int) -> Spelled:
    """Rows as frames that are added where they overlap."""
    hop = choice.randint(1, width)
    whole = [lambda t: (t - 1) * hop + width]

    def fold(x: Tensor) -> Tensor:
        return F.fold(x.mT, (1, whole[0](x.shape[1])), (1, width), stride=(1, hop))[:, 0, 0, : hop * x.shape[1]]

    def transposed(x: Tensor) -> Tensor:
        return F.conv_transpose1d(x.mT, torch.eye(width, dtype=x.dtype)[:, None], stride=hop)[:, 0, : hop * x.shape[1]]

    added = choice.choice([fold, transposed])
    if choice.random() < 0.5:
        return Spelled(hop, lambda x: added(x).reshape(1, x.shape[1], hop))
    return Spelled(1, lambda x: added(x)[..., None])


def faster(choice: random.Random, width: int) -> Spelled:
    """More rows: transposed convolutions, repeats, shuffles; then an operation over the faster rows."""
    stride, taps, out = choice.randint(2, 3), choice.randint(1, 5), choice.randint(1, 4)
    up = nn.ConvTranspose1d(width, out, max(taps, stride), stride)
    k = choice.randint(1, 3)
    behind = choice.choice(
        [
            lambda y: y,
            lambda y: y.cumsum(1) / 8,
            lambda y: F.pad(y, (0, 0, k, 0))[:, :-k] + y,
            lambda y: y.tanh() * y,
            lambda y: y.softmax(-1),
            lambda y: F.avg_pool1d(F.pad(y.mT, (k, 0)), k + 1, 1).mT,
        ]
    )
    form = choice.choice(["transposed", "nearest", "repeated", "shuffled", "expanded", "module"])
    if form == "transposed":
        return Spelled(out, lambda x, up: behind(up(x.mT)[..., : stride * x.shape[1]].mT), up=up)
    if form == "nearest":
        return Spelled(width, lambda x: behind(F.interpolate(x.mT, scale_factor=stride).mT))
    if form == "repeated":
        return Spelled(width, lambda x: behind(x.repeat_interleave(stride, 1)))
    if form == "expanded":
        return Spelled(width, lambda x: behind(x[:, :, None].expand(-1, -1, stride, -1).reshape(1, -1, width)))
    if form == "module":
        return Spelled(width, lambda x, up: behind(up(x.mT).mT), up=nn.Upsample(scale_factor=stride))
    return Spelled(out, lambda x, up: behind(up(x).reshape(1, -1, out)), up=nn.Linear(width, stride * out))


def padded(choice: random.Random, width: int) -> Spelled:
    """Pads along the features that copy, then a sum of neighbours."""
    k = choice.randint(1, max(1, width - 1))
    mode = choice.choice(["reflect", "replicate", "circular"] if width > 1 else ["replicate"])
    return Spelled(width + 2 * k, lambda x: F.pad(x, (k, k), mode=mode) * 2)


def softmaxes(choice: random.Random, width: int) -> Spelled:
    h, d = choice.randint(1, 3), choice.randint(1, 4)
    return Spelled(
        h * d,
        choice.choice(
            [
                lambda x, m: m(x).unflatten(2, (h, d)).softmax(-1).flatten(2),
                lambda x, m: m(x).unflatten(2, (h, d)).softmax(2).flatten(2),
                lambda x, m: m(x).unflatten(2, (h, d)).log_softmax(3).flatten(2),
                lambda x, m: m(x).unflatten(2, (h, d)).transpose(1, 2).softmax(-1).transpose(1, 2).flatten(2),
                lambda x, m: F.normalize(m(x).unflatten(2, (h, d)), dim=-1).flatten(2),
                lambda x, m: m(x).softmax(1),
                lambda x, m: m(x).logsumexp(-1, keepdim=True) + m(x),
            ]
        ),
        m=nn.Linear(width, h * d),
    )


def norms(choice: random.Random, width: int) -> Spelled:
    """Of parts of the features."""
    h, d = choice.randint(1, 3), choice.randint(2, 4)
    return Spelled(
        h * d,
        choice.choice(
            [
                lambda x, m, n, r, g: n(m(x).unflatten(2, (h, d))).flatten(2),
                lambda x, m, n, r, g: r(m(x).unflatten(2, (h, d))).flatten(2),
                lambda x, m, n, r, g: n(m(x).unflatten(2, (h, d)).transpose(1, 2)).transpose(1, 2).flatten(2),
                lambda x, m, n, r, g: g(m(x)[0])[None],
                lambda x, m, n, r, g: F.layer_norm(m(x).unflatten(2, (h, d)), (h, d)).flatten(2),
            ]
        ),
        m=nn.Linear(width, h * d),
        n=nn.LayerNorm(d),
        r=nn.RMSNorm(d, eps=1e-6),
        g=nn.GroupNorm(h, h * d),
    )


def running(choice: random.Random, width: int) -> Spelled:
    """Means and variances of all rows so far."""

    def count(x: Tensor) -> Tensor:
        return torch.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]

    def layer_norm(x: Tensor) -> Tensor:
        n = count(x) * width
        mean, square = x.sum(-1, keepdim=True).cumsum(1) / n, x.square().sum(-1, keepdim=True).cumsum(1) / n
        return (x - mean) / (square - mean.square() + 1e-3).sqrt()

    def features_first(x: Tensor) -> Tensor:
        y = x.mT
        n = torch.arange(width, width * (y.shape[-1] + 1), width, dtype=y.dtype).view(1, 1, -1)
        mean = y.sum(1).cumsum(-1)[:, None] / n
        return ((y - mean) / (y.square().sum(1).cumsum(-1)[:, None] / n - mean**2 + 0.1).sqrt()).mT

    return Spelled(
        width,
        choice.choice(
            [
                lambda x: x.cumsum(1) / count(x),
                lambda x: x - x.cumsum(1) * (1 / count(x)),
                layer_norm,
                features_first,
                lambda x: torch.cumsum(x, 1) / torch.ones_like(x).cumsum(1),
                lambda x: x * torch.sigmoid(x.cumsum(1) / count(x)),
                lambda x: x.cummax(1).values,
                lambda x: x.cumprod(-1),
            ]
        ),
    )


def positions(choice: random.Random, width: int) -> Spelled:
    """Numbers of the rows: counts, waves, decays, tables."""
    rates = torch.exp(-torch.arange(width) * math.log(100.0) / width)

    def waves(x: Tensor) -> Tensor:
        phase = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * rates.to(x.dtype)
        return torch.cat([phase.sin(), phase.cos()], -1)[:, :width]

    def rotary(x: Tensor) -> Tensor:
        x = torch.cat([x, x * 0.5], -1)
        c = (torch.arange(x.shape[1], dtype=x.dtype)[:, None] * rates.to(x.dtype)).repeat(1, 2)
        a, b = x.chunk(2, -1)
        return (x * c.cos() + torch.cat([-b, a], -1) * c.sin())[..., :width]

    def rotated(x: Tensor) -> Tensor:
        c = torch.arange(x.shape[1], dtype=x.dtype)[:, None] * rates.to(x.dtype)
        z = torch.view_as_complex(torch.stack([x, x.tanh()], -1)) * torch.polar(torch.ones_like(c), c)
        return torch.view_as_real(z).sum(-1)

    return Spelled(
        width,
        choice.choice(
            [
                lambda x, p: x + waves(x),
                lambda x, p: rotary(x),
                lambda x, p: rotated(x),
                lambda x, p: x * (1 + 0.1 * torch.arange(x.shape[1], dtype=x.dtype)[:, None]) * 0.1,
                lambda x, p: x + p[: x.shape[1]],
                lambda x, p: x * p[: x.shape[1]].mT[:width].mT,
                lambda x, p: x + 0.9 ** torch.arange(x.shape[1], dtype=x.dtype)[:, None],
                lambda x, p: p[None, : x.shape[1]] - x,
            ]
        ),
        torch.randn(200, width),
    )


def attention(choice: random.Random, width: int) -> Spelled:
    """Softmax attention over the rows so far, in several spellings."""
    h, d, e = choice.randint(1, 3), choice.randint(1, 4), choice.randint(1, 3)
    window = choice.choice([0, 0, 1, 5])
    qkv = nn.Linear(width, h * (2 * d + e))

    def parts(x: Tensor, qkv: nn.Module):
        q, k, v = qkv(x).split([h * d, h * d, h * e], -1)
        return (t.unflatten(2, (h, -1)).transpose(1, 2) for t in (q, k, v))

    def mask(n: int) -> Tensor:
        seen = torch.ones(n, n, dtype=torch.bool).tril()
        return seen & torch.ones(n, n, dtype=torch.bool).triu(1 - window) if window else seen

    def fused(x: Tensor, qkv: nn.Module) -> Tensor:
        y = F.scaled_dot_product_attention(
            *parts(x, qkv), **({"attn_mask": mask(x.shape[1])} if window else {"is_causal": True})
        )
        return y.transpose(1, 2).flatten(2)

    def written(x: Tensor, qkv: nn.Module) -> Tensor:
        q, k, v = parts(x, qkv)
        y = (q @ k.mT / math.sqrt(d)).masked_fill(~mask(x.shape[1]), float("-inf")).softmax(-1) @ v
        return y.transpose(1, 2).flatten(2)

    def summed(x: Tensor, qkv: nn.Module) -> Tensor:
        q, k, v = (t.transpose(1, 2) for t in parts(x, qkv))
        s = torch.einsum("bthd,bshd->bhts", q * 0.7, k)
        s = s + torch.zeros(x.shape[1], x.shape[1], dtype=x.dtype).masked_fill(~mask(x.shape[1]), float("-inf"))
        return torch.einsum("bhts,bshe->bthe", F.softmax(s, -1), v).flatten(2)

    def chosen(x: Tensor, qkv: nn.Module) -> Tensor:
        q, k, v = parts(x, qkv)
        s = torch.where(mask(x.shape[1]), torch.matmul(q, k.transpose(-2, -1)) * 0.3, -1e9)
        return (torch.softmax(s, dim=-1) @ v).transpose(1, 2).reshape(1, x.shape[1], -1)

    def unmasked(x: Tensor, qkv: nn.Module) -> Tensor:
        return F.scaled_dot_product_attention(*parts(x, qkv), scale=0.4).transpose(1, 2).flatten(2)

    if choice.random() < 0.2:
        heads = nn.MultiheadAttention(2 * h, h, batch_first=True)
        up = nn.Linear(width, 2 * h)

        def of_torch(x: Tensor, heads: nn.Module, up: nn.Module) -> Tensor:
            y = up(x)
            return heads(y, y, y, attn_mask=~mask(x.shape[1]), need_weights=False)[0]

        return Spelled(2 * h, of_torch, heads=heads, up=up)
    return Spelled(h * e, choice.choice([fused, written, summed, chosen, unmasked]), qkv=qkv)


def images(choice: random.Random, width: int) -> Spelled:
    """Convolutions along time and features of (1, channels, T, features)."""
    c, d, kt, kf = choice.randint(1, 3), choice.randint(1, 3), choice.randint(1, 3), choice.choice([1, 3, 3, 2])
    f, mid = choice.choice([2, 4, 5]), choice.randint(1, 3)
    pf = kf // 2
    up = nn.Linear(width, c * f)
    one, two = nn.Conv2d(c, mid, (kt, kf), padding=(0, pf)), nn.Conv2d(mid, d, (2, 1))
    back = nn.ConvTranspose2d(mid, d, (1, 3), stride=(1, 2), padding=(0, 1))
    wide = f + 2 * pf - kf + 1

    def image(x: Tensor, up: nn.Module) -> Tensor:
        return up(x).unflatten(2, (c, f)).transpose(1, 2)

    def chain(x: Tensor, up: nn.Module, one: nn.Module, two: nn.Module, back: nn.Module) -> Tensor:
        y = two(F.pad(one(F.pad(image(x, up), (0, 0, kt - 1, 0))).tanh(), (0, 0, 1, 0)))
        return y.transpose(1, 2).flatten(2)

    def transposed(x: Tensor, up: nn.Module, one: nn.Module, two: nn.Module, back: nn.Module) -> Tensor:
        y = back(one(F.pad(image(x, up), (0, 0, kt - 1, 0))).relu())
        return y.transpose(1, 2).flatten(2)

    def time_last(x: Tensor, up: nn.Module, one: nn.Module, two: nn.Module, back: nn.Module) -> Tensor:
        y = up(x).mT.unflatten(1, (c, f))  # (1, c, f, T)
        y = F.conv2d(F.pad(y, (kt - 1, 0, pf, pf)), one.weight.mT, one.bias)
        return y.flatten(1, 2).mT

    form = choice.choice([chain, transposed, time_last])
    out = {chain: d * wide, transposed: d * (2 * wide - 1), time_last: mid * wide}[form]
    return Spelled(out, form, up=up, one=one, two=two, back=back)


def repeats(choice: random.Random, width: int) -> Spelled:
    k = choice.randint(2, 3)
    return Spelled(
        k * width,
        choice.choice(
            [
                lambda x: x.repeat_interleave(k, -1),
                lambda x: x.repeat(1, 1, k),
                lambda x: x.tile((k,)),
                lambda x: F.interpolate(x, scale_factor=float(k)),
                lambda x: x[..., None].expand(-1, -1, -1, k).flatten(2) * 2,
                lambda x: x.repeat_interleave(torch.tensor([k] * width), -1),
            ]
        ),
    )


OPERATIONS = {
    "functions": functions,
    "powers": powers,
    "comparisons": comparisons,
    "extremes": extremes,
    "products": products,
    "linear attention": linear_attention,
    "row spectrum": row_spectrum,
    "magnitudes": magnitudes,
    "overlap": overlap,
    "faster rows": faster,
    "padded": padded,
    "softmax": softmaxes,
    "norms": norms,
    "running": running,
    "positions": positions,
    "attention": attention,
    "images": images,
    "repeats": repeats,
}


class Frames(nn.Module):
    """Samples (1, T) to frames, a transform of any size, and back by overlap-add: (1, T / hop, hop) again."""

    kind, first, width = "stft and back", False, 1

    def __init__(self, choice: random.Random) -> None:
        super().__init__()
        self.size, self.way, self.mask = (
            choice.choice([8, 12, 15, 16]),
            choice.choice(["istft", "fold", "transposed"]),
            choice.choice(["real", "complex", "none"]),
        )
        self.hop = 4 if self.way == "istft" else choice.choice([2, 4, 8])
        if self.way == "istft":
            self.size = choice.choice([8, 16])
        self.out = self.hop
        self.register_buffer("window", torch.hann_window(self.size))
        self.net = nn.Linear(self.size // 2 + 1, self.size // 2 + 1)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.shape[1] // self.hop
        s = torch.stft(
            F.pad(x, (self.size - self.hop, 0)),
            self.size,
            self.hop,
            window=self.window,
            center=False,
            return_complex=True,
        ).mT
        if self.mask == "real":
            s = s * self.net(s.abs()).sigmoid()
        elif self.mask == "complex":
            s = s * torch.complex(self.net(s.real).tanh(), self.net(s.imag).tanh())
        if self.way == "istft":
            y = torch.istft(s.mT, self.size, self.hop, window=self.window, length=rows * self.hop)
        else:
            frames = (torch.fft.irfft(s, self.size) * self.window).mT
            whole = (rows - 1) * self.hop + self.size
            y = (
                F.fold(frames, (1, whole), (1, self.size), stride=(1, self.hop))[:, 0, 0]
                if self.way == "fold"
                else F.conv_transpose1d(frames, torch.eye(self.size, dtype=x.dtype)[:, None], stride=self.hop)[:, 0]
            )
            y = F.pad(y, (0, max(0, rows * self.hop - y.shape[1])))
        return y[:, : rows * self.hop].reshape(1, rows, self.hop)


class RandomOperations(nn.Module):
    """One to three of them. Every ninth module reads samples."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        choice, width, steps = random.Random(seed), random.Random(seed + 1).randint(1, 6), []
        if seed % 9 == 8:
            steps.append(Frames(choice))
            width = steps[-1].out
        for _ in range(choice.randint(1, 3)):
            kind = choice.choice(list(OPERATIONS))
            steps.append(OPERATIONS[kind](choice, width))
            steps[-1].kind, steps[-1].first, steps[-1].width = kind, choice.random() < 0.3, width
            width = steps[-1].out
            if width > 24:
                steps.append(Spelled(5, lambda x, m: m(x), m=nn.Linear(width, 5)))
                steps[-1].kind, steps[-1].first, steps[-1].width, width = "linear", False, width, 5
        self.steps, self.end = nn.ModuleList(steps), "rows"

    def forward(self, x: Tensor) -> Tensor:
        for step in self.steps:
            y = step(x)
            x = x + y if y.shape == x.shape and step.first else y
        return x
