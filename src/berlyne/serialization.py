"""Atomic writes, safe reads, locks, and archives with a checksum.

`atomic_write` writes a file beside the target, flushes it to the disk and renames it into place. So a reader finds the
old file or the new one, never a part of it. Links are never followed. If anything fails, the target is unchanged and no
partial file is left. A full disk raises an error with one sentence that names the file.

`read_file` never waits for a pipe or a device, and never reads more than its limit. `exclusive_lock` holds a lock that
ends with its process.

World and explorer files are archives: settings and arrays in one `.npz`, without code. The settings list every array
with its type and shape. A SHA-256 checksum covers the settings and all arrays. The zip format has a checksum for each
member, but none for the names and the number of members.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import shutil
import socket
import stat
import time
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import numpy as np
from filelock import FileLock, Timeout

from berlyne.labels import Labels, label_from_json, label_to_json

PARTIAL_SUFFIX = ".partial"
"""Suffix of files and folders that are not complete yet."""
REMOVAL_ATTEMPTS, REMOVAL_PAUSE = 40, 0.01
"""How often a folder is removed that other threads may still write to, and the seconds between."""
REASONS = {
    errno.ENOSPC: "no space left on the device",
    errno.EDQUOT: "your disk quota is used up",
    errno.EFBIG: "the file is larger than the system allows",
    errno.EIO: "the device reported an input/output error",
    errno.EROFS: "the file system is read-only",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EISDIR: "there is a directory of this name",
    errno.ENOTDIR: "a part of the path is not a directory",
    errno.ENAMETOOLONG: "the name is too long",
    errno.ELOOP: "the path has too many symbolic links",
}
"""Reason for each error number; other errors use the text of the operating system."""
UNCHANGED = "the file was not changed"
NOT_KEPT = "no part of it was kept"
_CAN_BE_LOST = "the file was written, but it can be lost if the power fails"
_DATA_LOSS = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_sync = getattr(os, "fdatasync", os.fsync)  # flushes content and size, which is enough for a new file


class WriteError(OSError):
    """A file could not be written. The message is one sentence that names the file; `errno` is set."""

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
    """Write a complete file or nothing.

    Parameters
    ----------
    path : str or path
        The target. If it is a link, the link is replaced, not followed.
    content : bytes or callable
        The content, or a function that writes the content to an open binary file.
    overwrite : bool
        Whether an existing file may be replaced.
    locked : bool
        Whether you hold a lock, so that no other process writes this file. The partial file then has a fixed name. If a
        killed process left a file of that name, it is removed.
    parents : bool
        Whether to create missing folders.
    sync_folder : bool
        Whether to wait until the new name is on the disk, too. If not, a power failure may restore the old file, and
        other files that were written later may be there.

    Raises
    ------
    FileNotFoundError
        If the folder does not exist.
    FileExistsError
        If the file exists and `overwrite` is False.
    WriteError
        If the disk is full, is read-only, or fails in another way.
    """
    target = Path(path)
    partial = target.with_name(
        target.name + PARTIAL_SUFFIX if locked else f"{target.name}.{os.urandom(6).hex()}{PARTIAL_SUFFIX}"
    )
    with report_write_errors(target, UNCHANGED, partial):
        if not locked:
            _check_target(target)
        file = _create(partial, parents)
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
        with report_write_errors(target, _CAN_BE_LOST):
            _sync_folder(target.parent)


@contextmanager
def atomic_folder(path: Path, *, replace: bool = False, sync: bool = False) -> Iterator[Path]:
    """Yield a new folder beside `path`, and rename it to `path` at the end.

    Parameters
    ----------
    path : path
        The final path of the folder.
    replace : bool
        Whether an existing folder is replaced. It is removed just before the rename, so if the process is killed
        between the two, there is no folder at `path`.
    sync : bool
        Whether to wait until all files and names in the folder, and at the end its own name, are on the disk.

    Yields
    ------
    path
        The temporary folder. Write the files into it.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL_SUFFIX}")
    if replace:
        shutil.rmtree(partial, ignore_errors=True)
    with report_write_errors(path, NOT_KEPT, partial):
        partial.mkdir()  # fails if the name exists
    try:
        yield partial
        with report_write_errors(path, NOT_KEPT, partial):
            if sync:
                _sync_tree(partial)
            if replace and path.exists():
                shutil.rmtree(path)
            os.rename(partial, path)
    except BaseException:
        _remove_folder(partial)
        raise
    if sync:
        sync_folders([path.parent])


def _remove_folder(path: Path) -> None:
    """Remove a folder. After an error, threads of Zarr may go on writing for a moment and create it again."""
    for _ in range(REMOVAL_ATTEMPTS):
        shutil.rmtree(path, ignore_errors=True)
        time.sleep(REMOVAL_PAUSE)
        if not path.exists():
            return


@contextmanager
def report_write_errors(path: str | os.PathLike[str], outcome: str, *partial: Path) -> Iterator[None]:
    """Convert operating-system errors about a file into a `WriteError` that names the file.

    Parameters
    ----------
    path : str or path
        The file that the message names.
    outcome : str
        The state of the file after the error, for the message.
    *partial : path
        Other paths, such as the partial file. Errors about them, or about files inside them, are converted, too.
    """
    try:
        yield
    except (WriteError, FileExistsError):
        raise
    except OSError as error:
        name, paths = str(error.filename), [os.fspath(file) for file in (path, *partial)]
        concerns = error.filename is None or name in paths or name.startswith(tuple(file + os.sep for file in paths))
        if error.errno is None or not concerns:  # an error raised by berlyne, or about another file
            raise
        system_text = os.strerror(error.errno)
        reason = REASONS.get(error.errno, system_text[:1].lower() + system_text[1:])
        raise WriteError(error.errno, f"{reason}; {outcome}", os.fspath(path)) from error


def _check_target(target: Path) -> None:
    """Raise an error if the folder is missing, or if the target is a pipe or a device, which a rename would replace."""
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write {target.name}: directory {target.parent} does not exist; create it first"
        )
    with contextlib.suppress(FileNotFoundError):
        mode = os.lstat(target).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(target))
        if not stat.S_ISREG(mode) and not stat.S_ISLNK(mode):
            raise FileExistsError(f"{target} is a pipe, a socket or a device; give the name of a file")


def _create(partial: Path, parents: bool) -> IO[bytes]:
    """Create and open a file; a file of this name that a killed process left is removed first."""
    try:
        return os.fdopen(os.open(partial, _CREATE, 0o666), "wb")
    except FileNotFoundError:
        if not parents:
            raise
        partial.parent.mkdir(parents=True, exist_ok=True)
        _sync_folder(partial.parent.parent)
    except FileExistsError:
        if not stat.S_ISREG(os.lstat(partial).st_mode):
            raise
        partial.unlink()
    return os.fdopen(os.open(partial, _CREATE, 0o666), "wb")


def _rename_new(partial: Path, target: Path) -> None:
    """Rename a file, but never overwrite an existing one."""
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
    for directory, _, names in os.walk(folder):
        for name in names:
            handle = os.open(os.path.join(directory, name), os.O_RDWR)
            try:
                _sync(handle)
            finally:
                os.close(handle)
        _sync_folder(Path(directory))


def _sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, if the system can sync folders."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno in _DATA_LOSS:
            raise
    finally:
        os.close(handle)


MAX_FILE_BYTES = 1 << 28
"""Default limit for the size of a file in bytes; the metadata of a million worlds are smaller."""

_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFDIR: "a directory",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


class StoreError(RuntimeError):
    """A store cannot be used; the message names the store and the reason."""


def read_file(path: Path, at_most: int = MAX_FILE_BYTES) -> bytes | None:
    """Return the content of a regular file, None if there is no file.

    At most `at_most + 1` bytes are read, so a longer result means that the file is too large.
    """
    try:
        handle = os.open(path, _READ)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if path.is_socket():  # a socket cannot be opened
            raise StoreError(f"{path} is a socket; it must be a file") from None
        raise error from None
    kind = stat.S_IFMT(os.fstat(handle).st_mode)
    if kind != stat.S_IFREG:
        os.close(handle)
        raise StoreError(f"{path} is {_KINDS.get(kind, 'something else')}; it must be a file")
    with os.fdopen(handle, "rb") as file:
        return file.read(at_most + 1)


def write_store_file(path: Path, content: bytes, *, sync_folder: bool = True) -> None:
    """Write a complete file into a store, or nothing; the caller must hold the lock of the store.

    After a power failure, the new file is there for certain only if its folder was synced. If you write several files,
    set `sync_folder` to False and call `sync_folders` after the last.
    """
    check_file_type(path.with_name(path.name + PARTIAL_SUFFIX))
    atomic_write(path, content, locked=True, parents=True, sync_folder=sync_folder)


def sync_folders(folders: Collection[Path]) -> None:
    """Wait until the names in some folders are on the disk. Then the files that were renamed into them are durable."""
    for folder in sorted(folders):
        with report_write_errors(folder, _CAN_BE_LOST):
            _sync_folder(folder)


def remove_store_file(path: Path) -> None:
    """Remove a file if it exists; raise a `StoreError` if it is not a regular file."""
    check_file_type(path, stat.S_IFREG)
    path.unlink(missing_ok=True)


def check_file_type(path: Path, kind: int = stat.S_IFREG) -> None:
    """Raise a `StoreError` if `path` exists and is not of this kind; links are not followed."""
    try:
        actual = stat.S_IFMT(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return
    if actual != kind:
        name = _KINDS.get(actual, "something else")
        raise StoreError(f"{path} is {name}, but berlyne needs {_KINDS[kind]} there; nothing was written, so remove it")


LOCK_GRACE = 0.1
"""Seconds to wait for a lock by default, because its holder may be about to finish."""
_LOCK_POLL_INTERVAL = 0.01
_UNKNOWN_HOLDER = "another process"
_NOTHING_CHANGED = "nothing was changed"
_MAX_LOCK_BYTES = 4096
"""Largest number of bytes to read from a lock file; berlyne's are shorter."""


class BusyError(StoreError):
    """Another process is writing the store.

    Attributes
    ----------
    holder : str
        Number and host of that process, and the time when it took the lock.
    """

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path} is being written by {holder}; wait for it, or use another path")
        self.holder = holder


@contextmanager
def exclusive_lock(path: Path, timeout: float = LOCK_GRACE) -> Iterator[None]:
    """Lock the store at `path` for writing, or raise a `BusyError` that names the process which holds the lock.

    The operating system locks a file beside the store, and releases it when the process ends. Links are resolved first,
    so a store has one lock under all its names. The file is removed while it is still locked. filelock never keeps a
    lock on a file without a name, so a process that opened the file before takes the lock again.

    Parameters
    ----------
    path : path
        The store, or another file or folder; it need not exist.
    timeout : float
        Seconds to wait while another process holds the lock.
    """
    real = Path(os.path.realpath(path))
    lock_path = real.with_name(real.name + ".lock")
    _check_lock_file(lock_path)
    lock = FileLock(
        lock_path,
        timeout=timeout,
        poll_interval=_LOCK_POLL_INTERVAL,
        fallback_to_soft=False,  # the lock of a killed process would remain
        on_acquired=lambda handle: _write_holder(handle, lock_path),
    )
    with report_write_errors(lock_path, _NOTHING_CHANGED):
        try:
            lock.acquire()
        except Timeout:
            raise BusyError(path, _lock_holder(_read_lock_file(lock_path))) from None
        except OSError as error:
            if error.filename is not None:
                raise
            reason = f"{lock_path} cannot be locked ({error.strerror})"  # the error of flock names no file
            raise StoreError(f"{reason}; use a directory on another disk") from None
    try:
        yield
    finally:
        _remove_lock_file(lock_path)
        lock.release()


def _check_lock_file(lock_path: Path) -> None:
    """Raise an error if there is no folder for a lock file, or if a file of another program has its name."""
    check_file_type(lock_path)
    if not lock_path.parent.is_dir():  # filelock would create it
        raise WriteError(errno.ENOENT, f"the directory does not exist; {_NOTHING_CHANGED}", os.fspath(lock_path))
    content = _read_lock_file(lock_path)
    if content and _lock_holder(content) == _UNKNOWN_HOLDER:  # not left by a killed run
        raise StoreError(f"{lock_path} is not a lock of berlyne and would be overwritten; move it")


def _write_holder(handle: int, lock_path: Path) -> None:
    """Write into a locked file which process holds the lock; if this fails, remove the file."""
    now = datetime.now().isoformat(timespec="seconds")
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": now}
    try:
        with report_write_errors(lock_path, _NOTHING_CHANGED):
            os.ftruncate(handle, 0)
            os.write(handle, json.dumps(holder).encode())
    except BaseException:
        _remove_lock_file(lock_path)
        raise


def _remove_lock_file(lock_path: Path) -> None:
    """Remove the lock file; call this only while you hold the lock."""
    with contextlib.suppress(OSError):  # an open file cannot be removed everywhere
        lock_path.unlink()


def _read_lock_file(lock_path: Path) -> bytes:
    try:
        return read_file(lock_path, _MAX_LOCK_BYTES) or b""
    except OSError:  # where a locked file cannot be read
        return b""


def _lock_holder(content: bytes) -> str:
    """Return the holder of a lock as text, from the content of the lock file."""
    try:
        holder = json.loads(content)
        return f"process {holder['pid']} on {holder['host']} since {holder['since']}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return _UNKNOWN_HOLDER


MAX_ARCHIVE_BYTES = 1 << 30
"""Limit for the size of an unpacked archive in bytes."""


class UnsupportedFormatError(ValueError):
    """The file is intact, but this version does not read its format."""

    def __init__(self, version: object) -> None:
        super().__init__(f"it has format {version}")
        self.version = version


def write_archive(path: str | os.PathLike[str], settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write an archive of JSON settings and arrays."""
    atomic_write(path, lambda file: pack_archive(file, settings, arrays))


def pack_archive(file: IO[bytes], settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write an archive of JSON settings and arrays into an open file; equal content gives equal bytes."""
    arrays = {name: np.asarray(values) for name, values in arrays.items()}
    text = json.dumps({**settings, "members": _array_types(arrays)}, default=np.generic.item)
    members = {"settings": np.array(text), **arrays}
    np.savez_compressed(file, **members, checksum=np.array(_checksum(members)))


def read_archive(file: IO[bytes], kind: str, formats: Collection[int]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read and verify the settings and arrays of an archive.

    Parameters
    ----------
    file : binary file
        The open file.
    kind : str
        The expected content: "world" or "explorer".
    formats : collection of int
        Supported formats.

    Returns
    -------
    settings : dict
        The settings.
    arrays : dict of str to ndarray
        The arrays by name.

    Raises
    ------
    UnsupportedFormatError
        If the file has another format.
    Exception
        Of any type, if the file is damaged or contains something else.
    """
    with zipfile.ZipFile(file) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > MAX_ARCHIVE_BYTES:
        raise ValueError(f"it unpacks to {size} bytes; that is more than {MAX_ARCHIVE_BYTES}")
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    settings: dict[str, Any] = json.loads(str(arrays["settings"]))
    version, stored_kind = settings["format"], settings.get("kind", "explorer")  # the first explorer files have no kind
    if stored_kind != kind:
        raise ValueError(f"it contains a {stored_kind}; it must contain a {kind}")
    if version not in formats:
        raise UnsupportedFormatError(version)
    _verify_archive(settings.pop("members"), arrays, str(arrays.pop("checksum")))
    del arrays["settings"]
    return settings, arrays


def _verify_archive(members: dict[str, Any], arrays: dict[str, Any], checksum: str) -> None:
    """Raise a `ValueError` if an array is missing, unexpected or changed."""
    actual = _array_types({name: values for name, values in arrays.items() if name != "settings"})
    for name in sorted(members.keys() | actual.keys()):
        if members.get(name) != actual.get(name):
            raise ValueError(f"the array {name} is {actual.get(name)}; it must be {members.get(name)}")
    if checksum != _checksum(arrays):
        raise ValueError(f"the checksum is {_checksum(arrays)}; it must be {checksum}")


def _array_types(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the type and shape of each array as JSON values."""
    return {name: [values.dtype.str, list(values.shape)] for name, values in arrays.items()}


def _checksum(members: dict[str, Any]) -> str:
    """Return the SHA-256 checksum of the name, type, shape and content of all members, sorted by name."""
    digest = hashlib.sha256()
    for name, values in sorted(members.items()):
        digest.update(json.dumps([name, values.dtype.str, values.shape]).encode() + b"\n")
        digest.update(values.tobytes())
    return digest.hexdigest()


def labels_to_json(labels: Labels) -> list[Any] | None:
    """Return custom labels as JSON values, None if the labels are numbers."""
    return None if labels.custom is None else [label_to_json(label) for label in labels.custom]


def labels_from_json(stored: list[Any] | None) -> list[Any] | None:
    """Return labels for the constructor of `Labels`; the inverse of `labels_to_json`."""
    return None if stored is None else [label_from_json(value) for value in stored]
