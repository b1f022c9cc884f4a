"""From the tensors of a published file to those of a folder of flash-linear-attention, and its config.json."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .errors import Refused, shown
from .pickled import Stored

HEAD = 64  # features of a head: the norm of what is read adds 64e-5, which is 64 times that of the other norms
MOST_BLOCKS = 512
OUTSIDE = {
    "emb.weight": "model.embeddings.weight",
    "ln_out.weight": "model.norm.weight",
    "ln_out.bias": "model.norm.bias",
    "head.weight": "lm_head.weight",
}
# In a block: the name here, and the sizes in the file.
BLOCK: dict[str, tuple[str, tuple[str, ...]]] = {
    **{f"{old}.{part}": (f"{new}.{part}", ("width",)) for old, new in (("ln1", "attn_norm"), ("ln2", "ffn_norm")) for part in ("weight", "bias")},
    **{f"att.x_{letter}": (f"attn.x_{letter}", ("1", "1", "width")) for letter in "rwkvag"},
    "att.k_k": ("attn.k_k", ("1", "1", "width")),
    "att.k_a": ("attn.k_a", ("1", "1", "width")),
    "att.r_k": ("attn.r_k", ("heads", "head")),
    **{
        f"att.{old}.weight": (f"attn.{new}.weight", ("width", "width"))
        for old, new in (("receptance", "r_proj"), ("key", "k_proj"), ("value", "v_proj"), ("output", "o_proj"))
    },
    "att.ln_x.weight": ("attn.g_norm.weight", ("width",)),
    "att.ln_x.bias": ("attn.g_norm.bias", ("width",)),
    **{f"att.{letter}0": (f"attn.{letter}_lora.lora.2.bias", ("1", "1", "width")) for letter in "wav"},
    **{f"att.{letter}1": (f"attn.{letter}_lora.lora.0.weight", ("width", f"rank_{letter}")) for letter in "wavg"},
    **{f"att.{letter}2": (f"attn.{letter}_lora.lora.2.weight", (f"rank_{letter}", "width")) for letter in "wavg"},
    "ffn.x_k": ("ffn.x_k", ("1", "1", "width")),
    "ffn.key.weight": ("ffn.key.weight", ("inner", "width")),
    "ffn.value.weight": ("ffn.value.weight", ("width", "inner")),
}  # fmt: skip
FIRST = {f"ln0.{part}": (f"pre_norm.{part}", ("width",)) for part in ("weight", "bias")}
LATER = ("att.v0", "att.v1", "att.v2")  # the first block may have them, and nothing reads them there


@dataclass(frozen=True)
class Wanted:
    """A tensor of the folder: where it comes from, its sizes, and whether rows become columns."""

    source: str
    shape: tuple[int, ...]
    turned: bool


def size_of(tensors: Mapping[str, Stored], name: str, axis: int) -> int:
    stored = tensors.get(name)
    if stored is None or axis >= len(stored.shape):
        raise Refused(f"no tensor {shown(name)} with {axis + 1} sizes; expected a file of RWKV-7")
    return stored.shape[axis]


def sizes_of(tensors: Mapping[str, Stored]) -> dict[str, int]:
    """The sizes of the model, each from one tensor."""
    depth = 0
    while f"blocks.{depth}.att.r_k" in tensors:
        depth += 1
    if not 0 < depth <= MOST_BLOCKS:
        raise Refused(f"{depth} blocks with att.r_k; expected a file of RWKV-7 with 1 to {MOST_BLOCKS}")
    sizes = {
        "1": 1,
        "depth": depth,
        "vocabulary": size_of(tensors, "emb.weight", 0),
        "width": size_of(tensors, "emb.weight", 1),
        "heads": size_of(tensors, "blocks.0.att.r_k", 0),
        "head": size_of(tensors, "blocks.0.att.r_k", 1),
        "inner": size_of(tensors, "blocks.0.ffn.key.weight", 0),
    }
    for letter in "wag":
        sizes[f"rank_{letter}"] = size_of(tensors, f"blocks.0.att.{letter}1", 1)
    sizes["rank_v"] = size_of(tensors, "blocks.1.att.v1", 1) if depth > 1 else 1
    if sizes["head"] != HEAD:
        raise Refused(f"heads of {sizes['head']} features; RWKV-7 has {HEAD}, which the norm of each head depends on")
    return sizes


def plan(tensors: Mapping[str, Stored]) -> tuple[dict[str, Wanted], dict[str, Any]]:
    """The tensors of the folder, by name, and its config.json. Raises Refused for what RWKV-7 does not have."""
    sizes = sizes_of(tensors)
    wanted: dict[str, Wanted] = {}
    unread = set(tensors)

    def take(source: str, name: str, expected: tuple[int, ...]) -> None:
        stored = tensors.get(source)
        found = stored.shape if stored else "none"
        # Vectors are stored with ones in front, or without.
        if stored is None or (
            found != expected and tuple(n for n in found if n != 1) != tuple(n for n in expected if n != 1)
        ):
            raise Refused(f"tensor {shown(source)}: expected the sizes {list(expected)}, found {found}")
        unread.discard(source)
        turned = re.search(r"_lora\.lora\.\d\.weight$", name) is not None
        kept = name.startswith("model.") and ".attn.x_" in name
        shape = expected if kept else tuple(n for n in expected if n != 1) if expected[:2] == (1, 1) else expected
        wanted[name] = Wanted(source, shape[::-1] if turned else shape, turned)

    table = (sizes["vocabulary"], sizes["width"])
    for source, name in OUTSIDE.items():
        take(source, name, table if source in ("emb.weight", "head.weight") else table[1:])
    for block in range(sizes["depth"]):
        rows = {**BLOCK, **FIRST} if block == 0 else BLOCK
        for source, (name, extents) in rows.items():
            if block == 0 and source in LATER:
                unread.discard(f"blocks.0.{source}")
                continue
            take(f"blocks.{block}.{source}", f"model.layers.{block}.{name}", tuple(sizes[extent] for extent in extents))
    if unread:
        raise Refused(f"tensor {shown(min(unread))}: RWKV-7 has none of this name, and what it changes is not known")
    return wanted, config(sizes)


def config(sizes: Mapping[str, int]) -> dict[str, Any]:
    return {
        "architectures": ["RWKV7ForCausalLM"],
        "model_type": "rwkv7",
        "vocab_size": sizes["vocabulary"],
        "hidden_size": sizes["width"],
        "num_hidden_layers": sizes["depth"],
        "head_dim": sizes["head"],
        "intermediate_size": sizes["inner"],
        "decay_low_rank_dim": sizes["rank_w"],
        "gate_low_rank_dim": sizes["rank_g"],
        "a_low_rank_dim": sizes["rank_a"],
        "v_low_rank_dim": sizes["rank_v"],
        "hidden_act": "sqrelu",
        "norm_eps": 1e-5,
        "norm_first": True,
        "norm_bias": True,
        "fuse_norm": False,
        "tie_word_embeddings": False,
    }
