"""Files, read and written so that whatever lies in their place does no harm.

Reading never waits for a pipe or a device, and never takes in more than was asked for. Writing never
follows a link: it makes a new file beside the place and renames it into it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import IO

PARTIAL = ".partial"
"""Ends the name of a file that is not in its place yet."""
LARGEST = 1 << 28
"""Most bytes of a file, unless something else is said: metadata of a million worlds fit."""

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_sync = getattr(os, "fdatasync", os.fsync)


class StoreError(RuntimeError):
    """A store that cannot be used as asked: says which and why."""


def read(path: Path, at_most: int = LARGEST) -> bytes | None:
    """What a file holds, up to one byte more than `at_most`; None if there is none."""
    try:
        handle = os.open(path, _READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if path.is_socket():  # which cannot even be opened
            raise StoreError(f"{path} is a socket; it must be a file") from None
        raise error from None
    kind = stat.S_IFMT(os.fstat(handle).st_mode)
    if kind != stat.S_IFREG:
        os.close(handle)
        raise StoreError(f"{path} is {_KINDS.get(kind, 'something else')}; it must be a file")
    with os.fdopen(handle, "rb") as file:
        return file.read(at_most + 1)


def put(path: Path, content: bytes) -> None:
    """Write a file beside its place, and rename it into it once it is on the disk.

    Renames keep their order, so a file that is put after another is never there without it.
    """
    beside = path.with_name(path.name + PARTIAL)
    file = _create(beside)
    try:
        with file:
            file.write(content)
            file.flush()
            _sync(file.fileno())
        os.replace(beside, path)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename is None:
            error.filename = os.fspath(path)  # so that whoever reads "no space left" knows where
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _create(path: Path) -> IO[bytes]:
    """A new file, in a new folder if need be; what a killed run left in its place is removed."""
    try:
        return os.fdopen(os.open(path, _CREATE, 0o666), "wb")
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        remove(path)
    return os.fdopen(os.open(path, _CREATE, 0o666), "wb")


def remove(path: Path) -> None:
    """Remove a file, if it is there; an error if its name belongs to something else."""
    only(path, stat.S_IFREG)
    path.unlink(missing_ok=True)


def only(path: Path, kind: int = stat.S_IFREG) -> None:
    """An error if `path` is there and not of this kind; links are not followed."""
    try:
        found = stat.S_IFMT(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return
    if found != kind:
        what = _KINDS.get(found, "something else")
        raise StoreError(f"{path} is {what} and not {_KINDS[kind]} of ours, so nothing is written there; remove it")
