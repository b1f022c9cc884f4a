"""The two stacks, built from the layers as they are (`ChelaModel`, `LightNetModel`), with a second form of their
forward pass: windows of a stream with carried state, in matrix products that are cheap on a CPU.

`windowed(model)` gives a function (ids (B, L), state) -> (logits (B, L, 256), state) which is, window after window,
what the layers compute over the whole sequence (tests/test_text.py).  A state is a list of tensors, one row a
stream; `fresh_state` is that of a stream's beginning.  L is a multiple of 64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Union, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..layers.blockconv import BLOCK, toeplitz
from ..layers.chela import Branch, ChelaBlock, ChelaConfig, ChelaModel
from ..layers.lightnet import LightNetAttention, LightNetConfig, LightNetModel, Tpe

VOCABULARY = 256
TextModel = Union[ChelaModel, LightNetModel]
State = list[Tensor]
Windowed = Callable[[Tensor, State], tuple[Tensor, State]]

CHELA = {"width": 160, "depth": 5, "taps": 64, "hidden": 288, "heads": 2}
LIGHTNET = {"width": 160, "depth": 4, "short_conv": 8, "hidden": 216, "heads": 4, "gate_rank": 32}


def chela_model(width: int, depth: int, taps: int, hidden: int, heads: int) -> ChelaModel:
    """Kernels that fade over a length of their own a channel, gates that let most of the input pass at first."""
    branches = [Branch(3, batch_norm=False), Branch(7, batch_norm=False), Branch(None, batch_norm=False)]
    config = ChelaConfig(
        width, taps, branches, norm="rms", norm_eps=1e-6, heads=heads, att_norm_groups=heads, ffn_width=hidden
    )
    model = ChelaModel(config, depth, VOCABULARY, vocabulary=VOCABULARY, head="steps")
    with torch.no_grad():
        cast(nn.Embedding, model.embed_tokens).weight.mul_(0.5)
        lengths = torch.logspace(0, math.log2(taps / 2), width, base=2)[torch.randperm(width)]
        fade = torch.exp(-torch.arange(taps) / lengths[:, None])
        block: Any
        for block in model.layers:
            fading = torch.randn(width, taps) * fade
            block.long.k0.copy_(fading / fading.norm(dim=1, keepdim=True))
            block.o_gate.bias.fill_(-1.0)
            block.nffn.fc2.weight.mul_(0.5)
    return model


def lightnet_model(width: int, depth: int, short_conv: int, hidden: int, heads: int, gate_rank: int) -> LightNetModel:
    """With TPE in front for the near past and short convolutions of queries, keys and values."""
    config = LightNetConfig(width, heads, gate_rank=gate_rank, short_conv=short_conv)
    model = LightNetModel(config, VOCABULARY, depth, hidden, 1e-6, tpe=True)
    with torch.no_grad():
        cast(Tpe, model.model["tpe"]).log_decay.copy_(torch.linspace(-4.0, 2.0, heads))
        for block in cast(Any, model.model["layers"]):
            attention = block["token_mixer"]
            for name in "qkv":
                kernel = getattr(attention, f"{name}_conv1d").weight
                kernel.mul_(0.5)
                kernel[:, :, -1].add_(1.0)
    return model


def make(family: str, **changes: int) -> TextModel:
    if family == "chela":
        return chela_model(**(CHELA | changes))
    return lightnet_model(**(LIGHTNET | changes))


# ---- parts ----


def short_convolution(x: Tensor, before: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """x (B, L, d), before (B, r - 1, d), weight (d, r) in torch's order -> y (B, L, d) and the next `before`."""
    reach = weight.shape[1] - 1
    extended = torch.cat([before, x], 1)
    y = x * weight[:, reach]
    for j in range(reach):
        y = y + extended[:, j : j + x.shape[1]] * weight[:, j]
    return y, extended[:, x.shape[1] :]


def long_convolution(x: Tensor, before: Tensor, kernel: Tensor) -> tuple[Tensor, Tensor]:
    """x (B, L, d), before (B, BLOCK, d), kernel (d, K <= BLOCK) of lags: as two banded matrices a block."""
    rows, length, width = x.shape
    blocks = torch.cat([before, x], 1).permute(2, 0, 1).reshape(width, rows, length // BLOCK + 1, BLOCK)
    pairs = torch.cat([blocks[:, :, :-1], blocks[:, :, 1:]], -1).reshape(width, -1, 2 * BLOCK)
    y = torch.bmm(pairs, toeplitz(kernel))
    return y.view(width, rows, length).permute(1, 2, 0), x[:, length - BLOCK :]


def attention(q: Tensor, k: Tensor, v: Tensor, state: Tensor, chunk: int = 2 * BLOCK) -> tuple[Tensor, Tensor]:
    """(B, H, L, d) three times, state (B, H, dk, dv): q_t (state + sum_{s <= t} k_s v_s^T), and the state behind it."""
    out = []
    for at in range(0, q.shape[2], chunk):
        qc, kc, vc = (z[:, :, at : at + chunk] for z in (q, k, v))
        out.append((qc @ kc.transpose(-1, -2)).tril() @ vc + qc @ state)
        state = state + kc.transpose(-1, -2) @ vc
    return torch.cat(out, 2), state


def split(x: Tensor, heads: int) -> Tensor:
    result: Tensor = x.unflatten(-1, (heads, -1)).transpose(1, 2)
    return result


# ---- CHELA ----


def merged_branches(block: ChelaBlock) -> Tensor:
    """All short branches as one kernel (d, 7): lags align at the last tap."""
    branches: Any = block.short
    kernels: list[Tensor] = [branch.conv.weight[:, 0] for branch in branches if hasattr(branch, "conv")]
    longest = max(kernel.shape[1] for kernel in kernels)
    padded = [F.pad(kernel, (longest - kernel.shape[1], 0)) for kernel in kernels]
    merged = sum(padded[1:], padded[0])
    identity = torch.zeros_like(merged)
    identity[:, -1] = sum(not hasattr(branch, "conv") for branch in branches)
    return merged + identity


def chela_block(block: ChelaBlock, x: Tensor, near: Tensor, far: Tensor, sums: Tensor) -> tuple[Tensor, State]:
    heads = block.config.heads
    normed = block.norm(x)
    a, near = short_convolution(normed, near, merged_branches(block))
    z, far = long_convolution(F.silu(a), far, cast(Tensor, block.long.k0))
    q, k = (split(block.gamma[i] * z + block.beta[i], heads) for i in range(2))
    out, sums = attention(q, k, split(F.silu(block.v_proj(normed)), heads), sums)
    m = block.att_norm(out.transpose(1, 2).flatten(2)) * F.silu(block.g_proj(z))
    gate = torch.sigmoid(block.o_gate(z))
    return block.nffn(m * gate + x * (1 - gate)), [near, far, sums]


def chela_windowed(model: ChelaModel, compiled: bool) -> Windowed:
    one = torch.compile(chela_block) if compiled else chela_block

    def run(ids: Tensor, state: State) -> tuple[Tensor, State]:
        x, after = model.embed_tokens(ids), []
        for n, block in enumerate(model.layers):
            x, new = one(cast(ChelaBlock, block), x, *state[3 * n : 3 * n + 3])
            after += new
        return model.classifier(model.final_norm(x)), after

    return run


# ---- LightNet ----


def tpe_window(tpe: Tpe, x: Tensor, sums: Tensor) -> tuple[Tensor, Tensor]:
    """`sums` (B, H, c): those of the positions before, decayed to the last of them."""
    heads, length = tpe.log_decay.numel(), x.shape[1]
    gain = (tpe.q * tpe.k).unflatten(0, (heads, -1)).sum(-1)
    steps = torch.arange(length)
    ages = steps[:, None] - steps
    log_decay = F.logsigmoid(tpe.log_decay)[:, None, None]
    powers = (log_decay * ages.clamp(min=0)).exp().tril()  # (H, L, L)
    values = split(x, heads)
    y = powers @ values + (log_decay * (steps[:, None] + 1)).exp() * sums[:, :, None]
    gained = (gain[:, None, None] * y).transpose(1, 2).flatten(2)
    return tpe.o_proj(tpe.norm(gained)), y[:, :, -1]


def lightnet_attention(
    layer: LightNetAttention, x: Tensor, near: Tensor, z0: Tensor, mean: Tensor
) -> tuple[Tensor, State]:
    """`z0` (B, H, dk) and `mean` C (B, H, dk, dv) before the window.  Within it C_t is the plain sum of e^{k - m} v
    over e^{z_t - m}, m the largest key of the window; keys more than 35 below it weigh as much as those 35 below,
    for the gradient of the quotient needs 1 / totals^2 in float32."""
    config, part = layer.config, cast(Any, layer)  # its parts are set by name
    projected = torch.cat([part.q_proj(x), part.k_proj(x), part.v_proj(x)], -1)
    kernels = torch.cat([getattr(layer, f"{name}_conv1d").weight[:, 0] for name in "qkv"])
    mixed, near = short_convolution(projected, near, kernels)
    q, k, v = (split(piece, config.heads) for piece in mixed.split([config.keys, config.keys, config.values], -1))
    q = F.silu(q) * config.scale
    highest = torch.maximum(k.amax(2), z0)
    weights = (k - highest[:, :, None]).clamp(min=-35).exp()
    start = (z0 - highest).exp()
    totals = weights.cumsum(2) + start[:, :, None]  # S_t / e^m
    out, sums = attention(q / totals, weights, v, start[..., None] * mean)
    last = totals[:, :, -1]
    gate = getattr(F, config.gate_activation)(part.output_gate(x))
    y = part.o_proj(part.norm(out.transpose(1, 2).flatten(2)) * gate)
    return y, [near, last.log() + highest, sums / last[..., None]]


def lightnet_block(block: nn.ModuleDict, x: Tensor, near: Tensor, z0: Tensor, mean: Tensor) -> tuple[Tensor, State]:
    y, after = lightnet_attention(cast(LightNetAttention, block["token_mixer"]), block["token_norm"](x), near, z0, mean)
    x = x + y
    return x + block["channel_mixer"](block["channel_norm"](x)), after


def lightnet_windowed(model: LightNetModel, compiled: bool) -> Windowed:
    one = torch.compile(lightnet_block) if compiled else lightnet_block

    def run(ids: Tensor, state: State) -> tuple[Tensor, State]:
        body = model.model
        x, tpe_sums = tpe_window(cast(Tpe, body["tpe"]), body["embed_tokens"](ids), state[0])
        after = [tpe_sums]
        for n, block in enumerate(cast(nn.ModuleList, body["layers"])):
            x, new = one(cast(nn.ModuleDict, block), x, *state[3 * n + 1 : 3 * n + 4])
            after += new
        return model.lm_head(body["final_norm"](x)), after

    return run


def windowed(model: TextModel, compiled: bool = False) -> Windowed:
    """`compiled`: blocks go through torch.compile, which needs a C++ compiler and some minutes at first."""
    return chela_windowed(model, compiled) if isinstance(model, ChelaModel) else lightnet_windowed(model, compiled)


def fresh_state(model: TextModel, rows: int) -> State:
    """Zeros; log S = -1e30 for LightNet, where nothing has been seen."""
    if isinstance(model, ChelaModel):
        first, width, heads = cast(ChelaBlock, model.layers[0]), model.config.width, model.config.heads
        reach, head = max(branch.reach for branch in cast(Any, first.short)), width // heads
        shapes: list[tuple[int, ...]] = [(reach, width), (BLOCK, width), (heads, head, head)]
        return [torch.zeros(rows, *shape) for _ in model.layers for shape in shapes]
    config = model.config
    keys, values = config.keys // config.heads, config.values // config.heads
    state = [torch.zeros(rows, config.heads, config.width // config.heads)]
    for _ in cast(nn.ModuleList, model.model["layers"]):
        state += [
            torch.zeros(rows, config.short_conv - 1, 2 * config.keys + config.values),
            torch.full((rows, config.heads, keys), -1e30),
            torch.zeros(rows, config.heads, keys, values),
        ]
    return state


def restart(state: State, fresh: State, rows: Tensor) -> State:
    """`fresh` (one row) where `rows` (B) is true."""
    return [torch.where(rows.view(-1, *[1] * (new.dim() - 1)), new, old.detach()) for old, new in zip(state, fresh)]
