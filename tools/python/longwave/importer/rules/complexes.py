"""Complex spectra: real and imaginary halves side by side in a row, masks, inverse transforms, overlap-add."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.fx.node import Node

from ..errors import NoOp, Refused, retrain
from ..export import call
from ..nodes import args_of, kwargs_of
from ..places import NONE, Placed, features, natural, paired, settled
from .pointwise import affine, inverse, negated
from .positions import scaled
from .transposed import first_read

if TYPE_CHECKING:
    from ..match import Importer, Value

FRAMES = "keep frames as rows: (1, frequencies, frames) or (1, frames, frequencies)"


@dataclass(frozen=True)
class Complex:
    re: Placed
    im: Placed

    def moved(self, move: Callable[[Tensor], Tensor]) -> Complex:
        return Complex(self.re.moved(move(self.re.at)), self.im.moved(move(self.im.at)))


@dataclass(frozen=True)
class Phase:
    """The angle of a complex value: only a magnitude with this angle has a meaning."""

    of: Complex


def forward_matrix(size: int, width: int) -> Tensor:
    """[2 bins, width]: the real parts of a DFT of `size` samples, then the imaginary ones. Samples behind `width` are zero."""
    turn = 2 * math.pi / size * (torch.arange(size // 2 + 1)[:, None] * torch.arange(width) % size).to(torch.float64)
    return torch.cat([turn.cos(), -turn.sin()])


def inverse_matrix(size: int, bins: int) -> Tensor:
    """[size, 2 bins]: samples of real and imaginary parts. Bins above half of the size do not count; what is missing is zero."""
    count = min(bins, size // 2 + 1)
    turn = 2 * math.pi / size * (torch.arange(size)[:, None] * torch.arange(count) % size).to(torch.float64)
    twice = torch.full((count,), 2.0 / size, dtype=torch.float64)
    twice[0] = 1 / size
    if size % 2 == 0 and count == size // 2 + 1:
        twice[-1] = 1 / size
    rest = torch.zeros(size, bins - count, dtype=torch.float64)
    return torch.cat([turn.cos() * twice, rest, -turn.sin() * twice, rest], 1)


def transformed(importer: Importer, frame: int, size: int, at: Tensor) -> Complex:
    """The DFT of frames. `at`: places in a value of as many features as there are bins."""
    graph, bins = importer.graph, size // 2 + 1
    made = graph.linear(frame, forward_matrix(size, graph.ops[frame].width))
    re = at // bins * 2 * bins + at % bins
    return Complex(Placed(made, re), Placed(made, re + bins))


def rows_rfft(importer: Importer, n: Node, size: int) -> Complex:
    """The DFT of the last axis, which lies inside of each row."""
    x, graph = importer.settled(args_of(n)[0]), importer.graph
    order = features(graph, x, x.at.dim() - 1)
    frame = graph.take(graph.flat(x.value), order)
    return transformed(importer, frame, size, torch.arange(n.meta["val"].numel()).reshape(n.meta["val"].shape))


def _product(importer: Importer, a: Complex | Placed, b: Complex | Placed) -> Complex:
    graph = importer.graph
    if isinstance(a, Placed):
        a, b = b, a
    assert isinstance(a, Complex)  # one of them is
    if isinstance(b, Placed):
        if a.re.value == a.im.value:  # one row holds both, and stays one
            both = paired(
                graph,
                "mul",
                Placed(a.re.value, torch.stack([a.re.at, a.im.at])),
                Placed(b.value, torch.stack([b.at.expand(a.re.at.shape)] * 2)),
            )
            return Complex(Placed(both.value, both.at[0]), Placed(both.value, both.at[1]))
        return Complex(paired(graph, "mul", a.re, b), paired(graph, "mul", a.im, b))
    re = paired(graph, "add", paired(graph, "mul", a.re, b.re), negated(importer, paired(graph, "mul", a.im, b.im)))
    return Complex(re, paired(graph, "add", paired(graph, "mul", a.re, b.im), paired(graph, "mul", a.im, b.re)))


def _scaled(importer: Importer, a: Complex, c: Tensor) -> Complex:
    re, im = (c.real, c.imag) if c.is_complex() else (c, None)
    if im is None or not bool(im.any()):
        return Complex(scaled(importer, a.re, re), scaled(importer, a.im, re))
    graph = importer.graph
    return Complex(
        paired(graph, "add", scaled(importer, a.re, re), scaled(importer, a.im, -im)),
        paired(graph, "add", scaled(importer, a.re, im), scaled(importer, a.im, re)),
    )


def power(importer: Importer, x: Complex) -> Placed:
    graph = importer.graph
    return paired(graph, "add", *(Placed(graph.emit("square", [part.value]), part.at) for part in (x.re, x.im)))


def magnitude(importer: Importer, x: Complex) -> Placed:
    squared = power(importer, x)
    return Placed(importer.graph.emit("sqrt", [squared.value]), squared.at)


def _sum(importer: Importer, kind: str, a: Complex | Placed, b: Complex | Placed) -> Complex:
    graph = importer.graph
    if kind == "sub":
        b = (
            Complex(negated(importer, b.re), negated(importer, b.im))
            if isinstance(b, Complex)
            else negated(importer, b)
        )
    if isinstance(a, Placed):
        a, b = b, a
    assert isinstance(a, Complex)  # one of them is
    if isinstance(b, Placed):
        return Complex(paired(graph, "add", a.re, b), a.im)
    return Complex(paired(graph, "add", a.re, b.re), paired(graph, "add", a.im, b.im))


def _moved_by(importer: Importer, kind: str, a: Any, b: Any) -> Complex:
    """The sum or difference of a complex value and a constant."""
    x, c = (a, torch.as_tensor(b)) if isinstance(a, Complex) else (b, torch.as_tensor(a))
    re, im = (c.real, c.imag) if c.is_complex() else (c, torch.zeros(()))
    first, second = (1.0, 1.0) if kind == "add" else (1.0, -1.0) if isinstance(a, Complex) else (-1.0, 1.0)
    return Complex(affine(importer, x.re, first, second * re), affine(importer, x.im, first, second * im))


def in_rows(importer: Importer, x: Any) -> Any:
    """Rows that come later, or several in one, as a value of their own."""
    return (
        Complex(*(settled(importer.graph, part) for part in (x.re, x.im)))
        if isinstance(x, Complex)
        else settled(importer.graph, x)
        if isinstance(x, Placed)
        else x
    )


def arithmetic(importer: Importer, n: Node, kind: str) -> Complex:
    a, b = (
        in_rows(importer, importer.values[v]) if importer.varies(v) else importer.constant(v) for v in args_of(n)[:2]
    )
    if isinstance(a, Complex) != isinstance(b, Complex) and not (isinstance(a, Placed) or isinstance(b, Placed)):
        constant = torch.as_tensor(b if isinstance(a, Complex) else a)
        if kind == "mul" or kind == "div" and isinstance(a, Complex):
            return _scaled(importer, a if isinstance(a, Complex) else b, constant if kind == "mul" else 1 / constant)
        if kind in ("add", "sub") and not kwargs_of(n).get("alpha"):
            return _moved_by(importer, kind, a, b)
    elif kind == "mul":
        return _product(importer, a, b)
    elif kind == "div" and isinstance(b, Placed):
        return _product(importer, a, inverse(importer, b))
    elif kind in ("add", "sub") and not kwargs_of(n).get("alpha"):
        return _sum(importer, kind, a, b)
    raise NoOp(
        "a complex value in a form that has no op",
        "multiply, add or subtract complex values, or scale them by real ones",
    )


def times_constant(importer: Importer, n: Node) -> Complex | None:
    """Real values times complex constants, such as 1j. None: another product."""
    variables = [v for v in args_of(n)[:2] if importer.varies(v)]
    if len(variables) != 1 or not isinstance(importer.values[variables[0]], Placed):
        return None
    constant = torch.as_tensor(importer.constant(next(v for v in args_of(n)[:2] if v is not variables[0])))
    if not constant.is_complex():
        return None
    x = importer.settled(variables[0])
    return Complex(scaled(importer, x, constant.real), scaled(importer, x, constant.imag))


def complex_step(importer: Importer, n: Node) -> Value:
    """A step that reads complex values."""
    kind, sources = importer.kind(n), [importer.values[v] for v in importer.variables(n)]
    one = next(v for v in sources if isinstance(v, (Complex, Phase)))
    if isinstance(one, Phase):
        if kind == "polar":
            return polar(importer, n)
        raise NoOp(
            "uses an angle by itself",
            retrain("use it with torch.polar only, or multiply the complex value by a real mask"),
        )
    if kind.rstrip("_") in ("mul", "div", "add", "sub"):
        return arithmetic(importer, n, kind.rstrip("_"))
    if kind in ("real", "imag"):
        return one.re if kind == "real" else one.im
    if kind == "abs":
        return magnitude(importer, one)
    if kind == "angle":
        return Phase(one)
    if kind in ("conj", "_conj", "conj_physical"):
        return Complex(one.re, negated(importer, one.im))
    if kind == "neg":
        return Complex(negated(importer, one.re), negated(importer, one.im))
    if kind == "view_as_real":
        return joined(importer, one)
    if kind in ("fft_irfft", "istft"):
        made: Value = RULES[kind](importer, n)
        return made
    if kind in ("alias", "clone", "to", "_to_copy", "contiguous", "resolve_conj", "detach"):
        return one
    if kind in MOVES and len(sources) == 1:
        if kind in ("view", "_unsafe_view", "reshape"):
            return one.moved(lambda at: at.reshape(args_of(n)[1]))
        parts = [call(n, {**importer.constants, importer.variables(n)[0]: part.at}) for part in (one.re, one.im)]
        if not isinstance(parts[0], Tensor):
            return [Complex(one.re.moved(a), one.im.moved(b)) for a, b in zip(*parts)]
        return Complex(one.re.moved(parts[0]), one.im.moved(parts[1]))
    raise NoOp(
        "has no rule for complex values", "use a mask, real and imaginary parts, the magnitude, or an inverse transform"
    )


MOVES = set(
    "view reshape _unsafe_view transpose permute t mT unsqueeze squeeze movedim flatten unflatten slice select narrow split chunk unbind "
    "split_with_sizes expand flip".split()
)


def one_value(importer: Importer, x: Complex) -> tuple[int, Tensor, Tensor]:
    """A value that holds both parts, and their places in it."""
    graph = importer.graph
    if x.re.value == x.im.value:
        return x.re.value, x.re.at, x.im.at
    a, b = graph.ops[x.re.value], graph.ops[x.im.value]
    value, width = graph.concat([x.re.value, x.im.value]), a.width + b.width
    spread = [
        torch.where(part.at < 0, part.at, part.at // own * width + part.at % own + first)
        for part, own, first in ((x.re, a.width, 0), (x.im, b.width, a.width))
    ]
    return value, spread[0], spread[1]


def joined(importer: Importer, x: Complex) -> Placed:
    value, re, im = one_value(importer, x)
    return Placed(value, torch.stack([re, im], -1))


def view_as_complex(importer: Importer, n: Node) -> Complex:
    x = importer.placed(args_of(n)[0])
    return Complex(x.moved(x.at[..., 0]), x.moved(x.at[..., 1]))


def complex_of(importer: Importer, n: Node) -> Complex:
    return Complex(importer.placed(args_of(n)[0]), importer.placed(args_of(n)[1]))


def polar(importer: Importer, n: Node) -> Complex:
    """A magnitude with the angle of a complex value: that value, scaled."""
    size, angle = importer.placed(args_of(n)[0]), importer.values.get(args_of(n)[1])
    if not isinstance(angle, Phase):
        raise NoOp("an angle that is not that of a complex value", retrain("multiply the complex value by a mask"))
    graph, x = importer.graph, angle.of
    # Where the value is zero, so is the result: a magnitude of its own would need an angle that is not there.
    unit = magnitude(importer, x)
    scale = inverse(importer, affine(importer, unit, 1.0, TINY))
    return _product(importer, x, paired(graph, "mul", size, scale))


TINY = 1e-30  # keeps the inverse of a magnitude of zero finite


def inverted(importer: Importer, x: Complex, size: int, axis: int, shape: Sequence[int]) -> Placed:
    """Samples of each row: a matrix of its real and imaginary parts along `axis`. The result has the shape with these last."""
    graph = importer.graph
    value, re, im = one_value(importer, x)
    both = Placed(value, torch.cat([re.movedim(axis, -1), im.movedim(axis, -1)], -1))
    order = features(graph, both, both.at.dim() - 1)
    bins = re.shape[axis]
    made = graph.linear(graph.take(graph.flat(value), order), inverse_matrix(size, bins))
    return natural(made, [*(e for d, e in enumerate(shape) if d != axis), size], _time(shape, axis))


def _time(shape: Sequence[int], axis: int) -> int:
    """Which axis of the result is time: the others have one element."""
    rest = [e for d, e in enumerate(shape) if d != axis]
    if sum(e > 1 for e in rest) > 1:
        raise Refused("several spectra for each row", FRAMES)
    return next((d for d, e in enumerate(rest) if e > 1), 0)


def complex_input(importer: Importer, n: Node) -> Complex:
    x = importer.values.get(n)
    if not isinstance(x, Complex):
        raise Refused("reads a value that is not a complex spectrum", FRAMES)
    return x


def irfft(importer: Importer, n: Node) -> Placed:
    x, shape = complex_input(importer, args_of(n)[0]), args_of(n)[0].meta["val"].shape
    if len(args_of(n)) > 3 and args_of(n)[3] not in (None, "backward"):
        raise Refused(f"norm={args_of(n)[3]} has no op", 'use norm="backward" and scale the result')
    axis = (args_of(n)[2] if len(args_of(n)) > 2 else -1) % len(shape)
    made = inverted(importer, x, n.meta["val"].shape[axis], axis, shape)
    return made.moved(made.at.movedim(-1, axis))


def added(
    importer: Importer, n: Node, frames: int, hop: int, start: int, axis: int, envelope: Tensor | None = None
) -> Placed:
    """Frames that are added where they overlap, from sample `start` on. The result has its samples along `axis`.

    `envelope`: what a frame adds to the sum that the result is divided by. At both ends fewer frames overlap.
    """
    graph, op = importer.graph, importer.graph.ops[frames]
    shape = n.meta["val"].shape
    start_of = start + first_read(importer, n, axis)
    ahead = -(-start_of // hop)
    if op.width < hop:
        raise Refused(
            f"frames of {op.width} samples that do not touch: the hop is {hop}", retrain("use a hop of at most a frame")
        )
    pad = ahead * hop - start_of
    count = -(-(op.width + pad) // hop)
    if ahead >= count:
        raise Refused(f"cuts {start_of} samples, more than a frame", retrain("cut less"))
    order = torch.cat([torch.full((pad,), -1), torch.arange(op.width)])
    sums = graph.unframe(graph.select(frames, order) if pad else frames, hop, ahead)
    if envelope is not None:
        weights = graph.affine(frames, torch.zeros(op.width, dtype=torch.float64), envelope)
        whole = graph.unframe(graph.select(weights, order) if pad else weights, hop, ahead)
        sums = graph.emit("mul", [sums, graph.emit("reciprocal", [whole])])
    if ahead:
        importer.looks_ahead(n, ahead)
    t = torch.arange(shape[axis]) - (start_of - start)
    return Placed(
        sums,
        torch.where((t >= 0) & (t < op.rows * hop), t, NONE).reshape(
            [-1 if d == axis else 1 for d in range(len(shape))]
        ),
    )


def istft(importer: Importer, n: Node) -> Placed:
    names = "input n_fft hop_length win_length window center normalized onesided length return_complex".split()
    a = dict(zip(names, args_of(n))) | kwargs_of(n)
    size, x, shape = a["n_fft"], complex_input(importer, a["input"]), a["input"].meta["val"].shape
    hop, length = a.get("hop_length") or size // 4, a.get("win_length") or size
    if a.get("normalized") or a.get("onesided") is False or a.get("return_complex"):
        raise Refused("normalized, two-sided or complex", "use normalized=False, onesided=True, return_complex=False")
    window = torch.ones(length) if a.get("window") is None else importer.constant(a["window"])
    window = F.pad(window.to(torch.float64), ((size - length) // 2, size - length - (size - length) // 2))
    frames = inverted(importer, x, size, len(shape) - 2, shape).value
    windowed = importer.graph.affine(frames, window, torch.zeros_like(window))
    start = size // 2 if a.get("center", True) else 0
    return added(importer, n, windowed, hop, start, n.meta["val"].dim() - 1, window.square())


def col2im(importer: Importer, n: Node) -> Placed:
    """F.fold of (1, window, frames) to a signal: (1, 1, 1, samples) or (1, 1, samples, 1)."""
    graph, x = importer.graph, importer.settled(args_of(n)[0])
    size, kernel, dilation, padding, stride = args_of(n)[1:6]
    axis = 1 if size[1] > 1 else 0
    if (
        size[1 - axis] != 1
        or kernel[1 - axis] != 1
        or list(dilation) != [1, 1]
        or x.at.dim() != 3
        or x.at.shape[0] != 1
        or x.at.shape[1] != kernel[axis]
    ):
        raise Refused("folds more than frames of one signal", FRAMES)
    order = features(graph, x, 1)
    return added(importer, n, graph.take(graph.flat(x.value), order), stride[axis], padding[axis], 2 + axis)


RULES: dict[str, Callable[[Importer, Node], Any]] = {
    "fft_irfft": irfft,
    "istft": istft,
    "col2im": col2im,
    "view_as_complex": view_as_complex,
    "complex": complex_of,
    "polar": polar,
}
