"""Going through the worlds of a study on several cores.

Between kernels there is Python, for which threads wait for one another: two of them do the work of one and a half,
two processes that of nearly two. A forked process finds all that a stage has at hand, so nothing is sent to it but
which worlds to look at. Where processes cannot be forked, threads do the same.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import connection
from typing import Any

from berlyne.paper.reproduction.stage import MapFunction

MIN_ITEMS = 24
"""So many items are done sooner than processes have begun."""
PORTIONS = 24
"""Items are handed to each process in so many portions, so that all end at about the same time."""

_work: Callable[[Any], Any] | None = None


def parallel_map(jobs: int) -> MapFunction:
    """A function that maps over worlds on so many cores, showing progress in a terminal."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)

    def map_items(label: str, items: list[Any], function: Callable[[Any], Any]) -> list[Any]:
        found = _mapped(items, function, jobs)
        return list(track(found, label, len(items), console=console, disable=not console.is_terminal))

    return map_items


def _mapped(items: list[Any], function: Callable[[Any], Any], jobs: int) -> Iterator[Any]:
    """What the function makes of every item, in order."""
    if jobs < 2 or len(items) <= MIN_ITEMS:
        yield from map(function, items)
        return
    yield function(items[0])  # here, so that kernels are loaded before processes begin, which then have them
    with _executor(function, jobs) as (executor, work):
        yield from executor.map(work, items[1:], chunksize=-(-len(items) // (jobs * PORTIONS)))


@contextmanager
def _executor(function: Callable[[Any], Any], jobs: int) -> Iterator[tuple[Executor, Callable[[Any], Any]]]:
    """Processes, or else threads, and what they are to be asked for; what is left to do when one fails is not done."""
    if "fork" not in multiprocessing.get_all_start_methods():
        executor: Executor = ThreadPoolExecutor(jobs)
        work = function
    else:
        context = multiprocessing.get_context("fork")
        executor = ProcessPoolExecutor(jobs, context, _begin, (function,))
        work = _do
    try:
        with warnings.catch_warnings():
            # Zarr keeps a thread that waits for work; nothing that it may hold is used by the processes
            warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
            yield executor, work
    finally:
        executor.shutdown(cancel_futures=True)


def _begin(function: Callable[[Any], Any]) -> None:
    """In a new process: know what to do, leave Ctrl-C to the parent, and end when it ends, however that comes about."""
    global _work
    _work = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def end() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def _do(item: Any) -> Any:
    assert _work is not None
    return _work(item)
