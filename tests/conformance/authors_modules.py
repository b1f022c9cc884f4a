"""Modules of papers for published_parts.py, from clones of their repositories:

    git clone https://github.com/ctlllll/SGConv          # GConv
    git clone https://github.com/state-spaces/s4         # S4D, S4Block
    git clone https://github.com/HazyResearch/safari     # LongConv, HyenaOperator

They import einops, opt_einsum, omegaconf, hydra-core, pytorch_lightning, rich, scipy and ipython.
"""

import functools
import importlib
import sys

URLS = {
    "SGConv": "https://github.com/ctlllll/SGConv",
    "s4": "https://github.com/state-spaces/s4",
    "safari": "https://github.com/HazyResearch/safari",
}
FLOAT32_KERNEL = 5e-6  # S4 computes its taps in float32: its own rounding is part of the difference


def made(sources, repository, module, name, **arguments):
    """An object of a clone. s4 and safari both call their package `src`, so nothing stays of the one before."""
    for loaded in [loaded for loaded in sys.modules if loaded.split(".")[0] in ("src", "models", "gconv_standalone")]:
        del sys.modules[loaded]
    sys.path.insert(0, str(sources / repository))
    try:
        return getattr(importlib.import_module(module), name)(**arguments)
    finally:
        sys.path.remove(str(sources / repository))


def sgconv(sources, part):
    settings = {
        "causal": {},
        "two copies": {"channels": 2},
        "linear": {"linear": True},
        "GLU": {"postact": "glu"},
        "four scales": {"n_scales": 4},
        "bidirectional": {"bidirectional": True},
    }
    for name, more in settings.items():
        make = functools.partial(
            made,
            sources,
            "SGConv",
            "gconv_standalone",
            "GConv",
            d_model=8,
            kernel_dim=8,
            l_max=97,
            transposed=False,
            **more,
        )
        yield part(f"`GConv`, {name}", "SGConv", make, "x=1xTx8", "offline" if name == "bidirectional" else "streams")


def s4(sources, part):
    make = functools.partial(made, sources, "s4", transposed=False, d_model=8)
    yield part(
        "`S4D`",
        "s4",
        functools.partial(make, "models.s4.s4d", "S4D", d_state=16),
        "x=1xTx8",
        "streams",
        limit=FLOAT32_KERNEL,
    )
    for name, mode in (("DPLR", "dplr"), ("diagonal", "diag")):
        yield part(
            f"`S4Block`, {name} kernel",
            "s4",
            functools.partial(make, "models.s4.s4", "S4Block", mode=mode),
            "x=1xTx8",
            "streams",
            limit=FLOAT32_KERNEL,
        )


def safari(sources, part):
    make = functools.partial(made, sources, "safari", d_model=8, l_max=97)
    yield part(
        "`LongConv`",
        "safari",
        functools.partial(make, "src.models.sequence.long_conv", "LongConv", transposed=False),
        "x=1xTx8",
        "streams",
        length=307,
        min_rows=97,
    )  # below its 97 taps, its circle is too small for them, and it means something else
    for order in (2, 3):
        yield part(
            f"`HyenaOperator`, order {order}",
            "safari",
            functools.partial(make, "src.models.sequence.hyena", "HyenaOperator", order=order, filter_order=16),
            "x=1xTx8",
            "streams",
        )


def repositories(sources, part):
    """(repository, its parts) of the clones that are there. `part`: published_parts.Part."""
    for name, parts in (("SGConv", sgconv), ("s4", s4), ("safari", safari)):
        if (sources / name).is_dir():
            yield name, parts(sources, part)
        else:
            print(f"{name}: left out: git clone {URLS[name]} {sources / name}", file=sys.stderr)
