"""One writer at a time: a lock that a dead process does not hold."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from berlyne.experiments.store import StoreError


@contextmanager
def only_writer(path: Path) -> Iterator[None]:
    """Hold the store at `path` for writing, or say who does.

    The lock is the operating system's, on a file beside the store: it ends with the process.
    """
    beside = path.with_name(path.name + ".lock")
    with open(beside, "a+", encoding="utf-8") as file:
        if not _try_lock(file):
            file.seek(0)
            raise StoreError(f"{path} is being written by {_who(file.read())}; wait for it, or use another place")
        file.truncate(0)
        me = {"pid": os.getpid(), "host": socket.gethostname(), "since": datetime.now().isoformat(timespec="seconds")}
        file.write(json.dumps(me))
        file.flush()
        try:
            yield
        finally:
            beside.unlink(missing_ok=True)


def _who(written: str) -> str:
    try:
        who = json.loads(written)
        return f"process {who['pid']} on {who['host']} since {who['since']}"
    except (ValueError, KeyError):
        return "another process"


def _try_lock(file: Any) -> bool:
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
    except OSError:
        return False
    return True
