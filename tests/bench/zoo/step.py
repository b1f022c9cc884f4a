"""One token of the zoo's LightNet language models in PyTorch, with weights in bf16 or int8: the state in place, the
matrices of one input side by side, one tensor of the package in memory at a time while it loads.

    PYTHONPATH=build/python:tests/bench python -m zoo.step PACKAGE NAME --weights int8

Prints the form that is fastest here, then CPU seconds of each token for every number of tokens that it reads.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from safetensors import safe_open
from torch import Tensor

from .configurations import Row, find
from .lightnet import LRPE_BASE, NORM_EPS
from .memory import resident_bytes

Product = Callable[[Tensor], Tensor]
Form = Callable[[Tensor], Product]


def plain(dtype: torch.dtype) -> Form:
    def form(weight: Tensor) -> Product:
        stored = weight.to(dtype)
        return lambda x: F.linear(x.to(dtype), stored).float()

    return form


def packed_int8(weight: Tensor) -> Product:
    """Rows of -127 ... 127 with a scale each; activations in bf16."""
    scale = weight.float().abs().amax(1, keepdim=True).clamp(min=1e-30) / 127
    steps, scales = (weight.float() / scale).round().to(torch.int8), scale[:, 0].bfloat16()
    return lambda x: torch._weight_int8pack_mm(x.bfloat16(), steps, scales).float()


def dynamic_int8(weight: Tensor) -> Product:
    """Activations in 8 bits as well, scaled by row."""
    from torch.ao.nn.quantized.dynamic import Linear
    from torch.ao.quantization import per_channel_dynamic_qconfig

    layer = torch.nn.Linear(weight.shape[1], weight.shape[0], bias=False)
    layer.weight.data = weight.float()
    layer.qconfig = per_channel_dynamic_qconfig
    return Linear.from_float(layer)


FORMS: dict[str, dict[str, Form]] = {
    "float32": {"float32": plain(torch.float32)},
    "bf16": {"bf16": plain(torch.bfloat16)},
    "int8": {"weights int8, activations bf16": packed_int8, "int8, dynamic": dynamic_int8},
}


def rms(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], weight, NORM_EPS)


class Layer:
    def __init__(self, get: Callable[..., Tensor], prefix: str, heads: int, form: Form) -> None:
        token, channel = f"{prefix}.token_mixer", f"{prefix}.channel_mixer"
        matrix = lambda *keys: get(*(f"{key}.weight" for key in keys))  # noqa: E731
        inputs = [f"{token}.{part}_proj" for part in "qkv"]
        self.inputs = form(matrix(*inputs, f"{token}.output_gate.0"))
        self.gate, self.out = form(matrix(f"{token}.output_gate.1")), form(matrix(f"{token}.o_proj"))
        self.both, self.down = form(matrix(f"{channel}.w1", f"{channel}.w2")), form(matrix(f"{channel}.w3"))
        self.norms = [
            matrix(key).float() for key in (f"{prefix}.token_norm", f"{token}.norm", f"{prefix}.channel_norm")
        ]
        self.heads, self.width = heads, len(self.norms[0])
        size = self.width // heads
        self.total = torch.full((heads, size, 1), -1e30)
        self.mean = torch.zeros(heads, 2 * size, size)

    def __call__(self, x: Tensor, turn: Callable[[Tensor], Tensor]) -> Tensor:
        d = self.width
        made = self.inputs(rms(x, self.norms[0]))
        q, k, v = made[0, : 3 * d].view(3, self.heads, -1, 1).unbind(0)
        before = self.total
        self.total = torch.logaddexp(before, k)
        self.mean.mul_((before - self.total).exp().repeat(1, 2, 1))
        self.mean.baddbmm_(turn((k - self.total).exp()), v.mT)
        o = torch.bmm(turn(F.silu(q)).mT, self.mean).view(1, d)
        x = x + self.out(rms(o, self.norms[1]) * torch.sigmoid(self.gate(made[:, 3 * d :])))
        a, b = self.both(rms(x, self.norms[2])).chunk(2, 1)
        return x + self.down(F.silu(a) * b)


class Step:
    """id (1,) -> logits (1, vocabulary); the state begins at zero."""

    def __init__(self, row: Row, weights: Path, form: Form, **changes: Any) -> None:
        options = dict(row.options) | changes
        with safe_open(weights, "pt") as file:
            get = lambda *keys: torch.cat([file.get_tensor(key) for key in keys])  # noqa: E731
            heads = options["heads"]
            self.table = file.get_tensor("model.embed_tokens.weight").clone()  # not a view of the file
            self.head = form(self.table)
            self.rates = get("model.tpe.lambda")[0].float()
            self.weights = get("model.tpe.c")[0].float()
            self.norm = get("model.final_norm.weight").float()
            self.layers = [Layer(get, f"model.layers.{n}", heads, form) for n in range(options["depth"])]
        size = options["width"] // heads
        self.theta = LRPE_BASE ** (-2 * torch.arange(size, dtype=torch.float64) / size)
        self.sums = torch.zeros_like(self.rates)
        self.position = 0

    def __call__(self, token: Tensor) -> Tensor:
        phase = self.position * self.theta
        cos, sin = phase.cos().float()[:, None], phase.sin().float()[:, None]
        turn = lambda x: torch.cat([x * cos, x * sin], 1)  # noqa: E731
        self.position += 1
        x = self.table[token].float()
        self.sums.mul_(self.rates).add_(x.mT)
        x = (self.sums * self.weights).sum(1)[None]
        for layer in self.layers:
            x = layer(x, turn)
        return self.head(rms(x, self.norm))


def seconds(step: Step, tokens: int) -> list[float]:
    """Of the CPU, for each greedy token."""
    times, token = [], torch.tensor([1])
    for _ in range(tokens):
        begin = time.process_time()
        token = step(token).argmax(1)
        times.append(time.process_time() - begin)
    return times


def fastest(row: Row, weights: Path) -> tuple[str, dict[str, str]]:
    """The form whose product with the table takes least, and why others do not run."""
    with safe_open(weights, "pt") as file:
        table = file.get_tensor("model.embed_tokens.weight")
    x, times, refused = torch.randn(1, table.shape[1]), {}, {}
    for name, form in FORMS[row.weights].items():
        try:
            product = form(table)
            product(x)
            times[name] = min(of_call(product, x) for _ in range(5))
        except (RuntimeError, ImportError, AttributeError) as error:
            refused[name] = str(error).splitlines()[0]
    if not times:
        raise RuntimeError(f"no form runs: {refused}")
    return min(times, key=times.__getitem__), refused


def of_call(product: Product, x: Tensor) -> float:
    begin = time.process_time()
    product(x)
    return time.process_time() - begin


def numbers() -> Iterator[int]:
    for line in sys.stdin:
        yield int(line)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m zoo.step", description=__doc__)
    parser.add_argument("package", type=Path)
    parser.add_argument("name")
    parser.add_argument("--weights", choices=list(FORMS), default="int8")
    options = parser.parse_args()
    from dataclasses import replace

    row = replace(find(options.name), weights=options.weights)
    torch.set_num_threads(1)
    program = resident_bytes()
    with torch.inference_mode():
        weights = options.package / "weights.safetensors"
        name, refused = fastest(row, weights)
        step = Step(row, weights, FORMS[row.weights][name])
        about = {"form": name, "refused": refused, "torch": torch.__version__, "program_bytes": program}
        print(json.dumps(about), flush=True)
        for tokens in numbers():
            line = {"seconds": seconds(step, tokens), "resident_bytes": resident_bytes()}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
