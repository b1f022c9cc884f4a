"""Adaptive embeddings and softmax: against PyTorch's own two-level softmax, and against one table and one
projection a word."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.layers.adaptive import AdaptiveEmbedding, AdaptiveSoftmax  # noqa: E402


@torch.no_grad()
@pytest.mark.parametrize("bias", [False, True])
def test_log_probabilities_are_those_of_adaptive_log_softmax(bias) -> None:
    torch.manual_seed(0)
    ours = AdaptiveSoftmax(50, 16, (10, 30), factor=2, bias=bias).double()
    theirs = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 50, [10, 30], div_value=2, head_bias=bias).double()
    theirs.head.weight.copy_(torch.cat([ours.head.word_proj.weight, ours.head.class_proj.weight]))
    if bias:
        theirs.head.bias.copy_(torch.cat([ours.head.word_proj.bias, ours.head.class_proj.bias]))
        for tail in ours.tail:
            tail[2].bias.zero_()  # theirs has none
    for mine, other in zip(ours.tail, theirs.tail):
        other[0].weight.copy_(mine[0].weight)
        other[1].weight.copy_(mine[2].weight)
    x = torch.randn(7, 16, dtype=torch.float64)
    y = ours(x)
    assert (y - theirs.log_prob(x)).abs().max() < 1e-12
    assert (y.exp().sum(-1) - 1).abs().max() < 1e-12


@torch.no_grad()
def test_an_id_has_the_row_of_its_cluster_through_its_projection() -> None:
    torch.manual_seed(0)
    net = AdaptiveEmbedding(12, 8, (3, 7), factor=2, scale=3.0).double()
    table = torch.cat([cluster[0].weight @ cluster[1].weight.T for cluster in net.embeddings])
    ids = torch.randint(0, 12, (2, 9))
    assert (net(ids) - 3 * table[ids]).abs().max() < 1e-12
    assert list(net.state_dict()) == [f"embeddings.{i}.{part}.weight" for i in range(3) for part in range(2)]
