"""The models of NeuralAmpModelerCore as modules. Each takes its weights from the list of the file, in their order."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import ImportFailed, Problem
from . import config
from .fields import AGAIN


def tensor(made: object) -> Tensor:
    """What a module returns, which has no hint."""
    assert isinstance(made, Tensor)
    return made


class Weights:
    """The list, and how much of it was taken. What is missing counts, and takes no memory."""

    def __init__(self, values: np.ndarray) -> None:
        self.values, self.taken = torch.from_numpy(values), 0

    def take(self, *shape: int) -> Tensor:
        begin, self.taken = self.taken, self.taken + math.prod(shape)
        if self.taken > len(self.values):
            return torch.zeros(1).expand(shape)
        return self.values[begin : self.taken].reshape(shape).clone()


class Conv(nn.Module):
    """Causal. `of`: channels out and in that the list has, where the first ones are kept."""

    def __init__(
        self,
        weights: Weights,
        outs: int,
        ins: int,
        taps: int = 1,
        *,
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
        of: tuple[int, int] | None = None,
    ) -> None:
        super().__init__()
        all_outs, all_ins = of or (outs, ins)
        self.weight = nn.Parameter(weights.take(all_outs, all_ins // groups, taps)[:outs, : ins // groups])
        self.bias = nn.Parameter(weights.take(all_outs)[:outs]) if bias else None
        self.before, self.dilation, self.groups = (taps - 1) * dilation, dilation, groups
        self.work = outs * ins * (self.before + 1)  # of a sample, groups and zeros between taps counted

    def forward(self, x: Tensor) -> Tensor:
        x = F.pad(x, (self.before, 0)) if self.before else x
        return F.conv1d(x, self.weight, self.bias, dilation=self.dilation, groups=self.groups)


class Activation(nn.Module):
    def __init__(self, activation: config.Activation) -> None:
        super().__init__()
        self.name, self.of = activation.name, activation.parameters
        self.slopes: Tensor | None
        self.register_buffer("slopes", torch.tensor(activation.slopes) if activation.slopes else None)

    def forward(self, x: Tensor) -> Tensor:
        if self.name == "PReLU" and self.slopes is not None:
            return tensor(F.prelu(x, self.slopes))
        return FORMULAS[self.name](x, self.of)


def fast_tanh(x: Tensor) -> Tensor:
    """The rational form of NeuralAmpModelerCore, which a capture may name."""
    size, square = x.abs(), x.square()
    above = x * (2.45550750702956 + 2.45550750702956 * size + (0.893229853513558 + 0.821226666969744 * size) * square)
    below = 2.44506634652299 + (2.44506634652299 + square) * (x + 0.814642734961073 * x * size).abs()
    return above / below


def leaky_hard_tanh(x: Tensor, of: Mapping[str, float]) -> Tensor:
    low, high = of["min_val"], of["max_val"]
    return x.clamp(low, high) + of["max_slope"] * F.relu(x - high) - of["min_slope"] * F.relu(low - x)


FORMULAS: dict[str, Callable[[Tensor, Mapping[str, float]], Tensor]] = {
    "Tanh": lambda x, of: torch.tanh(x),
    "Hardtanh": lambda x, of: x.clamp(-1, 1),
    "Fasttanh": lambda x, of: fast_tanh(x),
    "ReLU": lambda x, of: F.relu(x),
    "LeakyReLU": lambda x, of: F.leaky_relu(x, of["negative_slope"]),
    "PReLU": lambda x, of: F.leaky_relu(x, of["negative_slope"]),
    "Sigmoid": lambda x, of: torch.sigmoid(x),
    "SiLU": lambda x, of: F.silu(x),
    "Hardswish": lambda x, of: F.hardswish(x),
    "LeakyHardtanh": leaky_hard_tanh,
    "Softsign": lambda x, of: x / (1 + x.abs()),
}


class Film(nn.Module):
    """Scales each channel, and shifts it, by what the condition says."""

    def __init__(self, weights: Weights, condition: int, channels: int, film: config.Film) -> None:
        super().__init__()
        self.shift = film.shift
        self.conv = Conv(weights, channels * (2 if film.shift else 1), condition, groups=film.groups)

    def forward(self, x: Tensor, condition: Tensor) -> Tensor:
        if not self.shift:
            return tensor(x * self.conv(condition))
        scale, shift = tensor(self.conv(condition)).chunk(2, 1)
        return x * scale + shift


class Layer(nn.Module):
    """`kept`: the array with the channels that stay, of `whole`."""

    def __init__(self, weights: Weights, whole: config.Array, kept: config.Array, layer: config.Layer) -> None:
        super().__init__()
        self.gating, pairs = layer.gating, 1 if layer.gating == "none" else 2
        wide, all_wide = pairs * kept.bottleneck, pairs * whole.bottleneck
        self.conv = Conv(
            weights,
            wide,
            kept.channels,
            layer.taps,
            dilation=layer.dilation,
            groups=kept.groups,
            of=(all_wide, whole.channels),
        )
        self.mixin = Conv(
            weights, wide, kept.condition, groups=kept.mixin_groups, bias=False, of=(all_wide, whole.condition)
        )
        self.one_by_one = self.head_one_by_one = None
        if kept.one_by_one is not None:
            of = (whole.channels, whole.bottleneck)
            self.one_by_one = Conv(weights, kept.channels, kept.bottleneck, groups=kept.one_by_one, of=of)
        if kept.head_one_by_one is not None:
            of = (whole.head_inputs, whole.bottleneck)
            self.head_one_by_one = Conv(weights, kept.head_inputs, kept.bottleneck, groups=kept.head_one_by_one, of=of)
        self.activation, self.gate = Activation(layer.activation), Activation(layer.gate)
        self.films = nn.ModuleDict(
            {
                name: Film(weights, kept.condition, config.film_width(kept, layer, name), film)
                for name, film in kept.films.items()
            }
        )

    def film(self, name: str, x: Tensor, condition: Tensor) -> Tensor:
        return tensor(self.films[name](x, condition)) if name in self.films else x

    def forward(self, x: Tensor, condition: Tensor) -> tuple[Tensor, Tensor]:
        """What the next layer reads, and what the head adds."""
        z = self.film("conv_post_film", self.conv(self.film("conv_pre_film", x, condition)), condition)
        mixed = self.mixin(self.film("input_mixin_pre_film", condition, condition))
        z = self.film("activation_pre_film", z + self.film("input_mixin_post_film", mixed, condition), condition)
        if self.gating == "none":
            z = self.activation(z)
        else:
            z, other = z.chunk(2, 1)
            made, gate = self.activation(z), self.gate(other)
            z = made * gate if self.gating == "gated" else gate * made + (1 - gate) * z
        z = self.film("activation_post_film", z, condition)
        head = z if self.head_one_by_one is None else self.head_one_by_one(z)
        head = self.film("head1x1_post_film", head, condition)
        if self.one_by_one is None:
            return x, head
        step = self.one_by_one(z)
        return x + (self.film("layer1x1_post_film", step, condition) if self.gating == "blended" else step), head


class Array(nn.Module):
    def __init__(self, weights: Weights, whole: config.Array, kept: config.Array) -> None:
        super().__init__()
        self.rechannel = Conv(weights, kept.channels, kept.inputs, bias=False, of=(whole.channels, whole.inputs))
        self.layers = nn.ModuleList(Layer(weights, whole, kept, layer) for layer in kept.layers)
        self.head = Conv(
            weights,
            kept.head,
            kept.head_inputs,
            kept.head_taps,
            dilation=kept.head_dilation,
            bias=kept.head_bias,
            of=(whole.head, whole.head_inputs),
        )

    def forward(self, x: Tensor, condition: Tensor, head: Tensor | None) -> tuple[Tensor, Tensor]:
        x = self.rechannel(x)
        for layer in self.layers:
            x, more = layer(x, condition)
            head = more if head is None else head + more
        assert head is not None
        return x, self.head(head)


class WaveNet(nn.Module):
    def __init__(self, weights: Weights, net: config.WaveNet, size: float | None) -> None:
        super().__init__()
        self.condition = net_of(net.condition, None) if net.condition else None
        self.arrays = nn.ModuleList(
            Array(weights, whole, kept) for whole, kept in zip(net.arrays, smaller(net.arrays, size))
        )
        widths = [net.arrays[-1].head]
        self.head = nn.ModuleList()
        if net.head:
            self.act = Activation(net.head.activation)
            widths += [net.head.channels] * (len(net.head.taps) - 1) + [net.head.outputs]
            for ins, outs, taps in zip(widths, widths[1:], net.head.taps):
                self.head.append(Conv(weights, outs, ins, taps))
        self.scale: Tensor
        self.register_buffer("scale", weights.take(1))

    def forward(self, x: Tensor) -> Tensor:
        condition = self.condition(x) if self.condition is not None else x
        head: Tensor | None = None
        y = x
        for array in self.arrays:
            y, head = array(y, condition, head)
        assert head is not None
        head = head * self.scale
        for conv in self.head:
            head = conv(self.act(head))
        return head


def smaller(arrays: tuple[config.Array, ...], size: float | None) -> list[config.Array]:
    """With the channels for a size from 0 to 1."""
    channels = [
        array.channels if size is None else array.sizes[min(math.floor(size * len(array.sizes)), len(array.sizes) - 1)]
        for array in arrays
    ]
    made = []
    for i, (array, count) in enumerate(zip(arrays, channels)):
        bottleneck = count if array.one_by_one is None else max(1, array.bottleneck * count // array.channels)
        made.append(
            replace(
                array,
                channels=count,
                bottleneck=bottleneck,
                inputs=channels[i - 1] if i else array.inputs,
                head=array.head,
                head_inputs=array.head_inputs if array.head_one_by_one is not None else bottleneck,
            )
        )
    for before, after in zip(range(len(made)), made[1:]):
        made[before] = replace(made[before], head=after.head_inputs)
    return made


class Lstm(nn.Module):
    def __init__(self, weights: Weights, net: config.Lstm) -> None:
        super().__init__()
        cells: dict[str, Tensor] = {}
        begin = []
        self.begin: Tensor
        for i in range(net.layers):
            ins = net.hidden if i else net.inputs
            matrix = weights.take(4 * net.hidden, ins + net.hidden)
            cells |= {
                f"weight_ih_l{i}": matrix[:, :ins],
                f"weight_hh_l{i}": matrix[:, ins:],
                f"bias_ih_l{i}": weights.take(4 * net.hidden),
                f"bias_hh_l{i}": torch.zeros(1).expand(4 * net.hidden),
            }
            begin.append(weights.take(2, net.hidden))
        with torch.device("meta"):
            self.cells = nn.LSTM(net.inputs, net.hidden, net.layers, batch_first=True)
        self.head = Conv(weights, net.outputs, net.hidden)
        if weights.taken == len(weights.values):
            self.cells.load_state_dict({key: value.contiguous() for key, value in cells.items()}, assign=True)
            self.register_buffer("begin", torch.stack(begin, 1)[:, :, None])

    def forward(self, x: Tensor) -> Tensor:
        return tensor(self.head(self.cells(x.mT, (self.begin[0], self.begin[1]))[0].mT))


class ConvNet(nn.Module):
    def __init__(self, weights: Weights, net: config.ConvNet, where: str) -> None:
        super().__init__()
        self.convs, self.norms = nn.ModuleList(), nn.ModuleList()
        for i, dilation in enumerate(net.dilations):
            ins = net.channels if i else net.inputs
            self.convs.append(
                Conv(weights, net.channels, ins, 2, dilation=dilation, groups=net.groups, bias=not net.norm)
            )
            if net.norm:
                self.norms.append(Norm(weights, net.channels, where, i))
        self.activation = Activation(net.activation)
        self.head = Conv(weights, net.outputs, net.channels)

    def forward(self, x: Tensor) -> Tensor:
        for i, conv in enumerate(self.convs):
            x = conv(x)
            x = self.activation(self.norms[i](x) if len(self.norms) else x)
        return tensor(self.head(x))


class Norm(nn.Module):
    """Statistics of the training."""

    def __init__(self, weights: Weights, channels: int, where: str, layer: int) -> None:
        super().__init__()
        mean, variance, scale, shift = weights.take(4, channels).double()
        scale = scale / (variance + weights.take(1).double()).sqrt()
        shift = shift - scale * mean
        if not bool(torch.isfinite(scale).all() and torch.isfinite(shift).all()) and weights.taken <= len(
            weights.values
        ):
            raise ImportFailed(
                [Problem(f"{where or 'weights'}", "", f"the norm of layer {layer} divides by no number", AGAIN)]
            )
        self.scale, self.shift = nn.Parameter(scale[:, None].float()), nn.Parameter(shift[:, None].float())

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale + self.shift


class Linear(nn.Module):
    """The first weight is that of the newest sample, as NeuralAmpModelerCore has it."""

    def __init__(self, weights: Weights, net: config.Linear) -> None:
        super().__init__()
        self.conv = Conv(weights, 1, 1, net.taps, bias=net.bias)
        if weights.taken == len(weights.values):
            self.conv.weight = nn.Parameter(self.conv.weight.flip(2))

    def forward(self, x: Tensor) -> Tensor:
        return tensor(self.conv(x))


class Capture(nn.Module):
    """(1, samples) -> (1, samples)"""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, audio: Tensor) -> Tensor:
        return tensor(self.net(audio[:, None]))[:, 0]


def chosen(model: config.Model, size: float | None) -> tuple[config.Model, float | None]:
    """The model of this size in a container, and the size that is left to choose. None: the largest. Raises ImportFailed."""
    if isinstance(model.net, config.Container):
        models = model.net.models
        fit = (each for most, each in models if size is not None and size < most)
        return next(fit, models[-1][1]), None
    if size is not None and not (isinstance(model.net, config.WaveNet) and model.net.smaller):
        raise ImportFailed([Problem("--size", "", "the capture has one size", "leave it out")])
    return model, size


def net_of(model: config.Model, size: float | None) -> nn.Module:
    """Raises ImportFailed where the weights are not as many as the model has."""
    model, size = chosen(model, size)
    weights, net = Weights(model.weights), model.net
    if isinstance(net, config.Container):
        return net_of(model, size)
    made: nn.Module
    if isinstance(net, config.WaveNet):
        made = WaveNet(weights, net, size)
    elif isinstance(net, config.Lstm):
        made = Lstm(weights, net)
    elif isinstance(net, config.ConvNet):
        made = ConvNet(weights, net, model.where)
    else:
        made = Linear(weights, net)
    where = f"{model.where}.weights" if model.where else "weights"
    if weights.taken != len(weights.values):
        raise ImportFailed(
            [Problem(where, "", f"has {len(weights.values):,} numbers, and the model {weights.taken:,}", AGAIN)]
        )
    return made


def reach_of(model: config.Model, size: float | None = None) -> int:
    """Rows behind which convolutions hold nothing that was before them."""
    model, size = chosen(model, size)
    if isinstance(model.net, config.Container):
        return reach_of(model, size)
    more = reach_of(model.net.condition) if isinstance(model.net, config.WaveNet) and model.net.condition else 0
    return model.net.reach + more


def rest_of(model: config.Model, rate: int, size: float | None = None) -> int:
    """Rows of zeros before the first sample. A recurrence gets half a second of them, as in NeuralAmpModelerCore."""
    model, size = chosen(model, size)
    if isinstance(model.net, config.Container):
        return rest_of(model, rate, size)
    more = rest_of(model.net.condition, rate) if isinstance(model.net, config.WaveNet) and model.net.condition else 1
    return model.net.reach + (rate // 2 if isinstance(model.net, config.Lstm) else more)
