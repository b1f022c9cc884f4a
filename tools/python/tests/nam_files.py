"""Captures of Neural Amp Modeler with random weights, in every architecture and with every option of the format."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

FILMS = ("conv_pre", "conv_post", "input_mixin_pre", "input_mixin_post", "activation_pre", "activation_post")
Json = dict[str, Any]


def capture(architecture: str, config: Json, count: int, seed: int = 1, rate: int | None = 48000, **more: Any) -> Json:
    """A file with so many weights. Those that divide are near 1."""
    rng = random.Random(seed)
    weights = [rng.uniform(-0.4, 0.4) for _ in range(count)]
    made = {"version": "0.7.0", "architecture": architecture, "config": config, "weights": weights, **more}
    return made | ({} if rate is None else {"sample_rate": rate})


def array_count(a: Json) -> int:
    """Weights of an array of layers."""
    c, b, cond = a["channels"], a.get("bottleneck", a["channels"]), a["condition_size"]
    one, head1 = a.get("layer1x1", {"active": True, "groups": 1}), a.get("head1x1", {"active": False})
    count, dilations = a["input_size"] * c, a["dilations"]
    taps = a["kernel_sizes"] if "kernel_sizes" in a else [a["kernel_size"]] * len(dilations)
    modes = a.get("gating_mode", "gated" if a.get("gated") else "none")
    modes = modes if isinstance(modes, list) else [modes] * len(dilations)
    for k, mode in zip(taps, modes):
        z = b if mode == "none" else 2 * b
        count += z * c * k // a.get("groups_input", 1) + z + cond * z // a.get("groups_input_mixin", 1)
        count += b * c // one["groups"] + c if one["active"] else 0
        count += b * head1["out_channels"] // head1["groups"] + head1["out_channels"] if head1["active"] else 0
        widths = {"conv_pre": c, "input_mixin_pre": cond, "activation_post": b, "layer1x1_post": c}
        for name in (*FILMS, "layer1x1_post", "head1x1_post"):
            film = a.get(f"{name}_film")
            if film and film.get("active", True):
                out = head1["out_channels"] if name == "head1x1_post" else widths.get(name, z)
                out *= 2 if film.get("shift", True) else 1
                count += cond * out // film.get("groups", 1) + out
    ins = head1["out_channels"] if head1["active"] else b
    head = a.get("head") or {"out_channels": a["head_size"], "kernel_size": 1, "bias": a["head_bias"]}
    return count + head["out_channels"] * (ins * head["kernel_size"] + head["bias"])


def wavenet(arrays: list[Json], seed: int = 1, head: Json | None = None, **more: Any) -> Json:
    count = sum(map(array_count, arrays)) + 1
    ins = arrays[-1]["head"]["out_channels"] if "head" in arrays[-1] else arrays[-1]["head_size"]
    for i, taps in enumerate(head["kernel_sizes"] if head else ()):
        outs = head["out_channels"] if head and i + 1 == len(head["kernel_sizes"]) else head["channels"] if head else 0
        count, ins = count + outs * (ins * taps + 1), outs
    rate = more.pop("rate", 48000)
    return capture("WaveNet", {"layers": arrays, "head": head, "head_scale": 0.02, **more}, count, seed, rate)


def plain(channels: int, dilations: list[int], ins: int = 1, head: int = 1, **more: Any) -> Json:
    """An array as the first captures have it."""
    return {
        "input_size": ins,
        "condition_size": 1,
        "channels": channels,
        "head_size": head,
        "head_bias": head == 1,
        "kernel_size": 3,
        "dilations": dilations,
        "activation": "Tanh",
        "gated": False,
    } | more


def a1(first: int, second: int, dilations: list[int] | None = None, seed: int = 1) -> Json:
    dilations = dilations or [1 << i for i in range(10)]
    return wavenet([plain(first, dilations, head=second), plain(second, dilations, first)], seed)


def a2(channels: int, seed: int = 1, dilations: tuple[int, ...] = (1, 3, 7, 17, 41, 101, 239)) -> Json:
    all_dilations = [*dilations, *dilations, 1, 13, *dilations]
    taps = [6] * (2 * len(dilations)) + [15, 15] + [6] * len(dilations)
    none = {"active": False, "shift": True, "groups": 1}
    array = {
        "input_size": 1,
        "condition_size": 1,
        "channels": channels,
        "bottleneck": channels,
        "head": {"out_channels": 1, "kernel_size": 16, "bias": True},
        "kernel_sizes": taps,
        "dilations": all_dilations,
        "activation": [{"type": "LeakyReLU", "negative_slope": 0.01}] * len(taps),
        "gating_mode": ["none"] * len(taps),
        "secondary_activation": [None] * len(taps),
        "head1x1": {"active": False, "out_channels": 1, "groups": 1},
        "layer1x1": {"active": True, "groups": 1},
        "slimmable": None,
        **{f"{name}_film": none for name in (*FILMS, "layer1x1_post", "head1x1_post")},
    }
    return wavenet([array], seed)


def container(*models: Json) -> Json:
    parts = [{"max_value": (i + 1) / len(models), "model": model} for i, model in enumerate(models)]
    return capture("SlimmableContainer", {"submodels": parts}, 0)


def lstm(layers: int, hidden: int, seed: int = 1) -> Json:
    count = sum(4 * hidden * ((hidden if i else 1) + hidden + 1) + 2 * hidden for i in range(layers)) + hidden + 1
    return capture("LSTM", {"input_size": 1, "hidden_size": hidden, "num_layers": layers}, count, seed)


def convnet(channels: int, dilations: list[int], norm: bool, seed: int = 1) -> Json:
    count = channels + 1
    for i in range(len(dilations)):
        count += 2 * channels * (channels if i else 1) + (4 * channels + 1 if norm else channels)
    made = capture(
        "ConvNet", {"channels": channels, "dilations": dilations, "batchnorm": norm, "activation": "ReLU"}, count
    )
    at = 0
    for i in range(len(dilations)) if norm else ():
        at += 2 * channels * (channels if i else 1) + 4 * channels + 1
        variance = slice(at - 3 * channels - 1, at - 2 * channels - 1)
        made["weights"][variance] = [abs(v) + 0.5 for v in made["weights"][variance]]
        made["weights"][at - 1] = 1e-5
    return made


def linear(taps: int, bias: bool, seed: int = 1) -> Json:
    return capture("Linear", {"receptive_field": taps, "bias": bias}, taps + bias, seed)


def everything(seed: int = 1) -> Json:
    """Gates, FiLM everywhere, groups, bottlenecks, a condition of its own and a head behind the arrays."""
    film = {"active": True, "shift": True, "groups": 1}
    scale = {"active": True, "shift": False, "groups": 2}
    inner = wavenet(
        [
            plain(
                4, [1, 2], head=3, gated=True, bottleneck=6, head1x1={"active": True, "out_channels": 4, "groups": 2}
            ),
            plain(3, [1, 3], 4, 2, gating_mode=["blended", "gated"], activation="SiLU")
            | {"secondary_activation": ["Sigmoid", "Hardswish"], "layer1x1_post_film": film, "head_bias": False},
        ],
        seed,
    )
    acts = [
        {"type": "PReLU", "negative_slopes": [0.1, -0.2, 0.3, 0.4]},
        {"type": "LeakyHardtanh", "min_val": -0.2, "max_val": 0.3, "min_slope": 0.05, "max_slope": -0.1},
        "Softsign",
    ]
    outer = plain(8, [1, 4, 2], head=3, activation=acts, bottleneck=4, groups_input=2, groups_input_mixin=2)
    outer |= {
        "condition_size": 2,
        "kernel_sizes": [3, 2, 4],
        "layer1x1": {"active": True, "groups": 2},
        "head": {"out_channels": 3, "kernel_size": 5, "bias": True, "head_dilation": 3},
        "conv_pre_film": film,
        "conv_post_film": scale,
        "input_mixin_pre_film": film,
        "input_mixin_post_film": scale,
        "activation_pre_film": film,
        "activation_post_film": film,
    }
    del outer["kernel_size"], outer["head_size"], outer["head_bias"]
    head = {"channels": 4, "out_channels": 1, "kernel_sizes": [3, 1, 4], "activation": "Fasttanh"}
    return wavenet([outer], seed, head, condition_dsp=inner)


def slices(sizes: list[int]) -> Json:
    return wavenet(
        [
            plain(
                sizes[-1],
                [1, 2, 4, 8],
                activation="ReLU",
                slimmable={"method": "slice_channels_uniform", "kwargs": {"allowed_channels": sizes}},
            )
        ]
    )


def seeds() -> dict[str, Json]:
    """Small captures by name."""
    return {
        "a1": a1(3, 2, [1, 2, 8]),
        "a2": a2(3, dilations=(1, 3)),
        "container": container(lstm(1, 3), a1(3, 2, [1, 2]), a1(4, 2, [1, 4])),
        "everything": everything(),
        "lstm": lstm(2, 5),
        "convnet": convnet(4, [1, 2, 4], norm=False),
        "convnet with norms": convnet(4, [1, 2, 4], norm=True),
        "linear": linear(40, bias=True),
        "slices": slices([2, 3, 5]),
        "passing": wavenet([plain(4, [1, 2], layer1x1={"active": False, "groups": 1}, activation="Hardtanh")]),
        "condition": wavenet([plain(4, [1, 2], condition_size=1, activation="Sigmoid")], condition_dsp=lstm(1, 4)),
    }


def written(made: Json, path: Path) -> Path:
    path.write_text(json.dumps(made))
    return path
