"""Muon (Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks"): momentum whose update is made
near-orthogonal by five Newton-Schulz steps.  For matrices between hidden layers; everything else goes to AdamW."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

_A, _B, _C = 3.4445, -4.7750, 2.0315  # of the published quintic iteration


def orthogonal(g: Tensor) -> Tensor:
    """(n, m) -> about U V^T of its singular value decomposition."""
    x = g.T if g.shape[0] > g.shape[1] else g
    x = x / (x.norm() + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = _A * x + (_B * a + _C * a @ a) @ x
    result: Tensor = x.T if g.shape[0] > g.shape[1] else x
    return result


class Muon(torch.optim.Optimizer):
    """Nesterov momentum, orthogonal updates scaled by 0.2 sqrt(max(n, m)) so that rates and decays of AdamW fit
    (Liu et al. 2025, "Muon is Scalable for LLM Training"), decoupled weight decay."""

    def __init__(
        self, parameters: Sequence[Tensor], lr: float, momentum: float = 0.95, weight_decay: float = 0.0
    ) -> None:
        super().__init__(parameters, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                state = self.state[parameter]
                if not state:
                    state["average"] = torch.zeros_like(parameter)
                state["average"].lerp_(parameter.grad, 1 - group["momentum"])
                update = orthogonal(parameter.grad.lerp(state["average"], group["momentum"]))
                parameter.mul_(1 - group["lr"] * group["weight_decay"])
                parameter.add_(update, alpha=-group["lr"] * 0.2 * max(parameter.shape) ** 0.5)
