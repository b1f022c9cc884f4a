"""Random modules of accepted operations: the importer refuses them, or the recovered graph equals the module.

LONGWAVE_MODULES=500 makes 500 of them (tools/test --all); the default is 20. The module runs in float64 here, apart from
the importer's own proof, and at a length that the importer has not seen.
"""
from __future__ import annotations

import copy
import os
import random
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.fft import irfft, rfft

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from longwave.importer.api import import_module  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.execute import execute  # noqa: E402
from longwave.importer.export import float64_default  # noqa: E402
from longwave.importer.prove import error, rows_of  # noqa: E402

COUNT = int(os.environ.get("LONGWAVE_MODULES", "20"))
LENGTH, OTHER = 97, 71
torch.set_num_threads(1)


class Step(nn.Module):
    """One random operation on (1, T, H); most have an own choice of layout."""

    def __init__(self, choice: random.Random, width: int) -> None:
        super().__init__()
        self.kind = choice.choice(["linear", "conv", "depthwise", "long", "long", "two sided", "norm", "batch norm", "activation", "glu", "split",
                                   "cat", "gate", "constant", "permute", "softmax", "broadcast", "strided", "circular", "shift", "arithmetic"])
        self.first, self.width, self.number = choice.random() < 0.5, width, choice.randint(1, 6)
        k = self.number
        self.extra = choice.choice(["relu", "gelu", "silu", "sigmoid", "tanh", "log", "square"])
        self.out = {"linear": width + k, "split": width // 2 or 1, "cat": 2 * width, "conv": width + 1}.get(self.kind, width)
        if self.kind == "linear":
            self.m = nn.Linear(width, self.out, bias=self.first)
        elif self.kind == "conv":
            self.m = nn.Conv1d(width, self.out, k, dilation=2 if self.first else 1, padding=(k - 1) * (2 if self.first else 1))
        elif self.kind in ("depthwise", "strided"):
            self.m = nn.Conv1d(width, width, k + 1, groups=width, stride=2 if self.kind == "strided" else 1)
        elif self.kind == "norm":
            self.m = nn.LayerNorm(width)
        elif self.kind == "batch norm":
            self.m = nn.BatchNorm1d(width)
            self.m.running_mean.uniform_(-1, 1)
        elif self.kind == "glu":
            self.m = nn.Linear(width, 2 * width)
        self.k = nn.Parameter(torch.randn(2, width, 5 * k))
        self.order = torch.randperm(width)

    def convolved(self, x: Tensor) -> Tensor:
        rows = x.shape[1]
        n = rows if self.kind == "circular" else 2 * rows + 40
        k = F.pad(self.k[0], (0, n - self.k.shape[-1])) if self.kind != "circular" else self.k[0]
        if self.kind == "two sided":
            k = k + F.pad(self.k[1], (n - self.k.shape[-1], 0))
        return irfft(rfft(x.mT, n=n) * rfft(k, n=n), n=n)[..., :rows].mT

    def forward(self, x: Tensor) -> Tensor:
        kind = self.kind
        if kind in ("linear", "norm"):
            return self.m(x)
        if kind == "conv":
            return self.m(x.mT)[..., :x.shape[1]].mT
        if kind in ("depthwise", "strided"):
            return self.m(F.pad(x.mT, (self.m.kernel_size[0] - self.m.stride[0], 0))).mT
        if kind in ("long", "two sided", "circular"):
            return self.convolved(x) + (x * self.k[0, :, 0] if self.first else 0)
        if kind == "batch norm":
            return self.m(x.mT).mT
        if kind == "activation":
            return {"log": lambda: torch.log(x.square() + 1), "square": x.square}.get(self.extra, lambda: getattr(F, self.extra)(x))()
        if kind == "glu":
            return F.glu(self.m(x), -1)
        if kind == "split":
            return x[..., :self.out] if self.first else x[..., -self.out:]
        if kind == "cat":
            return torch.cat([x, x.relu()], -1) if self.first else torch.cat([x.mT, -x.mT], 1).mT
        if kind == "gate":
            return x * torch.sigmoid(x.flip(-1))
        if kind == "constant":
            return (x - self.k[0, :, 0]) / (2 + self.k[1, :, 0].abs())
        if kind == "permute":
            return x[..., self.order]
        if kind == "softmax":
            return x.softmax(-1)
        if kind == "broadcast":
            return x * x.sum(-1, keepdim=True) if self.first else x + x.mean(-1, keepdim=True)
        if kind == "shift":
            return x + x.roll(1, 1)
        return 1 - 2 * x + 0.5 * x


class RandomModule(nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        choice, width, steps = random.Random(seed), random.Random(seed + 1).randint(2, 7), []
        for _ in range(choice.randint(1, 5)):
            steps.append(Step(choice, width))
            width = steps[-1].out
        self.steps, self.end = nn.ModuleList(steps), choice.choice(["rows", "mean", "last"])

    def forward(self, x: Tensor) -> Tensor:
        for step in self.steps:
            y = step(x)
            x = x + y if y.shape == x.shape and step.first else y
        return {"rows": x, "mean": x.mean(1), "last": x[:, -1]}[self.end]


@torch.no_grad()
def test_random_modules() -> None:
    refused, equal, accepted = [], 0, set()
    for seed in range(COUNT):
        module = RandomModule(seed).eval()
        width = module.steps[0].width
        kinds = [step.kind for step in module.steps]
        try:
            made = import_module(module, [f"x=1xTx{width}"], length=LENGTH, longest=LENGTH)
        except ImportFailed as e:
            refused.append((seed, kinds, str(e)))
            continue
        x = torch.randn(1, OTHER, width, dtype=torch.float64)
        with float64_default():
            found, = execute(made.importer.graph, [x[0]])
            expected = rows_of(made.importer.graph.outputs[0], copy.deepcopy(module).double()(x))
        assert error(found, expected) <= 1e-10, (seed, kinds)
        equal += 1
        print(seed, kinds, "equal", flush=True)
        accepted |= set(kinds)
    for seed, kinds, message in refused:
        assert {"circular", "shift"} & set(kinds), f"module {seed} of {kinds} was refused: {message}"
        print(seed, kinds, message.splitlines()[0])
    assert not {"circular", "shift"} & accepted, "these must be refused"
    assert equal >= COUNT // 2, f"{equal} of {COUNT} accepted"


if __name__ == "__main__":
    test_random_modules()
