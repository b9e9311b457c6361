"""Waits with a limit: for an event, or with a failure that names the missing event.

`tests/unit/test_waits.py` checks that tests use no other waits.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable

LIMIT = 240.0
"""Seconds to wait for what takes a few on an idle machine; shorter than the time limit of a test, which tells less."""


def wait_until(reached: Callable[[], object], event: str, limit: float = LIMIT, pause: float = 0.01) -> None:
    """Return once `reached()` is true.

    Parameters
    ----------
    reached : callable
        Called without arguments, again and again. It may raise if the event cannot come any more.
    event : str
        Name of the event, for the failure.
    limit : float
        Seconds after which the wait fails.
    pause : float
        Seconds between two calls.
    """
    end = time.monotonic() + limit
    while not reached():
        if time.monotonic() >= end:
            raise TimeoutError(f"{event}: not within {limit:.0f} s")
        time.sleep(pause)


class Lines:
    """Lines that come through a pipe, each of which is waited for until a limit.

    Parameters
    ----------
    pipe : int
        File descriptor. Nobody else may read from it.
    """

    def __init__(self, pipe: int) -> None:
        self.pipe, self.rest = pipe, b""

    def next(self, limit: float = LIMIT) -> str:
        """The next line with its end; less, or nothing, if the writer is gone."""
        end = time.monotonic() + limit
        while b"\n" not in self.rest:
            if not select.select([self.pipe], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError(f"no line came within {limit:.0f} s")
            read = os.read(self.pipe, 65536)
            if not read:
                break
            self.rest += read
        line, newline, self.rest = self.rest.partition(b"\n")
        return (line + newline).decode()


def wait_for_child(pid: int, limit: float = LIMIT) -> int:
    """The status of a child of this process once it has ended, as `os.waitpid` gives it."""
    ended: list[int] = []

    def has_ended() -> bool:
        ended_pid, status = os.waitpid(pid, os.WNOHANG)
        if ended_pid:
            ended.append(status)
        return bool(ended_pid)

    wait_until(has_ended, f"the end of process {pid}", limit, pause=0.001)
    return ended[0]
