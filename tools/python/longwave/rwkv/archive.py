"""A file of torch.save: an archive with a pickle and a file for each storage."""

from __future__ import annotations

import os
import struct
import zipfile
from pathlib import Path
from types import TracebackType

from . import pickled
from .errors import Refused, shown

MOST_FILES = 1 << 16
MOST_READS = 4  # of the file
DAMAGED = (zipfile.BadZipFile, ValueError, EOFError, RuntimeError, struct.error)  # what zipfile raises


class Archive:
    """Tensors by name. Their numbers are read one tensor at a time."""

    def __init__(self, path: Path) -> None:
        try:
            if not zipfile.is_zipfile(path):
                raise Refused("no archive; expected a file of torch.save, of PyTorch 1.6 or later")
            self.zip = zipfile.ZipFile(path)
        except DAMAGED as error:
            raise Refused(f"a damaged archive: {shown(str(error))}") from error
        try:
            self.entries = self.listed(os.path.getsize(path))
            self.tensors = pickled.tensors(self.content("data.pkl", pickled.LARGEST))
            self.check(os.path.getsize(path))
        except BaseException:
            self.zip.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.zip.close()

    def listed(self, size: int) -> dict[str, zipfile.ZipInfo]:
        """Entries by their names inside the one folder of the archive."""
        infos = self.zip.infolist()
        if len(infos) > MOST_FILES:
            raise Refused(f"the archive has {len(infos)} files; expected at most {MOST_FILES}")
        entries: dict[str, zipfile.ZipInfo] = {}
        folder = infos[0].filename.partition("/")[0] if infos else ""
        for info in infos:
            inside, _, name = info.filename.partition("/")
            if inside != folder or not name or name in entries:
                raise Refused(f"the archive has the file {shown(info.filename)}; expected one folder of files")
            if not 0 <= info.header_offset < size:
                raise Refused(f"a damaged archive: {shown(info.filename)} lies outside of it")
            # Compressed entries could be far larger than the file.
            if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1 or info.file_size > size:
                raise Refused(f"the archive has {shown(info.filename)} compressed; torch.save stores files as they are")
            entries[name] = info
        if "data.pkl" not in entries:
            raise Refused("the archive has no data.pkl; expected a file of torch.save")
        return entries

    def content(self, name: str, most: int) -> bytes:
        info = self.entries[name]
        if info.file_size > most:
            raise Refused(f"the archive has {shown(name)} of {info.file_size} bytes; expected at most {most}")
        try:
            return self.zip.read(info)
        except DAMAGED as error:
            raise Refused(f"a damaged archive: {shown(str(error))}") from error

    def check(self, size: int) -> None:
        if "byteorder" in self.entries and self.content("byteorder", 16) != b"little":
            raise Refused("the archive has numbers with the high byte first; save it on another machine")
        # A storage is read for each of its tensors: a small file could ask for a large folder.
        read = sum(stored.storage.count * pickled.BYTES[stored.storage.kind] for stored in self.tensors.values())
        if read > MOST_READS * size:
            raise Refused("many tensors share the numbers of few; save clones of them")
        for name, stored in self.tensors.items():
            entry = self.entries.get(f"data/{stored.storage.file}")
            if entry is None:
                raise Refused(f"the archive has no numbers of {shown(name)}; copy the file again")
            if entry.file_size != stored.storage.count * pickled.BYTES[stored.storage.kind]:
                raise Refused(
                    f"the archive has {entry.file_size} bytes of {shown(name)}, and its pickle says another number"
                )

    def numbers(self, name: str) -> bytes:
        """The bytes of a tensor, row by row."""
        stored = self.tensors[name]
        width = pickled.BYTES[stored.storage.kind]
        entry = f"data/{stored.storage.file}"
        whole = self.content(entry, self.entries[entry].file_size)
        return whole[stored.first * width : (stored.first + stored.count) * width]
