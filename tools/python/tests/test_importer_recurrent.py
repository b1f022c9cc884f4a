"""The importer: recurrences, pools, selections, norms over time and transposed convolutions against PyTorch, offline and as
streams; state spaces against their taps; and what is refused."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
from importer_checks import PEAK, compiled_equals, imported, kinds, longwave, refusal  # noqa: E402
from longwave.importer.execute import execute  # noqa: E402
from longwave.importer.inputs import parse_input  # noqa: E402
from longwave.importer.recovered import Output, Recovered  # noqa: E402
from longwave.importer.rules.state_space import state_space, taps  # noqa: E402
from longwave.importer.write import document, write  # noqa: E402


class Of(nn.Module):
    """f(x, *modules)"""

    def __init__(self, f, *parts: nn.Module) -> None:
        super().__init__()
        self.f, self.parts = f, nn.ModuleList(parts)

    def forward(self, x: Tensor) -> Tensor:
        return self.f(x, *self.parts)


def image(x: Tensor, conv: nn.Module) -> Tensor:
    """(1, T, 9) -> (1, 4, T, 9)"""
    return conv(F.pad(x[:, None], (0, 0, 2, 0)))


def flat(x: Tensor) -> Tensor:
    return x.permute(0, 2, 1, 3).flatten(2)


def stem() -> nn.Module:
    return nn.Conv2d(1, 4, 3, padding=(0, 1))


class Begun(nn.Module):
    """A recurrence that begins with parameters."""

    def __init__(self, kind: type, width: int, units: int, layers: int = 1) -> None:
        super().__init__()
        self.r = kind(width, units, layers, batch_first=True)
        self.h0, self.c0 = (nn.Parameter(torch.randn(layers, 1, units)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        return self.r(x, (self.h0, self.c0) if isinstance(self.r, nn.LSTM) else self.h0)[0]


def lstm(*sizes, **options) -> nn.Module:
    return nn.LSTM(*sizes, batch_first=True, **options)


# module, input, whether it streams, ops
FORMS = {
    "lstm": (lambda: Of(lambda x, r: r(x)[0], lstm(6, 20, 2)), "x=1xTx6", True, ["linear", "lstm", "linear", "lstm"]),
    "lstm of one unit": (lambda: Of(lambda x, r: r(x)[0], lstm(1, 1, bias=False)), "x=1xTx1", True, ["linear", "lstm"]),
    "lstm, states": (lambda: Of(lambda x, r: r(x)[1][0], lstm(5, 16, 2)), "x=1xTx5", False, ["lstm", "mean", "concat"]),
    "gru, time first": (
        lambda: Of(lambda x, r: r(x.transpose(0, 1))[0].transpose(0, 1), nn.GRU(6, 5, 2)),
        "x=1xTx6",
        True,
        ["linear", "gru"],
    ),
    "gru, last row": (
        lambda: Of(lambda x, r: r(x)[0][:, -1], nn.GRU(3, 33, batch_first=True, bias=False)),
        "x=1xTx3",
        False,
        ["gru", "mean"],
    ),
    "rnn": (
        lambda: Of(lambda x, r: r(x)[0], nn.RNN(4, 7, 2, batch_first=True)),
        "x=1xTx4",
        True,
        ["linear", "gru", "linear", "gru"],
    ),
    "rnn of one unit": (
        lambda: Of(lambda x, r: r(x)[0], nn.RNN(1, 1, bias=False, batch_first=True)),
        "x=1xTx1",
        True,
        ["linear", "gru"],
    ),
    **{
        f"{kind.__name__} of {units} units from parameters": (
            lambda kind=kind, units=units, layers=layers: Begun(kind, 3, units, layers),
            "x=1xTx3",
            True,
            ["linear", "lstm" if kind is nn.LSTM else "gru"] * layers,
        )
        for kind in (nn.LSTM, nn.GRU, nn.RNN)
        for units, layers in ((1, 1), (2, 2), (3, 1), (128, 1))
    },
    "lstm from ones": (
        lambda: Of(lambda x, r: r(x, (torch.ones(1, 1, 3), x.new_zeros(1, 1, 3)))[0], lstm(4, 3)),
        "x=1xTx4",
        True,
        ["linear", "lstm"],
    ),
    "pools": (
        lambda: Of(lambda x: F.avg_pool1d(F.max_pool1d(x, 3, 2, 1)[..., : x.shape[2] // 2], 2)),
        "x=1x17xT",
        True,
        ["pool", "pool"],
    ),
    "pool with a gap": (
        lambda: Of(lambda x: (F.avg_pool1d(x, 4, 3, 1, False, False) - F.max_pool1d(x, 2, 3))[..., : x.shape[2] // 3]),
        "x=1x2xT",
        False,
        ["pool", "pool", "add"],
    ),
    "pooled image": (
        lambda: Of(lambda x, c: flat(F.max_pool2d(image(x, c), (2, 3), (2, 2), (0, 1))), stem()),
        "x=1xTx9",
        True,
        ["conv2d", "pool"],
    ),
    "largest row": (
        lambda: Of(lambda x: F.adaptive_max_pool1d(x - 5, 1)[..., 0] + x.amax(2)),
        "x=1x6xT",
        False,
        ["mean", "mean", "add"],
    ),
    "group norm": (lambda: Of(lambda x, g: g(x), nn.GroupNorm(2, 6)), "x=1x6xT", False, ["group_norm"]),
    "group norm of an image": (
        lambda: Of(lambda x, c, g: flat(g(image(x, c))), stem(), nn.GroupNorm(2, 4)),
        "x=1xTx9",
        False,
        ["group_norm"],
    ),
    "instance norm": (
        lambda: Of(lambda x, g: g(x), nn.InstanceNorm1d(3, affine=True)),
        "x=1x3xT",
        False,
        ["group_norm"],
    ),
    "groups": (
        lambda: Of(lambda x, c: c(F.pad(x, (70, 0))), nn.Conv1d(6, 9, 71, groups=3)),
        "x=1x6xT",
        True,
        ["conv2d"],
    ),
    "transposed": (
        lambda: Of(lambda x, c: c(x)[..., : 5 * x.shape[2]].tanh(), nn.ConvTranspose1d(6, 1, 12, 5)),
        "x=1x6xT",
        True,
        ["conv2d", "split_rows", "tanh"],
    ),
    "running sums": (
        lambda: Of(lambda x: x.cumsum(1) + torch.logcumsumexp(x, 1)),
        "x=1xTx3",
        True,
        ["exponential_scan", "cumulative_softmax", "add"],
    ),
    "running sums of features": (
        lambda: Of(lambda x: x.cumsum(2) * x.mT.cumsum(1).mT),
        "x=1xTx7",
        True,
        ["linear", "mul"],
    ),
    "running extremes of features": (
        lambda: Of(lambda x: x.cummax(2).values - x.unflatten(2, (2, 3)).cummin(3)[0].flatten(2)),
        "x=1xTx6",
        True,
        ["maximum", "take"],
    ),
    "running products of features": (lambda: Of(lambda x: x.cumprod(-1)), "x=1xTx5", True, ["mul"]),
    # What refusals say to write instead.
    "products of positive rows": (
        lambda: Of(lambda x: (1 - x.sigmoid() / 100).log().cumsum(1).exp()),
        "x=1xTx3",
        True,
        ["exponential_scan"],
    ),
    "logarithm of sums of features": (
        lambda: Of(lambda x: (lambda m: (x - m).exp().cumsum(2).log() + m)(x.amax(2, True))),
        "x=1xTx5",
        True,
        ["log"],
    ),
    "delay": (
        lambda: Of(lambda x, m: m(x + F.pad(x, (0, 0, 3, 0))[:, :-3]), nn.Linear(6, 4)),
        "x=1xTx6",
        True,
        ["shift", "add", "linear"],
    ),
    "joined": (
        lambda: Of(lambda x: torch.cat([x.exp(), x[..., 2:4].tanh(), x[..., :1].sigmoid() * x], 2)),
        "x=1xTx6",
        True,
        ["exp", "take", "tanh", "mul", "concat"],
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_form(name: str, tmp_path: Path) -> None:
    make, spec, stream, expected = FORMS[name]
    torch.manual_seed(1)
    module = make().eval()
    made = imported(module, spec, length=62)
    assert set(expected) <= set(kinds(made)), kinds(made)
    compiled_equals(module, spec, made, tmp_path, stream)


REFUSED = {
    "both ways": (lambda: Of(lambda x, r: r(x)[0], lstm(4, 3, bidirectional=True)), "is bidirectional"),
    "projections": (lambda: Of(lambda x, r: r(x)[0], lstm(4, 3, proj_size=2)), "has projections"),
    "a state from the data": (
        lambda: Of(lambda x, r: r(x, (x[:, :1, :3], x[:, :1, :3]))[0], lstm(4, 3)),
        "its first state depends on the data",
    ),
    "relu": (
        lambda: Of(lambda x, r: r(x)[0], nn.RNN(4, 3, batch_first=True, nonlinearity="relu")),
        "a recurrence of relu has no op",
    ),
    "pool ahead": (lambda: Of(lambda x: F.max_pool1d(x.mT, 3, 1, 1)), "looks 1 rows ahead"),
    "pool to two": (lambda: Of(lambda x: F.adaptive_avg_pool1d(x.mT, 2)), "pools to 2 windows"),
    "largest feature index": (lambda: Of(lambda x: x.max(2)[1].to(x.dtype)), "index of a largest feature"),
    "largest so far": (
        lambda: Of(lambda x: x.cummax(1).values),
        "cummax: cummax: a running maximum over all rows so far has no op; use F.max_pool1d over a window of past rows",
    ),
    "least so far": (lambda: Of(lambda x: x.cummin(1).values), "a running minimum over all rows so far has no op"),
    "product so far": (
        lambda: Of(lambda x: x.sigmoid().cumprod(1)),
        "cumprod: cumprod: a running product over all rows so far has no op; of positive numbers, write x.log().cumsum(dim).exp()",
    ),
    "logarithm of sums of features": (
        lambda: Of(lambda x: x.logcumsumexp(2)),
        "logcumsumexp: logcumsumexp: goes along the features of each row; take the largest feature m, and write",
    ),
    "index of the largest so far": (
        lambda: Of(lambda x: x.cummax(2).indices.to(x.dtype)),
        "index of a largest feature",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    make, expected = REFUSED[name]
    found = refusal(make(), "x=1xTx4", length=61)
    assert expected in found and "; " in found, found


def test_random_chains_of_these_forms() -> None:
    """Rows in, rows out, six steps deep: the importer's proof compares with the module at three lengths."""
    choice = random.Random(7)
    for _ in range(6):
        width, steps, parts = 5, [], []
        for _ in range(6):
            kind = choice.choice(["lstm", "gru", "delay", "sums", "norm", "pool", "cat", "first"])
            at, k = len(parts), choice.randint(1, 4)
            if kind in ("lstm", "gru"):
                parts.append({"lstm": nn.LSTM, "gru": nn.GRU}[kind](width, 3 + k, k // 2 or 1, batch_first=True))
                steps.append(lambda x, m, at=at: m[at](x)[0])
                width = 3 + k
            elif kind == "cat":
                steps.append(lambda x, m: torch.cat([x.tanh(), x], 2))
                width *= 2
            else:
                steps.append(
                    {
                        "delay": lambda x, m, k=k: F.pad(x, (0, 0, k, 0))[:, :-k] + x,
                        "sums": lambda x, m: x.cumsum(1) / 8,
                        "norm": lambda x, m: F.group_norm(x.mT, 1).mT,
                        "pool": lambda x, m, k=k: F.max_pool1d(x.mT, k).mT,
                        "first": lambda x, m: x * x[..., :1],
                    }[kind]
                )

        def run(x, *m, steps=tuple(steps)):
            for step in steps:
                x = step(x, m)
            return x

        made = imported(Of(run, *parts), "x=1xTx5", length=97)
        assert max(made.report["errors"].values()) <= 1e-10


@pytest.mark.parametrize("heads, poles, copies", [(1, 4, 3), (17, 5, 1), (3, 2, 2)])
def test_state_space_equals_its_taps(heads: int, poles: int, copies: int, tmp_path: Path) -> None:
    torch.manual_seed(5)
    rows, kind = 97, torch.float64
    step = torch.logspace(-3, -1, heads, dtype=kind)
    logs = (
        torch.complex(torch.full((poles,), -0.5, dtype=kind), torch.pi * torch.arange(poles, dtype=kind))
        * step[:, None]
    )
    c, d = torch.randn(copies, heads, poles, dtype=torch.complex128), torch.randn(copies, heads, dtype=kind)
    graph = Recovered()
    graph.here = ("", "x")
    value = graph.emit("input", [], width=heads, rows=rows)
    graph.outputs.append(Output("y", state_space(graph, value, logs, c, d, logarithms=True), 0))
    x = torch.randn(rows, heads, dtype=torch.float32)
    kernel = torch.stack([taps(logs, one, rows, logarithms=True) for one in c])  # [copies, heads, lags]
    matrix = torch.stack(
        [F.pad(kernel[..., : t + 1].flip(-1), (0, rows - 1 - t)) for t in range(rows)]
    )  # [t, copies, heads, s]
    y = torch.einsum("tchs,sh->tch", matrix, x.double()) + d * x.double()[:, None]
    found = execute(graph, [x.double()])[0]
    assert float((found - y.flatten(1)).abs().max() / y.abs().max()) < 1e-12
    model, tensors = document("space", graph, [parse_input(f"x=1xTx{heads}")], rows)
    write(tmp_path / "model", model, tensors, {})
    numpy.save(tmp_path / "x.npy", x.numpy())
    numpy.save(tmp_path / "y.npy", y.flatten(1).numpy().astype("<f4"))
    longwave("compile", tmp_path / "model", "-o", tmp_path / "m.lw", "--target", "host", "--stream", "--blocks", "1,32")
    for mode in ([], ["--stream"]):
        longwave(
            "run",
            tmp_path / "m.lw",
            *mode,
            "-i",
            f"x=@{tmp_path}/x.npy",
            "--expected",
            f"y=@{tmp_path}/y.npy",
            "--limit",
            PEAK,
        )
