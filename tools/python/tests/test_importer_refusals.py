"""What the importer refuses: every cause by name, with a way out, and nothing else."""

from __future__ import annotations

import importer_models as models
import pytest
import torch
from importer_checks import imported, refusal
from longwave.importer.errors import ImportFailed
from longwave.importer.inputs import parse_input
from torch import Tensor, nn
from torch.fft import irfft, rfft


def circular(x: Tensor, k: Tensor) -> Tensor:
    return irfft(rfft(x.mT, n=x.shape[1]) * rfft(k, n=x.shape[1]), n=x.shape[1]).mT


def wrapping(x: Tensor, k: Tensor) -> Tensor:
    n = x.shape[1] + 25
    return irfft(rfft(x.mT, n=n) * rfft(k, n=n), n=n)[..., : x.shape[1]].mT


def from_input(x: Tensor, k: Tensor) -> Tensor:
    n = 2 * x.shape[1]
    return irfft(rfft(x.mT, n=n) * rfft(torch.tanh(x.mT) * k[:, :1], n=n), n=n)[..., : x.shape[1]].mT


def complex_result(x: Tensor) -> Tensor:
    return torch.fft.rfft(x, dim=1)


def light_gates(x: Tensor) -> Tensor:
    """A recurrence with one gate, as a loop over the rows."""
    h, rows = torch.zeros(1, 4), []
    for t in range(x.shape[1]):
        z = (x[:, t] + h).sigmoid()
        h = z * h + (1 - z) * x[:, t].relu()
        rows.append(h)
    return torch.stack(rows, 1)


def split_rows(x: Tensor) -> Tensor:
    """A decaying mean, as a loop over rows that split gives."""
    h = [torch.zeros(1, 1, 4)]
    for row in x.split(1, 1):
        h.append(0.5 * h[-1] + row)
    return torch.cat(h[1:], 1)


def writes_rows(x: Tensor) -> Tensor:
    y = torch.zeros_like(x)
    y[:, ::2] = x[:, ::2].tanh()
    return y


def reads_features(x: Tensor) -> Tensor:
    return torch.stack([x.repeat(1, 1, 5)[..., i] * (i + 1) for i in range(20)], 2)


REFUSED = {
    "loop": (
        lambda: models.Function(light_gates),
        "Function: a loop over the rows of the sequence has no op; use LSTM",
    ),
    "loop over parts": (
        lambda: models.Function(split_rows),
        "Function: a loop over the rows of the sequence has no op; use LSTM",
    ),
    "writes": (
        lambda: models.Function(writes_rows),
        "writes parts of a value one by one; compute all rows in one call",
    ),
    "base": (lambda: models.Function(lambda x: (-2.0) ** x), "pow: a power of a base that is not positive"),
    "circular": (lambda: models.Function(circular, 4, 30), "circular convolution: its taps change with the length"),
    "wrapping": (lambda: models.Function(wrapping, 4, 30), "circular convolution: its taps change with the length"),
    "kernel from the input": (
        lambda: models.Function(from_input, 4, 30),
        "fft_rfft: FFT that is neither a convolution with constant taps",
    ),
    "lstm both ways": (
        lambda: models.BothWays(),
        "lstm/lstm: lstm: is bidirectional: it reads the sequence backwards; use a forward layer",
    ),
    "branch on data": (lambda: models.Branching(), "torch.export: a branch on data: "),
    "complex result": (lambda: models.Function(complex_result), "output: is complex"),
    "fewer rows": (
        lambda: models.Function(lambda x: nn.functional.conv1d(x.mT, torch.ones(4, 4, 3)).mT),
        "conv1d: looks 2 rows ahead, and gives 209 rows of 211",
    ),
    "length in the numbers": (lambda: models.Function(lambda x: x / x.shape[1]), "differs by"),
    "option without an op": (
        lambda: models.Function(lambda x: nn.functional.softplus(x, beta=2)),
        "softplus: beta=2, threshold=20 has no op",
    ),
    "stft that is centred": (
        lambda: models.Function(lambda x: torch.stft(x[..., 0], 64, 16, return_complex=True).abs().mT),
        "pad: a centred stft: its frames lie 32 samples ahead",
    ),
    "stft that is centred between zeros": (
        lambda: models.Function(
            lambda x: torch.stft(x[..., 0], 64, 16, pad_mode="constant", return_complex=True).abs().mT
        ),
        "pad: a centred stft: its frames lie 32 samples ahead",
    ),
    **{
        f"time padded with {mode}": (
            lambda mode=mode, before=before, after=after: models.Function(
                lambda x: (
                    nn.functional.conv1d(nn.functional.pad(x.mT, (before, after), mode=mode), torch.ones(4, 4, 5)).mT
                )
            ),
            f"pad: pad: pads time with {mode}: rows at the ends of a sequence, {before} in front and {after} behind, would be "
            "copies of other rows; pad with zeros: only rows near the ends of a sequence differ",
        )
        for mode, before, after in (("reflect", 2, 2), ("replicate", 4, 0), ("circular", 3, 1))
    },
    "time padded by the convolution": (
        lambda: nn.Sequential(
            models.Function(lambda x: x.mT),
            nn.Conv1d(4, 3, 3, padding=1, padding_mode="reflect"),
            models.Function(lambda x: x.mT),
        ),
        "pads time with reflect: rows at the ends of a sequence, 1 in front and 1 behind",
    ),
    "zeros in front of a norm": (
        lambda: models.Function(lambda x: nn.functional.layer_norm(nn.functional.pad(x, (0, 0, 2, 0)), (4,))[:, :-2]),
        "layer_norm: reads the zeros that pad the time axis; pad behind it",
    ),
    "logarithm of a softmax over time": (
        lambda: models.Function(lambda x: x.log_softmax(1)),
        "log_softmax: its rows are not one time step each",
    ),
    "shifted": (lambda: models.Function(lambda x: x + x.roll(1, 1)), "its operands do not lie in step"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    torch.manual_seed(3)
    make, expected = REFUSED[name]
    found = refusal(
        make(), "x=1xTx4", length=31 if "loop" in name else 211
    )  # export takes a second for 30 rows of a loop
    assert expected in found, found
    assert all("; " in line for line in found.splitlines()), "each line has a way out"


def test_weights_that_are_not_finite_are_refused() -> None:
    module = nn.Linear(4, 2)
    module.weight.data[0, 1] = float("nan")
    assert (
        refusal(module, "x=1xTx4") == "weight: holds NaN or infinity; the training diverged; take an earlier checkpoint"
    )


def test_a_loop_is_told_once_and_features_may_be_read_one_by_one() -> None:
    assert len(refusal(models.Function(light_gates), "x=1xTx4", length=31).splitlines()) == 1
    assert max(imported(models.Function(reads_features), "x=1xTx4", length=97).report["errors"].values()) <= 1e-10


def test_every_cause_is_reported_and_no_consequence() -> None:
    def two(x: Tensor) -> Tensor:
        return torch.erfinv(x) * 2 + torch.lgamma(x).relu()

    found = refusal(models.Function(two), "x=1xTx4").splitlines()
    assert [line.split(":")[1].strip() for line in found] == ["erfinv", "lgamma"], found


@pytest.mark.parametrize("text", ["x", "x=64", "x=2xTx4x", "x=2xTx4", "x=1xTxT", "audio=1x2xT@16000", "=1xT"])
def test_malformed_inputs_are_refused(text: str) -> None:
    if text == "x=64":
        assert parse_input(text).rate == 64
        return
    with pytest.raises(ImportFailed):
        parse_input(text)
