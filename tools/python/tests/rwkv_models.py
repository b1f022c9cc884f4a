"""Small models of RWKV-7: published files, folders, and the definition in float64."""

from __future__ import annotations

import json
from pathlib import Path

import numpy
import torch
from safetensors.torch import save_file

Tensors = dict[str, torch.Tensor]
WIDTH, HEAD, INNER, VOCABULARY = 128, 64, 96, 61
RANKS = {"w": 8, "a": 6, "v": 5, "g": 7}


def published(depth: int, kind: torch.dtype = torch.float32) -> Tensors:
    """Names and sizes of a published file. No tensor is without effect."""
    torch.manual_seed(8)
    made: Tensors = {}

    def put(name: str, *shape: int, mean: float = 0.0, spread: float = 0.3) -> None:
        made[name] = (mean + spread * torch.randn(*shape)).to(kind)

    def norm(name: str) -> None:
        put(f"{name}.weight", WIDTH, mean=1)
        put(f"{name}.bias", WIDTH)

    put("emb.weight", VOCABULARY, WIDTH)
    for block in range(depth):
        at = f"blocks.{block}."
        for name in (("ln0",) if block == 0 else ()) + ("ln1", "ln2", "att.ln_x"):
            norm(at + name)
        for letter in "rwkvag":
            put(f"{at}att.x_{letter}", 1, 1, WIDTH, mean=0.5)
        put(at + "att.k_k", 1, 1, WIDTH, mean=0.8)
        put(at + "att.k_a", 1, 1, WIDTH, mean=1)
        put(at + "att.r_k", WIDTH // HEAD, HEAD)
        for letter, rank in RANKS.items():
            if letter != "g":
                put(f"{at}att.{letter}0", 1, 1, WIDTH, mean=-2 if letter == "w" else 0, spread=1)
            put(f"{at}att.{letter}1", WIDTH, rank, spread=0.1)
            put(f"{at}att.{letter}2", rank, WIDTH, spread=0.5)
        for name in ("receptance", "key", "value", "output"):
            put(f"{at}att.{name}.weight", WIDTH, WIDTH, spread=0.08)
        put(at + "ffn.x_k", 1, 1, WIDTH, mean=0.5)
        put(at + "ffn.key.weight", INNER, WIDTH, spread=0.08)
        put(at + "ffn.value.weight", WIDTH, INNER, spread=0.08)
    norm("ln_out")
    put("head.weight", VOCABULARY, WIDTH)
    return made


# Folders of flash-linear-attention.
SMALL = {
    "vocab_size": 61,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "head_dim": 8,
    "hidden_ratio": 4.0,
    "intermediate_size": None,
    "decay_low_rank_dim": 5,
    "gate_low_rank_dim": 6,
    "a_low_rank_dim": 4,
    "v_low_rank_dim": 3,
    "fuse_norm": True,
    "norm_first": True,
    "norm_bias": True,
    "norm_eps": 1e-5,
    "value_dim": [32, 32, 32],
    "attn": None,
    "tie_word_embeddings": False,
}
FOLDERS = {
    "fused": SMALL,
    "wide values, one block": SMALL | {"num_hidden_layers": 1, "value_dim": 64, "fuse_norm": False},
    "no biases, no first norm, tied": SMALL
    | {"norm_bias": False, "norm_first": False, "tie_word_embeddings": True, "intermediate_size": 40},
    "odd sizes": SMALL | {"vocab_size": 37, "hidden_size": 27, "head_dim": 9, "value_dim": None, "norm_eps": 0.01},
}


def value_dim(config: dict) -> int:
    given = config["value_dim"]
    return given[0] if isinstance(given, list) else given or config["hidden_size"]


def inner(config: dict) -> int:
    return config["intermediate_size"] or (int(config["hidden_size"] * config["hidden_ratio"]) + 31) // 32 * 32


def folder_of(config: dict, folder: Path) -> Path:
    torch.manual_seed(9)
    width, values, vocabulary = config["hidden_size"], value_dim(config), config["vocab_size"]
    made: Tensors = {}

    def put(name: str, *shape: int, mean: float = 0.0, spread: float = 0.3) -> None:
        made[name] = mean + spread * torch.randn(*shape)

    def norm(name: str, n: int, bias: bool) -> None:
        put(f"{name}.weight", n, mean=1)
        if bias:
            put(f"{name}.bias", n)

    put("model.embeddings.weight", vocabulary, width)
    for block in range(config["num_hidden_layers"]):
        at = f"model.layers.{block}."
        first = ("pre_norm",) if block == 0 and config["norm_first"] else ()
        for name in (*first, "attn_norm", "ffn_norm"):
            norm(at + name, width, config["norm_bias"])
        norm(at + "attn.g_norm", values, True)
        for letter in "rwkvag":
            put(f"{at}attn.x_{letter}", 1, 1, width, mean=0.5)
        put(at + "attn.k_k", width, mean=0.8)
        put(at + "attn.k_a", width, mean=1)
        put(at + "attn.r_k", width // config["head_dim"], config["head_dim"])
        for letter, key, out in (("w", "decay", width), ("a", "a", width), ("v", "v", values), ("g", "gate", values)):
            if letter == "v" and block == 0:
                continue
            rank, lora = config[key + "_low_rank_dim"], f"{at}attn.{letter}_lora.lora."
            put(lora + "0.weight", rank, width, spread=0.2)
            put(lora + "2.weight", out, rank, spread=0.5)
            if letter != "g":
                put(lora + "2.bias", out, mean=-2 if letter == "w" else 0, spread=1)
        for name, out, of in (("r", width, width), ("k", width, width), ("v", values, width), ("o", width, values)):
            put(f"{at}attn.{name}_proj.weight", out, of, spread=0.15)
        put(at + "ffn.x_k", width, mean=0.5)
        put(at + "ffn.key.weight", inner(config), width, spread=0.15)
        put(at + "ffn.value.weight", width, inner(config), spread=0.15)
    norm("model.norm", width, config["norm_bias"])
    if not config["tie_word_embeddings"]:
        put("lm_head.weight", vocabulary, width)
    folder.mkdir()
    save_file(made, folder / "model.safetensors")
    names = {"model_type": "rwkv7", "architectures": ["RWKV7ForCausalLM"], "hidden_act": "sqrelu"}
    (folder / "config.json").write_text(json.dumps(config | names))
    return folder


def sigmoid(x: numpy.ndarray) -> numpy.ndarray:
    return 1 / (1 + numpy.exp(-x))


def logits_of(config: dict, tensors: Tensors, ids: numpy.ndarray) -> numpy.ndarray:
    """The definition in float64, token by token, for tensors of a folder."""
    t = {name: tensor.double().numpy() for name, tensor in tensors.items()}
    eps, head = config["norm_eps"], config["head_dim"]

    def norm(x: numpy.ndarray, name: str, groups: int = 1, eps: float = eps) -> numpy.ndarray:
        parts = x.reshape(groups, -1)
        parts = (parts - parts.mean(1, keepdims=True)) / numpy.sqrt(parts.var(1, keepdims=True) + eps)
        return parts.reshape(-1) * t[name + ".weight"] + t.get(name + ".bias", 0.0)

    def low_rank(x: numpy.ndarray, name: str, function=lambda x: x) -> numpy.ndarray:
        return t[name + ".lora.2.weight"] @ function(t[name + ".lora.0.weight"] @ x) + t.get(name + ".lora.2.bias", 0.0)

    class Block:
        def __init__(self, number: int) -> None:
            self.at, self.number = f"model.layers.{number}.", number
            self.heads = config["hidden_size"] // head
            self.state = numpy.zeros((self.heads, head, value_dim(config) // self.heads))
            self.before = {"attn": numpy.zeros(config["hidden_size"]), "ffn": numpy.zeros(config["hidden_size"])}

        def mixed(self, part: str, x: numpy.ndarray, letter: str) -> numpy.ndarray:
            return x + (self.before[part] - x) * t[f"{self.at}{part}.x_{letter}"].reshape(-1)

        def attention(self, x: numpy.ndarray, first: numpy.ndarray | None) -> tuple[numpy.ndarray, numpy.ndarray]:
            at = self.at + "attn."
            r, w, k, v, a, g = (self.mixed("attn", x, letter) for letter in "rwkvag")
            decay = numpy.exp(-numpy.exp(-0.5) * sigmoid(low_rank(w, at + "w_lora", numpy.tanh)))
            share, gate = v, low_rank(g, at + "g_lora", sigmoid)
            r, k, v = (t[f"{at}{name}_proj.weight"] @ x for name, x in (("r", r), ("k", k), ("v", v)))
            rate = sigmoid(low_rank(a, at + "a_lora"))
            if first is None:
                first = v
            else:
                v = v + (first - v) * sigmoid(low_rank(share, at + "v_lora"))
            kappa = (k * t[at + "k_k"]).reshape(self.heads, head)
            squares = (kappa**2).sum(1, keepdims=True)
            kappa = kappa / (numpy.sqrt(squares + 1e-6) if config["fuse_norm"] else numpy.maximum(squares**0.5, 1e-12))
            k = k * (1 + (rate - 1) * t[at + "k_a"])
            r, k, rate, decay = (x.reshape(self.heads, head) for x in (r, k, rate, decay))
            values = v.reshape(self.heads, -1)
            for h in range(self.heads):
                s = self.state[h]
                self.state[h] = (
                    decay[h][:, None] * s - numpy.outer(kappa[h] * rate[h], kappa[h] @ s) + numpy.outer(k[h], values[h])
                )
            read = norm(numpy.einsum("hk,hkv->hv", r, self.state).reshape(-1), at + "g_norm", self.heads, head * eps)
            bonus = (r * k * t[at + "r_k"]).sum(1, keepdims=True) * values
            return t[at + "o_proj.weight"] @ ((read + bonus.reshape(-1)) * gate), first

        def __call__(self, x: numpy.ndarray, first: numpy.ndarray | None) -> tuple[numpy.ndarray, numpy.ndarray]:
            if self.number == 0 and config["norm_first"]:
                x = norm(x, self.at + "pre_norm")
            normed = norm(x, self.at + "attn_norm")
            read, first = self.attention(normed, first)
            self.before["attn"] = normed
            x = x + read
            normed = norm(x, self.at + "ffn_norm")
            key = t[self.at + "ffn.key.weight"] @ self.mixed("ffn", normed, "k")
            self.before["ffn"] = normed
            return x + t[self.at + "ffn.value.weight"] @ numpy.maximum(key, 0) ** 2, first

    blocks = [Block(number) for number in range(config["num_hidden_layers"])]
    rows = []
    for token in ids:
        x, first = t["model.embeddings.weight"][token], None
        for block in blocks:
            x, first = block(x, first)
        rows.append(t.get("lm_head.weight", t["model.embeddings.weight"]) @ norm(x, "model.norm"))
    return numpy.stack(rows)
