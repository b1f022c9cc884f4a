"""What a file of weights is, told by its first bytes and not by its name."""

from __future__ import annotations

import zipfile

from .errors import ImportFailed, Problem

START = 512  # bytes that are looked at

# beginning -> what the file is, and the way out
BEGINNINGS = [
    (b"version https://git-lfs", "is a Git LFS pointer, not the file itself", "fetch the file: git lfs pull"),
    (b"\x1f\x8b", "is compressed with gzip", "unpack it first: gunzip"),
    (b"\xfd7zXZ\x00", "is compressed with xz", "unpack it first: unxz"),
    (b"BZh", "is compressed with bzip2", "unpack it first: bunzip2"),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd", "unpack it first: unzstd"),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive", "unpack it first, and name the file inside"),
    (b"Rar!", "is a RAR archive", "unpack it first, and name the file inside"),
    (b"\x89HDF", "is an HDF5 file, as Keras writes it", "save the weights with PyTorch"),
    (b"\x93NUMPY", "is one NumPy array", "save model.state_dict() with PyTorch"),
    (b"GGUF", "is a GGUF file", "name the checkpoint that it was made from"),
    (b"\x89LWA\r\n", "is a compiled model", "name the checkpoint that it was made from"),
    (b"%PDF", "is a PDF file", "name a file of weights"),
    (b"\x7fELF", "is a program", "name a file of weights"),
]
TORCHSCRIPT = "is a TorchScript archive"
PROGRAM = "is TorchScript, a program and not a graph"
EXPORTED = "is a program of torch.export"
WAYS = (
    "as ONNX: torch.onnx.export(torch.jit.load(FILE), (example,), 'model.onnx', dynamo=False, input_names=['x'], "
    "dynamic_axes={'x': {1: 'time'}}), and then: longwave import model.onnx -o model.lw",
    "with torch.export: from the Python module that it was made of: longwave import my_model:make --input x=1xTx64 -o model.lw",
)
NAME_CODE = "name the Python code: my_model:make --checkpoint FILE"
WAY_OUT = "save model.state_dict() with torch.save or as .safetensors"


def kind_of(path: str) -> tuple[str, str, str]:
    """ "torch" or "safetensors", which can be read, or "", with the reason and the way out. Raises OSError."""
    with open(path, "rb") as file:
        head = file.read(START)
    if not head:
        return "", "is empty", "the download or the save was cut: fetch it again"
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") < 1 << 40:
        return "safetensors", "", ""  # the length of its header, whose bytes may be any of those below
    for beginning, reason, way_out in BEGINNINGS:
        if head.startswith(beginning):
            return "", reason, way_out
    if head.startswith(b"PK"):
        return archive(path)
    if head[:1] == b"\x80" and head[1:2] <= b"\x05":
        return "torch", "", ""  # torch.save before version 1.6, read as tensors only
    if head[257:262] == b"ustar":
        return "", "is a tar archive", "unpack it first, and name the file inside"
    return "", text_of(head) or "is no file of weights that is known", WAY_OUT


def text_of(head: bytes) -> str:
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html", b"<head", b"<?xml")):
        return "is an HTML page, not a file of weights: the download gave the page of the file, or an error"
    if text.startswith((b"{", b"[")) and text[1:2] in (b'"', b"\n", b" ", b"\r", b"}", b"]"):
        return "is a JSON text without a weight_map"
    return "is a text" if all(byte >= 32 or byte in b"\t\r\n\f" for byte in head) else ""


def archive(path: str) -> tuple[str, str, str]:
    """A zip file: torch.save writes one with data.pkl and its tensors."""
    try:
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return "", "is a zip archive that is cut or damaged", "the download or the save was cut: fetch it again"
    parts = {name.partition("/")[2] for name in names}
    if "constants.pkl" in parts or any(part.startswith("code/") for part in parts):
        return "", TORCHSCRIPT, "save model.state_dict() of the Python module"
    if "data.pkl" in parts:
        return "torch", "", ""
    if any(part.startswith("models/") or part.endswith("archive_format") for part in parts):
        return "", EXPORTED, "save model.state_dict() of the Python module"
    if names and all(name.endswith(".npy") for name in names):
        return "", "is an archive of NumPy arrays", "save model.state_dict() with PyTorch"
    inside = next((name for name in names if name.endswith((".pt", ".pth", ".ckpt", ".bin", ".safetensors"))), "")
    return (
        "",
        f"is a zip archive of {len(names)} files",
        "unpack it first, and name " + (inside or "the file of weights inside"),
    )


def no_model(path: str) -> ImportFailed:
    """Why a file of PyTorch alone cannot be imported, and what to do. Raises OSError."""
    kind, reason, way_out = kind_of(path)
    if reason == TORCHSCRIPT:
        return torchscript(path)
    if kind:
        reason, way_out = "holds tensors, not the module that computes", NAME_CODE
    elif reason == EXPORTED:
        reason, way_out = f"{EXPORTED}, the graph of one length", NAME_CODE
    return ImportFailed([Problem(path, "", reason, way_out)])


def torchscript(path: str) -> ImportFailed:
    return ImportFailed([Problem(path, "", PROGRAM, "")], tuple(way.replace("FILE", repr(path)) for way in WAYS))
