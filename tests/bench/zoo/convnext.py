"""ConvNeXt (Liu et al. 2022) with SGConv on the flattened map, which [P1] calls SGConvNeXt: four stages of blocks
x + gamma * pwconv2(gelu(pwconv1(norm(sgconv(x))))).

What [P1] says: 5 scales, and a kernel_dim "calculated based on the flattened features length". Inferred: kernels
as long as the map, so kernel_dim = ceil(H W / 16) of the stage; one-sided kernels without an activation or a
projection of their own, because two-sided ones give 30 M parameters where [P1] prints 29 M.
"""

from __future__ import annotations

from collections.abc import Sequence

from .graph import Graph
from .model import Model
from .tensors import constant, given, normal

NORM_EPS = 1e-6
SCALES = 5
GROWTH = 2.0
LAYER_SCALE = 0.3  # of random weights; a training starts with 1e-6, with which no block would matter
PATCH = 4


def kernel_dim(pixels: int) -> int:
    return -(-pixels // 16)


def sizes(length: int, stages: int) -> list[int]:
    """Pixels of a line in each stage; `length`: pixels of the first."""
    side = round(length**0.5)
    if side * side != length or side % 2 ** (stages - 1):
        raise ValueError(f"length: expected a square whose side is a multiple of {2 ** (stages - 1)}, found {length}")
    return [side >> stage for stage in range(stages)]


def model(length: int, widths: Sequence[int], depths: Sequence[int], classes: int) -> Model:
    graph, pixel = Graph(), 3 * PATCH * PATCH
    x = graph.linear("downsample_layers.0.0", "patches", widths[0], pixel)
    x = graph.layer_norm("downsample_layers.0.1", x, widths[0], NORM_EPS)
    for stage, (line, width, depth) in enumerate(zip(sizes(length, len(widths)), widths, depths)):
        if stage:
            x = _halved(graph, f"downsample_layers.{stage}", x, 2 * line, widths[stage - 1], width)
        for n in range(depth):
            x = _block(graph, f"stages.{stage}.{n}", x, line * line, width)
    x = graph.node("pool", "mean", x, mode="mean")
    x = graph.layer_norm("norm", x, widths[-1], NORM_EPS)
    graph.linear("head", x, classes, widths[-1])
    inputs = [{"name": "patches", "kind": "features", "width": pixel}]
    outputs = [{"name": "logits", "from": "head"}]
    return Model(inputs, [], outputs, graph.tensors, False, graph=graph.nodes, length=length)


def _halved(graph: Graph, name: str, x: str, line: int, before: int, width: int) -> str:
    """The norm, and the convolution of 2 x 2 pixels; its weight is (width, dy, dx, before) in two dimensions."""
    x = graph.layer_norm(f"{name}.0", x, before, NORM_EPS)
    x = graph.node(f"{name}/patches", "image_patches", x, line=line, side=2)
    return graph.linear(f"{name}.1", x, width, 4 * before)


def _block(graph: Graph, name: str, x: str, pixels: int, width: int) -> str:
    y = _sgconv(graph, f"{name}.dwconv", x, pixels, width)
    y = graph.layer_norm(f"{name}.norm", y, width, NORM_EPS)
    y = graph.linear(f"{name}.pwconv1", y, 4 * width, width)
    y = graph.node(f"{name}.act", "gelu", y)
    y = graph.linear(f"{name}.pwconv2", y, width, 4 * width)
    gamma = graph.tensor(f"{name}.gamma", (width,), normal(LAYER_SCALE / 10, LAYER_SCALE))
    zero = graph.tensor(f"{name}.zero", (width,), constant(0.0), trained=False)
    y = graph.node(f"{name}.scaled", "affine", y, gamma, zero)
    return graph.node(name, "add", x, y)


def _sgconv(graph: Graph, name: str, x: str, pixels: int, width: int) -> str:
    """A GConv with `linear`: kernel and D alone."""
    d = kernel_dim(pixels)
    scales = [graph.tensor(f"{name}.kernel_list.{i}", (1, width, d), normal(1.0)) for i in range(SCALES)]
    # about the norm of such a random kernel: growth^2(4-i) of d s_i taps, interpolated ones two
    # thirds of them
    energy = sum(GROWTH ** (2 * (SCALES - 1 - i)) * d * 2 ** max(0, i - 1) for i in range(SCALES))
    norm = graph.tensor(f"{name}.kernel_norm", (1, width), constant((energy * 2 / 3) ** 0.5), trained=False)
    growth = graph.tensor(f"{name}.multiplier", (width,), given([GROWTH] * width), trained=False)
    decay = graph.tensor(f"{name}.decay", (width,), constant(0.0), trained=False)
    taps = graph.node(
        f"{name}/taps",
        "sgconv_kernel",
        *scales,
        norm,
        growth,
        decay,
        kernel_dim=d,
        num_scales=SCALES,
        init_scale=0,
        l_max=pixels,
        resolution=pixels,
        channels=1,
        heads=width,
        mode="cat_randn",
    )
    direct = graph.tensor(f"{name}.D", (1, width), normal(1.0))
    return graph.node(name, "long_conv", x, taps, direct, channels=1, two_sided=0)
