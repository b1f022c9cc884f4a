"""Tensors of a model before there are any: shapes and initialisers by key, counted and written without
holding the whole.

Initialisers are those of the layers' papers (PyTorch's defaults where these say nothing), with norms whose
statistics are not those of an untrained network, so that nothing cancels out.  Every tensor has a random
generator of its own, seeded with its key: the order of writing changes nothing.
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

Shape = tuple[int, ...]
Values = Callable[[np.random.Generator, Shape], np.ndarray]


@dataclass(frozen=True)
class Tensor:
    """`trained`: it counts as parameters; buffers and names that repeat another tensor do not."""

    shape: Shape
    values: Values
    trained: bool = True

    @property
    def size(self) -> int:
        return math.prod(self.shape)


def normal(scale: float, mean: float = 0.0) -> Values:
    return lambda random, shape: _scaled(random.standard_normal(shape, np.float32), scale, mean)


def uniform(low: float, high: float) -> Values:
    return lambda random, shape: _scaled(random.random(shape, np.float32), high - low, low)


def _scaled(values: np.ndarray, scale: float, shift: float) -> np.ndarray:
    """In place: a table of a large vocabulary takes half a gigabyte."""
    values *= np.float32(scale)
    values += np.float32(shift)
    return values


def constant(value: float) -> Values:
    return lambda random, shape: np.full(shape, value, np.float32)


def given(values: np.ndarray) -> Values:
    return lambda random, shape: np.asarray(values, np.float32).reshape(shape)


_PIECE = 1 << 22  # elements that are converted at a time


def bf16(values: np.ndarray) -> np.ndarray:
    """The bits (uint16) of the nearest bfloat16 of finite float32 values."""
    bits = values.view("<u4")
    result: np.ndarray = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("<u2")
    return result


class Tensors(dict[str, Tensor]):
    """Tensors by key, in the order in which they are added."""

    def add(self, key: str, shape: Shape, values: Values, trained: bool = True) -> None:
        if key in self:
            raise ValueError(f"{key}: given twice")
        self[key] = Tensor(shape, values, trained)

    @property
    def parameters(self) -> int:
        return sum(tensor.size for tensor in self.values() if tensor.trained)

    def linear(self, prefix: str, outputs: int, inputs: int, bias: bool = True) -> None:
        """nn.Linear's own initialiser: uniform within 1/sqrt(inputs)."""
        self._product(prefix, (outputs, inputs), inputs, outputs, bias)

    def block_linear(self, prefix: str, outputs: int, inputs: int, blocks: int, bias: bool = True) -> None:
        self._product(prefix, (blocks, outputs // blocks, inputs // blocks), inputs // blocks, outputs, bias)

    def depthwise(self, prefix: str, channels: int, size: int, bias: bool = True) -> None:
        """A Conv1d whose groups have one input each."""
        self._product(prefix, (channels, 1, size), size, channels, bias)

    def _product(self, prefix: str, shape: Shape, fan_in: int, outputs: int, bias: bool) -> None:
        bound = fan_in**-0.5
        self.add(f"{prefix}.weight", shape, uniform(-bound, bound))
        if bias:
            self.add(f"{prefix}.bias", (outputs,), uniform(-bound, bound))

    def norm(self, kind: str, prefix: str, width: int) -> None:
        """ "batch", "layer", "rms" or "scale"."""
        if kind == "scale":
            return self.add(f"{prefix}.scalar", (1,), normal(0.1, 1.0))
        self.add(f"{prefix}.weight", (width,), normal(0.1, 1.0))
        if kind == "rms":
            return None
        self.add(f"{prefix}.bias", (width,), normal(0.1))
        if kind == "batch":
            self.add(f"{prefix}.running_mean", (width,), normal(0.1), trained=False)
            self.add(f"{prefix}.running_var", (width,), uniform(0.5, 1.5), trained=False)
        return None

    def random(self, seed: int) -> Iterator[tuple[str, np.ndarray]]:
        """Values of each, one at a time."""
        for key, tensor in self.items():
            values = tensor.values(np.random.default_rng([seed, zlib.crc32(key.encode())]), tensor.shape)
            yield key, np.ascontiguousarray(values, np.float32).reshape(tensor.shape)

    def of(self, state: Mapping[str, np.ndarray]) -> Iterator[tuple[str, np.ndarray]]:
        """Values of a state dict, which must have each with its shape.  More of them are fine: counters,
        heads of training."""
        wrong = [
            f"{key}: expected shape {list(tensor.shape)}, found "
            f"{list(state[key].shape) if key in state else 'no such tensor'}"
            for key, tensor in self.items()
            if key not in state or tuple(state[key].shape) != tensor.shape
        ]
        if wrong:
            raise ValueError("\n".join(wrong[:20] + ([f"and {len(wrong) - 20} more"] if len(wrong) > 20 else [])))
        for key in self:
            yield key, np.ascontiguousarray(state[key], np.float32).reshape(self[key].shape)

    def write(self, path: Path, values: Iterator[tuple[str, np.ndarray]], stored: str = "F32") -> None:
        """A safetensors file, tensor by tensor; a file that was not finished does not stay.  `stored`: "F32",
        or "BF16", which rounds to the nearest, ties to even."""
        header, offset, size = {}, 0, {"F32": 4, "BF16": 2}[stored]
        for key, tensor in self.items():
            header[key] = {
                "dtype": stored,
                "shape": list(tensor.shape),
                "data_offsets": [offset, offset + size * tensor.size],
            }
            offset += size * tensor.size
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        unfinished = path.with_name(path.name + ".unfinished")
        try:
            with unfinished.open("wb") as file:
                file.write(struct.pack("<Q", len(text)) + text)
                for key, array in values:
                    if not np.isfinite(array).all():
                        raise ValueError(f"{key}: not finite")
                    for first in range(0, array.size, _PIECE):
                        piece = array.reshape(-1)[first : first + _PIECE].astype("<f4", copy=False)
                        (piece if stored == "F32" else bf16(piece)).tofile(file)
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)


def read_checkpoint(path: Path) -> Mapping[str, np.ndarray]:
    """Tensors by key: of a safetensors file, or of what torch.save wrote (the "state_dict" in it, where there
    is one)."""
    if path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        return load_file(path)
    import torch

    state = torch.load(path, map_location="cpu", weights_only=True)
    return {key: value.float().numpy() for key, value in state.get("state_dict", state).items()}
