"""Norms and softmax over parts of a row, constants beside features, images up and joined: compiled, against PyTorch in float32."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from importer_checks import compiled_equals, imported, kinds
from outside_sequence import Of
from torch import Tensor, nn


def parts(x: Tensor, heads: int) -> Tensor:
    return x.unflatten(2, (heads, -1))


# name -> f(x, modules), modules, what the graph holds
PARTS = {
    "layer norm": (lambda x, m: m["n"](parts(x, 3)).flatten(2), {"n": nn.LayerNorm(2)}, "layer_norm"),
    "rms norm, heads first": (
        lambda x, m: m["n"](parts(x, 2).transpose(1, 2)).transpose(1, 2).flatten(2),
        {"n": nn.RMSNorm(3, eps=1e-6)},
        "rms_norm",
    ),
    "group norm of rows": (lambda x, m: m["n"](x[0])[None], {"n": nn.GroupNorm(2, 6)}, "layer_norm"),
    "layer norm of a whole image": (lambda x, m: F.layer_norm(parts(x, 2), (2, 3)).flatten(2), {}, "layer_norm"),
    "softmax": (lambda x, m: parts(x, 3).softmax(-1).flatten(2), {}, "exp"),
    "softmax over the parts": (lambda x, m: (20 * parts(x, 3)).softmax(2).flatten(2), {}, "maximum"),
    "log softmax": (lambda x, m: parts(x, 2).log_softmax(3).flatten(2), {}, "log"),
    "softmax of one": (lambda x, m: parts(x, 6).softmax(-1).flatten(2) + x, {}, "exp"),
    "log of a sum": (lambda x, m: x.logsumexp(-1, keepdim=True) + torch.logaddexp(x, 2 * x), {}, "maximum"),
    "ones beside features": (
        lambda x, m: torch.cat([torch.ones_like(x[..., :1]), x, 0.5 * torch.ones_like(x[..., :2])], 2).tanh(),
        {},
        "concat",
    ),
    "frequencies up": (
        lambda x, m: m["u"](F.relu(m["c"](F.pad(x[:, None], (0, 0, 1, 0))))).transpose(1, 2).flatten(2),
        {"c": nn.Conv2d(1, 3, (2, 3), padding=(0, 1)), "u": nn.ConvTranspose2d(3, 2, (1, 4), (1, 2), (0, 1))},
        "conv2d",
    ),
    "frequencies up, taps of time": (
        lambda x, m: m["u"](x[:, None])[:, :, : x.shape[1]].transpose(1, 2).flatten(2),
        {"u": nn.ConvTranspose2d(1, 2, (3, 3), (1, 3), dilation=(2, 1))},
        "conv2d",
    ),
    "rows up too": (
        lambda x, m: m["u"](x[:, None])[:, :, : 2 * x.shape[1]].transpose(1, 2).flatten(2).tanh(),
        {"u": nn.ConvTranspose2d(1, 2, (2, 3), (2, 2), (0, 1))},
        "split_rows",
    ),
    "images joined": (
        lambda x, m: (
            m["d"](F.pad(torch.cat([m["c"](x[:, None]), x[:, None].tanh()], 1), (1, 1, 1, 0)))
            .transpose(1, 2)
            .flatten(2)
        ),
        {"c": nn.Conv2d(1, 3, (1, 3), padding=(0, 1)), "d": nn.Conv2d(4, 2, (2, 3))},
        "conv2d",
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_rows(name: str, tmp_path: Path) -> None:
    torch.manual_seed(10)
    f, modules, kind = PARTS[name]
    module = Of(f, **modules)
    for p in module.parameters():
        p.data += 0.1 * torch.randn_like(p)
    made = imported(module, "x=1xTx6", length=62)
    assert kind in kinds(made)
    compiled_equals(module, "x=1xTx6", made, tmp_path, True, blocks="1,32", limit=5e-6)


def test_softmax_over_time_runs_offline(tmp_path: Path) -> None:
    module = Of(lambda x, m: x.softmax(1) * x)
    made = imported(module, "x=1xTx6", length=62)
    assert "sequence_softmax" in kinds(made)
    compiled_equals(module, "x=1xTx6", made, tmp_path, False)
