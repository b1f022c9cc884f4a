"""LightNet (Qin et al. 2024, "You Only Scan Once"): attention with an additive decay, as plain modules under the state-dict names
of its two published codes, xmixers (the first author's) and flash-linear-attention ("fla"), and what the exporter writes of them.

For one head, with z_t = log(S_0 + sum_{j<=t} e^{k_j}) for each key channel:
  C_t = C_{t-1} + e^{k_t - z_t} (v_t - C_{t-1}),   o_t = q_t C_t,   out = (norm(o) * gate) W_o
Not causal: e^{k_j} / sum_t e^{k_t} in place of e^{k_j - z_t}.  All shapes are (batch, time, ...).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..package import Layer, Package, layer, residual
from .sgconv import causal_convolution

_NOTHING = -1e30  # a key that weighs nothing; finite, so that differences of two of them are


@dataclass(frozen=True)
class Names:
    """How a library calls its parts."""

    embedding: str
    token_norm: str
    token: str
    channel_norm: str
    channel: str
    final_norm: str
    gate: str
    norm: str
    mlp: tuple[str, str, str]


NAMES = {
    "fla": Names(
        "embeddings",
        "attn_norm",
        "attn",
        "mlp_norm",
        "mlp",
        "norm",
        "g_proj",
        "g_norm",
        ("gate_proj", "up_proj", "down_proj"),
    ),
    "xmixers": Names(
        "embed_tokens",
        "token_norm",
        "token_mixer",
        "channel_norm",
        "channel_mixer",
        "final_norm",
        "output_gate",
        "norm",
        ("w1", "w2", "w3"),
    ),
}


@dataclass(frozen=True)
class LightNetConfig:
    """One attention block. `norm_eps` is added to the mean square: xmixers' 1e-5 under the sum is 1e-5 / value width here."""

    width: int
    heads: int
    library: str = "xmixers"
    key_width: int | None = None
    value_width: int | None = None
    causal: bool = True
    initial_sum: int = 0  # S_0
    scale: float = 1.0
    gate: str | None = "after_norm"  # or "before_norm"
    gate_activation: str = "sigmoid"
    gate_rank: int | None = None
    gate_bias: bool = False
    norm_eps: float = 1e-6
    bias: bool = False
    short_conv: int = 0
    conv_bias: bool = False
    lrpe: bool = False  # cosine

    @property
    def keys(self) -> int:
        return self.key_width or self.width

    @property
    def values(self) -> int:
        return self.value_width or self.width


class RmsNorm(nn.Module):
    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * self.weight


def cosine_rates(width: int, base: float = 10000.0) -> Tensor:
    """theta (1, d) as xmixers stores it, in float32."""
    return torch.tensor([[base ** (-2 * i / width) for i in range(width)]], dtype=torch.float32)


class Phases(NamedTuple):
    """Angles (T, d) of every position, where a position is not just a number: those of an image."""

    angles: Tensor


def image_phases(width: int, shape: tuple[int, ...], base: float = 10000.0) -> Phases:
    """Of an image whose lines come one after the other (MD-LRPE): feature i is rotated along axis i // ceil(width / axes), and the axes share their rates."""
    shared = -(-width // len(shape))
    rates = cosine_rates(shared, base)[0].double()
    along = torch.stack(
        torch.meshgrid(*(torch.arange(size, dtype=torch.float64) for size in shape), indexing="ij"), -1
    ).flatten(0, -2)
    feature = torch.arange(width)
    return Phases(along[:, feature // shared] * rates[feature % shared])


def rotated(x: Tensor, theta: Tensor | Phases, first: int = 0) -> Tensor:
    """(B, T, H, d) -> (B, T, H, 2d): [x cos(t theta) | x sin(t theta)], t from `first`; phases in float64, where a float32 t*theta
    would lose the angle after a few thousand positions."""
    if isinstance(theta, Phases):
        phase = theta.angles[first : first + x.shape[1], None] % (2 * math.pi)
    else:
        positions = torch.arange(first, first + x.shape[1], dtype=torch.float64, device=x.device)
        phase = (positions[:, None, None] * theta.double()) % (2 * math.pi)
    return torch.cat([x * phase.cos().to(x.dtype), x * phase.sin().to(x.dtype)], dim=-1)


def causal_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    initial_sum: int = 0,
    mask: Tensor | None = None,
    theta: Tensor | None = None,
    chunk: int = 16,
) -> Tensor:
    """q, k (B, T, H, dk), v (B, T, H, dv), mask (B, T) true where a row counts.  In chunks: every exponent is at most 0."""
    if mask is not None:
        k = k.masked_fill(~mask[:, :, None, None], _NOTHING)
        v = v.masked_fill(~mask[:, :, None, None], 0)
    z = torch.logcumsumexp(k, dim=1)
    if initial_sum:
        z = torch.logaddexp(z, torch.zeros_like(z))
    before = torch.full_like(k[:, 0], 0.0 if initial_sum else _NOTHING)  # z at the start of a chunk
    rotate = (lambda x, at: rotated(x, theta, at)) if theta is not None else (lambda x, at: x)
    parts = 1 if theta is None else 2
    state = v.new_zeros(q.shape[0], q.shape[2], parts * k.shape[3], v.shape[3])
    out = []
    for at in range(0, k.shape[1], chunk):
        qc, kc, vc, zc = (x[:, at : at + chunk] for x in (q, k, v, z))
        rows = kc.shape[1]
        later = torch.ones(rows, rows, dtype=torch.bool, device=k.device).tril()[None, :, :, None, None]
        left = (kc[:, None] - zc[:, :, None]).masked_fill(~later, _NOTHING).exp()  # (B, t, j, H, dk)
        queries, units = rotate(qc, at), rotate(torch.ones_like(kc), at)
        scores = torch.einsum("bthi,bjhi,btjhi->bhtj", queries, units, left.repeat(1, 1, 1, 1, parts))
        decayed = queries * (before[:, None] - zc).exp().repeat(1, 1, 1, parts)
        out.append(torch.einsum("bhtj,bjhc->bthc", scores, vc) + torch.einsum("bthi,bhic->bthc", decayed, state))
        end = zc[:, -1]
        shares = rotate((kc - end[:, None]).exp(), at)
        if mask is not None:
            shares = shares * mask[:, at : at + chunk, None, None]
        state = (before - end).exp().repeat(1, 1, parts)[..., None] * state + torch.einsum(
            "bjhi,bjhc->bhic", shares, vc
        )
        before = end
    return torch.cat(out, dim=1)


def global_attention(q: Tensor, k: Tensor, v: Tensor, theta: Tensor | None = None) -> Tensor:
    """A softmax over time for each key channel, then queries on the sum."""
    weights = k.softmax(dim=1)
    if theta is not None:
        q, weights = rotated(q, theta), rotated(weights, theta)
    return torch.einsum("bthi,bhic->bthc", q, torch.einsum("bjhi,bjhc->bhic", weights, v))


class LightNetAttention(nn.Module):
    """(B, T, width) -> the same.  `theta` (1, d) or (H, d) for `lrpe`: of the layer, or of the model."""

    def __init__(self, config: LightNetConfig) -> None:
        super().__init__()
        self.config, names = config, NAMES[config.library]
        self.chunk = 16  # rows at a time where it is causal: a matter of speed
        for name, out in (("q", config.keys), ("k", config.keys), ("v", config.values)):
            setattr(self, f"{name}_proj", nn.Linear(config.width, out, bias=config.bias))
            if config.short_conv:
                setattr(
                    self, f"{name}_conv1d", nn.Conv1d(out, out, config.short_conv, groups=out, bias=config.conv_bias)
                )
        if config.gate:
            if config.gate_rank is None:
                gate: nn.Module = nn.Linear(config.width, config.values, bias=config.gate_bias)
            else:
                gate = nn.Sequential(
                    nn.Linear(config.width, config.gate_rank, bias=config.gate_bias),
                    nn.Linear(config.gate_rank, config.values, bias=config.gate_bias),
                )
            setattr(self, names.gate, gate)
        setattr(self, names.norm, RmsNorm(config.values, config.norm_eps))
        self.o_proj = nn.Linear(config.values, config.width, bias=config.bias and config.library == "xmixers")

    def _projected(self, name: str, x: Tensor) -> Tensor:
        y = getattr(self, f"{name}_proj")(x)
        taps = self.config.short_conv
        if taps:
            y = getattr(self, f"{name}_conv1d")(F.pad(y.transpose(1, 2), (taps - 1, 0))).transpose(1, 2)
        result: Tensor = y.unflatten(-1, (self.config.heads, -1))
        return result

    def forward(self, x: Tensor, mask: Tensor | None = None, theta: Tensor | None = None) -> Tensor:
        config, names = self.config, NAMES[self.config.library]
        q = F.silu(self._projected("q", x)) * config.scale
        k, v = self._projected("k", x), self._projected("v", x)
        theta = theta if config.lrpe else None
        o = (
            causal_attention(q, k, v, config.initial_sum, mask, theta, self.chunk)
            if config.causal
            else global_attention(q, k, v, theta)
        )
        o, norm = o.flatten(-2), getattr(self, names.norm)
        if config.gate is None:
            result: Tensor = self.o_proj(norm(o))
            return result
        gate = getattr(F, config.gate_activation)(getattr(self, names.gate)(x))
        result = self.o_proj(norm(o * gate) if config.gate == "before_norm" else norm(o) * gate)
        return result


class GatedMlp(nn.Module):
    """(silu(x W1) * x W2) W3"""

    def __init__(self, width: int, hidden: int, library: str) -> None:
        super().__init__()
        self.parts = NAMES[library].mlp
        for name, (size, out) in zip(self.parts, ((width, hidden), (width, hidden), (hidden, width))):
            setattr(self, name, nn.Linear(size, out, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        w1, w2, w3 = (getattr(self, name) for name in self.parts)
        result: Tensor = w3(F.silu(w1(x)) * w2(x))
        return result


class Tpe(nn.Module):
    """norm((q.k of the head) * sum_{j<=t} lambda^{t-j} x_j) W_o, lambda = sigmoid(log_decay): xmixers' constant-decay attention, whose
    matrix state collapses to one sum a channel."""

    def __init__(self, width: int, heads: int, norm_eps: float) -> None:
        super().__init__()
        self.q, self.k = nn.Parameter(torch.randn(width)), nn.Parameter(torch.randn(width))
        self.log_decay = nn.Parameter(torch.randn(heads))
        self.norm, self.o_proj = RmsNorm(width, norm_eps), nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        heads = self.log_decay.numel()
        gain = (self.q * self.k).unflatten(0, (heads, -1)).sum(-1)
        decay, values = torch.sigmoid(self.log_decay)[:, None], x.unflatten(-1, (heads, -1))
        state, rows = torch.zeros_like(values[:, 0]), []
        for t in range(x.shape[1]):
            state = decay * state + values[:, t]
            rows.append(state)
        result: Tensor = self.o_proj(self.norm((gain[:, None] * torch.stack(rows, 1)).flatten(-2)))
        return result


class ExponentialSums(nn.Module):
    """TPE and MD-TPE as the paper has them: along each axis sum_r c_r sum_{m<=n} lambda_r^(n-m) x_m, the axes added; (B, T, width) in and out.
    Without `shape` there is one axis, the sequence; parameters `lambda` and `c` are (axes, width, modes)."""

    def __init__(self, width: int, modes: int, shape: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.shape, size = shape, (max(1, len(shape)), width, modes)
        self.register_parameter("lambda", nn.Parameter(torch.rand(size)))
        self.c = nn.Parameter(torch.randn(size) * modes**-0.5)

    def kernel(self, axis: int, length: int) -> Tensor:
        """(width, length): what position 0 adds to those behind it."""
        powers = torch.arange(length, device=self.c.device)
        result: Tensor = (self.c[axis, :, :, None] * getattr(self, "lambda")[axis, :, :, None] ** powers).sum(1)
        return result

    def forward(self, x: Tensor) -> Tensor:
        if not self.shape:
            return causal_convolution(x.transpose(1, 2), self.kernel(0, x.shape[1])).transpose(1, 2)
        image = x.unflatten(1, self.shape)
        total = torch.zeros_like(image)
        for axis, size in enumerate(self.shape):
            line = torch.arange(size, device=x.device)
            lag = line[:, None] - line[None]
            taps = self.kernel(axis, size)[:, lag.clamp(min=0)] * (lag >= 0)  # (width, n, m)
            total = total + torch.einsum("cnm,b...mc->b...nc", taps, image.movedim(1 + axis, -2)).movedim(-2, 1 + axis)
        return total.flatten(1, -2)


class LightNetModel(nn.Module):
    """A language model: ids (B, T) -> (hidden rows, logits)."""

    def __init__(
        self, config: LightNetConfig, vocabulary: int, depth: int, hidden: int, norm_eps: float, tpe: bool = False
    ) -> None:
        super().__init__()
        self.config, self.norm_eps, names = config, norm_eps, NAMES[config.library]
        body: dict[str, nn.Module] = {names.embedding: nn.Embedding(vocabulary, config.width)}
        if tpe:
            body["tpe"] = Tpe(config.width, config.heads, norm_eps)
        body["layers"] = nn.ModuleList(
            nn.ModuleDict(
                {
                    names.token_norm: RmsNorm(config.width, norm_eps),
                    names.token: LightNetAttention(config),
                    names.channel_norm: RmsNorm(config.width, norm_eps),
                    names.channel: GatedMlp(config.width, hidden, config.library),
                }
            )
            for _ in range(depth)
        )
        body[names.final_norm] = RmsNorm(config.width, norm_eps)
        self.model = nn.ModuleDict(body)
        if config.lrpe:
            self.model["lrpe"] = nn.Module()
            self.model["lrpe"].register_buffer("theta", cosine_rates(config.keys // config.heads))
        self.lm_head = nn.Linear(config.width, vocabulary, bias=False)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        names, model = NAMES[self.config.library], self.model
        theta = model["lrpe"].theta if self.config.lrpe else None
        x = model[names.embedding](ids)
        if "tpe" in model:
            x = model["tpe"](x)
        block: Any
        for block in cast(nn.ModuleList, model["layers"]):
            x = x + block[names.token](block[names.token_norm](x), theta=theta)
            x = x + block[names.channel](block[names.channel_norm](x))
        x = model[names.final_norm](x)
        return x, self.lm_head(x)


# ---- what the exporter writes ----


def attention_entry(config: LightNetConfig, name: str, prefix: str | None = None, theta: str | None = None) -> Layer:
    """The package layer of a block; `theta`: the key of the rates, if they are not the layer's own `lrpe.theta`."""
    names, stem = NAMES[config.library], prefix or name
    entry = layer(
        "lightnet_attention",
        name,
        prefix,
        heads=config.heads,
        key_width=config.keys,
        value_width=config.values,
        causal=config.causal,
        initial_sum=config.initial_sum,
        scale=config.scale,
        bias=config.bias,
        output_bias=config.bias and config.library == "xmixers",
        gate=config.gate,
        norm_eps=config.norm_eps,
    )
    keys: dict[str, str] = {}
    if config.gate:
        entry["gate_activation"] = config.gate_activation
        if config.gate_rank is not None:
            entry["gate_rank"] = config.gate_rank
        if config.gate_bias:
            entry["gate_bias"] = True
        for part in (".0", ".1") if config.gate_rank is not None else ("",):
            for tensor in ("weight", "bias") if config.gate_bias else ("weight",):
                keys[f"output_gate{part}.{tensor}"] = f"{stem}.{names.gate}{part}.{tensor}"
    keys["norm.weight"] = f"{stem}.{names.norm}.weight"
    if config.short_conv:
        entry |= {"short_conv": config.short_conv, "conv_bias": config.conv_bias}
    if config.lrpe:
        entry["lrpe"] = "cosine"
        keys["lrpe.theta"] = theta or f"{stem}.lrpe.theta"
    return entry | {"keys": keys}


def model_package(model: LightNetModel, name: str) -> Package:
    """The whole model, with outputs "h" (behind the final norm) and "y" (logits)."""
    config, names = model.config, NAMES[model.config.library]
    table = cast(nn.Embedding, model.model[names.embedding]).weight
    layers = [layer("embedding", "embed", f"model.{names.embedding}", vocabulary=table.shape[0], width=table.shape[1])]
    if "tpe" in model.model:
        layers.append(layer("tpe", "tpe", "model.tpe", heads=config.heads, norm_eps=model.norm_eps))
    block: Any
    for n, block in enumerate(cast(nn.ModuleList, model.model["layers"])):
        here = f"model.layers.{n}"
        mlp, stem = block[names.channel], f"{here}.{names.channel}"
        channel = layer("gated_mlp", "mlp", stem, hidden=getattr(mlp, mlp.parts[0]).out_features)
        channel["keys"] = {f"w{i + 1}.weight": f"{stem}.{part}.weight" for i, part in enumerate(mlp.parts)}
        layers.append(
            residual(
                f"token.{n}",
                layer("rms_norm", "norm", f"{here}.{names.token_norm}", eps=model.norm_eps),
                [attention_entry(config, "attention", f"{here}.{names.token}", "model.lrpe.theta")],
            )
        )
        layers.append(
            residual(
                f"channel.{n}", layer("rms_norm", "norm", f"{here}.{names.channel_norm}", eps=model.norm_eps), [channel]
            )
        )
    layers += [
        layer("rms_norm", "h", f"model.{names.final_norm}", eps=model.norm_eps),
        layer("linear", "logits", "lm_head", out_features=table.shape[0], bias=False),
    ]
    return Package(
        name,
        [{"name": "ids", "kind": "tokens", "vocabulary": table.shape[0]}],
        layers,
        [{"name": "h", "from": "h"}, {"name": "y", "from": "logits"}],
        weights=model.state_dict(),
    )
