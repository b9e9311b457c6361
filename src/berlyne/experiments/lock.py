"""One writer at a time: a lock that a dead process does not hold."""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from berlyne.experiments.files import StoreError, only
from berlyne.serialization import reported

_NOBODY = "another process"
_NOTHING = "nothing was changed"
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_MOST = 4096
"""Bytes that are read of a lock file, more than any of ours has."""


class BusyError(StoreError):
    """A store that another process is writing.

    who : which process, where and since when.
    """

    def __init__(self, path: Path, who: str) -> None:
        super().__init__(f"{path} is being written by {who}; wait for it, or use another place")
        self.who = who


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the store at `path` for writing, or say who does.

    The lock is the operating system's, on a file beside the store: it ends with the process. Links are
    resolved first, so that whatever name a store is reached by, it has one lock.
    """
    real = Path(os.path.realpath(path))
    beside = real.with_name(real.name + ".lock")
    with _locked(beside, path) as file:
        me = {"pid": os.getpid(), "host": socket.gethostname(), "since": datetime.now().isoformat(timespec="seconds")}
        try:
            with reported(beside, _NOTHING):  # past the buffer, which on a full disk would fail again when it is closed
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
                raise BusyError(path, _who(said))
            if _is_there(file, beside):
                if said and _who(said) == _NOBODY:  # not left by a killed run
                    raise StoreError(f"{beside} is not a lock of berlyne, and would be lost; move it elsewhere")
                file.seek(0)
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _opened(beside: Path) -> IO[str]:
    """The lock file, made if need be; an error if something else has its name."""
    only(beside)
    with reported(beside, _NOTHING):
        return open(
            beside, "r+", encoding="utf-8", errors="replace", opener=lambda path, _: os.open(path, _OPEN, 0o666)
        )


def _is_there(file: IO[str], beside: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(beside))
    except FileNotFoundError:
        return False


def _who(written: str) -> str:
    try:
        who = json.loads(written)
        return f"process {who['pid']} on {who['host']} since {who['since']}"
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
