"""Images of (time, frequency): pads of both axes in every spelling, and pools of all rows and bands, against PyTorch."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from importer_checks import compiled_equals, imported, kinds, refusal
from torch import Tensor, nn


class Of(nn.Module):
    """f(image, conv, ...) of (1, 1, 6, T)"""

    def __init__(self, f, *parts: nn.Module) -> None:
        super().__init__()
        self.f, self.parts = f, nn.ModuleList(parts)

    def forward(self, x: Tensor) -> Tensor:
        return self.f(x[:, None], *self.parts)


def conv(*size: int, **options) -> nn.Module:
    return nn.Conv2d(1, 4, size if len(size) > 1 else size[0], **options)


PADS = {
    "both axes at once": Of(lambda x, c: c(F.pad(x, (2, 0, 1, 1))), conv(3)),
    "ZeroPad2d": Of(lambda x, z, c: c(z(x)), nn.ZeroPad2d((2, 0, 1, 1)), conv(3)),
    "one axis after the other": Of(lambda x, c: c(F.pad(F.pad(x, (0, 0, 1, 1)), (2, 0))), conv(3)),
    "zeros joined": Of(
        lambda x, c: c(F.pad(torch.cat([torch.zeros_like(x[:, :, :1]), x, torch.zeros_like(x[:, :, :1])], 2), (2, 0))),
        conv(3),
    ),
    "of the convolution": Of(lambda x, c: c(x), conv(3, padding=1)),
    "same": Of(lambda x, c: c(x), conv(3, 5, padding="same")),
    "same, even": Of(lambda x, c: c(x), conv(4, 4, padding="same")),
    "no band is padded": Of(lambda x, c: c(F.pad(x, (2, 0))), conv(4, 3)),
    "all bands to one": Of(lambda x, c: c(F.pad(x, (2, 0)))[:, :, 0], conv(6, 3)),
    "one end": Of(lambda x, c: c(F.pad(x, (2, 0, 0, 3))), conv(4, 3)),
    "more than the kernel": Of(lambda x, c: c(F.pad(x, (2, 0, 4, 3))), conv(3)),
    "stride": Of(lambda x, c: c(F.pad(x, (2, 0, 2, 1))), conv(3, stride=(2, 1))),
    "two in a row": Of(
        lambda x, a, b: b(F.pad(F.relu(a(F.pad(x, (2, 0)))), (2, 0, 0, 1))), conv(3), nn.Conv2d(4, 4, 3, groups=4)
    ),
    "dilated": Of(lambda x, c: c(F.pad(x, (4, 0, 2, 2))), conv(3, dilation=2)),
}
POOLS = {
    "mean of both": Of(lambda x, c: c(x).mean((2, 3)), conv(3, padding=1)),
    "flattened": Of(lambda x, c: c(x).flatten(2).mean(-1), conv(3, padding=1)),
    "flattened, largest": Of(lambda x, c: c(x).flatten(2).max(-1).values, conv(3, padding=1)),
    "sum of all": Of(lambda x, c: c(x).sum(), conv(3, padding=1)),
    "largest of all": Of(lambda x, c: c(x).max(), conv(3, padding=1)),
    "AdaptiveAvgPool2d": Of(
        lambda x, c, p, h: h(p(c(x)).flatten(1)), conv(3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Linear(4, 3)
    ),
    "AdaptiveMaxPool2d": Of(lambda x, c, p: p(c(x))[..., 0, 0], conv(3, padding=1), nn.AdaptiveMaxPool2d(1)),
    "bands only": Of(lambda x, c: F.adaptive_avg_pool2d(c(x), (1, None))[:, :, 0], conv(3, padding=1)),
    "rows only": Of(lambda x, c: F.adaptive_max_pool2d(c(x), (None, 1))[..., 0], conv(3, padding=1)),
    "a window of all": Of(lambda x, c: F.avg_pool2d(c(x), (6, x.shape[3]))[..., 0, 0], conv(3, padding=1)),
    "a convolution of means": Of(
        lambda x, c, p, h: h(p(c(x)))[..., 0, 0], conv(3, padding=1), nn.AdaptiveAvgPool2d(1), nn.Conv2d(4, 3, 1)
    ),
    "a convolution of means of bands": Of(
        lambda x, c, h: h(c(x).mean(3, keepdim=True)),
        conv(3, padding=1),
        nn.Conv2d(4, 6, (3, 1), (2, 1), (1, 0), groups=2),
    ),
    "a gate of each channel": Of(
        lambda x, c, p, a, b: (y := c(x)) * b(F.relu(a(p(y)))).sigmoid(),
        conv(3, padding=1),
        nn.AdaptiveAvgPool2d(1),
        nn.Conv2d(4, 2, 1),
        nn.Conv2d(2, 4, 1),
    ),
    "a convolution of means, of one axis": Of(
        lambda x, c, h: h(c(x)[:, :, 0].mean(2, keepdim=True))[..., 0], conv(6, 1), nn.Conv1d(4, 3, 1)
    ),
    "padded bands": Of(lambda x, c: F.pad(c(x), (0, 0, 1, 1)).mean((2, 3)), conv(3, padding=1)),
}
COMPILED = {
    "both axes at once": True,
    "one end": True,
    "two in a row": True,
    "AdaptiveMaxPool2d": False,
    "flattened": False,
    "a convolution of means": False,
    "a convolution of means of bands": False,
}


@pytest.mark.parametrize("name", [*PADS, *POOLS])
def test_image(name: str, tmp_path: Path) -> None:
    torch.manual_seed(5)
    module = {**PADS, **POOLS}[name].eval()
    made = imported(module, "x=1x6xT", length=97)
    assert "conv2d" in kinds(made) and max(made.report["errors"].values()) <= 1e-10
    if name in COMPILED:
        compiled_equals(module, "x=1x6xT", made, tmp_path, stream=COMPILED[name])


TRANSFORMS = {
    "rfftn": lambda x, k, n: torch.fft.irfftn(
        torch.fft.rfftn(x, s=(n,), dim=(-1,)) * torch.fft.rfft(k, n), s=(n,), dim=(-1,)
    ),
    "fftn": lambda x, k, n: torch.fft.ifftn(torch.fft.fftn(x, s=(n,), dim=(2,)) * torch.fft.fft(k, n), dim=(-1,)).real,
    "rfft2": lambda x, k, n: torch.fft.irfft2(torch.fft.rfft2(x, s=(6, n)) * torch.fft.rfft(k[0], n), s=(6, n)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_convolution_by_transforms_of_several_axes(name: str) -> None:
    torch.manual_seed(6)
    kernel = torch.randn(6, 9)
    made = imported(
        Of(lambda x: TRANSFORMS[name](x[:, 0], kernel, x.shape[-1] + 9)[..., : x.shape[-1]]), "x=1x6xT", length=97
    )
    assert kinds(made) == ["long_conv"] and max(made.report["errors"].values()) <= 1e-10


def test_what_follows_from_a_refusal_is_not_told() -> None:
    module = Of(
        lambda x, a, b: F.adaptive_avg_pool2d(b(torch.erfinv(a(x))).flatten(1)[:, None], 1),
        conv(3, padding=1),
        nn.Conv2d(4, 4, 3, padding=1),
    )
    assert refusal(module, "x=1x6xT", length=97).startswith("erfinv: erfinv: no rule for it") and "\n" not in refusal(
        module, "x=1x6xT", length=97
    )


def test_advice_that_changes_a_trained_model_says_so() -> None:
    assert "(that changes the model: train it again)" in refusal(
        Of(lambda x, c: c(F.pad(x, (1, 1, 0, 0), mode="reflect")), conv(3)), "x=1x6xT", length=97
    )


@pytest.mark.parametrize("make", [torch.jit.script, lambda m: torch.jit.trace(m, torch.randn(1, 4, 60))])
def test_torchscript_modules_are_converted(make) -> None:
    torch.manual_seed(7)
    plain = nn.Sequential(nn.Conv1d(4, 5, 3, padding=1), nn.BatchNorm1d(5), nn.ReLU()).eval()
    made = imported(make(plain), "x=1x4xT", length=97)
    assert kinds(made) == ["conv2d", "relu"] and max(made.report["errors"].values()) <= 1e-10
    assert refusal(nn.Sequential(plain[0], torch.jit.script(plain[1:])), "x=1x4xT").startswith(
        "1: RecursiveScriptModule: is a TorchScript module; "
    )
