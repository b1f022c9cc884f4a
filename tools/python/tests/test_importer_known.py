"""Published layers are recognised by their structure and become one layer of the package.

Compiled models are compared with the module in float32. What only looks like such a layer is imported by its operations.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from importer_checks import compiled_equals, imported  # noqa: E402
from longwave.importer.export import prepare  # noqa: E402
from longwave.importer.inputs import parse_input  # noqa: E402
from longwave.importer.known import marked  # noqa: E402
from longwave.layers.lightnet import LightNetAttention, LightNetConfig  # noqa: E402
from longwave.layers.orchid import OrchidOperator  # noqa: E402
from longwave.layers.sgconv import GConv  # noqa: E402


class Renamed(nn.Module):
    """Another class with the parts of GConv, features first or last."""

    def __init__(self, **options) -> None:
        super().__init__()
        inner = GConv(6, kernel_dim=4, l_max=64, **options)
        self.__dict__.update(
            {key: value for key, value in vars(inner).items() if key not in ("_modules", "_parameters", "_buffers")}
        )
        for kind in ("_modules", "_parameters", "_buffers"):
            getattr(self, kind).update(getattr(inner, kind))

    convolve, kernel, raw_kernel, freeze_norm = GConv.convolve, GConv.kernel, GConv.raw_kernel, GConv.freeze_norm
    kernel_length = GConv.kernel_length

    def forward(self, u: Tensor, state=None):
        return GConv.forward(self, u), None


class Stack(nn.Module):
    """A recognised layer that returns a pair, and one whose parts others use."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Renamed(transposed=False), GConv(6, kernel_dim=4, l_max=64, transposed=False)
        self.encoder = nn.Linear(3, 6)

    def forward(self, x: Tensor) -> Tensor:
        y, _ = self.first(self.encoder(x))
        return self.second(y) * self.second.D[0] + y


class GatedNorm(nn.Module):
    """RMS norm with its eps under the sum of squares, and a gate before or after it."""

    def __init__(self, width: int, gate_act: str, gate_pos: str) -> None:
        super().__init__()
        self.weight, self.eps, self.gate_act, self.gate_pos = (
            nn.Parameter(torch.rand(width) + 0.5),
            1e-5,
            gate_act,
            gate_pos,
        )

    def forward(self, x: Tensor, gate: Tensor) -> Tensor:
        gate = getattr(torch.nn.functional, self.gate_act)(gate)
        x = x * gate if self.gate_pos == "pre" else x
        y = x * (x.shape[-1] / (x.square().sum(-1, keepdim=True) + self.eps)) ** 0.5 * self.weight
        return y if self.gate_pos == "pre" else y * gate


class Cosine(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("theta", 100.0 ** (-2 * torch.arange(width) / width)[None], persistent=False)

    def forward(self, x: Tensor) -> Tensor:  # (1, T, heads, width)
        angle = torch.arange(x.shape[1])[:, None, None] * self.theta
        return torch.cat([x * angle.cos(), x * angle.sin()], -1)


class Xmixers(nn.Module):
    """LightNet attention row by row, from its recurrence, with the parts and names of xmixers."""

    def __init__(
        self,
        width: int,
        heads: int,
        bias: bool = False,
        use_lrpe: bool = False,
        gate_act: str = "sigmoid",
        gate_pos: str = "pre",
        scalar_decay: bool = False,
    ) -> None:
        super().__init__()
        self.num_heads, self.head_dim, self.use_lrpe, self.use_output_gate, self.scalar_decay = (
            heads,
            width // heads,
            use_lrpe,
            True,
            scalar_decay,
        )
        for name in "qkvo":
            setattr(self, f"{name}_proj", nn.Linear(width, width, bias=bias))
        self.output_gate = nn.Sequential(
            nn.Linear(width, self.head_dim, bias=bias), nn.Linear(self.head_dim, width, bias=bias)
        )
        self.norm = GatedNorm(width, gate_act, gate_pos)
        if use_lrpe:
            self.lrpe = Cosine(self.head_dim)
        self.lse_state = torch.empty(0)

    def forward(self, x: Tensor, past=None) -> tuple[Tensor, None]:
        q, k, v = (
            part.unflatten(-1, (self.num_heads, -1))
            for part in (torch.nn.functional.silu(self.q_proj(x)), self.k_proj(x), self.v_proj(x))
        )
        if len(self.lse_state) == 0:
            self.lse_state = torch.zeros(1, 1, self.num_heads, self.head_dim)
        z = torch.cat([self.lse_state, k.float()], 1).logcumsumexp(1)
        decay, k = (z[:, :-1] - z[:, 1:]).exp(), (k - z[:, 1:]).exp()
        if self.use_lrpe:
            q, k, decay = self.lrpe(q), self.lrpe(k), decay.repeat(1, 1, 1, 2)
        state, rows = 0, []
        for t in range(x.shape[1]):
            state = decay[:, t, ..., None] * state + k[:, t, ..., None] * v[:, t, :, None]
            rows.append((q[:, t, ..., None] * state).sum(-2))
        return self.o_proj(self.norm(torch.stack(rows, 1).flatten(2), self.output_gate(x))), past


class Tampered(GConv):
    """Looks like GConv and is not."""

    def forward(self, u: Tensor) -> Tensor:
        return 2 * super().forward(u)


CASES = {
    "renamed": (lambda: Renamed(), "x=1x6xT", ["sgconv"], True),
    "both ways, two copies": (
        lambda: Renamed(channels=2, bidirectional=True, postact=None),
        "x=1x6xT",
        ["sgconv"],
        False,
    ),
    "without the linear part": (
        lambda: Renamed(linear=True, channels=2, transposed=False),
        "x=1xTx6",
        ["sgconv"],
        True,
    ),
    "stack": (lambda: Stack(), "x=1xTx3", ["linear", "sgconv", "sgconv", "affine", "add"], True),
    "orchid": (lambda: OrchidOperator(6, 256, "fft"), "x=1xTx6", ["orchid"], False),
    "lightnet": (
        lambda: LightNetAttention(LightNetConfig(8, 2, "fla", gate_rank=4, gate_activation="silu")),
        "x=1xTx8",
        ["lightnet_attention"],
        True,
    ),
    "xmixers": (lambda: Xmixers(8, 2), "x=1xTx8", ["lightnet_attention"], True),
    "xmixers, all options": (
        lambda: Xmixers(12, 3, True, True, "silu", "post"),
        "x=1xTx12",
        ["lightnet_attention"],
        True,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_known_layer(name: str, tmp_path: Path) -> None:
    torch.manual_seed(3)
    make, spec, expected, stream = CASES[name]
    module = make().eval()
    with torch.no_grad():
        module(parse_input(spec).example(127, torch.float32))
    made = imported(module, spec, length=127)
    assert [node.get("op") or node["type"] for node in made.model["graph"]] == expected
    compiled_equals(First(module), spec, made, tmp_path, stream)


class First(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        y = self.inner(x)
        return y[0] if isinstance(y, tuple) else y


def test_what_only_looks_like_it_is_imported_by_its_operations() -> None:
    torch.manual_seed(3)
    module = Tampered(6, kernel_dim=4, l_max=64).eval()
    assert not marked(prepare(module, [parse_input("x=1x6xT")], 127))
    made = imported(module, "x=1x6xT", length=127)
    assert "long_conv" in [node.get("op") for node in made.model["graph"]]


def test_decays_of_a_head_are_another_layer() -> None:
    torch.manual_seed(3)
    assert not marked(prepare(Xmixers(8, 2, scalar_decay=True), [parse_input("x=1xTx8")], 127))


def test_known_layers_can_be_left_out() -> None:
    torch.manual_seed(3)
    made = imported(GConv(6, kernel_dim=4, l_max=64), "x=1x6xT", length=127, known=False)
    assert [node["op"] for node in made.model["graph"]][:2] == ["expand_scales", "long_conv"]
