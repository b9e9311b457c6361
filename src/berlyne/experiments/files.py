"""Files of a store, read and written so that whatever lies in their place does no harm.

Reading never waits for a pipe or a device, and never takes in more than was asked for. `berlyne.serialization` writes.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from berlyne.serialization import PARTIAL, atomic_write

LARGEST = 1 << 28
"""Most bytes of a file, unless something else is said: metadata of a million worlds fit."""

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a folder",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


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


def put(path: Path, content: bytes, *, sync_folder: bool = False) -> None:
    """Write a file of a store that this process alone may write, whole or not at all.

    Renames keep their order, so a file that is put after another is never there without it. The folder is therefore
    not synced after every file, which would double the cost of a chunk; `sync_folder` asks for it.
    """
    only(path.with_name(path.name + PARTIAL))
    atomic_write(path, content, locked=True, parents=True, sync_folder=sync_folder)


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
