"""Folders of save_pretrained: the compiled model against the module of transformers in float64, offline and in streams. pytest -s prints a table.

Skipped where transformers is missing: pip install --no-deps transformers==5.23.0 regex. Streams need build/python (longwave_native).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import unittest.mock as mock
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import pytest
import torch
from importer_checks import LONGWAVE, ROOT, longwave
from safetensors.torch import load_file, save_file

try:
    import transformers
except ImportError:
    pytest.skip("transformers is not installed: pip install --no-deps transformers==5.23.0 regex", True)
if not LONGWAVE.exists():
    pytest.skip(f"{LONGWAVE} is not built", True)

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
LIMIT = 1e-5  # of the peak: float32 against float64
TOKENS = 300
SMALL = {"vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}
HEADS = {"num_heads": 8, "head_dim": 8, "n_groups": 2}
ODD = {"vocab_size": 37, "hidden_size": 27, "state_size": 5, "conv_kernel": 3}
# model_type -> name -> (configuration, what save_pretrained and the saved weights do)
CASES: dict[str, dict[str, tuple[dict, dict]]] = {
    "mamba2": {
        "groups": (SMALL | HEADS, {}),
        "one group, one layer": (SMALL | HEADS | {"n_groups": 1, "num_hidden_layers": 1}, {}),
        "tied": (SMALL | HEADS | {"tie_word_embeddings": True}, {}),
        "odd sizes": (SMALL | ODD | {"num_heads": 6, "head_dim": 9, "n_groups": 3}, {}),
        "biases": (SMALL | HEADS | {"use_bias": True, "use_conv_bias": False}, {}),
        "limited steps": (SMALL | HEADS | {"time_step_limit": (0.01, 0.05)}, {}),
        "other norm, gelu": (SMALL | HEADS | {"layer_norm_epsilon": 0.01, "hidden_act": "gelu"}, {}),
        "bfloat16": (SMALL | HEADS, {"dtype": torch.bfloat16}),
        "float16": (SMALL | HEADS, {"dtype": torch.float16}),
        "shards": (SMALL | HEADS, {"max_shard_size": "10KB"}),
    },
    "mamba": {
        "tied": (SMALL, {}),
        "not tied, one layer": (SMALL | {"tie_word_embeddings": False, "num_hidden_layers": 1}, {}),
        "odd sizes": (SMALL | ODD | {"expand": 3, "time_step_rank": 3}, {}),
        "biases": (SMALL | {"use_bias": True, "use_conv_bias": False}, {}),
        "bfloat16 shards": (SMALL, {"dtype": torch.bfloat16, "max_shard_size": "10KB"}),
    },
    "falcon_mamba": {
        "tied": (SMALL, {}),
        "not tied, odd sizes": (SMALL | ODD | {"tie_word_embeddings": False}, {}),
        "inner size": (SMALL | {"expand": 16, "intermediate_size": 40}, {}),
        "other norm": (SMALL | {"mixer_rms_eps": 0.1, "time_step_rank": 5}, {}),
    },
}
ALL = [(kind, name) for kind, cases in CASES.items() for name in cases]
ERRORS: dict[tuple[str, str], list[float]] = {}


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    print("\n| model_type | configuration | offline | blocks of 1 | of 7 | of 64 |\n|---|---|---|---|---|---|")
    for (kind, name), errors in ERRORS.items():
        print(f"| {kind} | {name} | " + " | ".join(f"{error:.1e}" for error in errors) + " |")


def module(kind: str, configuration: dict) -> torch.nn.Module:
    """Seeded, and no parameter is without effect or the same in all places."""
    torch.manual_seed(8)
    config = transformers.AutoConfig.for_model(kind, **configuration)
    made = transformers.AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        for name, p in made.named_parameters():
            p.add_((0.3 if p.ndim == 1 else 0.05) * torch.randn_like(p))
            if name.endswith("dt_bias") or name.endswith("dt_proj.bias"):
                p.add_(2.0)  # steps that forget within the sequence
    return made


def saved(kind: str, configuration: dict, how: dict, folder: Path) -> Path:
    made = module(kind, configuration).to(how.get("dtype", torch.float32))
    made.save_pretrained(folder, **{key: value for key, value in how.items() if key != "dtype"})
    return folder


def wanted(folder: Path, ids: numpy.ndarray) -> numpy.ndarray:
    """Logits in float64. The module computes some parts in float32 whatever its weights are, so float32 means float64 here."""
    made = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval().double()
    with (
        torch.no_grad(),
        mock.patch.object(torch, "float32", torch.float64),
        mock.patch.object(torch.Tensor, "float", torch.Tensor.double),
    ):
        logits = made(torch.from_numpy(ids)[None], use_cache=False).logits[0]
    assert logits.dtype == torch.float64
    return logits.numpy()


# In a process of its own: here `longwave` are the sources of the importer, which have no native part.
STREAM = """
import sys, numpy, longwave
path, ids, block = sys.argv[1], numpy.load(sys.argv[2]), int(sys.argv[3])
with longwave.open(path).stream() as stream:
    rows = [numpy.array(row.data) for at in range(0, len(ids), block) for row in stream.process(ids[at : at + block])]
numpy.save(sys.argv[4], numpy.stack(rows))
"""


def streamed(path: Path, block: int) -> numpy.ndarray:
    if not list((ROOT / "build/python/longwave").glob("_native*")):
        pytest.skip("longwave_native is not built")
    out = path.with_suffix(".npy")
    command = [sys.executable, "-c", STREAM, path, path.parent / "ids.npy", block, out]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/build/python"}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return numpy.load(out)


def ids_of(configuration: dict) -> numpy.ndarray:
    return numpy.random.default_rng(5).integers(0, configuration["vocab_size"], TOKENS)


@pytest.mark.parametrize(("kind", "name"), ALL, ids=lambda value: value.replace(" ", "_"))
def test_equals_the_module(kind: str, name: str, tmp_path: Path) -> None:
    configuration, how = CASES[kind][name]
    folder = saved(kind, configuration, how, tmp_path / "model")
    if "max_shard_size" in how:
        assert (folder / "model.safetensors.index.json").exists()
    ids = ids_of(configuration)
    logits = wanted(folder, ids)
    numpy.save(tmp_path / "ids.npy", ids.astype(numpy.int32))

    def error(found: numpy.ndarray) -> float:
        assert found.shape == logits.shape
        return float(numpy.abs(found - logits).max() / numpy.abs(logits).max())

    errors = []
    for blocks in ("1", "1,7", "1,64"):
        path = tmp_path / f"{blocks}.lw"
        longwave("compile", folder, "-o", path, "--length", TOKENS, "--blocks", blocks, "--quiet")
        if not errors:
            longwave("run", path, "--input", f"@{tmp_path}/ids.npy", "--output", f"{tmp_path}/logits.npy")
            errors.append(error(numpy.load(tmp_path / "logits.npy")))
        errors.append(error(streamed(path, int(blocks.split(",")[-1]))))
    ERRORS[kind, name] = errors
    assert max(errors) <= LIMIT


def test_bfloat16_is_stored_as_it_is(tmp_path: Path) -> None:
    configuration = SMALL | HEADS
    folder = saved("mamba2", configuration, {"dtype": torch.bfloat16}, tmp_path / "model")
    ids = ids_of(configuration)
    numpy.save(tmp_path / "ids.npy", ids.astype(numpy.int32))
    numpy.save(tmp_path / "wanted.npy", wanted(folder, ids))
    path = tmp_path / "m.lw"
    longwave("compile", folder, "-o", path, "--length", TOKENS, "--weights", "bf16")
    longwave("run", path, "--input", f"@{tmp_path}/ids.npy", "--expected", f"@{tmp_path}/wanted.npy", "--limit", LIMIT)


def changed(folder: Path, change: Callable[[dict, dict], None]) -> Path:
    """A copy of the folder with another configuration and other tensors."""
    copy = folder.parent / "changed"
    shutil.copytree(folder, copy)
    config, tensors = json.loads((copy / "config.json").read_text()), load_file(copy / "model.safetensors")
    change(config, tensors)
    (copy / "config.json").write_text(json.dumps(config))
    save_file(tensors, copy / "model.safetensors")
    return copy


REFUSED: dict[str, tuple[Callable[[dict, dict], object], str]] = {
    "unknown model_type": (
        lambda c, t: c.update(model_type="llama"),
        'model_type: expected one of "falcon_mamba", "mamba", "mamba2", found the text "llama"',
    ),
    "not a language model": (
        lambda c, t: c.update(architectures=["Mamba2Model"]),
        'architectures: expected ["Mamba2ForCausalLM"] for this model_type, found ["Mamba2Model"]',
    ),
    "unknown key": (lambda c, t: c.update(rotary=True), "rotary: expected a key of mamba2 that is known"),
    "quantised": (lambda c, t: c.update(quantization_config={}), "save the model with float weights"),
    "no such function": (
        lambda c, t: c.update(hidden_act="tanh"),
        'hidden_act: expected one of "gelu", "relu", "silu", "swish", found the text "tanh"',
    ),
    "heads": (lambda c, t: c.update(num_heads=7), "hidden_size * expand: expected the same as"),
    "missing tensor": (lambda c, t: t.pop("lm_head.weight"), 'tensor "lm_head.weight": expected shape [61, 32]'),
    "unread tensor": (
        lambda c, t: t.update(more=torch.ones(3)),
        'tensor "more": expected only tensors that a mamba2 of this config.json has',
    ),
    "tied to other numbers": (
        lambda c, t: c.update(tie_word_embeddings=True),
        'tensor "lm_head.weight": expected the numbers of "backbone.embeddings.weight", found others',
    ),
    "more layers": (lambda c, t: c.update(num_hidden_layers=3), 'tensor "backbone.layers.2.norm.weight": expected'),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what: str, tmp_path: Path) -> None:
    change, message = REFUSED[what]
    folder = changed(saved("mamba2", SMALL | HEADS, {}, tmp_path / "model"), change)
    said = longwave("compile", folder, "-o", tmp_path / "m.lw", fails=True)
    assert message in said, said
    assert not (tmp_path / "m.lw").exists()


def test_infinity_as_older_versions_write_it(tmp_path: Path) -> None:
    folder = saved("mamba2", SMALL | HEADS, {}, tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    config["time_step_limit"] = [0.0, float("inf")]
    (folder / "config.json").write_text(json.dumps(config))
    assert "Infinity]" in (folder / "config.json").read_text()
    longwave("compile", folder, "-o", tmp_path / "m.lw")


def test_text_commands_read_the_tokenizer(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    model = tokenizers.models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[])
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    folder = saved("mamba2", SMALL | HEADS | {"vocab_size": 300}, {}, tmp_path / "model")
    tokenizer.save(str(folder / "tokenizer.json"))
    path = tmp_path / "m.lw"
    longwave("compile", folder, "-o", path, "--stream")
    assert (tmp_path / "m.tokenizer.json").read_bytes() == (folder / "tokenizer.json").read_bytes()
    (tmp_path / "text").write_text("constant cost per token\n" * 4)
    assert longwave("score", path, tmp_path / "text")
    command = [LONGWAVE, "generate", path, "--prompt", "a state", "--tokens", "8"]
    assert len(subprocess.run(command, capture_output=True, check=True).stdout) >= 8  # bytes of any kind
