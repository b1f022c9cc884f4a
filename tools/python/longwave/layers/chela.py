"""CHELA: short-long convolutions with linear attention ("Short-Long Convolutions Help Hardware-Efficient Linear
Attention to Focus on Long Sequences", Eq. 8-15), completed with the choices of MEGA (Ma et al. 2022) where the paper
leaves one open; each of these is a field of `ChelaConfig`.

One block, on x (B, L, d), n the block norm, x^ = n(x) with `prenorm`, else x:
  Z = short-long convolution of x^;  q = gamma_0 Z + beta_0;  k = gamma_1 Z + beta_1;  v = SiLU(W_v x^)
  A_t = q_t sum_{s <= t} k_s v_s  (all s when not causal);  M = att_norm(A) * SiLU(W_g Z), through h_proj if there is one
  U = M * o + x * (1 - o), o = sigmoid(W_o Z);  y = U + fc2(act(fc1(n'(U))))
Without `prenorm` n stands behind U and n' behind the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .norms import BatchNorm, RmsNorm
from .sgconv import GConv, causal_convolution, two_sided_convolution


@dataclass
class Branch:
    """A short branch: a depthwise convolution of odd `size` with `dilation`, or the identity where `size` is None."""

    size: int | None = 3
    dilation: int = 1
    bias: bool = False
    batch_norm: bool = True
    eps: float = 1e-5


@dataclass
class ChelaConfig:
    """One block.  `taps`: length of the long kernel, or of the sequences it was made for when it is multi-scale."""

    width: int
    taps: int
    branches: list[Branch] = field(default_factory=lambda: [Branch(3), Branch(7), Branch(None, batch_norm=False)])
    causal: bool = True
    short_mode: str = "serial_silu"  # or "serial_linear", "parallel"
    long: str = "taps"  # or "sgconv": the multi-scale kernel of SGConv with `kernel_dim`
    kernel_dim: int = 32
    mode: str = "cat_randn"
    long_d: bool = False
    norm: str = "batch"  # or "layer", "scale", "rms", "none"
    norm_eps: float = 1e-5
    prenorm: bool = True
    residual: str = "raw"  # or "normalised": what the gate mixes in
    heads: int = 1
    value_width: int | None = None
    h_proj: bool = False
    att_norm: str = "srms"  # or "rms", "layer", "none"
    att_norm_eps: float = 1e-6
    att_norm_groups: int = 1
    ffn_width: int | None = None
    ffn_activation: str = "silu"  # or "gelu", "relu"


class ScaleNorm(nn.Module):
    """scalar * x / sqrt(mean(x^2) + eps)."""

    def __init__(self, eps: float) -> None:
        super().__init__()
        self.scalar = nn.Parameter(torch.ones(1))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return self.scalar * x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps)


def make_norm(kind: str, width: int, eps: float) -> nn.Module:
    kinds: dict[str, Callable[[], nn.Module]] = {
        "batch": lambda: BatchNorm(width, eps=eps),
        "layer": lambda: nn.LayerNorm(width, eps=eps),
        "scale": lambda: ScaleNorm(eps),
        "rms": lambda: RmsNorm(width, eps),
        "none": nn.Identity,
    }
    return kinds[kind]()


class AttentionNorm(nn.Module):
    """The norm of A over each of `groups` equal parts of the features; "srms" has no weight."""

    def __init__(self, kind: str, width: int, eps: float, groups: int) -> None:
        super().__init__()
        self.kind, self.eps, self.groups = kind, eps, groups
        if kind in ("rms", "layer"):
            self.weight = nn.Parameter(torch.ones(width))
        if kind == "layer":
            self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == "none":
            return x
        parts = x.unflatten(-1, (self.groups, -1))
        if self.kind == "layer":
            parts = parts - parts.mean(-1, keepdim=True)
        y = (parts * torch.rsqrt(parts.square().mean(-1, keepdim=True) + self.eps)).flatten(-2)
        if self.kind == "srms":
            result: Tensor = y
            return result
        result = y * self.weight + self.bias if self.kind == "layer" else y * self.weight
        return result


class ShortBranch(nn.Module):
    """`conv` (where it is no identity) and `bn` (where it has one), (B, L, d) in and out."""

    def __init__(self, branch: Branch, width: int, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.reach = 0 if branch.size is None else branch.dilation * (branch.size - 1)
        if branch.size is not None:
            if not causal and branch.size % 2 == 0:
                raise ValueError(f"a centred branch needs an odd size, found {branch.size}")
            self.conv = nn.Conv1d(width, width, branch.size, dilation=branch.dilation, groups=width, bias=branch.bias)
        if branch.batch_norm:
            self.bn = nn.BatchNorm1d(width, eps=branch.eps)

    def forward(self, x: Tensor) -> Tensor:
        y = x.transpose(1, 2)
        if hasattr(self, "conv"):
            y = self.conv(F.pad(y, (self.reach, 0) if self.causal else (self.reach // 2, self.reach // 2)))
        if hasattr(self, "bn"):
            y = self.bn(y)
        return y.transpose(1, 2)


class LongTaps(nn.Module):
    """k0 of lags 0, 1, ... and, when not causal, k1 of lags -1, -2, ..., each (d, taps); D times the input."""

    def __init__(self, config: ChelaConfig) -> None:
        super().__init__()
        shape = (config.width, config.taps)
        self.k0 = nn.Parameter(torch.randn(shape) / config.taps**0.5)
        if not config.causal:
            self.k1 = nn.Parameter(torch.randn(shape) / config.taps**0.5)
        if config.long_d:
            self.D = nn.Parameter(torch.randn(config.width))

    def forward(self, x: Tensor) -> Tensor:
        u = x.transpose(1, 2)
        y = two_sided_convolution(u, self.k0, self.k1) if hasattr(self, "k1") else causal_convolution(u, self.k0)
        if hasattr(self, "D"):
            y = y + self.D[:, None] * u
        return y.transpose(1, 2)


class LongScales(GConv):
    """The multi-scale kernel of SGConv under its own names, with D where the block has one."""

    def __init__(self, config: ChelaConfig) -> None:
        super().__init__(
            config.width,
            config.taps,
            config.kernel_dim,
            bidirectional=not config.causal,
            mode=config.mode,
            linear=True,
            transposed=False,
        )
        if not config.long_d:
            del self.D
            self.register_buffer("D", torch.zeros(1, config.width), persistent=False)


def linear_attention(q: Tensor, k: Tensor, v: Tensor, heads: int, causal: bool, chunk: int = 64) -> Tensor:
    """(B, L, heads * d_k) twice and (B, L, heads * d_v): q_t sum k_s v_s^T over s <= t, or over all s."""
    q, k, v = (z.unflatten(-1, (heads, -1)).transpose(1, 2) for z in (q, k, v))
    if not causal:
        return (q @ (k.transpose(-1, -2) @ v)).transpose(1, 2).flatten(2)
    rows = []
    state = q.new_zeros(*q.shape[:2], q.shape[-1], v.shape[-1])
    for at in range(0, q.shape[2], chunk):
        qc, kc, vc = (z[:, :, at : at + chunk] for z in (q, k, v))
        rows.append((qc @ kc.transpose(-1, -2)).tril() @ vc + qc @ state)
        state = state + kc.transpose(-1, -2) @ vc
    return torch.cat(rows, 2).transpose(1, 2).flatten(2)


class FeedForward(nn.Module):
    def __init__(self, config: ChelaConfig) -> None:
        super().__init__()
        assert config.ffn_width is not None
        self.prenorm, self.activation = config.prenorm, getattr(F, config.ffn_activation)
        self.norm = make_norm(config.norm, config.width, config.norm_eps)
        self.fc1 = nn.Linear(config.width, config.ffn_width)
        self.fc2 = nn.Linear(config.ffn_width, config.width)

    def forward(self, u: Tensor) -> Tensor:
        y = u + self.fc2(self.activation(self.fc1(self.norm(u) if self.prenorm else u)))
        result: Tensor = y if self.prenorm else self.norm(y)
        return result


class ChelaBlock(nn.Module):
    """(B, L, d) -> (B, L, d)."""

    def __init__(self, config: ChelaConfig) -> None:
        super().__init__()
        self.config = config
        self.chunk = 64  # rows at a time where it is causal: a matter of speed
        d, e = config.width, config.value_width or config.width
        if e != d and not config.h_proj:
            raise ValueError(f"value_width {e} differs from width {d}: set h_proj")
        self.norm = make_norm(config.norm, d, config.norm_eps)
        self.short = nn.ModuleList(ShortBranch(branch, d, config.causal) for branch in config.branches)
        self.long = LongTaps(config) if config.long == "taps" else LongScales(config)
        self.gamma = nn.Parameter(torch.ones(2, d))
        self.beta = nn.Parameter(torch.zeros(2, d))
        self.v_proj, self.g_proj, self.o_gate = nn.Linear(d, e), nn.Linear(d, e), nn.Linear(d, d)
        self.att_norm = AttentionNorm(config.att_norm, e, config.att_norm_eps, config.att_norm_groups)
        if config.h_proj:
            self.h_proj = nn.Linear(e, d)
        if config.ffn_width is not None:
            self.nffn = FeedForward(config)

    def short_long(self, x: Tensor) -> Tensor:
        a = torch.stack([branch(x) for branch in self.short]).sum(0)
        if self.config.short_mode == "parallel":
            result: Tensor = a + self.long(x)
            return result
        result = self.long(F.silu(a) if self.config.short_mode == "serial_silu" else a)
        return result

    def forward(self, x: Tensor) -> Tensor:
        config = self.config
        normed = self.norm(x) if config.prenorm else x
        z = self.short_long(normed)
        q, k = (self.gamma[i] * z + self.beta[i] for i in range(2))
        a = linear_attention(q, k, F.silu(self.v_proj(normed)), config.heads, config.causal, self.chunk)
        m = self.att_norm(a) * F.silu(self.g_proj(z))
        if config.h_proj:
            m = self.h_proj(m)
        gate = torch.sigmoid(self.o_gate(z))
        u = m * gate + (x if config.residual == "raw" else normed) * (1 - gate)
        if not config.prenorm:
            u = self.norm(u)
        result: Tensor = self.nffn(u) if config.ffn_width is not None else u
        return result


class ChelaModel(nn.Module):
    """Embedding, blocks, final norm (with prenorm), head.

    Input: (B, L, inputs) numbers, or (B, L) ids where `vocabulary` is given.  `head`: "mean", "last", or "steps", the
    logits of every position; `projection`: width of a Linear + GELU before the classifier.  Returns the logits.
    """

    def __init__(
        self,
        config: ChelaConfig,
        depth: int,
        classes: int,
        inputs: int = 1,
        vocabulary: int | None = None,
        head: str = "mean",
        projection: int | None = None,
        final_norm: bool = True,
    ) -> None:
        super().__init__()
        self.config, self.head, self.inputs, self.vocabulary = config, head, inputs, vocabulary
        self.embed_tokens: nn.Module = (
            nn.Linear(inputs, config.width) if vocabulary is None else nn.Embedding(vocabulary, config.width)
        )
        self.layers = nn.ModuleList(ChelaBlock(config) for _ in range(depth))
        self.final_norm = (
            make_norm(config.norm, config.width, config.norm_eps) if final_norm and config.prenorm else nn.Identity()
        )
        if projection is not None:
            self.sentence_projection_layer = nn.Linear(config.width, projection)
        self.classifier = nn.Sequential(nn.Sequential(nn.Linear(projection or config.width, classes)))

    def hidden(self, x: Tensor) -> Tensor:
        h = self.embed_tokens(x)
        for layer in self.layers:
            h = layer(h)
        result: Tensor = self.final_norm(h)
        return result

    def forward(self, x: Tensor) -> Tensor:
        h = self.hidden(x)
        if self.head != "steps":
            h = h.mean(1) if self.head == "mean" else h[:, -1]
        if hasattr(self, "sentence_projection_layer"):
            h = F.gelu(self.sentence_projection_layer(h))
        result: Tensor = self.classifier(h)
        return result


def block_layer(config: ChelaConfig, name: str) -> dict[str, Any]:
    """The entry of a block in model.json; its tensors are those of a ChelaBlock's state dict under `name`."""
    entry = {key: value for key, value in asdict(config).items() if value is not None}
    for gone in ("width", "taps", "branches"):
        del entry[gone]
    if config.long == "sgconv":
        entry["l_max"] = config.taps
    else:
        del entry["kernel_dim"], entry["mode"]
    entry["short_branches"] = [
        {"kind": "identity", "batch_norm": branch.batch_norm, "eps": branch.eps}
        if branch.size is None
        else {
            "kind": "conv1d",
            "kernel": branch.size,
            "dilation": branch.dilation,
            "bias": branch.bias,
            "batch_norm": branch.batch_norm,
            "eps": branch.eps,
        }
        for branch in config.branches
    ]
    return {"type": "chela", "name": name} | entry


def model_layers(model: ChelaModel) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Inputs and layers of model.json for a ChelaModel; the logits come from the layer "logits"."""
    config = model.config
    if model.vocabulary is None:
        inputs = [{"name": "x", "kind": "features", "width": model.inputs}]
        layers: list[dict[str, Any]] = [{"type": "linear", "name": "embed_tokens", "out_features": config.width}]
    else:
        inputs = [{"name": "ids", "kind": "tokens", "vocabulary": model.vocabulary}]
        layers = [{"type": "embedding", "name": "embed_tokens", "vocabulary": model.vocabulary, "width": config.width}]
    layers += [block_layer(config, f"layers.{n}") for n in range(len(model.layers))]
    if not isinstance(model.final_norm, nn.Identity):
        layers.append({"type": f"{config.norm}_norm", "name": "final_norm", "eps": config.norm_eps})
    if model.head != "steps":
        layers.append({"type": model.head, "name": "pooled"})
    if hasattr(model, "sentence_projection_layer"):
        layers += [
            {
                "type": "linear",
                "name": "sentence_projection_layer",
                "out_features": model.sentence_projection_layer.out_features,
            },
            {"type": "gelu", "name": "projected"},
        ]
    classifier: Any = model.classifier[0]
    layers.append(
        {"type": "linear", "name": "logits", "prefix": "classifier.0.0", "out_features": classifier[0].out_features}
    )
    return inputs, layers
