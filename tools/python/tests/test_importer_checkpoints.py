"""Checkpoints: several sets of weights, several files, tied weights, and files that are something else than their names say."""

from __future__ import annotations

import gzip
import json
import sys
import zipfile
from pathlib import Path

import numpy
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python"))
from longwave.importer import __main__ as command  # noqa: E402
from longwave.importer.checkpoint import load  # noqa: E402
from longwave.importer.errors import ImportFailed  # noqa: E402


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb, self.c, self.lm_head = nn.Embedding(9, 4), nn.Conv1d(4, 4, 3), nn.Linear(4, 9, bias=False)
        self.lm_head.weight = self.emb.weight


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.norm = nn.Linear(4, 4), nn.BatchNorm1d(4)

    def forward(self, x: Tensor) -> Tensor:
        return self.a(x)


def state(seed: int) -> dict[str, Tensor]:
    torch.manual_seed(seed)
    return Net().state_dict()


def under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {prefix + key: value for key, value in tensors.items()}


def parameters(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """As a mean over the training holds them: without buffers."""
    return {key: value for key, value in tensors.items() if "running" not in key and "num_batches" not in key}


def refused(module: nn.Module, path: Path | str, prefix: str | None = None) -> str:
    before = {key: value.clone() for key, value in module.state_dict().items()}
    with pytest.raises(ImportFailed) as failed:
        load(module, str(path), prefix)
    assert all(torch.equal(value, before[key]) for key, value in module.state_dict().items())
    return str(failed.value)


# what a file holds, the sets that are listed, the prefix of the second one
SEVERAL = {
    "two dicts": ({"model": state(1), "ema": state(2)}, "model, ema", "ema"),
    "a mean without buffers": (
        {"state_dict": under("model.", state(1)), "ema": under("module.", parameters(state(2)))},
        "state_dict.model, ema.module",
        "ema.module",
    ),
    "one dict": (
        {"state_dict": under("net.", state(1)) | under("teacher.net.", state(2))},
        "state_dict.net, state_dict.teacher.net",
        "state_dict.teacher.net",
    ),
    "beside the keys": (state(1) | under("ema_model.", state(2)), "., ema_model", "ema_model."),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_several_sets_of_weights_are_listed_and_one_is_chosen(name: str, tmp_path: Path) -> None:
    content, listed, prefix = SEVERAL[name]
    torch.save(content, tmp_path / "x.pt")
    assert f"holds 2 sets of weights that the module can have: {listed}; choose one with --prefix" in refused(
        Net(), tmp_path / "x.pt"
    )
    first, second = Net(), Net()
    load(first, str(tmp_path / "x.pt"), listed.split(",")[0])
    if "without" not in name:
        load(second, str(tmp_path / "x.pt"), prefix)
        assert torch.equal(second.a.weight, state(2)["a.weight"])
    else:
        assert "norm.running_mean: is missing" in refused(second, tmp_path / "x.pt", prefix)
    assert torch.equal(first.a.weight, state(1)["a.weight"])
    assert "has no keys that begin with other.; --prefix may be " in refused(Net(), tmp_path / "x.pt", "other")


def test_copies_of_one_set_are_no_choice(tmp_path: Path) -> None:
    torch.save(
        {"model": state(1), "ema": state(1), "optimizer": {"state": {0: {"exp_avg": torch.ones(4, 4)}}}},
        tmp_path / "x.pt",
    )
    module = Net()
    load(module, str(tmp_path / "x.pt"))
    assert torch.equal(module.a.weight, state(1)["a.weight"])


def test_tied_weights_load_and_may_not_differ(tmp_path: Path) -> None:
    torch.manual_seed(3)
    source = Tied().state_dict()
    once = {key: value for key, value in source.items() if key != "lm_head.weight"}
    for number, content in enumerate((source, once)):
        torch.save(content, tmp_path / f"{number}.pt")
        module = Tied()
        load(module, str(tmp_path / f"{number}.pt"))
        assert torch.equal(module.lm_head.weight, source["emb.weight"])
    torch.save(source | {"lm_head.weight": source["emb.weight"] + 1}, tmp_path / "x.pt")
    assert "lm_head.weight: differs from emb.weight, and the module has one tensor for both" in refused(
        Tied(), tmp_path / "x.pt"
    )


def test_weight_norm_of_older_files_loads(tmp_path: Path) -> None:
    torch.manual_seed(4)
    old = nn.Sequential(nn.utils.weight_norm(nn.Linear(4, 3)))
    torch.save(old.state_dict(), tmp_path / "old.pt")
    new = nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)))
    load(new, str(tmp_path / "old.pt"))
    assert torch.allclose(new(torch.ones(1, 4)), old(torch.ones(1, 4)))


def shards(folder: Path, suffix: str, save) -> Path:
    tensors = state(5)
    parts = {
        "1": {key: tensors[key] for key in tensors if "norm" in key},
        "2": {key: tensors[key] for key in tensors if "norm" not in key},
    }
    names = {number: f"model-0000{number}-of-00002{suffix}" for number in parts}
    for number, part in parts.items():
        save(part, folder / names[number])
    index = folder / f"model{suffix}.index.json"
    index.write_text(
        json.dumps(
            {"metadata": {}, "weight_map": {key: names[number] for number, part in parts.items() for key in part}}
        )
    )
    return index


@pytest.mark.parametrize("suffix, save", [(".safetensors", save_file), (".bin", torch.save)])
def test_weights_in_several_files_load(suffix: str, save, tmp_path: Path) -> None:
    index, module = shards(tmp_path, suffix, save), Net()
    load(module, str(index))
    assert torch.equal(module.a.weight, state(5)["a.weight"])
    first = tmp_path / f"model-00001-of-00002{suffix}"
    assert f"this file is one of several: name model{suffix}.index.json" in refused(Net(), first)
    assert f"is a folder; name a file in it, such as model{suffix}.index.json" in refused(Net(), tmp_path)
    save({"norm.weight": torch.ones(4)}, first)
    assert f"norm.bias: says that {first.name} holds it, and it does not" in refused(Net(), index)
    first.unlink()
    assert f"names the file {first.name}, which is missing" in refused(Net(), index)
    index.write_text(json.dumps({"weight_map": {"a.weight": "../secret.safetensors"}}))
    assert "names the file ../secret.safetensors; the files must lie beside the index" in refused(Net(), index)


def test_a_file_is_read_by_what_it_holds(tmp_path: Path) -> None:
    save_file(state(6), tmp_path / "a.pt")
    torch.save(state(6), tmp_path / "b.safetensors")
    torch.save(state(6), tmp_path / "c.bin", _use_new_zipfile_serialization=False)
    for name in ("a.pt", "b.safetensors", "c.bin"):
        module = Net()
        load(module, str(tmp_path / name))
        assert torch.equal(module.a.weight, state(6)["a.weight"])


@pytest.mark.parametrize("length", [0x80, 0x280, 0x4B50, 0x8B1F], ids=["pickle 0", "pickle 2", "zip", "gzip"])
def test_the_length_of_a_header_is_no_beginning_of_another_kind(tmp_path: Path, length: int) -> None:
    """A safetensors file begins with the length of its header, padded with spaces."""
    save_file(state(6), tmp_path / "plain.safetensors")
    plain = (tmp_path / "plain.safetensors").read_bytes()
    size = int.from_bytes(plain[:8], "little")
    length += -(-max(size - length, 0) // (1 << 16)) * (1 << 16)  # long enough, with the same first bytes
    (tmp_path / "w.safetensors").write_bytes(
        length.to_bytes(8, "little") + plain[8 : 8 + size].ljust(length) + plain[8 + size :]
    )
    module = Net()
    load(module, str(tmp_path / "w.safetensors"))
    assert torch.equal(module.a.weight, state(6)["a.weight"])


def zipped(path: Path) -> None:
    torch.save(state(1), path.with_name("inner.pt"))
    with zipfile.ZipFile(path, "w") as file:
        file.write(path.with_name("inner.pt"), "runs/best.pt")


def cut(path: Path) -> None:
    torch.save(state(1), path)
    path.write_bytes(path.read_bytes()[:900])


OTHERS = {
    "LFS pointer": (
        lambda p: p.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"),
        "is a Git LFS pointer, not the file itself; fetch the file: git lfs pull",
    ),
    "HTML": (
        lambda p: p.write_text("\n<!DOCTYPE html><html><body>Not found"),
        "is an HTML page, not a file of weights",
    ),
    "gzip": (lambda p: p.write_bytes(gzip.compress(b"x")), "is compressed with gzip; unpack it first"),
    "zip": (zipped, "is a zip archive of 1 files; unpack it first, and name runs/best.pt"),
    "cut": (cut, "is a zip archive that is cut or damaged; the download or the save was cut"),
    "empty": (lambda p: p.write_bytes(b""), "is empty; the download or the save was cut"),
    "NumPy": (lambda p: numpy.save(p.open("wb"), numpy.ones(3)), "is one NumPy array; save model.state_dict()"),
    "text": (lambda p: p.write_text("no checkpoint"), "is a text; save model.state_dict()"),
    "bytes": (lambda p: p.write_bytes(bytes([7, 0, 255, 1] * 99)), "is no file of weights that is known; save"),
    "objects": (lambda p: torch.save({"model": Net()}, p), "holds Python objects ("),
    "cut safetensors": (lambda p: p.write_bytes(b'\x40\0\0\0\0\0\0\0{"a"'), "cannot be read: "),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("suffix", [".pt", ".safetensors", ".bin"])
def test_another_file_is_named_for_what_it_is(name: str, suffix: str, tmp_path: Path) -> None:
    write, line = OTHERS[name]
    path = tmp_path / f"x{suffix}"
    write(path)
    found = refused(Net(), path)
    assert line in found and len(found.splitlines()) == 1, found


# a tensor of the module or of the file, and the line
NO_NUMBERS = {
    "meta": (torch.empty(4, 4, device="meta"), "is on the meta device: it has a shape and no numbers"),
    "sparse": (torch.eye(4).to_sparse(), "is stored as sparse_coo; store it whole: t.to_dense()"),
    "compressed rows": (torch.eye(4).to_sparse_csr(), "is stored as sparse_csr; store it whole"),
    "complex": (torch.ones(4, 4, dtype=torch.complex64), "complex"),
    "not finite": (torch.full((4, 4), float("nan")), "holds NaN or infinity"),
}


@pytest.mark.parametrize("name", NO_NUMBERS)
def test_weights_that_are_no_plain_numbers_are_refused(name: str, tmp_path: Path) -> None:
    from importer_checks import refusal

    tensor, line = NO_NUMBERS[name]
    module = Net()
    module.a.weight = nn.Parameter(tensor, requires_grad=False)
    found = refusal(module, "x=1xTx4")
    assert line in found and len(found.splitlines()) == 1, found
    if name in ("sparse", "compressed rows", "complex"):
        torch.save(state(1) | {"a.weight": tensor}, tmp_path / "x.pt")
        assert "a.weight: " in (found := refused(Net(), tmp_path / "x.pt")) and line.split(";")[0] in found


def test_a_mask_may_hold_infinity() -> None:
    from importer_checks import imported

    module = Net()
    module.register_buffer("mask", torch.full((4, 4), -torch.inf).triu(1))
    imported(module, "x=1xTx4", length=64)


def test_names_of_others_are_printed_as_one_visible_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys = ["\x1b[2Jkey", "b\u202egnp.exe", "c\u2028d\ne", "f\u200b\u00adg\ufeff", "h\U000e0041\u3164", "i" * 5000]
    torch.save(state(1) | {key: torch.ones(1) for key in keys}, tmp_path / "x.pt")
    assert (
        command.main(
            [
                "test_importer_checkpoints:Net",
                "--input",
                "x=1xTx4",
                "--checkpoint",
                str(tmp_path / "x.pt"),
                "-o",
                str(tmp_path / "m"),
            ]
        )
        == 3
    )
    said = capsys.readouterr().err
    assert (
        len(said.splitlines()) == len(keys) + 1
        and all(c.isprintable() or c == "\n" for c in said)
        and max(map(len, said.splitlines())) < 1200
    )
    for shown in (
        r"\x1b[2Jkey: is not in the module",
        r"b\u202egnp.exe: ",
        r"c\u2028d\ne: ",
        r"f\u200b\xadg\ufeff: ",
        r"h\U000e0041\u3164: ",
    ):
        assert shown in said, said


def leaves() -> nn.Module:
    return sys.exit(0)


def test_a_factory_that_exits_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["test_importer_checkpoints:leaves", "--input", "x=1xTx4", "-o", str(tmp_path / "m")]) == 3
    assert (
        "cannot be made: it calls sys.exit(0) (test_importer_checkpoints.py:" in capsys.readouterr().err
        and not (tmp_path / "m").exists()
    )


def test_tied_weights_in_several_files_load(tmp_path: Path) -> None:
    torch.manual_seed(8)
    source = {key: value.clone() for key, value in Tied().state_dict().items()}
    save_file({key: source[key] for key in ("emb.weight", "c.weight")}, tmp_path / "model-00001-of-00002.safetensors")
    save_file({key: source[key] for key in ("c.bias", "lm_head.weight")}, tmp_path / "model-00002-of-00002.safetensors")
    where = {key: f"model-0000{1 + (key in ('c.bias', 'lm_head.weight'))}-of-00002.safetensors" for key in source}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": where}))
    module = Tied()
    load(module, str(tmp_path / "model.safetensors.index.json"))
    assert torch.equal(module.emb.weight, source["emb.weight"])
