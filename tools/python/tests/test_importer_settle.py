"""The importer: models that begin at rest, against the module behind rows of zeros. Compiled files: offline and as streams, also
after a reset."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

BUILT = Path(__file__).resolve().parents[3] / "build/python"
if any((BUILT / "longwave").glob("_native*.so")):
    sys.path.insert(0, str(BUILT))  # the same sources, with the native module
import longwave as package  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
from importer_checks import LONGWAVE, PEAK, import_command, kinds, longwave  # noqa: E402
from longwave.importer.api import import_module  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.state.initial import value  # noqa: E402

ROWS = 150


class Amplifier(nn.Module):
    """Dilated convolutions with gates and residuals, then cells: what models of amplifiers are made of."""

    def __init__(self, channels: int = 3) -> None:
        super().__init__()
        self.first, self.last = nn.Conv1d(1, channels, 1), nn.Conv1d(channels, 1, 1)
        self.dilated = nn.ModuleList(nn.Conv1d(channels, 2 * channels, 3, dilation=d) for d in (1, 2, 4))
        self.mixed = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(3))
        self.gru, self.lstm, self.rnn = (
            nn.GRU(1, 3, batch_first=True),
            nn.LSTM(3, 2, batch_first=True),
            nn.RNN(2, 2, batch_first=True),
        )

    def forward(self, x: Tensor) -> Tensor:
        y, skipped = self.first(x), 0
        for d, dilated, mixed in zip((1, 2, 4), self.dilated, self.mixed):
            a, b = dilated(F.pad(y, (2 * d, 0))).chunk(2, 1)
            z = a.tanh() * b.sigmoid()
            skipped, y = skipped + z, y + mixed(z)
        return self.rnn(self.lstm(self.gru(self.last(skipped).mT)[0])[0])[0]


class Of(nn.Module):
    def __init__(self, f, *parts: nn.Module) -> None:
        super().__init__()
        self.f, self.parts = f, nn.ModuleList(parts)

    def forward(self, x: Tensor):
        return self.f(x, *self.parts)


def settled(module: nn.Module, spec: str, count: int = ROWS, **options):
    torch.manual_seed(1)
    return import_module(module.eval(), [spec], length=67, initial={"": ("settle", count)}, **options)


def delayed(x: Tensor, a: nn.Module) -> Tensor:
    """A delay of biased rows, and a moving mean of them."""
    y = a(x)
    decay = 0.5 ** torch.arange(40, dtype=x.dtype)
    mean = F.conv1d(F.pad(y.mT, (39, 0)), decay.flip(0).expand(3, 1, 40), groups=3).mT
    return y + F.pad(y, (0, 0, 5, 0))[:, :-5] + mean


FORMS = {
    "amplifier": (lambda: Amplifier(), "x=1x1xT"),
    "amplifier of one channel": (lambda: Amplifier(1), "x=1x1xT"),
    "delay": (lambda: Of(delayed, nn.Linear(2, 3)), "x=1xTx2"),
    "strided image": (
        lambda: Of(
            lambda x, a, b: b(F.pad(a(F.pad(x[:, None], (1, 1, 2, 0))).relu(), (1, 1, 1, 0)))[:, 0],
            nn.Conv2d(1, 2, 3),
            nn.Conv2d(2, 1, (2, 3)),
        ),
        "x=1xTx5",
    ),
    "already at rest": (lambda: Of(lambda x, r: r(x)[0], nn.LSTM(2, 3, bias=False, batch_first=True)), "x=1xTx2"),
}


@pytest.mark.parametrize("name", FORMS)
def test_form(name: str) -> None:
    """`settle` has compared the graph with itself and with the module behind 150 rows of zeros, in float64."""
    make, spec = FORMS[name]
    torch.manual_seed(1)
    made = settled(make(), spec)
    assert made.report["settled"]["rows"] == ROWS and made.report["settled"]["error"] <= 1e-10
    if name == "already at rest":
        assert kinds(made) == ["linear", "lstm"] and not any(
            "initial" in key and bool(t.any()) for key, t in made.tensors.items()
        )


class Residual(nn.Module):
    """Layers of a residual chain, and a second chain behind the end of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.ModuleList((nn.Conv1d(1, 4, 1), nn.Conv1d(4, 3, 1)))
        self.dilated = nn.ModuleList(nn.Conv1d(c, c, 3, dilation=d) for c in (4, 3) for d in (1, 2, 4))
        self.mixed = nn.ModuleList(nn.Conv1d(c, c, 1) for c in (4, 4, 4, 3, 3, 3))
        self.last = nn.Conv1d(3, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        for i, (dilated, mixed) in enumerate(zip(self.dilated, self.mixed, strict=True)):
            x = self.first[i // 3](x) if i % 3 == 0 else x
            x = x + mixed(dilated(F.pad(x, (2 * dilated.dilation[0], 0))).tanh())
        return self.last(x)


def test_a_residual_chain_needs_no_op_more() -> None:
    torch.manual_seed(1)
    module = Residual()
    plain = import_module(copy.deepcopy(module).eval(), ["x=1x1xT"], length=67)
    made = settled(module, "x=1x1xT")
    assert kinds(made) == kinds(plain) and made.report["settled"]["error"] <= 1e-10


REFUSED = {
    "not at rest": (lambda: Amplifier(), "x=1x1xT", 9, "is not at rest: it differs by", "settle:36"),
    "a sum without end": (
        lambda: Of(lambda x, a: a(x).cumsum(1), nn.Linear(2, 2)),
        "x=1xTx2",
        ROWS,
        "is not at rest",
        "give more rows",
    ),
    "no rows": (lambda: Amplifier(), "x=1x1xT", 0, "is not a number of rows", "give 1 to"),
    "a mean": (
        lambda: Of(lambda x, a: a(x).mean(1), nn.Linear(2, 2)),
        "x=1xTx2",
        ROWS,
        "would count those before the first one",
        "leave it out",
    ),
    "a look ahead": (
        lambda: Of(lambda x, a: a(x.mT), nn.Conv1d(2, 2, 3, padding=1)),
        "x=1xTx2",
        ROWS,
        "looks ahead",
        "leave",
    ),
    "tokens": (lambda: nn.Embedding(8, 2), "ids=1xT:8", ROWS, "a token cannot be zero", "leave it out"),
    "another memory": (
        lambda: Of(lambda x, a: torch.logcumsumexp(a(x), 1), nn.Linear(2, 2)),
        "x=1xTx2",
        ROWS,
        "its state at rest is not known",
        "leave",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    make, spec, count, reason, way_out = REFUSED[name]
    torch.manual_seed(1)
    with pytest.raises(ImportFailed) as failed:
        settled(make(), spec, count)
    assert reason in str(failed.value) and way_out in str(failed.value), failed.value


def test_flag() -> None:
    assert value("settle:4096") == ("", ("settle", 4096)) and value("h=settle:7") == ("h", ("settle", 7))


def test_all_states_of_a_step() -> None:
    """Without a name it means every state of a module that takes them."""

    class Step(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.cell = nn.LSTMCell(2, 3)

        def forward(self, x: Tensor, h: Tensor, c: Tensor):
            h, c = self.cell(x, (h, c))
            return {"y": h * 2, "hn": h, "cn": c}

    torch.manual_seed(1)
    made = import_module(Step().eval(), ["x=1x2", "h=1x3", "c=1x3"], length=67, initial={"": ("settle", 50)})
    assert all(bool(state.any()) for state in made.stepped.first)


def test_command(tmp_path: Path) -> None:
    """The compiled file is compared with the module behind rows of zeros."""
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    (tmp_path / "amp.py").write_text(
        "import torch\nfrom torch import nn\nclass M(nn.Module):\n    def __init__(s):\n        super().__init__(); torch.manual_seed(1)\n"
        "        s.a, s.b = nn.Conv1d(1, 2, 1), nn.Conv1d(2, 1, 3)\n"
        "    def forward(s, x):\n        return s.b(nn.functional.pad(s.a(x).tanh(), (2, 0)))\ndef make(): return M()\n"
    )

    def run(*more: str):
        return import_command("amp:make", "--input", "x=1x1xT", "--length", 67, *more, cwd=tmp_path)

    done = run("--initial", "settle:100", "-o", "m.lw")
    assert done.returncode == 0, done.stderr
    assert "begins behind 100 rows of zeros: equal within" in done.stdout and "the compiled file" in done.stdout
    assert "is not at rest" in run("--initial", "settle:1", "-o", "other").stderr and not (tmp_path / "other").exists()


@pytest.mark.parametrize("name", ["amplifier", "amplifier of one channel", "delay"])
def test_compiled(name: str, tmp_path: Path) -> None:
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    if not any((BUILT / "longwave").glob("_native*.so")):
        pytest.skip(f"{BUILT} has no _native module: configure with -DLONGWAVE_PYTHON=ON")
    make, spec = FORMS[name]
    torch.manual_seed(1)
    module = make().eval()
    made = import_module(module, [spec], length=67, initial={"": ("settle", ROWS)})
    made.write(tmp_path / "model")
    longwave(
        "compile",
        tmp_path / "model",
        "-o",
        tmp_path / "m.lw",
        "--target",
        "host",
        "--stream",
        "--blocks",
        "1,64",
        "--length",
        300,
    )
    torch.manual_seed(7)
    x = torch.randn(1, 300, 2) if spec.endswith("2") else torch.randn(1, 1, 300)
    with torch.no_grad():
        y = module(F.pad(x, (0, 0, ROWS, 0) if spec.endswith("2") else (ROWS, 0)))[0, ROWS:].numpy()
    rows = x[0].numpy() if spec.endswith("2") else x.reshape(-1, 1).numpy()
    model = package.open(tmp_path / "m.lw")
    limit = PEAK * numpy.abs(y).max()
    assert numpy.abs(model.run(rows) - y).max() <= limit
    stream = model.stream(queue=512)
    for cut in (1, 7, 300):
        stream.reset()
        found = []
        for at in range(0, 300, cut):
            stream.push(rows[at : at + cut])
            found += [row.data.copy() for row in stream]
        assert numpy.abs(numpy.stack(found) - y[: len(found)]).max() <= limit and len(found) >= 256
