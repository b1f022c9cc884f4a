"""The importer: operations that stand for several accepted ones, means of padded windows, and weights that a norm computes.

Each is compared in float64, at a length that the importer has not seen, with the module in float64. Limit: 1e-10 of the peak.
"""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
import importer_models as models  # noqa: E402
from importer_checks import compiled_equals, imported, kinds, refusal  # noqa: E402
from longwave.importer.execute import execute  # noqa: E402
from longwave.importer.prove import error, rows_of  # noqa: E402

OTHER = 47  # rows; the example has 61


def with_k(f) -> nn.Module:
    """f(x, k) with k (4, 4)"""
    return models.Function(f, 4, 4)


def normalised(x: Tensor) -> Tensor:
    variance, mean = torch.var_mean(x, -1, keepdim=True, correction=0)
    return (x - mean) * torch.rsqrt(variance + 1e-5)


def mean_of(*arguments, **options):
    """avg_pool1d of (1, T, 4), cut to the complete rows."""
    stride = arguments[1] if len(arguments) > 1 else arguments[0]
    return models.Function(lambda x: F.avg_pool1d(x.mT, *arguments, **options)[..., : x.shape[1] // stride].mT)


SPELLED = {
    "stack of features": (
        lambda: models.Function(lambda x: torch.stack([x, x.relu()], -1).flatten(2)),
        {"relu", "concat", "take"},
    ),
    "stack with zeros": (
        lambda: models.Function(lambda x: torch.stack([x, torch.zeros_like(x)], -1).flatten(2)),
        {"take"},
    ),
    "stack with a delay": (
        lambda: models.Function(lambda x: torch.stack([x, F.pad(x, (0, 0, 1, 0))[:, :-1]], 2).flatten(2)),
        {"shift", "concat"},
    ),
    "stack of rows": (lambda: models.Function(lambda x: torch.stack(x.unbind(1), 1).tanh()), {"tanh"}),
    "stack, then sum": (
        lambda: models.Function(lambda x: torch.stack([x, x.relu(), x.tanh()]).sum(0)),
        {"relu", "tanh", "concat", "linear"},
    ),
    "pad of features": (lambda: models.Function(lambda x: F.pad(x, (1, 2)).exp()), {"take", "exp"}),
    "baddbmm": (lambda: with_k(lambda x, k: torch.baddbmm(k[:1, None], x, k[None], beta=0.5, alpha=2)), {"linear"}),
    "baddbmm of rows": (lambda: with_k(lambda x, k: torch.baddbmm(x.relu(), x, k[None])), {"relu", "linear", "add"}),
    "addbmm": (lambda: with_k(lambda x, k: torch.addbmm(k[0], x, k[None], beta=0)[None]), {"linear"}),
    "addmv": (
        lambda: with_k(lambda x, k: torch.addmv(x[0, :, 0], x[0], k[0])[None, :, None]),
        {"linear", "take", "add"},
    ),
    "addcmul": (lambda: with_k(lambda x, k: torch.addcmul(x, k[0], x.tanh(), value=0.5)), {"tanh", "affine", "add"}),
    "addcdiv": (lambda: with_k(lambda x, k: torch.addcdiv(k[1], x, 1 + k[0].square())), {"affine"}),
    "lerp": (
        lambda: with_k(lambda x, k: torch.lerp(x, F.pad(x, (0, 0, 1, 0))[:, :-1], k[0])),
        {"shift", "affine", "add"},
    ),
    "lerp in place": (lambda: models.Function(lambda x: x.clone().lerp_(x.relu(), 0.3)), {"relu", "affine", "add"}),
    "layer norm from var_mean": (lambda: models.Function(normalised), {"linear", "take", "add", "rms_norm"}),
    "variance": (
        lambda: models.Function(lambda x: x * x.var(-1, keepdim=True)),
        {"linear", "take", "add", "square", "mul"},
    ),
    "deviation": (
        lambda: models.Function(lambda x: x / (1 + x.std(2, unbiased=False)[..., None])),
        {"linear", "take", "add", "square", "sqrt", "affine", "reciprocal", "mul"},
    ),
    "normalize": (
        lambda: models.Function(lambda x: F.normalize(x, dim=-1)),
        {"square", "linear", "sqrt", "clamp", "reciprocal", "take", "mul"},
    ),
    "prelu": (lambda: nn.Sequential(models.Function(lambda x: x.mT), nn.PReLU(4)), {"leaky_relu"}),
    "mish": (lambda: nn.Mish(), {"softplus", "tanh", "mul"}),
    "selu": (lambda: nn.SELU(), {"elu", "affine"}),
    "channel shuffle": (lambda: models.Function(lambda x: F.channel_shuffle(x.mT, 2).mT), {"take"}),
    "mean, zeros count": (lambda: mean_of(3, 2, 1), {"pool"}),
    "mean, zeros do not count": (lambda: mean_of(3, 2, 1, count_include_pad=False), {"pool"}),
    "mean of padded rows": (lambda: models.Function(lambda x: F.avg_pool1d(F.pad(x.mT, (2, 0)), 3, 1).mT), {"pool"}),
    "largest of padded rows": (
        lambda: models.Function(lambda x: F.max_pool1d(F.pad(x.mT.relu(), (2, 0)), 3, 1).mT),
        {"relu", "pool"},
    ),
    "centred mean, zeros count": (lambda: mean_of(5, 1, 2), {"centred_conv"}),
    "centred mean, zeros do not count": (
        lambda: mean_of(5, 1, 2, count_include_pad=False),
        {"take", "affine", "centred_conv", "reciprocal", "mul"},
    ),
    "mean ahead with a stride": (
        lambda: mean_of(6, 2, 2, count_include_pad=False),
        {"take", "affine", "conv2d", "reciprocal", "mul"},
    ),
    "strided convolution of a delay": (
        lambda: with_k(
            lambda x, k: (
                F.conv1d(F.pad(F.pad(x.mT, (4, 0))[..., :-4], (1, 0)), k[:, :, None].expand(-1, -1, 3), stride=2).mT
            )
        ),
        {"shift", "conv2d"},
    ),
    "gates from a mean over time": (
        lambda: with_k(lambda x, k: x * (x.mean(1, keepdim=True) @ k).sigmoid()),
        {"mean", "linear", "sigmoid", "repeat", "mul"},
    ),
    "norm over time": (
        lambda: models.Function(lambda x: (x - x.mean(1, keepdim=True)) / (1 + x.std(1, correction=0, keepdim=True))),
        {"mean", "affine", "repeat", "add", "square", "sqrt", "reciprocal", "mul"},
    ),
    "less the last row": (
        lambda: models.Function(lambda x: x.mT - 2 * x[:, -1, :, None]),
        {"mean", "affine", "repeat", "add"},
    ),
    "rms norm of delayed rows": (
        lambda: models.Function(
            lambda x: F.pad(x, (0, 0, 1, 0))[:, :-1] * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5)
        ),
        {"square", "linear", "sqrt", "reciprocal", "shift", "take", "mul"},
    ),
}
COMPILED = {  # those whose ops meet in a way that no other test compiles, and whether they stream
    "stack with zeros": True,
    "layer norm from var_mean": True,
    "centred mean, zeros count": True,
    "centred mean, zeros do not count": True,
    "mean ahead with a stride": True,
    "mean of padded rows": True,
    "gates from a mean over time": False,
    "norm over time": False,
    "less the last row": False,
}


@torch.no_grad()
def equals(made, module: nn.Module) -> None:
    x = torch.randn(1, OTHER, 4, dtype=torch.float64)
    (found,) = execute(made.importer.graph, [x[0]])
    assert error(found, rows_of(made.importer.graph.outputs[0], copy.deepcopy(module).double()(x))) <= 1e-10


@pytest.mark.parametrize("name", SPELLED)
def test_spelling(name: str, tmp_path: Path) -> None:
    torch.manual_seed(1)
    make, expected = SPELLED[name]
    module = make().eval()
    made = imported(module, "x=1xTx4", length=61)
    assert set(kinds(made)) == expected
    equals(made, module)
    if name in COMPILED:
        compiled_equals(module, "x=1xTx4", made, tmp_path, COMPILED[name], length=60)


NORMED = {
    "weight norm": lambda: nn.utils.parametrizations.weight_norm(nn.Linear(4, 6)),
    "spectral norm": lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 6)),
    "orthogonal": lambda: nn.utils.parametrizations.orthogonal(nn.Linear(4, 6)),
}


@pytest.mark.parametrize("name", NORMED)
def test_computed_weights_are_those_of_the_module_in_float64(name: str) -> None:
    torch.manual_seed(2)
    module = NORMED[name]().eval()
    equals(imported(module, "x=1xTx4", length=61), module)


REFUSED = {
    "deviation over time": (
        lambda x: x.std(1),
        "std: std: divides by the number of rows less one, which changes with the length",
    ),
    "product of rows": (lambda x: x @ x.mT, "matmul: matmul: multiplies each row with all others"),
    "pool with a row more": (lambda x: F.avg_pool1d(x.mT, 4, 2, 2).mT, "has more rows than the 31 that are complete"),
    "mean of fewer rows": (lambda x: F.avg_pool1d(x.mT, 4, 1, 1).mT, "looks 2 rows ahead, and gives 60 rows of 61"),
    "mean of a row less at some lengths": (
        lambda x: F.avg_pool1d(x.mT, 5, 2, 1).mT,
        "looks 2 rows ahead, and gives 30 rows of 31",
    ),
    "convolution of a row less at some lengths": (
        lambda x: F.conv1d(x.mT, torch.ones(2, 4, 3), stride=2).mT,
        "looks 1 rows ahead, and gives 30 rows of 31",
    ),
    "largest of zeros": (lambda x: F.max_pool1d(F.pad(x.mT, (2, 0)), 3, 1).mT, "pools zeros that a pad added"),
    "generator": (
        lambda x: x * torch.rand(4, generator=torch.Generator().manual_seed(0)),
        "reads an object that is not a tensor",
    ),
    "name of a part": (lambda x: torch.lerp(x, x.roll(1, 1), 0.5), "lerp: lerp: its operands do not lie in step"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusal(name: str) -> None:
    f, expected = REFUSED[name]
    found = refusal(models.Function(f), "x=1xTx4", length=61)
    assert expected in found and found.count("\n") == 0 and "; " in found, found
