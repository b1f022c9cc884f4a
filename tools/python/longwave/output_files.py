"""Files that are written whole, as `longwave compile` writes them: beside the old file, then renamed.

After any failure or signal each path has the old or the new content, and nothing else is left behind. A process that has
mapped the old file keeps it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import secrets
import shutil
import signal
import stat
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, BinaryIO, Callable, Union

from longwave import cleanup

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Content = Union[
    bytes, pathlib.Path, Callable[[pathlib.Path], object]
]  # bytes, a file to copy, or what writes the file it is given

PREFIX, LETTERS = ".longwave-new-", 6  # of temporary files
FORGOTTEN = 3600  # seconds after which nobody writes a temporary file any more


@contextlib.contextmanager
def _told_of(path: pathlib.Path) -> Iterator[None]:
    """Errors name the file that is wanted, not the temporary one."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno or errno.EIO, error.strerror or str(error), str(path)) from error


def _remove_forgotten(folder: pathlib.Path) -> None:
    """Temporary files of programs that were killed while they wrote."""
    for entry in os.scandir(folder):
        if not entry.name.startswith(PREFIX) or len(entry.name) != len(PREFIX) + LETTERS:
            continue
        with contextlib.suppress(OSError):
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(info.st_mode) and info.st_uid == os.geteuid() and info.st_mtime + FORGOTTEN < time.time():
                os.unlink(entry.path)


def opened(write: Callable[[BinaryIO], object]) -> Callable[[pathlib.Path], object]:
    """Content by `write` into the open file. PyTorch refuses names such as those of temporary files."""

    def content(path: pathlib.Path) -> None:
        with path.open("wb") as file:
            write(file)

    return content


def _fill(path: pathlib.Path, content: Content) -> None:
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, pathlib.Path):
        shutil.copyfile(content, path)
    else:
        content(path)


def _stage(path: pathlib.Path, content: Content) -> pathlib.Path:
    """The file under a temporary name in the same folder, on the disk."""
    _remove_forgotten(path.parent)
    staged = path.with_name(PREFIX + secrets.token_hex(LETTERS // 2))
    file = os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        mode = stat.S_IMODE(os.fstat(file).st_mode)
        _fill(staged, content)
        staged.chmod(mode)  # of a library that made the file anew
        with open(staged, "rb+") as written:
            os.fsync(written.fileno())
    except BaseException:
        staged.unlink(missing_ok=True)
        raise
    finally:
        os.close(file)
    return staged


def _sync_folder(folder: pathlib.Path) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system without folders to sync
            raise
    finally:
        os.close(file)


def _replace(contents: Mapping[pathlib.Path, Content]) -> None:
    """Every new file is on the disk before the first old one goes."""
    staged: dict[pathlib.Path, pathlib.Path] = {}
    try:
        for path, content in contents.items():
            with _told_of(path):
                staged[path] = _stage(path, content)
        for path in list(staged):
            with _told_of(path):
                os.replace(staged[path], path)
            del staged[path]
        for folder in {path.parent for path in contents}:
            with _told_of(folder):
                _sync_folder(folder)
    finally:
        for left in staged.values():
            left.unlink(missing_ok=True)


def _behind_links(path: pathlib.Path) -> pathlib.Path:
    """Where a chain of links ends. In a folder that everybody may write to, a link of somebody else may lead to a file of ours."""
    for _ in range(40):  # as the system
        if not path.is_symlink():
            return path
        link, folder = os.lstat(path), os.stat(path.parent)
        shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
        if shared and link.st_uid not in (os.geteuid(), folder.st_uid):
            raise OSError(errno.EACCES, "a link of another user is not followed", str(path))
        path = path.parent / os.readlink(path)
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def check_file(path: pathlib.Path) -> None:
    """Before the work: raises OSError where no file can be written."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file in it", str(path))
    if path.exists() and not path.is_file():
        return  # a device or a pipe
    folder = _behind_links(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder", str(folder))
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "no file can be written there", str(folder))


def write_file(path: pathlib.Path, content: Content) -> None:
    """Replaces one file. Follows links. Writes directly to devices and pipes. Raises OSError with the path."""
    check_file(path)
    if path.exists() and not path.is_file():
        with _told_of(path):
            _fill(path, content)
        return
    with cleanup.watched(), cleanup.deferred():
        _replace({_behind_links(path): content})


def write_files(contents: Mapping[pathlib.Path, Content]) -> None:
    """Replaces regular files that belong together. Follows links."""
    for path in contents:
        check_file(path)
    with cleanup.watched(), cleanup.deferred():
        _replace({_behind_links(path): content for path, content in contents.items()})


def write_text(path: pathlib.Path, text: str) -> None:
    """`write_file` of a text in UTF-8."""
    write_file(path, text.encode())


def write_array(path: pathlib.Path, values: ArrayLike) -> None:
    """`write_file` of a .npy file."""
    import numpy as np

    def fill(place: pathlib.Path) -> None:
        with place.open("wb") as file:  # by its name, NumPy would add a suffix
            np.save(file, values)

    write_file(path, fill)


def check_folder(folder: pathlib.Path) -> None:
    """Before the work: raises OSError where no folder can be made."""
    there = folder.absolute()
    while not there.exists() and not there.is_symlink():
        there = there.parent
    if not there.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, "is not a folder", str(there))
    if not os.access(there, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, "no file can be written there", str(there))


def write_folder(folder: pathlib.Path, contents: Mapping[str, Content]) -> None:
    """Replaces files of a folder, which is made if it is missing. A link in it is replaced, not followed. Raises OSError with the
    path of the file."""
    with cleanup.watched(), cleanup.deferred():
        made: list[pathlib.Path] = []
        try:
            for place in [*reversed(folder.parents), folder]:
                if not place.is_dir():
                    place.mkdir()
                    made.append(place)
            for name in contents:
                if (folder / name).is_dir() and not (folder / name).is_symlink():
                    raise IsADirectoryError(errno.EISDIR, "is a folder, where a file goes", str(folder / name))
            _replace({folder / name: content for name, content in contents.items()})
        except BaseException:
            for place in reversed(made):
                with contextlib.suppress(OSError):
                    place.rmdir()
            raise


def print_result(text: str) -> int:
    """Prints the last text of a command. Returns its exit status. A closed pipe ends the command as it ends any other program."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        cleanup.end_by(signal.SIGPIPE)
    except OSError as error:
        print(f"error: standard output cannot be written: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in the buffer fails no more
        return 4
    return 0
