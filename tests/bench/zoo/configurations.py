"""The published configurations, as data.  Papers: [P1] SGConv (arXiv 2210.09298), [P2] CHELA (2406.08128),
[P3] Orchid (2402.18508), [P4] LightNet (2405.21022).

`paper` and `recount` are parameter counts with the digits that are known: `paper` as printed, `recount` from
the published code or from the equations. A row's own count must round to the recount if there is one, else to
the paper's.  Where neither is known (`paper` and `recount` None) `why` says what was chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """`options`: what the builder of `family` takes; `length`: of a whole sequence, in input ticks; `block`:
    ticks of a stream call where it is not the least possible one; `exact`: its outputs are held to PyTorch's in
    float64 and its stream to the whole run at the published length, instead of the proof that compiling makes;
    `stored`: element type of the tensors in the package; `weights`: how products store them in the artifact."""

    name: str
    family: str
    task: str
    length: int
    source: str
    options: Mapping[str, Any] = field(default_factory=dict)
    paper: str | None = None
    recount: str | None = None
    why: str = ""
    block: int | None = None
    exact: bool = False
    stored: str = "F32"
    weights: str = "float32"


_AUDIO_BLOCK = 160  # 10 ms


def _sgconv(
    name: str,
    task: str,
    length: int,
    width: int,
    depth: int,
    kernel_dim: int,
    scales: int,
    classes: int,
    paper: str | None,
    recount: str,
    source: str = "[P1] A.1; official configurations",
    **options: Any,
) -> Row:
    return Row(
        name,
        "sgconv",
        task,
        length,
        source,
        {"width": width, "depth": depth, "kernel_dim": kernel_dim, "num_scales": scales, "classes": classes} | options,
        paper,
        recount,
        block=_AUDIO_BLOCK if "sample_rate" in options else None,
    )


def _chela(
    name: str,
    task: str,
    length: int,
    depth: int,
    width: int,
    ffn: int,
    classes: int,
    paper: str | None = None,
    why: str = "",
    **options: Any,
) -> Row:
    return Row(
        name,
        "chela",
        task,
        length,
        "[P2] Tab. 7",
        {"depth": depth, "width": width, "ffn_width": ffn, "classes": classes} | options,
        paper,
        None,
        why,
    )


_TWO_SIDED = "no count published; two-sided, kernels of SGConv with the kernel_dim of the task in [P1]"
_SPEECH = tuple(
    "zero one two three four five six seven eight nine backward bed bird cat dog down follow forward go "
    "happy house learn left marvin no off on right sheila stop tree up visual wow yes".split()
)
_SC10 = tuple("yes no up down left right on off stop go".split())

_SGCONV = (
    _sgconv("sgconv-listops", "LRA ListOps", 2048, 128, 8, 1, 12, 10, None, "295 K", vocabulary=18, prenorm=False),
    _sgconv("sgconv-text", "LRA Text", 4096, 256, 6, 2, 12, 2, None, "903 K", vocabulary=135),
    _sgconv("sgconv-retrieval", "LRA Retrieval", 4000, 256, 6, 1, 13, 2, None, "1.12 M", vocabulary=98, towers=True),
    _sgconv(
        "sgconv-image",
        "LRA Image",
        1024,
        512,
        6,
        32,
        6,
        10,
        "4.35 M",
        "4 349 962",
        norm="layer",
        prenorm=False,
        mode="cat_randn_learnable_fixed",
    ),
    _sgconv("sgconv-pathfinder", "LRA Pathfinder", 1024, 256, 6, 32, 6, 2, None, "1.39 M", pool="last"),
    _sgconv(
        "sgconv-pathx",
        "LRA Path-X",
        16384,
        256,
        6,
        64,
        8,
        2,
        None,
        "2.37 M",
        init_scale=1,
        mode="cat_cos",
        decay=(1.0, 3.0),
    ),
    _sgconv(
        "sgconv-sc35",
        "Speech Commands, 35 words, raw",
        16000,
        128,
        6,
        32,
        10,
        35,
        None,
        "697 K",
        "[P1] A.2; the body of s4's configuration",
        sample_rate=16000,
        labels=_SPEECH,
    ),
    _sgconv(
        "sgconv-sc10",
        "Speech Commands, 10 words, raw",
        16000,
        128,
        6,
        32,
        10,
        10,
        None,
        "349 K",
        "[P1] A.2; the body of s4's configuration",
        sample_rate=16000,
        labels=_SC10,
        causal=True,
        postact=None,
    ),
)

_CHELA = (
    _chela(
        "chela-listops", "LRA ListOps", 2048, 6, 80, 160, 10, why=_TWO_SIDED, vocabulary=18, kernel_dim=1, prenorm=False
    ),
    _chela(
        "chela-text",
        "LRA Text",
        4096,
        4,
        128,
        256,
        2,
        why=_TWO_SIDED,
        vocabulary=135,
        kernel_dim=2,
        norm="scale",
        prenorm=False,
    ),
    _chela(
        "chela-retrieval",
        "LRA Retrieval",
        4000,
        6,
        128,
        256,
        2,
        why=_TWO_SIDED,
        vocabulary=98,
        kernel_dim=1,
        norm="scale",
        prenorm=False,
        towers=True,
    ),
    _chela("chela-image", "LRA Image", 1024, 8, 160, 320, 10, why=_TWO_SIDED, kernel_dim=32),
    _chela("chela-pathfinder", "LRA Pathfinder", 1024, 6, 128, 256, 2, why=_TWO_SIDED, kernel_dim=32),
    _chela("chela-pathx", "LRA Path-X", 16384, 4, 64, 128, 2, why=_TWO_SIDED, kernel_dim=64),
    _chela(
        "chela-scifar",
        "sCIFAR",
        1024,
        8,
        160,
        320,
        10,
        why=_TWO_SIDED + "; three colours a pixel",
        inputs=3,
        kernel_dim=32,
    ),
    Row(
        "chela-sc10",
        "chela",
        "Speech Commands, 10 words, raw",
        16000,
        "[P2] Tab. 2 and 7; widths of MEGA big",
        {
            "depth": 6,
            "width": 72,
            "value_width": 144,
            "ffn_width": 144,
            "classes": 10,
            "causal": True,
            "kernel_dim": 32,
            "sample_rate": 16000,
            "labels": _SC10,
        },
        "493 K",
        "493.9 K",
        "Tab. 7 has d = 60, whose count is another: 72, e = 144 make the printed one",
        block=_AUDIO_BLOCK,
    ),
    Row(
        "chela-enwik8",
        "chela",
        "enwik8",
        4096,
        "[P2] Tab. 5 and 8",
        {
            "depth": 12,
            "width": 512,
            "ffn_width": 1024,
            "causal": True,
            "norm": "layer",
            "taps": 4096,
            "vocabulary": 205,
            "head": "steps",
            "classes": 205,
        },
        "48 M",
        None,
        "long kernels of 4,096 explicit taps: with them both language models have the printed counts",
        block=16,
    ),
    Row(
        "chela-wikitext103",
        "chela",
        "WikiText-103",
        4096,
        "[P2] Tab. 4 and 8",
        {
            "depth": 16,
            "width": 1024,
            "ffn_width": 1536,
            "causal": True,
            "norm": "layer",
            "taps": 4096,
            "vocabulary": 267735,
            "cutoffs": (20000, 60000),
            "head": "last",
        },
        "258 M",
        None,
        "long kernels of 4,096 explicit taps; input and output embeddings are not tied: tied ones have 214 M",
        block=64,
    ),
)

_VIT = {"host": "vit", "short_conv": 5, "transform": "dctxd-o", "blocks": 4}
_BERT = {
    "host": "bert",
    "vocabulary": 30522,
    "filter_order": 128,
    "emb_dim": 5,
    "num_inner_mlps": 2,
    "blocks": 4,
    "depth": 12,
}

_ORCHID = (
    Row(
        "orchid-bert-base",
        "orchid",
        "masked language model",
        128,
        "[P3] Tab. 4.1; M2-BERT",
        _BERT | {"width": 768, "mlp": 3072},
        "77 M",
        "77.2 M",
    ),
    Row(
        "orchid-bert-large",
        "orchid",
        "masked language model",
        128,
        "[P3] Tab. 4.1; M2-BERT",
        _BERT | {"width": 1536, "mlp": 6144},
        "254 M",
        "253.8 M",
    ),
    Row(
        "orchid-vit-cifar",
        "orchid",
        "CIFAR-10, patches of 4 x 4",
        64,
        "[P3] Tab. 4.2",
        _VIT
        | {
            "width": 128,
            "depth": 6,
            "mlp": 512,
            "filter_order": 64,
            "emb_dim": 3,
            "num_inner_mlps": 2,
            "patch": 4,
            "classes": 10,
        },
        "836 K",
        "836 490",
    ),
    Row(
        "orchid-vit-b",
        "orchid",
        "ImageNet, patches of 16 x 16",
        196,
        "[P3] Tab. 4.2",
        _VIT
        | {
            "width": 768,
            "depth": 12,
            "mlp": 3072,
            "filter_order": 128,
            "emb_dim": 33,
            "num_inner_mlps": 1,
            "patch": 16,
            "classes": 1000,
        },
        "48 M",
        "47.3 M",
    ),
)

_IMAGE = {"host": "image", "depth": 12, "gate_rank": 64, "patch": 16, "classes": 1000, "shape": (14, 14), "modes": 64}
_IMAGE_SOURCE = "[P4] Tab. 12"

_LIGHTNET = (
    Row(
        "lightnet-wikitext103",
        "lightnet",
        "WikiText-103",
        512,
        "[P4] Tab. 13",
        {
            "host": "language",
            "width": 512,
            "depth": 6,
            "heads": 8,
            "hidden": 1365,
            "gate_rank": 64,
            "vocabulary": 50265,
            "modes": 64,
        },
        "45.07 M",
        "45.08 M",
        block=16,
    ),
    Row(
        "lightnet-t",
        "lightnet",
        "ImageNet, patches of 16 x 16",
        196,
        _IMAGE_SOURCE,
        _IMAGE | {"width": 192, "heads": 6, "hidden": 512},
        "6.0 M",
        "6.000 M",
    ),
    Row(
        "lightnet-s",
        "lightnet",
        "ImageNet, patches of 16 x 16",
        196,
        _IMAGE_SOURCE,
        _IMAGE | {"width": 384, "heads": 16, "hidden": 1024},
        "22.64 M",
        "22.62 M",
    ),
    Row(
        "lightnet-b",
        "lightnet",
        "ImageNet, patches of 16 x 16",
        196,
        _IMAGE_SOURCE,
        _IMAGE | {"width": 768, "heads": 16, "hidden": 2048},
        "87.74 M",
        "87.70 M",
    ),
)

_LARGE = (
    "the paper prints layers and width; inferred: heads of 128, hidden 8/3 of the width, gates of rank 64, the "
    "vocabulary of [P4] Tab. 11, tied. Trained with 2,048 rows; nothing in the model depends on that"
)

_LIGHTNET_LARGE = tuple(
    Row(
        f"lightnet-{size}b",
        "lightnet",
        "language model",
        64,
        "[P4] Tab. 12",
        {
            "host": "language",
            "width": width,
            "depth": depth,
            "heads": width // 128,
            "hidden": 8 * width // 3,
            "gate_rank": 64,
            "vocabulary": 50265,
            "modes": 64,
        },
        f"{size}.0 B",
        None,
        _LARGE,
        block=16,
        exact=True,
        stored="BF16",
        weights="int8",
    )
    for size, depth, width in ((1, 18, 2048), (3, 36, 2560))
)

_DIT = {"width": 768, "heads": 6, "hidden": 2048, "gate_rank": 64, "patch": 2, "channels": 4, "classes": 1001}

_DIFFUSION = (
    Row(
        "lightnet-dit-b",
        "dit",
        "ImageNet latents, one denoising step",
        258,
        "[P4] Tab. 13; DiT",
        _DIT | {"depth": 18, "conditioning": "tokens"},
        "131 M",
        None,
        "18 layers have the printed count without TPE, and with time and class as two more rows",
    ),
    Row(
        "lightnet-dit-b-adaln",
        "dit",
        "ImageNet latents, one denoising step",
        256,
        "DiT-B with [P4]'s layers",
        _DIT | {"depth": 12, "conditioning": "adaln"},
        None,
        None,
        "no count published; the 12 layers and adaLN-Zero of DiT-B around LightNet's layers",
    ),
)

_CONVNEXT = (
    Row(
        "sgconv-convnext-t",
        "convnext",
        "ImageNet, 224 x 224",
        3136,
        "[P1] 4.3.2, A.4; ConvNeXt-T",
        {"widths": (96, 192, 384, 768), "depths": (3, 3, 9, 3), "classes": 1000},
        "29 M",
        None,
        "kernel_dim inferred: 1/16 of the map, 196, 49, 13 and 4; one-sided kernels have the printed count",
    ),
)

_TRANSFORMER_XL = {"host": "transformer-xl", "vocabulary": 267735, "cutoffs": (19997, 39997, 199997), "kernel_dim": 96}
_HYBRID_SOURCE = "[P1] 4.3.1, A.3; NVIDIA's Transformer-XL"
_FIGURE = "no count published; Fig. 6 read as: the long convolution in the attention's place"

_HYBRID = (
    Row(
        "sgconv-wikitext16",
        "hybrid",
        "WikiText-103, 16 layers",
        3072,
        _HYBRID_SOURCE,
        _TRANSFORMER_XL
        | {"pattern": "AAAC" * 2 + "ACCC" * 2, "width": 512, "heads": 8, "hidden": 2048, "memory": 192, "factor": 1},
        why=_FIGURE,
        block=64,
        exact=True,
    ),
    Row(
        "sgconv-wikitext18",
        "hybrid",
        "WikiText-103, 18 layers",
        3072,
        _HYBRID_SOURCE,
        _TRANSFORMER_XL
        | {"pattern": "AAC" * 3 + "ACC" * 3, "width": 1024, "heads": 16, "hidden": 4096, "memory": 384, "factor": 4},
        why=_FIGURE,
        block=64,
        exact=True,
    ),
    Row(
        "sgconv-bert",
        "hybrid",
        "masked language model",
        512,
        "[P1] 4.3.1; BERT-base",
        {
            "host": "bert",
            "pattern": "AAC" * 2 + "ACC" * 2,
            "width": 768,
            "heads": 12,
            "hidden": 3072,
            "vocabulary": 30522,
            "kernel_dim": 32,
        },
        why=_FIGURE + "; kernel_dim is not printed, 32 is ours, kernels as long as BERT's positions",
        exact=True,
    ),
)

ROWS: tuple[Row, ...] = (*_SGCONV, *_CHELA, *_ORCHID, *_LIGHTNET, *_LIGHTNET_LARGE, *_DIFFUSION, *_CONVNEXT, *_HYBRID)


def find(name: str) -> Row:
    for row in ROWS:
        if row.name == name:
            return row
    close = [row.name for row in ROWS if name in row.name]
    hint = f"did you mean {' or '.join(close)}?" if close else "`tests/bench/zoo/run list` has them all"
    raise KeyError(f"{name}: no such configuration; {hint}")


def known_count(text: str) -> tuple[float, float]:
    """ "4.35 M" -> (4.35e6, 5e3): the value, and half a unit of its last digit."""
    scale = {"K": 1e3, "M": 1e6, "B": 1e9}.get(text[-1], 1.0)
    digits = text.rstrip(" KMB").replace(" ", "")
    decimals = len(digits.partition(".")[2])
    return float(digits) * scale, 0.5 * scale * 10.0**-decimals


def fits(row: Row, parameters: int) -> bool:
    """Whether `parameters` rounds to what is known of the row; true where nothing is."""
    text = row.recount or row.paper
    if text is None:
        return True
    value, half = known_count(text)
    return abs(parameters - value) <= half if half > 0.5 else parameters == value
