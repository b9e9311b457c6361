"""Write files atomically: a reader finds the old file or the new one, never a part of it.

New content goes to a file beside the target. It is flushed to the disk, and then renamed into place. Links are never
followed. If anything fails, the target stays as it was and no partial file is left. A full disk is reported in one
sentence that names the file.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

PARTIAL = ".partial"
"""Suffix of a file or folder that is not complete yet."""
REASONS = {
    errno.ENOSPC: "no space left on the device",
    errno.EDQUOT: "your disk quota is used up",
    errno.EFBIG: "the file is larger than the system allows",
    errno.EIO: "the device reported an input/output error",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EISDIR: "there is a folder of this name",
    errno.ENOTDIR: "a part of the path is not a folder",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ELOOP: "the path has too many symbolic links",
}
"""What an error number means; for others the system's own words are used."""
UNCHANGED = "the file was not changed"
NOT_KEPT = "no part of it was kept"
_LOST = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_sync = getattr(os, "fdatasync", os.fsync)  # writes content and size, which is all that a new file has


class WriteError(OSError):
    """A file could not be written. The message is one sentence that names the file; `errno` is kept."""

    def __str__(self) -> str:
        return f"cannot write {self.filename}: {self.strerror}"


def atomic_write(
    path: str | os.PathLike[str],
    content: bytes | Callable[[IO[bytes]], Any],
    *,
    overwrite: bool = True,
    locked: bool = False,
    parents: bool = False,
    sync_folder: bool = True,
) -> None:
    """Write a file, whole or not at all.

    Parameters
    ----------
    path : str or path
        The target. A link in its place is replaced, not followed.
    content : bytes or callable
        The content, or a function that writes it to the open binary file that it is given.
    overwrite : bool
        Whether a file of this name may be replaced.
    locked : bool
        Whether you hold a lock, so that no other process writes this file. The partial file then has a fixed name,
        and a file of that name, which a killed process left, is removed.
    parents : bool
        Whether to create missing folders.
    sync_folder : bool
        Whether to wait until the new name is on the disk, too. Without it, a power failure may bring back the old
        file, but files written in order never appear out of order.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    FileExistsError
        If the file exists and must not be overwritten.
    WriteError
        If the disk is full, is read-only, or fails in another way.
    """
    target = Path(path)
    partial = target.with_name(target.name + PARTIAL if locked else f"{target.name}.{os.urandom(6).hex()}{PARTIAL}")
    with reported(target, UNCHANGED, partial):
        if not locked:
            _check_target(target)
        file = _created(partial, parents)
        try:
            with file:
                content(file) if callable(content) else file.write(content)
                file.flush()
                _sync(file.fileno())
            os.replace(partial, target) if overwrite else _rename_new(partial, target)
        except BaseException:
            with contextlib.suppress(OSError):
                partial.unlink()
            raise
    if sync_folder:
        with reported(target, "the file is in place, but a power failure may undo that"):
            _sync_folder(target.parent)


@contextmanager
def atomic_folder(path: Path, *, replace: bool = False, sync: bool = False) -> Iterator[Path]:
    """Give a new folder beside `path` to fill, and rename it to `path` at the end.

    Parameters
    ----------
    path : path
        Where the folder goes.
    replace : bool
        Whether a folder of this name is replaced.
    sync : bool
        Whether to flush the files in it first; leave it out if they were written by `atomic_write`.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
    if replace:
        shutil.rmtree(partial, ignore_errors=True)
    with reported(path, NOT_KEPT, partial):
        partial.mkdir()  # an error if anything has this name
    try:
        yield partial
        with reported(path, NOT_KEPT, partial):
            if sync:
                _sync_tree(partial)
            if replace and path.exists():
                shutil.rmtree(path)
            os.rename(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def reported(path: str | os.PathLike[str], outcome: str, *also: Path) -> Iterator[None]:
    """Turn errors of the system about `path`, or below the paths in `also`, into a `WriteError` that names `path`."""
    try:
        yield
    except (WriteError, FileExistsError):
        raise
    except OSError as error:
        name, ours = str(error.filename), [os.fspath(one) for one in (path, *also)]
        about = error.filename is None or name in ours or name.startswith(tuple(one + os.sep for one in ours))
        if error.errno is None or not about:  # a sentence of our own, or another file
            raise
        system = os.strerror(error.errno)
        reason = REASONS.get(error.errno, system[:1].lower() + system[1:])
        raise WriteError(error.errno, f"{reason}; {outcome}", os.fspath(path)) from error


def _check_target(target: Path) -> None:
    """Refuse a missing folder, and pipes and devices, which a rename would replace."""
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent} to write {target.name} into; make it first")
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(target).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(target))
        if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
            raise FileExistsError(f"{target} is a pipe, a socket or a device; give the name of a file")


def _created(partial: Path, parents: bool) -> IO[bytes]:
    """A new file; one that a killed process left there is removed first."""
    try:
        return os.fdopen(os.open(partial, _CREATE, 0o666), "wb")
    except FileNotFoundError:
        if not parents:
            raise
        partial.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        if not stat.S_ISREG(os.lstat(partial).st_mode):
            raise
        partial.unlink()
    return os.fdopen(os.open(partial, _CREATE, 0o666), "wb")


def _rename_new(partial: Path, target: Path) -> None:
    """Rename, but never over a file that is there."""
    try:
        os.link(partial, target)  # unlike a rename, this fails if the target exists
    except FileExistsError:
        raise
    except OSError:  # this file system has no hard links
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), os.fspath(target)) from None
        os.replace(partial, target)
    else:
        partial.unlink()


def _sync_tree(folder: Path) -> None:
    for place, _, names in os.walk(folder):
        for name in names:
            handle = os.open(os.path.join(place, name), os.O_RDWR)
            try:
                _sync(handle)
            finally:
                os.close(handle)


def _sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, on systems where a folder can be synced."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno in _LOST:
            raise
    finally:
        os.close(handle)
