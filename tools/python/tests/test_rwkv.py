"""RWKV-7: folders against the definition in float64, and published files against the package `rwkv`. pytest -s prints errors.

Tests of published files without a compiled model need NumPy and PyTorch alone. The package: pip install --no-deps rwkv.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import random
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
import torch
from huggingface_runs import LIMIT, TOKENS, errors_of
from importer_checks import LONGWAVE, ROOT, longwave
from longwave.rwkv import pickled
from longwave.rwkv.archive import Archive
from longwave.rwkv.errors import Refused
from longwave.rwkv.folder import write
from rwkv_models import FOLDERS, SMALL, folder_of, logits_of, published
from safetensors.torch import load_file

compiled = pytest.mark.skipif(not LONGWAVE.exists(), reason=f"{LONGWAVE} is not built")


def ids_below(vocabulary: int) -> numpy.ndarray:
    return numpy.random.default_rng(5).integers(0, vocabulary, TOKENS)


@compiled
@pytest.mark.parametrize("name", FOLDERS)
def test_folder_equals_the_definition(name: str, tmp_path: Path) -> None:
    config = FOLDERS[name]
    folder, ids = folder_of(config, tmp_path / "model"), ids_below(config["vocab_size"])
    errors = errors_of(folder, ids, logits_of(config, load_file(folder / "model.safetensors"), ids), tmp_path)
    print(f"\n{name}: " + " ".join(f"{error:.1e}" for error in errors))
    assert max(errors) <= LIMIT


# In a process of its own: the package reads environment variables and compiles itself.
PACKAGE = """
import sys, numpy
from rwkv.model import RWKV_x070
path, ids, out = sys.argv[1:]
model = RWKV_x070(path, "cpu fp32")
logits, _ = model.forward(numpy.load(ids).tolist(), None, full_output=True)
numpy.save(out, logits.numpy())
"""


def command(*arguments: object) -> subprocess.CompletedProcess:
    """`longwave rwkv`, where PyTorch cannot be imported."""
    run = "import sys; sys.modules['torch'] = None; from longwave.command import main; sys.exit(main())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools/python")}
    return subprocess.run(
        [sys.executable, "-c", run, "rwkv", *map(str, arguments)], capture_output=True, text=True, env=environment
    )


@compiled
@pytest.mark.skipif(importlib.util.find_spec("rwkv") is None, reason="rwkv is not installed")
def test_published_file_equals_the_package(tmp_path: Path) -> None:
    torch.save(published(3), tmp_path / "m.pth")
    ids = ids_below(61)
    numpy.save(tmp_path / "given.npy", ids)
    environment = {**os.environ, "RWKV_V7_ON": "1", "RWKV_JIT_ON": "0"}
    arguments = [sys.executable, "-c", PACKAGE, tmp_path / "m", tmp_path / "given.npy", tmp_path / "package.npy"]
    subprocess.run(list(map(str, arguments)), check=True, capture_output=True, env=environment)
    done = command(tmp_path / "m.pth", "-o", tmp_path / "model")
    assert done.returncode == 0, done.stderr
    # The package rounds exp(-1/2) to six digits, and computes in float32.
    package = numpy.load(tmp_path / "package.npy")
    config = json.loads((tmp_path / "model/config.json").read_text()) | {"value_dim": None}
    exact = logits_of(config, load_file(tmp_path / "model/model.safetensors"), ids)
    assert numpy.abs(package - exact).max() <= LIMIT * numpy.abs(exact).max()
    errors = errors_of(tmp_path / "model", ids, package, tmp_path)
    print("\nagainst the package: " + " ".join(f"{error:.1e}" for error in errors))
    assert max(errors) <= LIMIT


@compiled
def test_refused_folders(tmp_path: Path) -> None:
    folder = folder_of(SMALL, tmp_path / "model")
    text = (folder / "config.json").read_text()
    for change, message in (
        ({"attn": {"layers": [1], "num_heads": 2}}, "attn: expected null"),
        ({"value_dim": [32, 32, 64]}, "value_dim: expected a whole number, or a list of it 3 times"),
        ({"value_dim": 48}, "value_dim: expected a multiple of hidden_size, 32, found 48"),
        ({"head_dim": 5}, "hidden_size: expected a multiple of head_dim, 5, found 32"),
        ({"hidden_act": "relu"}, 'hidden_act: expected "sqrelu", found the text "relu"'),
        ({"decay": 1}, "decay: expected a key of rwkv7 that is known"),
        ({"num_hidden_layers": 2, "value_dim": None}, "one that nothing reads"),
    ):
        (folder / "config.json").write_text(json.dumps(json.loads(text) | change))
        assert message in longwave("compile", folder, "-o", tmp_path / "m.lw", fails=True)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("depth", [1, 2])
def test_published_file_becomes_a_folder(kind: torch.dtype, depth: int, tmp_path: Path) -> None:
    given = published(depth, kind)
    torch.save(given, tmp_path / "m.pth")
    done = command(tmp_path / "m.pth", "-o", tmp_path / "model")
    assert done.returncode == 0 and done.stdout.startswith(f"{tmp_path}/model: "), done.stderr
    found = load_file(tmp_path / "model/model.safetensors")
    at = f"blocks.{depth - 1}.att."
    block = f"model.layers.{depth - 1}.attn."
    assert torch.equal(found["model.embeddings.weight"], given["emb.weight"])
    assert torch.equal(found[block + "w_lora.lora.0.weight"], given[at + "w1"].T)
    assert torch.equal(found[block + "a_lora.lora.2.bias"], given[at + "a0"].flatten())
    assert torch.equal(found[block + "r_proj.weight"], given[at + "receptance.weight"])
    assert torch.equal(found[block + "x_g"], given[at + "x_g"])
    assert ("model.layers.0.attn.v_lora.lora.0.weight" in found) is False
    config = json.loads((tmp_path / "model/config.json").read_text())
    assert config["num_hidden_layers"] == depth and config["gate_low_rank_dim"] == 7


def test_state_dict_of_a_module(tmp_path: Path) -> None:
    """torch.save of state_dict() has an OrderedDict with versions of its parts."""
    module = torch.nn.Linear(3, 2)
    torch.save(module.state_dict(), tmp_path / "m.pth")
    with Archive(tmp_path / "m.pth") as archive:
        assert archive.tensors["weight"].shape == (2, 3)
        assert archive.numbers("bias") == module.bias.detach().numpy().tobytes()


class Calls:
    def __reduce__(self) -> tuple:
        return os.system, ("false",)


REFUSED: dict[str, tuple[Callable[[dict], object], str]] = {
    "a function": (lambda t: t.update({"emb.weight": Calls()}), "the pickle names 'posix system'"),
    "a tensor of other numbers": (
        lambda t: t.update({"emb.weight": torch.zeros(2, dtype=torch.int64)}),
        "'torch LongStorage'",
    ),
    "columns": (lambda t: t.update({"emb.weight": t["emb.weight"].T}), ".contiguous()"),
    "something else": (lambda t: t.update(version=7), "'version', which is not a tensor"),
    "a list": (lambda t: t.update(parts=[1]), "the operation EMPTY_LIST"),
    "another version": (lambda t: t.pop("blocks.0.att.r_k"), "expected a file of RWKV-7"),
    "a missing tensor": (lambda t: t.pop("blocks.1.att.k_a"), "'blocks.1.att.k_a': expected the sizes [1, 1, 128]"),
    "a tensor too many": (
        lambda t: t.update({"blocks.0.ffn.s_emb.weight": torch.zeros(2)}),
        "'blocks.0.ffn.s_emb.weight': RWKV-7 has none of this name",
    ),
    "other heads": (
        lambda t: t.update({"blocks.0.att.r_k": torch.zeros(4, 32)}),
        "heads of 32 features; RWKV-7 has 64",
    ),
    "other sizes": (
        lambda t: t.update({"head.weight": torch.zeros(61, 64)}),
        "'head.weight': expected the sizes [61, 128], found (61, 64)",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_files(what: str, tmp_path: Path) -> None:
    change, message = REFUSED[what]
    tensors: dict = published(2)
    change(tensors)
    torch.save(tensors, tmp_path / "m.pth")
    with pytest.raises(Refused) as refused, Archive(tmp_path / "m.pth") as archive:
        write(archive, tmp_path / "model")
    assert message in str(refused.value)
    assert not (tmp_path / "model").exists()


def test_refused_archives(tmp_path: Path) -> None:
    path = tmp_path / "m.pth"
    torch.save(published(1), path)
    whole = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        files = {info.filename: archive.read(info) for info in archive.infolist()}

    def refusal(content: bytes | None = None, change: dict | None = None, how: int = zipfile.ZIP_STORED) -> str:
        if content is None:
            with zipfile.ZipFile(path, "w", how) as archive:
                for name, data in (files | (change or {})).items():
                    if data is not None:
                        archive.writestr(name, data)
        else:
            path.write_bytes(content)
        with pytest.raises(Refused) as refused, Archive(path):
            pass
        return str(refused.value)

    rows = torch.zeros(100, 1000)
    torch.save({str(i): row for i, row in enumerate(rows)}, tmp_path / "rows.pth")
    with pytest.raises(Refused, match="save clones"), Archive(tmp_path / "rows.pth"):
        pass
    number = next(name for name in files if name.endswith("/data/0"))
    assert "no archive" in refusal(pickle.dumps({}))
    assert "no archive" in refusal(whole[: len(whole) // 2])
    assert "compressed" in refusal(how=zipfile.ZIP_DEFLATED)
    assert "expected one folder of files" in refusal(change={"else/data.pkl": b""})
    assert "no data.pkl" in refusal(change={"m/data.pkl": None})
    assert "bytes of" in refusal(change={number: files[number] + b"1234"})
    assert "no numbers of" in refusal(change={number: None})
    assert "high byte first" in refusal(change={"m/byteorder": b"big"})
    assert "at most" in refusal(change={"m/data.pkl": b"\x80\x02" + b" " * pickled.LARGEST})


def test_pickles_that_ask_for_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of these takes memory or time beyond its own length."""
    for data, message in (
        (b"\x80\x02r\xff\xff\xff\x7f.", "takes more than it has made"),
        (b"\x80\x02Nr\xff\xff\xff\x7f.", "holds no dict of tensors"),
        (b"\x80\x02X\xff\xff\xff\x7fabc.", "is damaged"),
        (b"\x80\x02j\x01\x00\x00\x00.", "reads what it has not kept"),
        (b"\x80\x02cos\nsystem\n.", "names 'os system'"),
        (b"\x80\x02\x82\x01.", "the operation EXT1"),
        (b"\x80\x02.", "takes more than it has made"),
        (b"\x80\x02}", "is damaged"),
        (b"", "is damaged"),
    ):
        with pytest.raises(Refused, match=message):
            pickled.tensors(data)
    monkeypatch.setattr(pickled, "MOST_STEPS", 10)
    with pytest.raises(Refused, match="more than 10 operations"):
        pickled.tensors(b"\x80\x02" + b"}" * 20 + b".")


def test_changed_files_open_or_have_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seeded changes of the pickle and of the archive: nothing but a folder or a line comes of them, and nothing is called."""
    path = tmp_path / "m.pth"
    torch.save(published(1), path)
    with zipfile.ZipFile(path) as archive:
        files = {info.filename: archive.read(info) for info in archive.infolist()}
    whole, name = path.read_bytes(), next(name for name in files if name.endswith("data.pkl"))
    monkeypatch.setattr(os, "system", lambda *_: pytest.fail("a file was obeyed"))
    refused = 0
    for seed in range(300):
        chance = random.Random(seed)
        data = bytearray(files[name] if seed % 3 else whole)
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(data))
            what = chance.randrange(4)
            if what == 0:
                data[at] = chance.randrange(256)
            elif what == 1:
                del data[at : at + chance.randint(1, 20)]
            elif what == 2:
                data[at:at] = chance.choice((b"cos\nsystem\n", b"R", b"b", b"Q", b"(", b"\x85", data[at : at + 9]))
            else:
                other = chance.randrange(len(data))
                data[at : at + 5] = data[other : other + 5]
        if seed % 3:
            with zipfile.ZipFile(path, "w") as archive:
                for file, content in (files | {name: bytes(data)}).items():
                    archive.writestr(file, content)
        else:
            path.write_bytes(data)
        try:
            with Archive(path) as opened:
                write(opened, tmp_path / "model")
        except Refused:
            refused += 1
    assert 150 < refused < 300, refused
