"""The importer: recurrences over bands that each row holds, per band over time and both ways within a row; images with several channels
inside a row; against PyTorch, offline and as streams."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
from importer_checks import compiled_equals, imported, kinds, refusal  # noqa: E402


class Bands(nn.Module):
    """(1, T, bands * features): a recurrence over time for each band, or over the bands of each row."""

    def __init__(self, r: nn.Module, bands: int, over_bands: bool, first: bool = False, most: float = 2) -> None:
        super().__init__()
        self.r, self.bands, self.over_bands = r, bands, over_bands
        states, ways = 2 if isinstance(r, nn.LSTM) else 1, 1 + r.bidirectional
        shape = (states, ways * r.num_layers, 1 if over_bands else bands, r.hidden_size)
        self.first = nn.Parameter(most * (2 * torch.rand(shape) - 1)) if first else None

    def forward(self, x: Tensor) -> Tensor:
        image = x.reshape(x.shape[1], self.bands, -1)
        image = image if self.over_bands == self.r.batch_first else image.transpose(0, 1)
        batch = image.shape[0 if self.r.batch_first else 1]
        given = None if self.first is None else self.first.expand(-1, -1, batch, -1).contiguous()
        state = None if given is None else given[0] if len(given) == 1 else (given[0], given[1])
        y = self.r(image, state)[0]
        y = y if self.over_bands == self.r.batch_first else y.transpose(0, 1)
        return y.reshape(1, x.shape[1], -1)


class LastBands(nn.Module):
    """The last state of both directions within each row."""

    def __init__(self) -> None:
        super().__init__()
        self.r = nn.GRU(2, 3, 2, batch_first=True, bidirectional=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.r(x.reshape(-1, 5, 2))[1].transpose(0, 1).flatten(1)[None]


class Image(nn.Module):
    """(1, T, channels * frequencies), channels first, through steps over (1, channels, T, frequencies)."""

    def __init__(self, channels: int, *parts: nn.Module, before: int = 0) -> None:
        super().__init__()
        self.channels, self.parts, self.before = channels, nn.Sequential(*parts), before

    def forward(self, x: Tensor) -> Tensor:
        x = x.unflatten(2, (self.channels, -1)).transpose(1, 2)
        x = self.parts(F.pad(x, (0, 0, self.before, 0)))
        return x.transpose(1, 2).flatten(2)


class Neighbours(nn.Module):
    """Each frequency with its neighbours as channels, as GTCRN has them."""

    def forward(self, x: Tensor) -> Tensor:
        return F.unfold(x, (1, 3), padding=(0, 1)).unflatten(2, x.shape[2:])


class Energy(nn.Module):
    """Each channel times a number of its own in each row."""

    def forward(self, x: Tensor) -> Tensor:
        return x * x.square().mean(3).sigmoid()[..., None]


FORMS = {  # module, features of a row, an op of it
    **{
        f"{kind.__name__} of {units} units, {'over' if over else 'of'} {bands} bands, {'two ways' if both else 'one way'}": (
            lambda kind=kind, units=units, bands=bands, over=over, both=both: Bands(
                kind(3, units, 1, batch_first=True, bidirectional=both), bands, over
            ),
            3 * bands,
            "lstm" if kind is nn.LSTM else "gru",
        )
        for kind, units, bands, over, both in (
            (nn.GRU, 4, 5, True, True),
            (nn.GRU, 8, 33, False, False),
            (nn.LSTM, 1, 4, True, True),
            (nn.LSTM, 17, 3, True, True),
            (nn.LSTM, 1, 2, False, False),
            (nn.GRU, 20, 1, True, False),
            (nn.RNN, 3, 6, True, True),
            (nn.RNN, 1, 3, False, False),
        )
    },
    "two layers both ways": (lambda: Bands(nn.GRU(2, 3, 2, batch_first=True, bidirectional=True), 7, True), 14, "gru"),
    "time first": (lambda: Bands(nn.LSTM(2, 3, 2), 4, False), 8, "lstm"),
    "bands first": (lambda: Bands(nn.GRU(2, 3, bidirectional=True), 4, True), 8, "gru"),
    "a first state for each band": (lambda: Bands(nn.GRU(2, 5, 2, batch_first=True), 4, False, True), 8, "gru"),
    "first states of an lstm": (lambda: Bands(nn.LSTM(2, 1, batch_first=True), 3, False, True), 6, "lstm"),
    **{
        f"a first state of each row: {kind.__name__} of {units} units, {bands} bands, {layers} layers, {'two ways' if both else 'one way'}": (
            lambda kind=kind, units=units, bands=bands, layers=layers, both=both: Bands(
                kind(3, units, layers, batch_first=True, bidirectional=both), bands, True, True, 0.99
            ),
            3 * bands,
            "gru",
        )
        for kind, units, bands, layers, both in (
            (nn.GRU, 4, 5, 1, True),
            (nn.GRU, 1, 3, 2, False),
            (nn.GRU, 20, 2, 1, True),
            (nn.GRU, 3, 1, 1, False),
            (nn.RNN, 3, 4, 1, True),
        )
    },
    "last states of a row": (lambda: LastBands(), 10, "gru"),
    "neighbours": (lambda: Image(2, Neighbours(), nn.Conv2d(6, 4, 1)), 18, "conv2d"),
    "several channels": (
        lambda: Image(
            3,
            nn.Conv2d(3, 4, (1, 5), (1, 2), (0, 2)),
            nn.BatchNorm2d(4),
            nn.PReLU(),
            nn.Conv2d(4, 6, (1, 5), (1, 2), (0, 2), groups=2),
        ),
        51,
        "leaky_relu",
    ),
    "dilated in time": (
        lambda: Image(4, nn.Conv2d(4, 4, 3, padding=(0, 1), dilation=(2, 1), groups=4), before=4),
        28,
        "conv2d",
    ),
    "transposed": (
        lambda: Image(
            4,
            nn.ConvTranspose2d(4, 6, (1, 5), (1, 2), (0, 2), groups=2),
            nn.PReLU(6),
            nn.ConvTranspose2d(6, 2, (1, 4), (1, 3)),
        ),
        28,
        "conv2d",
    ),
    "transposed, dilated in time": (
        lambda: Image(4, nn.ConvTranspose2d(4, 4, 3, padding=(4, 1), dilation=(2, 1), groups=4), before=4),
        28,
        "conv2d",
    ),
    "transposed, padded by all": (lambda: Image(2, nn.ConvTranspose2d(2, 3, (1, 3), (1, 1), (0, 2))), 18, "conv2d"),
    "a bank for each channel": (lambda: Image(3, bank()), 120, "linear"),
    "a matrix for each channel": (lambda: Image(3, nn.Linear(9, 5)), 27, "conv2d"),
    "energies": (lambda: Image(4, nn.Conv2d(4, 5, 1), Energy(), nn.Conv2d(5, 2, 1)), 28, "pool"),
}


def bank() -> nn.Module:
    """40 frequencies to 18 bands of 3 that overlap by one."""
    made = nn.Linear(40, 18, bias=False)
    made.weight = nn.Parameter(torch.where((torch.arange(40) - 2 * torch.arange(18)[:, None]).abs() < 2, 0.5, 0.0))
    return made


@pytest.mark.parametrize("name", FORMS)
def test_form(name: str, tmp_path: Path) -> None:
    make, features, expected = FORMS[name]
    torch.manual_seed(1)
    module = make().eval()
    made = imported(module, f"x=1xTx{features}", length=62)
    assert expected in kinds(made), kinds(made)
    compiled_equals(module, f"x=1xTx{features}", made, tmp_path, True)


def test_rows_do_not_remember_each_other() -> None:
    """A recurrence over the bands of a row keeps nothing for the next row."""
    made = imported(Bands(nn.GRU(3, 4, batch_first=True, bidirectional=True), 5, True).eval(), "x=1xTx15", length=62)
    assert [node["attributes"]["over_bands"] for node in made.model["graph"] if node["op"] == "gru"] == [1]


def test_refusals() -> None:
    both = refusal(
        nn.Sequential(Bands(nn.GRU(3, 4, batch_first=True, bidirectional=True), 5, False)), "x=1xTx15", length=61
    )
    assert "is bidirectional" in both and "over bands inside each row" in both
    first = refusal(Bands(nn.LSTM(3, 4, batch_first=True), 5, True, True).eval(), "x=1xTx15", length=61)
    assert (
        "r/lstm: lstm: begins the bands of each row with a state that is not zero; begin with zeros, or use a GRU"
        in first
    )
    beyond = Bands(nn.GRU(3, 4, batch_first=True), 5, True, True).eval()
    torch.nn.init.constant_(beyond.first, -1.5)
    assert "begins the bands of each row with a state of 1.5" in refusal(beyond, "x=1xTx15", length=61)
    each = Bands(nn.GRU(3, 4, batch_first=True), 5, True, True, 0.5).eval()
    each.first = nn.Parameter(torch.rand(1, 1, 61, 4) / 2)
    assert "begins its rows with different states" in refusal(each, "x=1xTx15", length=61)
