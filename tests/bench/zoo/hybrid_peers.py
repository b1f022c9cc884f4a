"""The hybrids of `hybrid.py` in PyTorch, under the keys of their packages."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from longwave.layers.attention import AttentionConfig, SoftmaxAttention, sinusoids
from longwave.layers.sgconv import GConv
from torch import Tensor, nn

from .hybrid import BertSize, TransformerXlSize


class WindowedAttention(SoftmaxAttention):
    """The same outputs as SoftmaxAttention with relative positions and a window, `chunk` queries at a time
    over the keys that they see: never all pairs of rows."""

    chunk = 192

    def forward(self, x: Tensor) -> Tensor:
        config, window = self.config, self.config.window
        heads = (config.heads, -1)
        q, k, v = (getattr(self, f"{name}_proj")(x).unflatten(-1, heads).transpose(1, 2) for name in "qkv")
        lags = sinusoids(window, config.width, x.dtype)
        r = self.r_proj(lags).unflatten(-1, heads).transpose(0, 1)
        content, position = q + self.r_w_bias[:, None], q + self.r_r_bias[:, None]
        out = []
        for at in range(0, x.shape[1], self.chunk):
            end, first = min(at + self.chunk, x.shape[1]), max(0, at - window + 1)
            lag = torch.arange(at, end)[:, None] - torch.arange(first, end)
            of_lag = position[:, :, at:end] @ r.transpose(-1, -2)
            index = lag.clamp(0, window - 1).expand(*of_lag.shape[:2], *lag.shape)
            scores = content[:, :, at:end] @ k[:, :, first:end].transpose(-1, -2) + of_lag.gather(-1, index)
            scores = (scores / math.sqrt(config.per_head)).masked_fill((lag < 0) | (lag >= window), -math.inf)
            out.append(scores.softmax(-1) @ v[:, :, first:end])
        result: Tensor = self.o_proj(torch.cat(out, 2).transpose(1, 2).flatten(-2))
        return result


def _layer(mixer: nn.Module, width: int, hidden: int, eps: float) -> nn.ModuleDict:
    if isinstance(mixer, GConv):
        mixer.kernel_norm_initialized.fill_(False)
    parts = {"mixer": mixer, "norm1": nn.LayerNorm(width, eps), "norm2": nn.LayerNorm(width, eps)}
    return nn.ModuleDict(parts | {"fc1": nn.Linear(width, hidden), "fc2": nn.Linear(hidden, width)})


class _Stack(nn.Module):
    def body(self, x: Tensor) -> Tensor:
        for block in self.layers:
            x = block["norm1"](x + block["mixer"](x))
            x = block["norm2"](x + block["fc2"](self.activation(block["fc1"](x))))
        return x


class TransformerXl(_Stack):
    """ids (B, T) -> rows (B, T, width); `log_probabilities`: of the words behind rows."""

    def __init__(self, size: TransformerXlSize) -> None:
        super().__init__()
        width, heads, factor = size.width, size.heads, size.factor
        self.width, self.factor, self.activation, self.table = width, factor, F.relu, size.clusters
        self.embedding = nn.Module()
        self.embedding.embeddings = nn.ModuleList(
            nn.Sequential(nn.Embedding(words, rank), *([nn.Linear(rank, width, bias=False)] if factor > 1 else []))
            for words, rank in self.table
        )
        if factor == 1:
            self.identity = nn.Linear(width, width, bias=False)
        self.r_w_bias = nn.Parameter(torch.zeros(heads, width // heads))
        self.r_r_bias = nn.Parameter(torch.zeros(heads, width // heads))
        config = AttentionConfig(width, heads, window=size.memory + 1, relative=True, bias=False)
        self.layers = nn.ModuleList()
        for kind in size.pattern:
            if kind == "A":
                mixer: nn.Module = WindowedAttention(config)
                mixer.r_w_bias, mixer.r_r_bias = self.r_w_bias, self.r_r_bias
            else:
                mixer = GConv(width, size.length, size.kernel_dim, transposed=False)
            self.layers.append(_layer(mixer, width, size.hidden, 1e-5))
        classes = nn.Linear(width, len(self.table) - 1)
        head: dict[str, nn.Module] = {"word_proj": nn.Module(), "class_proj": classes}
        head["word_proj"].bias = nn.Parameter(torch.zeros(self.table[0][0]))
        if factor > 1:
            head["proj"] = nn.Linear(width, width, bias=False)
        tails = nn.ModuleList(nn.ModuleDict({"2": nn.Module()}) for _ in self.table[1:])
        for (words, _), tail in zip(self.table[1:], tails):
            tail["2"].bias = nn.Parameter(torch.zeros(words))
        self.log_probabilities_ = nn.ModuleDict({"head": nn.ModuleDict(head), "tail": tails})

    def load_state_dict(self, state: dict[str, Tensor], strict: bool = True) -> Any:
        name = "log_probabilities."
        state = {
            (key.replace(name, "log_probabilities_.", 1) if key.startswith(name) else key): value
            for key, value in state.items()
        }
        missing, unexpected = super().load_state_dict(state, strict=False)
        return [key for key in missing if not key.endswith(("mixer.r_w_bias", "mixer.r_r_bias"))], unexpected

    def embed(self, ids: Tensor) -> Tensor:
        rows, first = self.r_w_bias.new_zeros(*ids.shape, self.width), 0
        for (words, _), cluster in zip(self.table, self.embedding.embeddings):
            inside = (ids >= first) & (ids < first + words)
            rows[inside] = cluster(ids[inside] - first)
            first += words
        return math.sqrt(self.width) * rows

    def forward(self, ids: Tensor) -> Tensor:
        return self.body(self.embed(ids))

    def log_probabilities(self, rows: Tensor) -> Tensor:
        """(..., width) -> (..., vocabulary)."""
        head, tails = self.log_probabilities_["head"], self.log_probabilities_["tail"]
        clusters_ = self.embedding.embeddings
        x = head["proj"](rows) if self.factor > 1 else rows
        words = F.linear(x, clusters_[0][0].weight, head["word_proj"].bias)
        parts = torch.cat([words, head["class_proj"](x)], -1).log_softmax(-1)
        parts, classes = parts.split([words.shape[-1], len(tails)], -1)
        all_words = [parts]
        for i, (cluster, tail) in enumerate(zip(clusters_[1:], tails)):
            narrow = rows @ cluster[1].weight if self.factor > 1 else rows
            logits = F.linear(narrow, cluster[0].weight, tail["2"].bias)
            all_words.append(logits.log_softmax(-1) + classes[..., i : i + 1])
        return torch.cat(all_words, -1)


class Bert(_Stack):
    """ids, types, positions (B, T) each -> logits (B, T, vocabulary)."""

    def __init__(self, size: BertSize) -> None:
        super().__init__()
        width = size.width
        self.activation = F.gelu
        self.words, self.types = nn.Embedding(size.vocabulary, width), nn.Embedding(2, width)
        self.positions = nn.Embedding(size.length, width)
        self.embedded = nn.ModuleDict({"norm": nn.LayerNorm(width, 1e-12)})
        config = AttentionConfig(width, size.heads, causal=False)
        self.layers = nn.ModuleList(
            _layer(
                SoftmaxAttention(config)
                if kind == "A"
                else GConv(width, size.length, size.kernel_dim, bidirectional=True, transposed=False),
                width,
                size.hidden,
                1e-12,
            )
            for kind in size.pattern
        )
        self.transform = nn.Linear(width, width)
        self.transform.norm = nn.LayerNorm(width, 1e-12)
        self.logits = nn.Module()
        self.logits.bias = nn.Parameter(torch.zeros(size.vocabulary))

    def forward(self, ids: Tensor, types: Tensor, positions: Tensor) -> Tensor:
        x = self.embedded["norm"](self.words(ids) + self.types(types) + self.positions(positions))
        x = self.transform.norm(F.gelu(self.transform(self.body(x))))
        return F.linear(x, self.words.weight, self.logits.bias)


def hybrid(host: str, **options: Any) -> nn.Module:
    if host == "bert":
        return Bert(BertSize(**options))
    return TransformerXl(TransformerXlSize(**options))
