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

from berlyne.experiments.metadata import StoreError


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the store at `path` for writing, or say who does.

    The lock is the operating system's, on a file beside the store: it ends with the process.
    """
    beside = path.with_name(path.name + ".lock")
    with _locked(beside, path) as file:
        file.truncate(0)
        me = {"pid": os.getpid(), "host": socket.gethostname(), "since": datetime.now().isoformat(timespec="seconds")}
        file.write(json.dumps(me))
        file.flush()
        try:
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
        file = open(beside, "a+", encoding="utf-8")  # noqa: SIM115 - it is handed on open
        try:
            if not _try_lock(file):
                file.seek(0)
                raise StoreError(f"{path} is being written by {_who(file.read())}; wait for it, or use another place")
            if _is_there(file, beside):
                return file
        except BaseException:
            file.close()
            raise
        file.close()


def _is_there(file: IO[str], beside: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(beside))
    except FileNotFoundError:
        return False


def _who(written: str) -> str:
    try:
        who = json.loads(written)
        return f"process {who['pid']} on {who['host']} since {who['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


def _try_lock(file: Any) -> bool:
    """Lock the file, or say that another process has."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            file.seek(1 << 20)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
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
