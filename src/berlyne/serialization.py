"""Files: the one writer of whole files, careful readers, locks, and archives with a checksum.

`atomic_write` writes beside the target, flushes to the disk and renames into place, so a reader finds the old file or
the new one, never a part of it. Links are never followed. If anything fails, the target stays as it was and no partial
file is left. A full disk is reported in one sentence that names the file.

`read` never waits for a pipe or a device, and never reads more than it was asked for. `exclusive_lock` holds a lock that
ends with its process.

World and explorer files are archives: settings and arrays in one `.npz`, without code. The settings list every array
with its type and shape. A SHA-256 checksum covers the settings and all arrays, because the zip format has a checksum
for each member, but none for the names and the number of members.
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
import zipfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

import numpy as np

from berlyne.labels import Labels, label_from_json, label_to_json

PARTIAL_SUFFIX = ".partial"
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
    partial = target.with_name(
        target.name + PARTIAL_SUFFIX if locked else f"{target.name}.{os.urandom(6).hex()}{PARTIAL_SUFFIX}"
    )
    with report_write_errors(target, UNCHANGED, partial):
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
        with report_write_errors(target, "the file is in place, but a power failure may undo that"):
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
    partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL_SUFFIX}")
    if replace:
        shutil.rmtree(partial, ignore_errors=True)
    with report_write_errors(path, NOT_KEPT, partial):
        partial.mkdir()  # an error if anything has this name
    try:
        yield partial
        with report_write_errors(path, NOT_KEPT, partial):
            if sync:
                _sync_tree(partial)
            if replace and path.exists():
                shutil.rmtree(path)
            os.rename(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


@contextmanager
def report_write_errors(path: str | os.PathLike[str], outcome: str, *also: Path) -> Iterator[None]:
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


MAX_FILE_BYTES = 1 << 28
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


def read_file(path: Path, at_most: int = MAX_FILE_BYTES) -> bytes | None:
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


def write_store_file(path: Path, content: bytes, *, sync_folder: bool = False) -> None:
    """Write a file of a store that this process alone may write, whole or not at all.

    Renames keep their order, so a file that is put after another is never there without it. The folder is therefore
    not synced after every file, which would double the cost of a chunk; `sync_folder` asks for it.
    """
    check_file_type(path.with_name(path.name + PARTIAL_SUFFIX))
    atomic_write(path, content, locked=True, parents=True, sync_folder=sync_folder)


def remove_store_file(path: Path) -> None:
    """Remove a file, if it is there; an error if its name belongs to something else."""
    check_file_type(path, stat.S_IFREG)
    path.unlink(missing_ok=True)


def check_file_type(path: Path, kind: int = stat.S_IFREG) -> None:
    """An error if `path` is there and not of this kind; links are not followed."""
    try:
        found = stat.S_IFMT(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return
    if found != kind:
        what = _KINDS.get(found, "something else")
        raise StoreError(f"{path} is {what} and not {_KINDS[kind]} of ours, so nothing is written there; remove it")


_NOBODY = "another process"
_NOTHING = "nothing was changed"
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_MOST = 4096
"""Bytes that are read of a lock file, more than any of ours has."""


class BusyError(StoreError):
    """A store that another process is writing.

    who : which process, where and since when.
    """

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path} is being written by {holder}; wait for it, or use another place")
        self.holder = holder


@contextmanager
def exclusive_lock(path: Path) -> Iterator[None]:
    """Hold the store at `path` for writing, or say who does.

    The lock is the operating system's, on a file beside the store: it ends with the process. Links are
    resolved first, so that whatever name a store is reached by, it has one lock.
    """
    real = Path(os.path.realpath(path))
    beside = real.with_name(real.name + ".lock")
    with _locked(beside, path) as file:
        me = {"pid": os.getpid(), "host": socket.gethostname(), "since": datetime.now().isoformat(timespec="seconds")}
        try:
            with report_write_errors(
                beside, _NOTHING
            ):  # past the buffer, which on a full disk would fail again when it is closed
                os.ftruncate(file.fileno(), 0)
                os.lseek(file.fileno(), 0, os.SEEK_SET)
                os.write(file.fileno(), json.dumps(me).encode())
            yield
        finally:
            with contextlib.suppress(OSError):  # an open file cannot be removed everywhere
                beside.unlink()


def _locked(beside: Path, path: Path) -> IO[str]:
    """The lock file, open and locked.

    It is removed by whoever held it, and may be gone by the time it is locked: then a third process
    could lock a new one, so it counts only if it still is the file that has the name.
    """
    while True:
        file = _opened(beside)
        try:
            locked = _try_lock(file)
            file.seek(0)
            said = file.read(_MOST)
            if not locked:
                raise BusyError(path, _lock_holder(said))
            if _is_there(file, beside):
                if said and _lock_holder(said) == _NOBODY:  # not left by a killed run
                    raise StoreError(f"{beside} is not a lock of berlyne, and would be lost; move it elsewhere")
                file.seek(0)
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _opened(beside: Path) -> IO[str]:
    """The lock file, made if need be; an error if something else has its name."""
    check_file_type(beside)
    with report_write_errors(beside, _NOTHING):
        return open(
            beside, "r+", encoding="utf-8", errors="replace", opener=lambda path, _: os.open(path, _OPEN, 0o666)
        )


def _is_there(file: IO[str], beside: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(beside))
    except FileNotFoundError:
        return False


def _lock_holder(written: str) -> str:
    try:
        holder = json.loads(written)
        return f"process {holder['pid']} on {holder['host']} since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        return _NOBODY


def _try_lock(file: Any) -> bool:
    """Lock the file, or say that another process has."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            file.seek(1 << 20)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]  # Windows only
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise StoreError(f"{file.name} cannot be locked ({error.strerror}); use a folder on another disk") from None
    return True


MAX_ARCHIVE_BYTES = 1 << 30
"""Most bytes that a file may unpack to."""


class UnsupportedFormatError(ValueError):
    """A sound file of a format that is not read."""

    def __init__(self, version: object) -> None:
        super().__init__(f"it has format {version}")
        self.version = version


def write_archive(path: str | os.PathLike[str], settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write settings that JSON can hold, and arrays."""
    atomic_write(path, lambda file: pack_archive(file, settings, arrays))


def pack_archive(file: IO[bytes], settings: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write them into an open file; equal content gives equal bytes."""
    arrays = {name: np.asarray(values) for name, values in arrays.items()}
    text = json.dumps({**settings, "members": _array_types(arrays)}, default=np.generic.item)
    members = {"settings": np.array(text), **arrays}
    np.savez_compressed(file, **members, checksum=np.array(_checksum(members)))


def read_archive(
    file: IO[bytes], kind: str, formats: Collection[int], unsealed: Collection[int] = ()
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the settings and arrays of a packed file, and verify them.

    Parameters
    ----------
    file : binary file
        The open file.
    kind : str
        What it must hold: "world" or "explorer".
    formats : collection of int
        Formats that are read.
    unsealed : collection of int
        Formats that are read and are older than checksums.

    Raises
    ------
    OtherFormatError
        If it has another format.
    Exception
        Of any type, if the file is damaged or holds something else.
    """
    with zipfile.ZipFile(file) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > MAX_ARCHIVE_BYTES:
        raise ValueError(f"it unpacks to {size} bytes; that is more than {MAX_ARCHIVE_BYTES}")
    file.seek(0)
    with np.load(file, allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    settings: dict[str, Any] = json.loads(str(arrays["settings"]))
    version, holds = settings["format"], settings.get("kind", "explorer")  # the first explorer files do not say it
    if holds != kind:
        raise ValueError(f"it holds a {holds}; it must hold a {kind}")
    if version not in (*formats, *unsealed):
        raise UnsupportedFormatError(version)
    if version not in unsealed:
        _verify_archive(settings.pop("members"), arrays, str(arrays.pop("checksum")))
    del arrays["settings"]
    return settings, arrays


def _verify_archive(members: dict[str, Any], arrays: dict[str, Any], checksum: str) -> None:
    """Refuse a file that lacks an array, has one more, or of which anything changed."""
    there = _array_types({name: values for name, values in arrays.items() if name != "settings"})
    for name in sorted(members.keys() | there.keys()):
        if members.get(name) != there.get(name):
            raise ValueError(f"the array {name} is {there.get(name)}; it must be {members.get(name)}")
    if checksum != _checksum(arrays):
        raise ValueError(f"the checksum is {_checksum(arrays)}; it must be {checksum}")


def _array_types(arrays: dict[str, Any]) -> dict[str, Any]:
    """Type and shape of each array, as JSON gives them back."""
    return {name: [values.dtype.str, list(values.shape)] for name, values in arrays.items()}


def _checksum(members: dict[str, Any]) -> str:
    """SHA-256 of the name, type, shape and content of all members, in the order of their names."""
    digest = hashlib.sha256()
    for name, values in sorted(members.items()):
        digest.update(json.dumps([name, values.dtype.str, values.shape]).encode() + b"\n")
        digest.update(values.tobytes())
    return digest.hexdigest()


def labels_to_json(labels: Labels) -> list[Any] | None:
    """Labels as JSON holds them, None for numbers."""
    return None if labels.custom is None else [label_to_json(label) for label in labels.custom]


def labels_from_json(stored: list[Any] | None) -> list[Any] | None:
    """The inverse, for the constructor of `Labels`."""
    return None if stored is None else [label_from_json(value) for value in stored]
