"""What a .nam file says of its model, checked. The numbers stay a list: model.py gives them their places."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from ..errors import ImportFailed, Problem
from . import limits
from .fields import Fields, is_number, kind, read_object

SLICES = "slice_channels_uniform"
PARAMETERS: dict[str, dict[str, float]] = {  # of an activation, with their values where the file has none
    "Tanh": {},
    "Hardtanh": {"min_val": -1.0, "max_val": 1.0},
    "Fasttanh": {},
    "ReLU": {},
    "LeakyReLU": {"negative_slope": 0.01},
    "PReLU": {"negative_slope": 0.01},
    "Sigmoid": {},
    "SiLU": {},
    "Hardswish": {},
    "LeakyHardtanh": {"min_val": -1.0, "max_val": 1.0, "min_slope": 0.01, "max_slope": 0.01},
    "Softsign": {},
}
SPELLINGS = {"LeakyHardTanh": "LeakyHardtanh"}
GATINGS = ("none", "gated", "blended")
FILMS = (  # in the order of their weights
    "conv_pre_film",
    "conv_post_film",
    "input_mixin_pre_film",
    "input_mixin_post_film",
    "activation_pre_film",
    "activation_post_film",
    "layer1x1_post_film",
    "head1x1_post_film",
)


@dataclass(frozen=True)
class Activation:
    name: str
    parameters: dict[str, float]
    slopes: tuple[float, ...] = ()  # of PReLU, one for each channel


@dataclass(frozen=True)
class Film:
    shift: bool
    groups: int


@dataclass(frozen=True)
class Layer:
    taps: int
    dilation: int
    activation: Activation
    gating: str
    gate: Activation


@dataclass(frozen=True)
class Array:
    """Layers of equal width. `one_by_one`, `head_one_by_one`: groups, or none. `sizes`: channels that a smaller model may have."""

    inputs: int
    condition: int
    channels: int
    bottleneck: int
    layers: tuple[Layer, ...]
    head: int
    head_taps: int
    head_dilation: int
    head_bias: bool
    groups: int
    mixin_groups: int
    one_by_one: int | None
    head_one_by_one: int | None
    head_inputs: int
    films: dict[str, Film]
    sizes: tuple[int, ...]

    @property
    def reach(self) -> int:
        return sum((each.taps - 1) * each.dilation for each in self.layers) + (self.head_taps - 1) * self.head_dilation


@dataclass(frozen=True)
class Head:
    """Convolutions behind the last array, each behind the activation."""

    channels: int
    outputs: int
    taps: tuple[int, ...]
    activation: Activation


@dataclass(frozen=True)
class WaveNet:
    arrays: tuple[Array, ...]
    head: Head | None
    condition: Model | None
    inputs: int

    @property
    def outputs(self) -> int:
        return self.head.outputs if self.head else self.arrays[-1].head if self.arrays else 1

    @property
    def reach(self) -> int:
        return sum(array.reach for array in self.arrays) + sum(
            taps - 1 for taps in (self.head.taps if self.head else ())
        )

    @property
    def smaller(self) -> bool:
        return any(len(array.sizes) > 1 for array in self.arrays)


@dataclass(frozen=True)
class Lstm:
    layers: int
    hidden: int
    inputs: int
    outputs: int
    reach = 0


@dataclass(frozen=True)
class ConvNet:
    channels: int
    dilations: tuple[int, ...]
    norm: bool
    activation: Activation
    groups: int
    inputs: int
    outputs: int

    @property
    def reach(self) -> int:
        return sum(self.dilations)


@dataclass(frozen=True)
class Linear:
    taps: int
    bias: bool
    inputs: int
    outputs: int

    @property
    def reach(self) -> int:
        return self.taps - 1


@dataclass(frozen=True)
class Container:
    """The same capture in several sizes, each up to a limit of the size that a user asks for."""

    models: tuple[tuple[float, Model], ...]
    inputs = outputs = 1


@dataclass(frozen=True)
class Model:
    architecture: str
    version: str
    net: WaveNet | Lstm | ConvNet | Linear | Container
    weights: np.ndarray
    rate: int | None
    about: dict[str, str | float]
    where: str
    notes: list[str] = field(default_factory=list)


def read(path: Path) -> Model:
    """Raises ImportFailed with all that is refused, and OSError."""
    problems: list[Problem] = []
    model = model_of(Fields("", read_object(path), problems), 1)
    if problems:
        raise ImportFailed(problems)
    return model


def version_of(fields: Fields) -> str:
    """The format's version."""
    value = fields.value("version")
    found = re.fullmatch(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})", value, re.ASCII) if isinstance(value, str) else None
    if not found:
        fields.expected("version", 'a version such as "0.5.4"', value)
        return ""
    if not limits.VERSIONS[0] <= (int(found[1]), int(found[2])) <= limits.VERSIONS[1]:
        known = " to ".join(f"{major}.{minor}" for major, minor in limits.VERSIONS)
        fields.wrong("version", f"is {found[0]}; {known} are read", "export the capture with another trainer")
    return found[0]


def rate_of(fields: Fields) -> int | None:
    value = fields.value("sample_rate")
    if value is None or value == -1 and is_number(value):
        return None  # how the format says that it is not known
    return fields.checked_whole("sample_rate", value, *limits.RATES)


def about_of(fields: Fields) -> dict[str, str | float]:
    """Metadata for a user to read. Nothing is computed from them."""
    found = fields.value("metadata")
    texts = ("name", "modeled_by", "gear_type", "gear_make", "gear_model", "tone_type")
    numbers = ("loudness", "gain", "input_level_dbu", "output_level_dbu")
    about: dict[str, str | float] = {}
    for key, value in found.items() if isinstance(found, dict) else ():
        if key in texts and isinstance(value, str) and value:
            about[key] = value[:200]
        elif key in numbers and isinstance(value, (int, float)) and is_number(value) and math.isfinite(value):
            about[key] = float(value)
    return about


def model_of(fields: Fields, depth: int) -> Model:
    makers: dict[str, Callable[[Fields, Fields, int, list[str]], WaveNet | Lstm | ConvNet | Linear | Container]] = {
        "WaveNet": wavenet_of,
        "LSTM": lstm_of,
        "ConvNet": convnet_of,
        "Linear": linear_of,
        "SlimmableContainer": container_of,
    }
    notes: list[str] = []
    version, rate, about = version_of(fields), rate_of(fields), about_of(fields)
    architecture, config = fields.word("architecture", makers), fields.part("config")
    if depth > limits.DEPTH:
        fields.wrong("config", f"has more than {limits.DEPTH} models within each other")
        config = Fields("", {}, [])
        architecture = "Linear"
    net = makers[architecture](fields, config, depth, notes)
    config.done()
    weights = weights_of(fields, isinstance(net, Container))
    if not isinstance(net, Container) and net.reach > limits.REACH:
        fields.wrong("config", f"remembers {net.reach:,} rows; at most {limits.REACH:,}")
    return Model(architecture, version, net, weights, rate, about, fields.where, notes)


def weights_of(fields: Fields, none: bool) -> np.ndarray:
    value = fields.value("weights")
    empty: np.ndarray = np.zeros(0, np.float32)
    if none and value == []:
        return empty
    if none or not isinstance(value, list):
        fields.expected("weights", "an empty list, because the models have their own" if none else "a list", value)
    elif len(value) > limits.WEIGHTS:
        fields.wrong("weights", f"has {len(value):,} numbers; at most {limits.WEIGHTS:,}", "give a smaller model")
    elif (bad := next((i for i, number in enumerate(value) if not is_number(number)), None)) is not None:
        fields.wrong(f"weights[{bad}]", f"expected a number, found {kind(value[bad])}")
    else:
        with np.errstate(over="ignore"):
            made = np.array(value, np.float64).astype(np.float32)
        if np.isfinite(made).all():
            return made
        bad = int(np.argmin(np.isfinite(made)))
        fields.wrong(f"weights[{bad}]", f"{value[bad]:.3g} is no number of float32", "train the capture again")
    return empty


def inner(fields: Fields, depth: int, owner: Fields, notes: list[str]) -> Model:
    """A model within a model, at the same rate."""
    model = model_of(fields, depth + 1)
    rate = rate_of(Fields(owner.where, owner.members, []))
    if model.rate is not None and rate is not None and model.rate != rate:
        fields.wrong("sample_rate", f"is {model.rate}, and that of the model around it {rate}")
    notes += model.notes
    return model


def container_of(fields: Fields, config: Fields, depth: int, notes: list[str]) -> Container:
    models: list[tuple[float, Model]] = []
    for entry in config.parts("submodels", limits.MODELS):
        most = entry.number("max_value")
        part = entry.part("model")
        model = inner(part, depth, fields, notes) if part.members else None
        entry.done()
        if models and most <= models[-1][0]:
            entry.wrong("max_value", "is not above that of the model before")
        if model and (model.net.inputs, model.net.outputs) != (1, 1):
            entry.wrong("model", f"turns {model.net.inputs} channels into {model.net.outputs}, expected one each")
        if model:
            models.append((most, model))
    if models and models[-1][0] < 1:
        config.wrong("submodels", f"ends with the size {models[-1][0]}, expected 1")
    return Container(tuple(models))


def activation_of(fields: Fields, name: str, value: object) -> Activation:
    inside = fields.of(name, value if isinstance(value, dict) else {"type": value})
    said = SPELLINGS.get(str(inside.value("type")), inside.value("type"))
    if not isinstance(said, str) or said not in PARAMETERS:
        fields.expected(name, f"an activation of {', '.join(PARAMETERS)}", inside.value("type"))
        return Activation("Tanh", {})
    found = {key: inside.number(key, default) for key, default in PARAMETERS[said].items()}
    slopes: tuple[float, ...] = ()
    if said == "PReLU" and inside.has("negative_slopes"):
        many = inside.several("negative_slopes", limits.CHANNELS)
        slopes = tuple(float(each) for each in many if isinstance(each, (int, float)) and is_number(each))
        if len(slopes) != len(many) or not all(abs(each) < 1e30 for each in slopes):
            inside.wrong("negative_slopes", "has values that are no numbers")
    if said == "Hardtanh" and (found["min_val"], found["max_val"]) != (-1, 1):
        inside.wrong("type", "Hardtanh with other limits than -1 and 1: programs ignore them", "use LeakyHardtanh")
    if said == "LeakyHardtanh" and found["min_val"] > found["max_val"]:
        inside.wrong("min_val", f"{found['min_val']} is above max_val, {found['max_val']}")
    inside.done()
    return Activation(said, found, slopes)


def slopes_fit(fields: Fields, name: str, activation: Activation, channels: int) -> None:
    if len(activation.slopes) not in (0, 1, channels):
        fields.wrong(name, f"has {len(activation.slopes)} slopes for {channels} channels")


def divides(fields: Fields, name: str, groups: int, ins: int, outs: int) -> None:
    if ins % groups or outs % groups:
        fields.wrong(name, f"{ins} channels into {outs} do not divide into {groups} groups")


def array_of(config: Fields, notes: list[str]) -> Array:
    some = partial(config.whole, low=1, high=limits.CHANNELS)
    channels = some("channels")
    bottleneck = some("bottleneck", default=channels)
    dilations = config.wholes("dilations", 1, limits.DILATION, limits.LAYERS)
    count = len(dilations)
    if config.has("kernel_size") == config.has("kernel_sizes"):
        config.wrong("kernel_size", "expected either kernel_size or kernel_sizes")
    name = "kernel_sizes" if config.has("kernel_sizes") else "kernel_size"
    taps = config.each(name, count, lambda at, value: config.checked_whole(at, value, 1, limits.TAPS))
    acts = config.each("activation", count, partial(activation_of, config))
    gatings, gates = gates_of(config, count)
    head, ones = head_of_array(config), one_by_ones(config, bottleneck)
    array = Array(
        inputs=some("input_size"),
        condition=some("condition_size"),
        channels=channels,
        bottleneck=bottleneck,
        layers=tuple(
            Layer(t, d, a, g, s)
            for t, d, a, g, s in zip(taps, dilations, acts, gatings, gates)
            if isinstance(t, int) and isinstance(a, Activation)
        ),
        head=head[0],
        head_taps=head[1],
        head_dilation=head[2],
        head_bias=head[3],
        groups=some("groups_input", default=1),
        mixin_groups=some("groups_input_mixin", default=1),
        one_by_one=ones[0],
        head_one_by_one=ones[1],
        head_inputs=ones[2],
        films={name: film for name in FILMS if (film := film_of(config, name))},
        sizes=sizes_of(config, channels),
    )
    check_array(config, array, notes)
    config.done()
    return array


def gates_of(config: Fields, count: int) -> tuple[list[str], list[Activation]]:
    """How each layer is gated, and the activation of the gate."""
    sigmoid = Activation("Sigmoid", {})

    def gating(at: str, value: object) -> str:
        if isinstance(value, str) and value in GATINGS:
            return value
        config.expected(at, f"one of {', '.join(GATINGS)}", value)
        return GATINGS[0]

    if config.has("gating_mode"):
        config.read.add("gated")
        modes = [str(mode) for mode in config.each("gating_mode", count, gating)]
    else:
        modes = ["gated" if config.flag("gated", False) else "none"] * count
    values = config.value("secondary_activation")
    if not isinstance(values, list):
        values = [values] * count
    elif len(values) != count:
        config.wrong("secondary_activation", f"has {len(values)} values for {count} layers")
        values = [None] * count
    name = "secondary_activation"
    return modes, [
        sigmoid if mode == "none" or value is None else activation_of(config, name, value)
        for mode, value in zip(modes, values)
    ]


def head_of_array(config: Fields) -> tuple[int, int, int, bool]:
    """Channels, taps, dilation and whether it has a bias."""
    if not config.has("head"):
        return config.whole("head_size", 1, limits.CHANNELS), 1, 1, config.flag("head_bias")
    config.read |= {"head_size", "head_bias"}  # of older programs
    head = config.part("head")
    made = (
        head.whole("out_channels", 1, limits.CHANNELS),
        head.whole("kernel_size", 1, limits.TAPS),
        head.whole("head_dilation", 1, limits.DILATION, 1),
        head.flag("bias"),
    )
    head.done()
    return made


def one_by_ones(config: Fields, bottleneck: int) -> tuple[int | None, int | None, int]:
    """Groups of layer1x1 and of head1x1, or none, and the channels that the head reads."""
    one: int | None = 1
    head, inputs = None, bottleneck
    if config.has("layer1x1"):
        part = config.part("layer1x1")
        active, groups = part.flag("active"), part.whole("groups", 1, limits.CHANNELS)
        part.done()
        one = groups if active else None
    if config.has("head1x1"):
        part = config.part("head1x1")
        active, groups = part.flag("active"), part.whole("groups", 1, limits.CHANNELS)
        outs = part.whole("out_channels", 1, limits.CHANNELS)
        part.done()
        if active:
            head, inputs = groups, outs
    return one, head, inputs


def film_of(config: Fields, name: str) -> Film | None:
    if not config.has(name) or config.value(name) is False:
        return None
    part = config.part(name)
    active, film = (
        part.flag("active", True),
        Film(part.flag("shift", True), part.whole("groups", 1, limits.CHANNELS, 1)),
    )
    part.done()
    return film if active else None


def sizes_of(config: Fields, channels: int) -> tuple[int, ...]:
    if not config.has("slimmable"):
        return (channels,)
    part = config.part("slimmable")
    part.word("method", (SLICES,))
    sizes = list(range(1, channels + 1))
    if part.has("kwargs"):
        inside = part.part("kwargs")
        if inside.has("allowed_channels"):
            sizes = inside.wholes("allowed_channels", 1, limits.CHANNELS, limits.CHANNELS)
            if sizes != sorted(set(sizes)) or sizes[-1:] != [channels]:
                inside.wrong("allowed_channels", f"does not rise to {channels}, the channels of the array")
        inside.read |= {"boosting", "init_strategy"}  # of the training
        inside.done()
    part.done()
    return tuple(sizes) or (channels,)


def check_array(config: Fields, array: Array, notes: list[str]) -> None:
    """How the parts fit each other."""
    films, gated = array.films, any(layer.gating != "none" for layer in array.layers)
    for i, layer in enumerate(array.layers):
        slopes_fit(config, f"activation[{i}]", layer.activation, array.bottleneck)
        if layer.gating != "none":
            slopes_fit(config, f"secondary_activation[{i}]", layer.gate, array.bottleneck)
    wide = {2 * array.bottleneck if layer.gating != "none" else array.bottleneck for layer in array.layers}
    for outs in sorted(wide):
        divides(config, "groups_input", array.groups, array.channels, outs)
        divides(config, "groups_input_mixin", array.mixin_groups, array.condition, outs)
    if array.one_by_one is None:
        if array.bottleneck != array.channels:
            config.wrong("bottleneck", f"is {array.bottleneck}: without layer1x1 it is that of channels")
        if "layer1x1_post_film" in films:
            config.wrong("layer1x1_post_film", "there is no layer1x1")
        notes.append(
            f"{config.where}: without layer1x1 each layer hands on what it read, as NeuralAmpModelerCore does; "
            "the trainer adds the activations"
        )
    else:
        divides(config, "layer1x1.groups", array.one_by_one, array.bottleneck, array.channels)
    if array.head_one_by_one is not None:
        divides(config, "head1x1.groups", array.head_one_by_one, array.bottleneck, array.head_inputs)
    elif "head1x1_post_film" in films:
        config.wrong("head1x1_post_film", "there is no head1x1")
    for name, film in films.items():
        for layer in array.layers:
            outs = film_width(array, layer, name) * (2 if film.shift else 1)
            if array.condition % film.groups or outs % film.groups:
                divides(config, name, film.groups, array.condition, outs)
                break
    if "layer1x1_post_film" in films and any(layer.gating != "blended" for layer in array.layers):
        notes.append(
            f"{config.where}: layer1x1_post_film counts in blended layers only, as in NeuralAmpModelerCore; "
            "the trainer counts it in all"
        )
    if len(array.sizes) > 1:
        if films or gated:
            config.wrong("slimmable", "is not read with FiLM or gates: programs slice them in different ways")
        groups = (array.groups, array.mixin_groups, array.one_by_one or 1, array.head_one_by_one or 1)
        if max(groups) > 1 or array.head_taps > 1:
            config.wrong("slimmable", "is not defined with groups, or with several taps of the head")


def film_width(array: Array, layer: Layer, name: str) -> int:
    """Channels that it scales."""
    wide = 2 * array.bottleneck if layer.gating != "none" else array.bottleneck
    return {
        "conv_pre_film": array.channels,
        "input_mixin_pre_film": array.condition,
        "activation_post_film": array.bottleneck,
        "layer1x1_post_film": array.channels,
        "head1x1_post_film": array.head_inputs,
    }.get(name, wide)


def wavenet_of(fields: Fields, config: Fields, depth: int, notes: list[str]) -> WaveNet:
    inputs = config.whole("in_channels", 1, limits.CHANNELS, 1)
    condition = None
    if config.has("condition_dsp"):
        part = config.part("condition_dsp")
        condition = inner(part, depth, fields, notes) if part.members else None
    arrays = tuple(array_of(each, notes) for each in config.parts("layers", limits.ARRAYS))
    config.number("head_scale")  # the last weight counts
    head = None
    if config.has("head"):
        part = config.part("head")
        head = Head(
            part.whole("channels", 1, limits.CHANNELS),
            part.whole("out_channels", 1, limits.CHANNELS),
            tuple(part.wholes("kernel_sizes", 1, limits.TAPS, limits.LAYERS)),
            activation_of(part, "activation", part.value("activation")),
        )
        if part.has("in_channels") and arrays:
            given = part.whole("in_channels", 1, limits.CHANNELS)
            if given != arrays[-1].head:
                part.wrong("in_channels", f"is {given}, and the last array has {arrays[-1].head}")
        part.done()
        widths = [arrays[-1].head if arrays else 1] + [head.channels] * (len(head.taps) - 1)
        for width in widths:
            slopes_fit(part, "activation", head.activation, width)
    net = WaveNet(arrays, head, condition, inputs)
    if not config.problems:
        check_wavenet(config, net)
    return net


def check_wavenet(config: Fields, net: WaveNet) -> None:
    condition = net.condition.net.outputs if net.condition else net.inputs
    if net.condition and net.condition.net.inputs != net.inputs:
        config.wrong("condition_dsp", f"reads {net.condition.net.inputs} channels of {net.inputs}")
    for i, array in enumerate(net.arrays):
        before = net.arrays[i - 1] if i else None
        if array.condition != condition:
            config.wrong(f"layers[{i}].condition_size", f"is {array.condition}, and the condition has {condition}")
        reads = before.channels if before else net.inputs
        if array.inputs != reads:
            config.wrong(f"layers[{i}].input_size", f"is {array.inputs}, and it reads {reads} channels")
        if before and before.head != array.head_inputs:
            config.wrong(f"layers[{i - 1}].head", f"has {before.head} channels, and the next adds {array.head_inputs}")
    if sum(len(array.layers) for array in net.arrays) > limits.LAYERS:
        config.wrong("layers", f"has more than {limits.LAYERS} layers")


def channels_of(config: Fields) -> dict[str, int]:
    return {
        "inputs": config.whole("in_channels", 1, limits.CHANNELS, 1),
        "outputs": config.whole("out_channels", 1, limits.CHANNELS, 1),
    }


def lstm_of(fields: Fields, config: Fields, depth: int, notes: list[str]) -> Lstm:
    net = Lstm(
        config.whole("num_layers", 1, limits.LAYERS),
        config.whole("hidden_size", 1, limits.CHANNELS),
        **channels_of(config),
    )
    if config.whole("input_size", 1, limits.CHANNELS) != net.inputs:
        config.wrong("input_size", f"is not the number of channels, {net.inputs}")
    return net


def convnet_of(fields: Fields, config: Fields, depth: int, notes: list[str]) -> ConvNet:
    net = ConvNet(
        config.whole("channels", 1, limits.CHANNELS),
        tuple(config.wholes("dilations", 1, limits.DILATION, limits.LAYERS)),
        config.flag("batchnorm"),
        activation_of(config, "activation", config.value("activation")),
        config.whole("groups", 1, limits.CHANNELS, 1),
        **channels_of(config),
    )
    slopes_fit(config, "activation", net.activation, net.channels)
    divides(config, "groups", net.groups, net.inputs, net.channels)
    return net


def linear_of(fields: Fields, config: Fields, depth: int, notes: list[str]) -> Linear:
    config.read.add("implementation")  # how a program computes it
    return Linear(config.whole("receptive_field", 1, limits.REACH), config.flag("bias"), **channels_of(config))
