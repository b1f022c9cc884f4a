"""Folders of save_pretrained: the compiled model against the module of transformers in float64, offline and in streams. pytest -s prints a table.

Skipped where transformers is missing: pip install --no-deps transformers==5.23.0 regex. Streams need build/python (longwave_native).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import unittest.mock as mock
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy
import pytest
import torch
from huggingface_cases import (
    CASES,
    FALCON,
    GEMMA,
    GRANITE,
    HEADS,
    LFM2,
    NEMOTRON,
    NEXT,
    OLMO,
    QWEN,
    SMALL,
    VISION,
    XLSTM,
)
from huggingface_runs import LIMIT, TOKENS, errors_of
from importer_checks import LONGWAVE, longwave
from safetensors.torch import load_file, save_file

try:
    import transformers
except ImportError:
    pytest.skip("transformers is not installed: pip install --no-deps transformers==5.23.0 regex", True)
if not LONGWAVE.exists():
    pytest.skip(f"{LONGWAVE} is not built", True)

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
ATTENTION = "num_attention_heads"  # a key of every model with attention
ALL = [(kind, name) for kind, cases in CASES.items() for name in cases]
ERRORS: dict[tuple[str, str], list[float]] = {}


@pytest.fixture(scope="module", autouse=True)
def fused_weights() -> Iterator[None]:
    """The first weights of xlstm cannot be made where matrices are one, "fused": the code of transformers fails."""
    xlstm = transformers.xLSTMPreTrainedModel
    first = xlstm._init_weights
    unless = lambda self, part: None if self.config.weight_mode == "fused" else first(self, part)
    with mock.patch.object(xlstm, "_init_weights", unless):
        yield


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    yield
    print(
        "\n| model_type | configuration | offline | blocks of 1 | of 7 | of 64 | moved |\n|---|---|---|---|---|---|---|"
    )
    for (kind, name), errors in ERRORS.items():
        print(f"| {kind} | {name} | " + " | ".join(f"{error:.1e}" for error in errors) + " |")


def class_of(kind: str) -> type:
    return transformers.AutoModelForImageTextToText if kind == "qwen3_5" else transformers.AutoModelForCausalLM


def module(kind: str, configuration: dict) -> torch.nn.Module:
    """Seeded, and no parameter is without effect or the same in all places."""
    torch.manual_seed(8)
    config = transformers.AutoConfig.for_model(kind, **configuration)
    made = class_of(kind).from_config(config).eval()
    with torch.no_grad():
        for name, p in made.named_parameters():
            p.add_((0.3 if p.ndim == 1 else 0.05) * torch.randn_like(p))
            if name.endswith("dt_bias") or name.endswith("dt_proj.bias"):
                p.add_(2.0)  # steps that forget within the sequence
            # Forget gates are open, as trained ones: a sum of one token is a matrix of rank one. Where its q and k are at
            # right angles, the norm of what is read is not continuous, and PyTorch in float32 is off by 3e-4 of the peak.
            if "igate_preact" in name or "fgate_preact" in name:
                p.copy_((3.0 if p.ndim == 1 else 0.2) * torch.randn_like(p))
            if "fgate_preact.bias" in name:
                forget = p[-p.numel() // (2 if "ifgate" in name else 1) :]
                forget.copy_(1 + forget.abs())
    return made


def saved(kind: str, configuration: dict, how: dict, folder: Path) -> Path:
    made = module(kind, configuration).to(how.get("dtype", torch.float32))
    made.save_pretrained(folder, **{key: value for key, value in how.items() if key == "max_shard_size"})
    return folder


def masks(context: int) -> dict[str, torch.Tensor | None]:
    """Of each kind of layer: attention to the last `context` tokens."""
    lag = torch.arange(TOKENS)[:, None] - torch.arange(TOKENS)
    seen = torch.zeros(TOKENS, TOKENS, dtype=torch.float64).masked_fill((lag < 0) | (lag >= context), -torch.inf)
    attention = seen[None, None]
    return {"full_attention": attention, "sliding_attention": attention, "linear_attention": None, "conv": None}


def wanted(folder: Path, ids: numpy.ndarray, context: int | None = None) -> numpy.ndarray:
    """Logits in float64. The module computes some parts in float32 whatever its weights are, so float32 means float64 here."""
    kind = json.loads((folder / "config.json").read_text())["model_type"]
    made = class_of(kind).from_pretrained(folder, dtype=torch.float32).eval().double()
    for part in made.modules():  # the state of mLSTM has a type of its own
        if hasattr(part, "_inference_fn"):
            for kernel in ("mlstm_sequence_kernel", "mlstm_step_kernel"):
                part._inference_fn.keywords[kernel].keywords["dtype_state"] = torch.float64
    scan = transformers.models.recurrent_gemma.modeling_recurrent_gemma.RecurrentGemmaRglru._rnn_scan
    with (
        torch.no_grad(),
        mock.patch.object(torch, "float32", torch.float64),
        mock.patch.object(torch.Tensor, "float", torch.Tensor.double),
        mock.patch.object(scan, "__defaults__", (torch.float64,)),
    ):
        mask = masks(context) if context else None
        logits = made(torch.from_numpy(ids)[None], attention_mask=mask, use_cache=False).logits[0]
    assert logits.dtype == torch.float64
    return logits.numpy()


def ids_of(configuration: dict) -> numpy.ndarray:
    vocabulary = configuration.get("text_config", configuration)["vocab_size"]
    return numpy.random.default_rng(5).integers(0, vocabulary, TOKENS)


@pytest.mark.parametrize(("kind", "name"), ALL, ids=lambda value: value.replace(" ", "_"))
def test_equals_the_module(kind: str, name: str, tmp_path: Path) -> None:
    configuration, how = CASES[kind][name]
    folder = saved(kind, configuration, how, tmp_path / "model")
    if "max_shard_size" in how:
        assert (folder / "model.safetensors.index.json").exists()
    ids = ids_of(configuration)
    logits = wanted(folder, ids, how.get("context"))
    context = ("--context", how.get("context", TOKENS)) if ATTENTION in json.dumps(configuration) else ()
    errors = errors_of(folder, ids, logits, tmp_path, *context)
    ERRORS[kind, name] = errors
    assert max(errors) <= LIMIT


def test_gates_of_any_size(tmp_path: Path) -> None:
    """Open and shut beyond what an exponential in float32 can hold, for each pair of gates of mLSTM."""

    def change(config: dict, tensors: dict) -> None:
        config["gate_soft_cap"] = 1e6
        for block in range(2):
            for gate, sizes in (("igate", (1e4, 1e4, -1e4, -1e4)), ("fgate", (1e4, -1e4, 1e4, -1e4))):
                name = f"backbone.blocks.{block}.mlstm_layer.{gate}_preact"
                tensors[name + ".weight"] *= 0
                tensors[name + ".bias"] = torch.tensor(sizes)

    folder = changed(saved("xlstm", XLSTM, {}, tmp_path / "model"), change)
    ids = ids_of(XLSTM)
    logits = wanted(folder, ids)
    assert numpy.isfinite(logits).all()
    assert max(errors_of(folder, ids, logits, tmp_path)) <= LIMIT


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
        'model_type: expected one of "falcon_h1", "falcon_mamba", "granitemoehybrid", "lfm2", "mamba", "mamba2", ',
    ),
    "not a language model": (
        lambda c, t: c.update(architectures=["Mamba2Model"]),
        'architectures: expected ["Mamba2ForCausalLM"] for this model_type, found ["Mamba2Model"]',
    ),
    "unknown key": (lambda c, t: c.update(rotary=True), "rotary: expected a key of mamba2 that is known"),
    "quantised": (lambda c, t: c.update(quantization_config={}), "save the model with float weights"),
    "no such function": (
        lambda c, t: c.update(hidden_act="tanh"),
        'hidden_act: expected one of "gelu", "gelu_pytorch_tanh", "relu", "silu", "swish", found the text "tanh"',
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


OTHERS: dict[str, tuple[str, dict, Callable[[dict, dict], object], str]] = {
    "experts": (
        "qwen3_next",
        NEXT,
        lambda c, t: c.update(num_experts=4),
        "num_experts: expected 0, found 4; which experts",
    ),
    "other experts": (
        "granitemoehybrid",
        GRANITE,
        lambda c, t: c.update(num_local_experts=4),
        "num_local_experts: expected 0, found 4; which experts",
    ),
    "a block of experts": (
        "nemotron_h",
        NEMOTRON,
        lambda c, t: c.update(layers_block_type=["mamba", "moe", "mlp", "mamba"]),
        'layers_block_type[1]: expected a block that is read, found the text "moe"; which experts',
    ),
    "other positions": (
        "lfm2",
        LFM2,
        lambda c, t: c["rope_parameters"].update(rope_type="yarn", factor=2.0),
        'rope_parameters.rope_type: expected "default", found the text "yarn"; other types of rotary positions',
    ),
    "half of positions where all rotate": (
        "falcon_h1",
        FALCON,
        lambda c, t: c["rope_parameters"].update(partial_rotary_factor=0.5),
        "partial_rotary_factor: expected a number from 1 to 1, found 0.5",
    ),
    "other blocks": (
        "olmo_hybrid",
        OLMO,
        lambda c, t: c.update(layer_types=["linear_attention", "sliding_attention", "linear_attention"]),
        'layer_types[1]: expected one of "linear_attention", "full_attention", found the text "sliding_attention"',
    ),
    "a tensor of another kind of block": (
        "qwen3_5_text",
        QWEN,
        lambda c, t: t.update({"model.layers.0.self_attn.q_norm.weight": torch.ones(16)}),
        'tensor "model.layers.0.self_attn.q_norm.weight": expected only tensors that a qwen3_5_text',
    ),
    "a window that transformers does not look at": (
        "nemotron_h",
        NEMOTRON,
        lambda c, t: c.update(sliding_window=64),
        "sliding_window: expected null, found 64",
    ),
    "groups": (
        "recurrent_gemma",
        GEMMA,
        lambda c, t: c.update(num_key_value_heads=3),
        "num_attention_heads: expected a multiple of num_key_value_heads, 3, found 4",
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_refused_with_attention(what: str, tmp_path: Path) -> None:
    kind, configuration, change, message = OTHERS[what]
    folder = changed(saved(kind, configuration, {}, tmp_path / "model"), change)
    said = longwave("compile", folder, "-o", tmp_path / "m.lw", fails=True)
    assert message in said, said


def test_a_stream_with_attention_needs_a_context(tmp_path: Path) -> None:
    folder, path = saved("lfm2", LFM2, {}, tmp_path / "model"), tmp_path / "m.lw"
    said = longwave("compile", folder, "-o", path, "--stream", fails=True)
    assert (
        "--stream: expected attention to see a number of tokens, found all of them, in 1 layer; give --context" in said
    )
    longwave("compile", folder, "-o", path, "--length", TOKENS)  # offline
    ids = ids_of(LFM2)
    numpy.save(tmp_path / "ids.npy", ids.astype(numpy.int32))
    numpy.save(tmp_path / "wanted.npy", wanted(folder, ids))
    longwave("run", path, "--input", f"@{tmp_path}/ids.npy", "--expected", f"@{tmp_path}/wanted.npy", "--limit", LIMIT)
    native = tmp_path / "native"
    native.mkdir()
    (native / "model.json").write_text("{}")
    said = longwave("compile", native, "-o", path, "--context", 64, fails=True)
    assert "--context: only for a folder of save_pretrained" in said
    for context, folder_of in (
        (0, folder),
        (1 << 21, folder),
        (64, saved("mamba2", SMALL | HEADS, {}, tmp_path / "mamba2")),
    ):
        assert "--context" in longwave("compile", folder_of, "-o", path, "--context", context, fails=True)


def test_what_changes_is_printed(tmp_path: Path) -> None:
    def said(kind: str, configuration: dict, *flags: object) -> str:
        folder = tmp_path / kind
        if not folder.exists():
            saved(kind, configuration, {}, folder)
        command = [LONGWAVE, "compile", folder, "-o", tmp_path / "m.lw", "--quiet", *flags]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stderr

    assert "note: attention, in 1 layer, sees the last 32 tokens; longer texts" in said("lfm2", LFM2, "--context", 32)
    gemma = GEMMA | {"attention_window_size": 64}
    own = said("recurrent_gemma", gemma, "--stream")  # its own window is enough
    assert own == "note: the folder has no tokenizer.json; text commands need one (docs/text.md)\n"
    (tmp_path / "recurrent_gemma/tokenizer.json").write_text("{}")
    assert "note: " not in said("recurrent_gemma", gemma, "--stream")
    assert "note: offline runs only: attention, in 1 layer, sees all tokens" in said("lfm2", LFM2)
    assert "note: attention, in 1 layer, sees the last 32" in said(
        "recurrent_gemma", gemma, "--stream", "--context", 32
    )
    assert "note: --context changes nothing" in said("recurrent_gemma", gemma, "--stream", "--context", 128)
    sees = {"text_config": QWEN, "vision_config": VISION}
    assert 'tensors of a part that sees, "model.visual.*"' in said("qwen3_5", sees)


def test_names_of_older_files(tmp_path: Path) -> None:
    """transformers reads the same model from each of these."""
    older: dict[str, tuple[dict, Callable[[dict, dict], object]]] = {
        "lfm2": (
            LFM2,
            lambda c, t: c.update(
                full_attn_idxs=[1],
                layer_types=None,
                block_ff_dim=c.pop("intermediate_size"),
                rope_theta=1e6,
                rope_parameters=None,
            ),
        ),
        "nemotron_h": (
            NEMOTRON,
            lambda c, t: c.update(hybrid_override_pattern="M*-M", layers_block_type=None, num_hidden_layers=4),
        ),
        "qwen3_next": (
            QWEN | {"num_experts": 0, "layer_types": ["linear_attention", "full_attention"], "num_hidden_layers": 2},
            lambda c, t: c.update(full_attention_interval=2, layer_types=None),
        ),
    }
    for kind, (configuration, change) in older.items():
        folder = saved(kind, configuration, {}, tmp_path / kind / "model")
        ids = ids_of(configuration)
        numpy.save(tmp_path / "ids.npy", ids.astype(numpy.int32))
        numpy.save(tmp_path / "wanted.npy", wanted(folder, ids))
        other, path = changed(folder, change), tmp_path / "m.lw"
        numpy.testing.assert_array_equal(wanted(other, ids), numpy.load(tmp_path / "wanted.npy"))
        longwave("compile", other, "-o", path, "--length", TOKENS)
        longwave(
            "run", path, "--input", f"@{tmp_path}/ids.npy", "--expected", f"@{tmp_path}/wanted.npy", "--limit", LIMIT
        )


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
