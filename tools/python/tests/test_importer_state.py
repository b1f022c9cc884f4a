"""The importer: modules that take and return their state, against the same modules called step by step. Cells of PyTorch and
hand-written ones, older rows, recurrences, states with values at first, and what is refused. Compiled files against PyTorch:
offline, as streams in blocks of 1, 7 and 441 rows, and saved and loaded midway."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy
import pytest
import torch
from torch import Tensor, nn

BUILT = Path(__file__).resolve().parents[3] / "build/python"
if any((BUILT / "longwave").glob("_native*.so")):
    sys.path.insert(0, str(BUILT))  # the same sources, with the native module
import longwave as package  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parent))
from importer_checks import LONGWAVE, PEAK, kinds, longwave  # noqa: E402
from longwave.importer.api import import_module  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402
from longwave.importer.state.step import Called  # noqa: E402


class Of(nn.Module):
    """f(*inputs, *modules)"""

    def __init__(self, f, *parts: nn.Module) -> None:
        super().__init__()
        self.f, self.parts = f, nn.ModuleList(parts)

    def forward(self, *inputs: Tensor):
        return self.f(*inputs, *self.parts)


def lstm_cell(x: Tensor, h: Tensor, c: Tensor, cell: nn.Module, out: nn.Module):
    h, c = cell(x, (h, c))
    return out(h), h, c


def lstm_layer(x: Tensor, h: Tensor, c: Tensor, layer: nn.Module):
    y, (h, c) = layer(x[None], (h, c))
    return y[0], h, c


def packed(x: Tensor, state: Tensor, layer: nn.Module):
    """As Silero VAD packs its state."""
    y, (h, c) = layer(x[None], (state[:1], state[1:]))
    return y[0].relu(), torch.cat([h, c])


def by_hand(x: Tensor, h: Tensor, c: Tensor, w: nn.Module):
    """Gates in the order o, g, f, i, from one matrix of both. 1 - sigmoid(-a) is sigmoid(a)."""
    o, g, f, i = w(torch.cat([x, h], 1)).chunk(4, 1)
    c = (1 - torch.sigmoid(-f)) * c + torch.sigmoid(i) * torch.tanh(g)
    h = torch.sigmoid(o) * torch.tanh(c)
    return h, h, c


def separate(x: Tensor, h: Tensor, r: nn.Module, z: nn.Module, n: nn.Module, m: nn.Module):
    """A GRU whose gate z weighs the new value."""
    both = torch.cat([x, h], 1)
    new, update = torch.tanh(n(x) + torch.sigmoid(r(both)) * m(h)), torch.sigmoid(z(both))
    h = h + update * (new - h)
    return h, h


def without_reset(x: Tensor, h: Tensor, z: nn.Module, n: nn.Module):
    both = torch.cat([x, h], 1)
    update = torch.sigmoid(z(both))
    h = (1 - update) * torch.tanh(n(both)) + update * h
    return h, h


def reset_before(x: Tensor, h: Tensor, r: nn.Module, z: nn.Module, n: nn.Module):
    """A GRU as first published: the reset gate multiplies the state in front of its matrix."""
    both = torch.cat([x, h], 1)
    update = torch.sigmoid(z(both))
    h = update * h + (1 - update) * torch.tanh(n(torch.cat([x, torch.sigmoid(r(both)) * h], 1)))
    return h, h


def plain(x: Tensor, h: Tensor, cell: nn.Module):
    h = cell(x, h)
    return h, h


def caches(x: Tensor, first: Tensor, second: Tensor, a: nn.Module, b: nn.Module):
    first = torch.cat([first, x], 2)
    u = a(first).relu()
    second = torch.cat([second, u], 2)
    return b(second), first[..., 1:], second[..., 1:]


def moving(x: Tensor, h: Tensor):
    h = 0.9 * h + 0.1 * x
    return x - h, h


def summed(x: Tensor, total: Tensor):
    total = total + x.square()
    return total.sqrt(), total


def context(x: Tensor, before: Tensor, layer: nn.Module):
    both = torch.cat([before, x], 1)
    return layer(both), both[:, -8:]


def two_rows_ago(x: Tensor, h: Tensor, layer: nn.Module):
    """A state of two older rows, of which the newer one moves on."""
    return layer(h[:, 0]), torch.stack([h[:, 1], x], 1)


CELL = ["linear", "lstm"]
# module, inputs, states, ops, states at first
FORMS = {
    "LSTMCell": (
        lambda: Of(lstm_cell, nn.LSTMCell(6, 5), nn.Linear(5, 2)),
        ["x=1x6", "h=1x5", "c=1x5"],
        {"h": "1", "c": "2"},
        [*CELL, "linear"],
    ),
    "LSTMCell of one unit": (
        lambda: Of(lstm_cell, nn.LSTMCell(1, 1, bias=False), nn.Linear(1, 1)),
        ["x=1x1", "h=1x1", "c=1x1"],
        None,
        [*CELL, "linear"],
    ),
    "two layers": (lambda: Of(lstm_layer, nn.LSTM(3, 2, 2)), ["x=1x3", "h=2x1x2", "c=2x1x2"], None, [*CELL, *CELL]),
    "packed": (lambda: Of(packed, nn.LSTM(4, 3)), ["x=1x4", "state=2x1x3"], {"state": 1}, [*CELL, "relu"]),
    "gates by hand": (lambda: Of(by_hand, nn.Linear(7, 16)), ["x=1x3", "h=1x4", "c=1x4"], None, CELL),
    "GRUCell": (lambda: Of(plain, nn.GRUCell(6, 5)), ["x=1x6", "h=1x5"], None, ["linear", "gru"]),
    "GRU by hand": (
        lambda: Of(separate, nn.Linear(5, 3), nn.Linear(5, 3), nn.Linear(2, 3), nn.Linear(3, 3)),
        ["x=1x2", "h=1x3"],
        None,
        ["linear", "gru"],
    ),
    "GRU without reset": (
        lambda: Of(without_reset, nn.Linear(5, 3), nn.Linear(5, 3)),
        ["x=1x2", "h=1x3"],
        None,
        ["linear", "gru"],
    ),
    "GRU, reset first": (
        lambda: Of(reset_before, nn.Linear(5, 3), nn.Linear(5, 3), nn.Linear(5, 3)),
        ["x=1x2", "h=1x3"],
        None,
        ["linear", "gru"],
    ),
    "GRU of one unit, reset first": (
        lambda: Of(reset_before, nn.Linear(3, 1), nn.Linear(3, 1), nn.Linear(3, 1)),
        ["x=1x2", "h=1x1"],
        None,
        ["linear", "gru"],
    ),
    "RNNCell": (lambda: Of(plain, nn.RNNCell(6, 5)), ["x=1x6", "h=1x5"], None, ["linear", "gru"]),
    "caches": (
        lambda: Of(caches, nn.Conv1d(3, 4, 3), nn.Conv1d(4, 2, 4)),
        ["x=1x3x1", "cache1=1x3x2", "cache2=1x4x3"],
        None,
        ["conv2d", "relu", "conv2d"],
    ),
    "depthwise cache": (
        lambda: Of(
            lambda x, cache, a: (a(torch.cat([cache, x], 2)), torch.cat([cache, x], 2)[..., 1:]),
            nn.Conv1d(3, 3, 4, groups=3),
        ),
        ["x=1x3x1", "cache=1x3x3"],
        None,
        ["conv2d"],
    ),
    "moving mean": (lambda: Of(moving), ["x=1x3", "h=1x3"], None, ["affine", "exponential_scan", "affine", "add"]),
    "running sum": (lambda: Of(summed), ["x=1x2", "sum=1x2"], None, ["square", "exponential_scan", "sqrt"]),
    "context of samples": (
        lambda: Of(context, nn.Linear(24, 5)),
        ["x=1x16@16000", "context=1x8"],
        None,
        ["frame", "linear"],
    ),
    "older rows": (lambda: Of(two_rows_ago, nn.Linear(3, 2)), ["x=1x3", "past=1x2x3"], None, ["shift", "linear"]),
}


@pytest.mark.parametrize("name", FORMS)
def test_form(name: str) -> None:
    make, inputs, state, expected = FORMS[name]
    torch.manual_seed(1)
    made = import_module(make().eval(), inputs, state=state, length=67)
    assert kinds(made) == expected
    assert made.report["state"]["calls"] == 400 and made.report["state"]["error"] <= 1e-10  # float64, of the peak


class Chunk(nn.Module):
    """Takes any number of rows in a call."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.conv = nn.LSTM(6, 5, 2, batch_first=True), nn.Conv1d(5, 3, 4)

    def forward(self, x: Tensor, h: Tensor, c: Tensor, cache: Tensor):
        y, (h, c) = self.lstm(x, (h, c))
        y = torch.cat([cache, y.mT], 2)
        return {"y": self.conv(y).mT, "hn": h, "cn": c, "cache_out": y[..., -3:]}


CHUNK = ["x=1xTx6", "h=2x1x5", "c=2x1x5", "cache=1x5x3"]


def test_chunks_of_rows() -> None:
    torch.manual_seed(1)
    made = import_module(Chunk().eval(), CHUNK, length=67)
    assert kinds(made) == ["linear", "lstm", "linear", "lstm", "conv2d"]
    assert made.report["state"]["pairs"] == {"h": "hn", "c": "cn", "cache": "cache_out"}  # guessed by their names
    assert any("guessed" in line for line in made.report["state"]["found"])
    assert [o["name"] for o in made.model["outputs"]] == ["y"]


class Forgets(nn.Module):
    """Returns a cache that lacks a row."""

    def forward(self, x: Tensor, cache: Tensor):
        both = torch.cat([cache, x], 1)
        return both[:, 2:] + both[:, :-2], torch.cat([cache[:, :1] * 0, x[:, -1:]], 1)


REFUSED = {
    "peephole": (
        lambda: Of(
            lambda x, h, c, w: (
                lambda a: (lambda c2: (torch.sigmoid(a[:, :3]) * c2.tanh(), torch.sigmoid(a[:, :3]) * c2.tanh(), c2))(
                    torch.sigmoid(a[:, 3:6]) * c + torch.sigmoid(a[:, 6:9]) * a[:, 9:].tanh()
                )
            )(w(torch.cat([x, h, c], 1))),
            nn.Linear(8, 12),
        ),
        ["x=1x2", "h=1x3", "c=1x3"],
        "peephole",
    ),
    "reset twice": (
        lambda: Of(
            lambda x, h, r, z, n: (lambda g, u: (u * h + (1 - u) * (g * n(g * h) + x).tanh(),) * 2)(
                torch.sigmoid(r(h)), torch.sigmoid(z(h))
            ),
            nn.Linear(3, 3),
            nn.Linear(3, 3),
            nn.Linear(3, 3),
        ),
        ["x=1x3", "h=1x3"],
        "the reset gate multiplies neither the state nor its product with the matrix",
    ),
    "mixed states": (
        lambda: Of(lambda x, h, a: (h, a(h) + x), nn.Linear(3, 3)),
        ["x=1x3", "h=1x3"],
        "an op for a diagonal A only",
    ),
    "a growing state": (lambda: Of(lambda x, h: (h, 1.5 * h + x)), ["x=1x3", "h=1x3"], "its state grows by 1.5"),
    "relu": (lambda: Of(plain, nn.RNNCell(2, 3, nonlinearity="relu")), ["x=1x2", "h=1x3"], "a recurrence through"),
    "a gated scan": (
        lambda: Of(lambda x, h, a: (lambda u: (u, u))(torch.sigmoid(a(x)) * h + x), nn.Linear(3, 3)),
        ["x=1x3", "h=1x3"],
        "has no op",
    ),
    "the cell state": (
        lambda: Of(lambda x, h, c, cell: (cell(x, (h, c))[1], *cell(x, (h, c))), nn.LSTMCell(2, 3)),
        ["x=1x2", "h=1x3", "c=1x3"],
        "only its new state has rows",
    ),
    "two results of one shape": (
        lambda: Of(lambda x, h: (x, h, h + x, h - x)),
        ["x=1x3", "h=1x3"],
        "it is not clear which result is this state",
    ),
    "no time axis and no state": (lambda: nn.Linear(3, 2), ["x=1x3"], "one time axis T, and the module has no state"),
    "no such input": (lambda: Of(moving), ["x=1x3", "h=1x3"], "has no input g", {"g": 1}),
    "no such result": (lambda: Of(moving), ["x=1x3", "h=1x3"], "has no result 7", {"h": 7}),
    "another shape": (
        lambda: Of(lambda x, h: (x, h[:, :2])),
        ["x=1x3", "h=1x3"],
        "has shape (1, 3), and the result 1 has shape (1, 2)",
        {"h": 1},
    ),
    "all are states": (lambda: Of(lambda h, c: (h, c)), ["h=1x3", "c=1x3"], "all inputs are states", {"h": 0, "c": 1}),
    "a state that forgets": (lambda: Forgets(), ["x=1xTx3", "cache=1x2x3"], "differs by"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    make, inputs, expected, *state = REFUSED[name]
    torch.manual_seed(1)
    with pytest.raises(ImportFailed) as failed:
        import_module(make().eval(), inputs, state=state[0] if state else None, length=67)
    assert expected in str(failed.value)


@torch.no_grad()
def rows_of_steps(made, count: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Random rows, and what the module answers, called once for each with the state that it returned."""
    entry, shape = made.stepped.inputs[0], made.stepped.given[0].shape
    torch.manual_seed(7)
    x = torch.randn(1, count * torch.Size(shape).numel()) if entry.rate else torch.randn(count, *shape)
    y = Called(made.stepped)(x)[0]
    return x.reshape(-1, entry.width).numpy(), y.reshape(count, -1).numpy()


def test_wide(tmp_path: Path) -> None:
    """512 units."""
    torch.manual_seed(1)
    made = import_module(
        Of(lstm_cell, nn.LSTMCell(8, 512), nn.Linear(512, 2)).eval(), ["x=1x8", "h=1x512", "c=1x512"], length=67
    )
    assert kinds(made) == [*CELL, "linear"]


def test_command(tmp_path: Path) -> None:
    import subprocess

    (tmp_path / "stepped.py").write_text(
        "import torch\nfrom torch import nn\nclass M(nn.Module):\n    def __init__(s):\n        super().__init__(); s.c = nn.GRUCell(3, 2)\n"
        "    def forward(s, x, h):\n        h = s.c(x, h); return {'y': h * 2, 'h2': h}\ndef make(): return M()\n"
    )
    command = [
        sys.executable,
        "-m",
        "longwave.importer",
        "stepped:make",
        "--input",
        "x=1x3",
        "--input",
        "h=1x2",
        "--no-compile",
        "--length",
        "67",
    ]
    environment = {"PYTHONPATH": str(Path(__file__).resolve().parents[1]), "PATH": "/usr/bin:/bin"}

    def run(*more: str):
        return subprocess.run([*command, *more], cwd=tmp_path, capture_output=True, text=True, env=environment)

    done = run("--state", "h=h2", "-o", "folder")
    assert done.returncode == 0, done.stderr
    assert (
        "state h = h2" in done.stdout
        and "h: gru of 2 units" in done.stdout
        and "400 calls with the state that the last one returned" in done.stdout
    )
    assert (tmp_path / "folder/model.json").exists()
    assert "expected INPUT=OUTPUT" in run("--state", "h", "-o", "other").stderr
    assert "is not a state" in run("--state", "h=h2", "--initial", "g=zeros", "-o", "other").stderr
    assert "expected a number of rows" in run("--state", "h=h2", "--initial", "h=settle:x", "-o", "other").stderr
    assert not (tmp_path / "other").exists()


# states at first: values, or what rows of zeros leave
BEGINNINGS = {
    "caches": {"cache1": (1, 3, 2), "cache2": (1, 4, 3)},
    "depthwise cache": {"cache": (1, 3, 3)},
    "moving mean": {"h": (1, 3)},
    "context of samples": {"context": (1, 8)},
    "older rows": {"past": (1, 2, 3)},
    "LSTMCell": {"h": (1, 5), "c": (1, 5)},
    "LSTMCell of one unit": {"c": (1, 1)},
    "two layers": {"h": (2, 1, 2), "c": (2, 1, 2)},
    "packed": {"state": (2, 1, 3)},
    "gates by hand": {"h": (1, 4), "c": (1, 4)},
    "GRUCell": {"h": (1, 5)},
    "GRU, reset first": {"h": (1, 3)},
    "RNNCell": {"h": (1, 5)},
}


def beginning(name: str):
    make, inputs, state, _ = FORMS[name]
    torch.manual_seed(1)
    module = make().eval()
    return import_module(
        module,
        inputs,
        state=state,
        length=67,
        initial={key: torch.randn(shape) for key, shape in BEGINNINGS[name].items()},
    )


@pytest.mark.parametrize("name", BEGINNINGS)
def test_beginning(name: str) -> None:
    """`import_module` has compared 400 steps from these values on, and 17 to 67 rows of a sequence, in float64."""
    made = beginning(name)
    assert made.report["state"]["error"] <= 1e-10
    assert any(bool(state.any()) for state in made.stepped.first)


def test_settled() -> None:
    make, inputs, state, _ = FORMS["caches"]
    torch.manual_seed(1)
    module = make().eval()
    made = import_module(
        module, inputs, state=state, length=67, initial={"cache1": ("settle", 9), "cache2": ("settle", 9)}
    )
    expected = module.parts[0].bias.relu()  # of rows of zeros
    assert torch.allclose(made.stepped.first[1], expected[None, :, None].expand(1, 4, 3)) and not bool(
        made.stepped.first[0].any()
    )


@torch.no_grad()
def test_settled_cells() -> None:
    """The state of an amplifier model at rest: after so many rows of zeros, each cell has its own."""
    torch.manual_seed(1)
    layer, out = nn.LSTM(1, 16), nn.Linear(16, 1)
    made = import_module(
        Of(lambda x, h, c, a, b: (lambda y, s: (b(y[0]), *s))(*a(x[None], (h, c))), layer, out).eval(),
        ["x=1x1", "h=1x1x16", "c=1x1x16"],
        length=67,
        initial={"h": ("settle", 500), "c": ("settle", 500)},
    )
    assert made.report["state"]["error"] <= 1e-10
    wide = layer.double()
    _, (h, c) = wide(torch.zeros(500, 1, 1, dtype=torch.float64))
    initial = next(op for op in made.importer.graph.ops if op.kind == "lstm").constant("initial")
    found = torch.stack([h.flatten(), c.flatten()])
    assert (
        float((initial[:, initial[0].argsort()] - found[:, found[0].argsort()]).abs().max()) < 1e-6
    )  # the states of a module are float32


def test_beginnings_that_are_refused() -> None:
    make, inputs, state, _ = FORMS["LSTMCell"]
    for initial, expected in (
        ({"h": torch.ones(1, 4)}, "has shape (1, 4)"),
        ({"h": torch.full((1, 5), float("nan"))}, "holds NaN or infinity"),
        ({"x": torch.ones(1, 6)}, "is not a state"),
        ({"h": ("settle", 0)}, "settle:0 is not a number of rows"),
    ):
        with pytest.raises(ImportFailed) as failed:
            import_module(make().eval(), inputs, state=state, length=67, initial=initial)
        assert expected in str(failed.value)


COMPILED = [
    "LSTMCell",
    "LSTMCell of one unit",
    "packed",
    "GRU by hand",
    "RNNCell",
    "caches",
    "moving mean",
    "context of samples",
]


@pytest.mark.parametrize("name", [*COMPILED, *(f"{name} from values" for name in BEGINNINGS)])
def test_compiled(name: str, tmp_path: Path) -> None:
    """Offline, in blocks of 1, 7 and 441 rows, saved and loaded midway, and after a reset."""
    if not LONGWAVE.exists():
        pytest.skip(f"{LONGWAVE} is not built")
    if not any((BUILT / "longwave").glob("_native*.so")):
        pytest.skip(f"{BUILT} has no _native module: configure with -DLONGWAVE_PYTHON=ON")
    if name.endswith(" from values"):
        made = beginning(name.removesuffix(" from values"))
    else:
        make, inputs, state, _ = FORMS[name]
        torch.manual_seed(1)
        made = import_module(make().eval(), inputs, state=state, length=67)
    samples = made.stepped.inputs[0].rate > 0
    x, y = rows_of_steps(made, 900)
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
        "16" if samples else "1",
        "--length",
        len(x),
    )
    model = package.open(tmp_path / "m.lw")
    limit = PEAK * max(numpy.abs(y).max(), 1e-3)
    assert numpy.abs(model.run(x) - y).max() <= limit
    streams = model.stream(queue=512)
    for blocks in ([1], [7], [441], [3, 441, 1]):
        streams.reset()
        assert numpy.abs(pushed(streams, x, blocks) - y).max() <= limit
    first = model.stream(queue=512)
    half = len(x) // 2 + 5
    begun = pushed(first, x[:half], [5])
    second = model.stream(queue=512)
    second.load(first.save())
    assert numpy.abs(numpy.concatenate([begun, pushed(second, x[half:], [5])]) - y).max() <= limit


def pushed(stream, x: numpy.ndarray, blocks: list[int]) -> numpy.ndarray:
    rows, at, turn = [], 0, 0
    while at < len(x):
        cut = blocks[turn % len(blocks)]
        stream.push(x[at : at + cut])
        rows += [row.data.copy() for row in stream]
        at, turn = at + cut, turn + 1
    return numpy.stack(rows)
