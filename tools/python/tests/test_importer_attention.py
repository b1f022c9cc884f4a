"""Attention in its spellings, compiled: offline and, with a window, as streams, against PyTorch in float32."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from importer_checks import compiled_equals, imported, kinds, refusal
from torch import Tensor, nn

LENGTH = 67
LAST = LENGTH + 18  # rows of the last example, where no length tells the time axis


class Attention(nn.Module):
    """`form(q, k, v)` of heads (1, heads, rows, features)."""

    def __init__(self, form, heads: int = 2, keys: int = 4, values: int = 3, width: int = 6, groups: int = 0) -> None:
        super().__init__()
        self.form, self.heads, self.groups = form, heads, groups or heads
        self.q, self.k, self.v = (
            nn.Linear(width, heads * keys),
            nn.Linear(width, self.groups * keys),
            nn.Linear(width, self.groups * values),
        )

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            m(x).unflatten(2, (count, -1)).transpose(1, 2)
            for m, count in ((self.q, self.heads), (self.k, self.groups), (self.v, self.groups))
        )
        return self.form(q, k, v).transpose(1, 2).flatten(2)


def causal(n: int, window: int = 0) -> Tensor:
    seen = torch.ones(n, n, dtype=torch.bool).tril()
    return seen.triu(1 - window) if window else seen


def hidden(n: int, window: int = 0) -> Tensor:
    return torch.zeros(n, n).masked_fill(~causal(n, window), float("-inf"))


def written(window: int = 0):
    return lambda q, k, v: (
        (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~causal(q.shape[2], window), float("-inf")).softmax(-1) @ v
    )


def rotated(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    phase = torch.arange(x.shape[2], dtype=x.dtype)[:, None] * (
        10000.0 ** (-torch.arange(half, dtype=x.dtype) / half)
    ).repeat(2)
    a, b = x.chunk(2, -1)
    return x * phase.cos() + torch.cat([-b, a], -1) * phase.sin()


def as_complex_rotated(x: Tensor) -> Tensor:
    """Rotary positions as complex numbers."""
    half = x.shape[-1] // 2
    phase = torch.arange(x.shape[2], dtype=x.dtype)[:, None] * (100.0 ** (-torch.arange(half, dtype=x.dtype) / half))
    z = torch.view_as_complex(x.unflatten(-1, (half, 2)).contiguous()) * torch.polar(torch.ones_like(phase), phase)
    return torch.view_as_real(z).flatten(-2)


# name -> module, op, whether it streams
FORMS = {
    "fused": (
        Attention(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
        "softmax_attention",
        False,
    ),
    "fused, all rows": (
        Attention(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3)),
        "softmax_attention",
        False,
    ),
    "fused, a window": (
        Attention(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=causal(q.shape[2], 5))),
        "softmax_attention",
        True,
    ),
    "fused, an added mask": (
        Attention(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=hidden(q.shape[2], 1))),
        "softmax_attention",
        True,
    ),
    "fused, keys for two heads": (
        Attention(
            lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=causal(q.shape[2], 9), enable_gqa=True),
            4,
            groups=2,
        ),
        "softmax_attention",
        True,
    ),
    "written, keys for two heads": (
        Attention(lambda q, k, v: written(9)(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)), 4, groups=2),
        "softmax_attention",
        True,
    ),
    "written, keys for all heads": (
        Attention(lambda q, k, v: written()(q, k.expand(-1, 3, -1, -1), v.expand(-1, 3, -1, -1)), 3, groups=1),
        "softmax_attention",
        False,
    ),
    "written": (Attention(written()), "softmax_attention", False),
    "written, a window": (Attention(written(7)), "softmax_attention", True),
    "one head of one feature": (Attention(written(3), 1, 1, 1, 1), "softmax_attention", True),
    "einsum": (
        Attention(
            lambda q, k, v: torch.einsum(
                "bhts,bhsd->bhtd", torch.softmax(torch.einsum("bhtd,bhsd->bhts", q, k) + hidden(q.shape[2], 4), -1), v
            )
        ),
        "softmax_attention",
        True,
    ),
    "where": (
        Attention(lambda q, k, v: torch.where(causal(q.shape[2], 6), q @ k.mT, -1e9).softmax(-1) @ v),
        "softmax_attention",
        True,
    ),
    "rotary": (Attention(lambda q, k, v: written(8)(rotated(q), rotated(k), v)), "rotary", True),
    "rotary, complex": (
        Attention(lambda q, k, v: written(8)(as_complex_rotated(q), as_complex_rotated(k), v)),
        "rotary",
        True,
    ),
    "linear": (Attention(lambda q, k, v: (q @ k.mT * 0.3).tril() @ v), "linear_attention", True),
    "retention": (
        Attention(
            lambda q, k, v: (
                (
                    (q @ k.mT)
                    * 0.9 ** (torch.arange(q.shape[2])[:, None] - torch.arange(q.shape[2])).clamp(min=0)
                    * causal(q.shape[2])
                )
                @ v
            ),
            keys=3,
        ),
        "decaying_attention",
        True,
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_attention(name: str, tmp_path: Path) -> None:
    torch.manual_seed(4)
    module, op, streams = FORMS[name]
    width = module.q.in_features
    made = imported(module, f"x=1xTx{width}", length=LENGTH)
    assert op in kinds(made)
    assert any("no stream" in text for text in made.report["warnings"]) != streams
    if module.groups != module.heads:
        shared = [node["attributes"]["key_heads"] for node in made.model["graph"] if node["op"] == op]
        assert shared == [module.groups]
    compiled_equals(module, f"x=1xTx{width}", made, tmp_path, streams, blocks="1,8", limit=1e-5)


class Decoder(nn.Module):
    """Layers of PyTorch's own, with learned positions."""

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window, self.positions = window, nn.Embedding(300, 8)
        self.heads, self.norm, self.out = (
            nn.MultiheadAttention(8, 2, batch_first=True),
            nn.LayerNorm(8),
            nn.Linear(8, 8),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.positions(torch.arange(x.shape[1]))
        y = self.norm(x)
        return x + self.out(self.heads(y, y, y, attn_mask=~causal(x.shape[1], self.window), need_weights=False)[0])


def test_multihead_attention_and_learned_positions(tmp_path: Path) -> None:
    torch.manual_seed(5)
    module = Decoder(6).eval()
    made = imported(module, "x=1xTx8", length=LENGTH)
    assert any("positions end with the example" in text for text in made.report["warnings"])
    compiled_equals(module, "x=1xTx8", made, tmp_path, True, blocks="1,8", limit=1e-5)


def test_a_layer_of_a_transformer(tmp_path: Path) -> None:
    torch.manual_seed(6)
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, x: Tensor) -> Tensor:
            return self.layer(x, src_mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]), is_causal=True)

    module = Layer().eval()
    made = imported(module, "x=1xTx8", length=LENGTH)
    assert "softmax_attention" in kinds(made)
    compiled_equals(module, "x=1xTx8", made, tmp_path, False, limit=1e-5)


def relative(rows: int, width: int) -> torch.Tensor:
    """Numbers for each pair of rows, as an embedding of their distance makes them."""
    distance = torch.arange(rows)[:, None] - torch.arange(rows)
    return torch.sin(distance[..., None] * (1.0 + torch.arange(width)))


REFUSED = {
    "a mask with holes": (
        lambda q, k, v: (
            (q @ k.mT).masked_fill(~(causal(q.shape[2]) & (torch.arange(q.shape[2]) % 2 == 0)), -1e9).softmax(-1) @ v
        ),
        "a mask that is neither",
    ),
    "numbers of lags": (
        lambda q, k, v: (
            (
                q @ k.mT
                + hidden(q.shape[2])
                - 0.1 * (torch.arange(q.shape[2])[:, None] - torch.arange(q.shape[2])).abs()
            ).softmax(-1)
            @ v
        ),
        "adds numbers of its own to the scores of each pair of rows: a slope times their distance (ALiBi); use rotary positions",
    ),
    "a slope for each head": (
        lambda q, k, v: F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=hidden(q.shape[2])
            + (torch.arange(q.shape[2]) - torch.arange(q.shape[2])[:, None])
            * torch.tensor([0.5, 0.25, 0.125])[: q.shape[1], None, None],
        ),
        "a slope times their distance (ALiBi)",
    ),
    "a number for each distance": (
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, attn_mask=torch.sin(1.0 * (torch.arange(q.shape[2])[:, None] - torch.arange(q.shape[2])))
        ),
        "adds numbers of its own to the scores of each pair of rows: a number for each distance;",
    ),
    "numbers of pairs": (
        lambda q, k, v: F.scaled_dot_product_attention(
            q, k, v, attn_mask=torch.sin(1.0 * torch.arange(q.shape[2])[:, None] * torch.arange(q.shape[2]))
        ),
        "adds numbers of its own to the scores of each pair of rows; use rotary positions",
    ),
    "a softmax over queries": (lambda q, k, v: (q @ k.mT).softmax(-2) @ v, "does not go over the keys"),
    "a mask from the input": (
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=(q @ k.mT)),
        "a mask that depends on the input",
    ),
    "relative positions": (
        lambda q, k, v: (
            (q @ k.mT + torch.einsum("bhid,ijd->bhij", q, relative(q.shape[2], q.shape[3]))).softmax(-1) @ v
        ),
        f"einsum: multiplies each row by constants of all rows, ({LAST}, {LAST}, 4): in its result (1, 2, {LAST}, {LAST}) "
        "the axes 2 and 3 are time, as relative positions make it; use rotary positions",
    ),
    "positions of keys": (
        lambda q, k, v: (F.linear(q[:, 0], relative(q.shape[2], q.shape[3])[0]).softmax(-1) @ v[:, 0])[:, None],
        f"linear: multiplies each row by constants of all rows, ({LAST}, 4): in its result (1, {LAST}, {LAST}) the axes "
        "1 and 2 are time",
    ),
    "scores as a result": (lambda q, k, v: (q @ k.mT).softmax(-1), "multiplies each row with all others"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    form, expected = REFUSED[name]
    found = refusal(Attention(form), "x=1xTx6", length=LENGTH)
    assert expected in found and len(found.splitlines()) == 1, found  # no line for what follows


def test_a_window_longer_than_the_example_is_found() -> None:
    made = imported(Attention(written(100)), "x=1xTx6", length=LENGTH)
    assert [node["attributes"]["window"] for node in made.model["graph"] if node["op"] == "softmax_attention"] == [100]
