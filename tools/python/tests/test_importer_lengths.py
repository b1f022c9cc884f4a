"""Lengths: strides of all sizes, modules that take few lengths or mean something else at some, loops, and whose an exception is."""

from __future__ import annotations

import re
import sys
import time

import importer_models as models
import pytest
import torch
import torch.nn.functional as F
from importer_checks import compiled_equals, imported, kinds, refusal
from longwave.importer.inputs import parse_input
from longwave.importer.lengths import Lengths, Runs, lengths_of
from longwave.importer.wrappers import copied
from torch import Tensor, nn


class Folds(nn.Module):
    """Joins so many rows to one: it takes multiples of them only."""

    def __init__(self, rows: int, width: int) -> None:
        super().__init__()
        self.rows, self.linear = rows, nn.Linear(rows * width, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x.reshape(1, x.shape[1] // self.rows, -1))


def only_odd(x: Tensor) -> Tensor:
    if x.shape[1] % 2 == 0:
        raise ValueError("odd lengths only\nand a second line")
    return x * 2


def below(x: Tensor) -> Tensor:
    return x if x.shape[1] >= 50 else x * 2


# module, input, the stride that is found, a part of the warning
STRIDES = {
    "convolution of stride 4 that rounds up": (
        lambda: nn.Conv1d(4, 5, 3, stride=4, padding=1),
        "x=1x4xT",
        4,
        "also counts a part of a stride",
    ),
    "strides 4 and 2, then a mean": (
        lambda: nn.Sequential(nn.Conv1d(4, 5, 3, 4, 1), nn.Conv1d(5, 3, 3, 2, 1), nn.AdaptiveAvgPool1d(1)),
        "x=1x4xT",
        8,
        "part of a stride",
    ),
    "pool that rounds up": (lambda: nn.MaxPool1d(4, ceil_mode=True), "x=1x4xT", 4, "part of a stride"),
    "rows joined by 7": (lambda: Folds(7, 2), "x=1xTx2", 7, "takes no others"),
    "rows joined by 320": (lambda: Folds(320, 1), "x=1xTx1", 320, "takes no others"),
    "odd lengths": (
        lambda: models.Function(only_odd),
        "x=1xTx4",
        2,
        "multiples of 2 rows, plus 1: the module takes no others",
    ),
}


@pytest.mark.parametrize("name", STRIDES)
def test_lengths_are_multiples_of_the_stride(name: str) -> None:
    make, spec, stride, warning = STRIDES[name]
    torch.manual_seed(2)
    module = make().eval()
    found = lengths_of(Runs(copied(module), [parse_input(spec)]), 509)
    assert found.stride == stride
    made = imported(module, spec)
    assert max(made.report["errors"].values()) <= 1e-10 and len(made.report["errors"]) == 4
    assert (
        all(found.near(int(n)) == int(n) for n in made.report["errors"])
        and found.near(made.model["length"]) == made.model["length"]
    )
    assert any(warning in text for text in made.report["warnings"]), made.report["warnings"]


def test_a_stride_that_no_round_number_has() -> None:
    """960 and 5,544 rows more are no multiples of 256: twice the example is."""
    runs = Runs(Folds(256, 1), [parse_input("x=1xTx1")])
    assert lengths_of(runs, 2048).stride == 256


def test_joined_rows_of_samples_are_compiled(tmp_path) -> None:
    torch.manual_seed(3)
    module = models.Function(lambda x, k: x.reshape(1, -1, 160) @ k, 160, 3)
    made = imported(module, "audio=16000")
    assert kinds(made) == ["frame", "linear"] and made.model["length"] % 160 == 0
    compiled_equals(module, "audio=16000", made, tmp_path, stream=True, blocks="160,320")


def test_the_example_has_a_prime_number_of_strides() -> None:
    assert [
        Lengths(4).example(509),
        Lengths(320).example(509),
        Lengths(1).example(512),
        Lengths(2, 1).example(100),
    ] == [508, 4160, 512, 107]


@pytest.mark.parametrize(
    "module, least",
    [(models.Function(below), 50), (nn.Sequential(models.Function(lambda x: x), models.spellings()["ortho"]), 0)],
)
def test_another_meaning_at_few_rows_is_refused(module: nn.Module, least: int) -> None:
    torch.manual_seed(4)
    found = re.fullmatch(
        r"the module means something else below (\d+) rows, and the file does not: at (\d+) rows it differs by \S+ of the peak; "
        r"streams begin with one row: .* say so: --min-rows (\d+), in Python min_rows=(\d+)",
        refusal(module, "x=1xTx4"),
    )
    rows = {int(found[n]) for n in (1, 3, 4)}
    assert len(rows) == 1 and int(found[2]) < (few := rows.pop()) and few == (least or few)
    assert refusal(module, "x=1xTx4", min_rows=few - 1) == found[0]
    report = imported(module, "x=1xTx4", min_rows=few).report
    assert report["min_rows"] == few and found[0].split(";")[0] in report["warnings"]
    assert report["errors"].keys() & {str(n) for n in range(few)} == set()


def test_the_fewest_rows_are_within_the_example() -> None:
    for rows in (0, -3, 65):
        assert refusal(nn.Linear(4, 2), "x=1xTx4", length=64, min_rows=rows).startswith(
            f"--min-rows: expected 1 to 64, the rows of the example; found {rows};"
        )
    assert imported(nn.Linear(4, 2), "x=1xTx4", length=64).report["min_rows"] == 1


class Taps(nn.Module):
    """A causal FFT convolution whose taps a threshold makes zero, as those of an untrained LongConv."""

    def __init__(self, size: float) -> None:
        super().__init__()
        self.taps, self.D = nn.Parameter(size * torch.randn(40, 4)), nn.Parameter(torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        n = x.shape[1] + 40
        taps = F.relu(self.taps.abs() - 0.1) * self.taps.sign()
        return torch.fft.irfft(torch.fft.rfft(x, n, 1) * torch.fft.rfft(taps, n, 0), n, 1)[:, : x.shape[1]] + self.D * x


def test_zeros_are_told_because_they_compare_nothing() -> None:
    torch.manual_seed(5)
    told = [
        text
        for size in (1, 0.001)
        for text in imported(Taps(size), "x=1xTx4").report["warnings"]
        if "no comparison tells" in text
    ]
    assert (
        len(told) == 1
        and ": all taps of its convolution are zero, so no comparison tells anything of it: import trained weights"
        in told[0]
    ), told
    last = nn.Linear(4, 2)
    nn.init.zeros_(last.weight), nn.init.zeros_(last.bias)
    assert (
        "y: is zero for random inputs, so no comparison tells anything of it: import trained weights"
        in imported(nn.Sequential(nn.Linear(4, 4), last), "x=1xTx4").report["warnings"]
    )


class Recurrence(nn.Module):
    """As in RWKV: a loop of several operations for each row."""

    def __init__(self) -> None:
        super().__init__()
        self.k, self.v, self.w = nn.Linear(4, 4), nn.Linear(4, 4), nn.Parameter(torch.rand(4))

    def forward(self, x: Tensor) -> Tensor:
        k, v, state, rows = self.k(x), self.v(x), torch.zeros(1, 4), []
        for t in range(x.shape[1]):
            rows.append(state + k[:, t].exp() * v[:, t])
            state = self.w * state + k[:, t].exp()
        return torch.stack(rows, 1)


class Cells(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        h, rows = torch.zeros(1, 4), []
        for row in x.unbind(1):
            h = self.cell(row, h)
            rows.append(h)
        return torch.stack(rows, 1)


@pytest.mark.parametrize("part", [Recurrence, Cells])
def test_a_loop_is_told_from_few_rows(part) -> None:
    begin = time.process_time()
    found = refusal(nn.Sequential(*(part() for _ in range(4))), "x=1xTx4", length=4001)
    assert [line.split(";")[0] for line in found.splitlines()] == [
        f"{i}: {part.__name__}: a loop over the rows of the sequence has no op" for i in range(4)
    ], found
    assert time.process_time() - begin < 20, "export of 4,001 rows takes many minutes"


def test_a_loop_that_makes_constants_is_no_loop_over_the_rows() -> None:
    def weighted(x: Tensor) -> Tensor:
        scale = torch.ones(4)
        for _ in range(x.shape[1]):
            scale = (scale * 3 - scale * 2).clamp(0, 1)
        return x * scale

    assert kinds(imported(models.Function(weighted), "x=1xTx4", length=40)) in ([], ["affine"])


def test_a_loop_over_parts_of_the_rows_is_one_line() -> None:
    module = models.Function(lambda x: torch.cat([part.mean(1, keepdim=True) for part in x.split(4, 1)], 1))
    assert len(refusal(module, "x=1xTx4", length=65).splitlines()) == 1


@pytest.mark.parametrize("length", [0, 2, -5])
def test_lengths_that_are_too_short_are_refused(length: int) -> None:
    assert refusal(nn.Linear(4, 2), "x=1xTx4", length=length).startswith(
        f"--length: {length} rows are too few; give at least 16 rows"
    )


def exits(x: Tensor) -> Tensor:
    return sys.exit(0)


def exits_below(x: Tensor) -> Tensor:
    return sys.exit("too short") if x.shape[1] < 320 else x * 2


EXCEPTIONS = {
    "exits": (exits, r"does not run at length 509, or at 13 others: it calls sys.exit(0) (test_importer_lengths.py:"),
    "exits at other lengths": (exits_below, "the module does not run at length 310: it calls sys.exit('too short')"),
    "index": (lambda x: x * [][x.shape[1]], "IndexError: list index out of range (test_importer_lengths.py:"),
    "one length": (
        lambda x: x.reshape(1, 400),
        "does not run at length 509, or at 13 others: shape '[1, 400]' is invalid",
    ),
}


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_an_exception_is_one_line_that_says_where(name: str) -> None:
    function, line = EXCEPTIONS[name]
    found = refusal(models.Function(function), "x=1xTx4")
    assert line in found and len(found.splitlines()) == 1, found


def test_a_defect_of_the_importer_is_named_as_one(monkeypatch) -> None:
    monkeypatch.setattr("longwave.importer.prove.EXACT", "x")
    found = refusal(models.Function(F.relu), "x=1xTx4")
    assert (
        found.startswith("prove.py:")
        and found.endswith("; a defect of the importer: please report it")
        and "TypeError" in found
    ), found
