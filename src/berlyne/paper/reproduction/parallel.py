"""Map a function over worlds on several cores.

Between kernels, Python code runs under the interpreter lock: two threads are about 1.5 times as fast as one, two
processes nearly twice. Forked processes share the memory of the stage, so only the items are sent to them. If the
platform cannot fork, threads are used instead.
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
"""Run serially up to this many items; starting processes would take longer."""
PORTIONS = 24
"""Number of chunks for each process, so that all processes finish at about the same time."""

_function: Callable[[Any], Any] | None = None


def parallel_map(jobs: int) -> MapFunction:
    """Return a function that maps over items in `jobs` processes and shows progress in a terminal."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)

    def map_items(label: str, items: list[Any], function: Callable[[Any], Any]) -> list[Any]:
        results = _map(items, function, jobs)
        return list(track(results, label, len(items), console=console, disable=not console.is_terminal))

    return map_items


def _map(items: list[Any], function: Callable[[Any], Any], jobs: int) -> Iterator[Any]:
    """Apply the function to every item and yield the results in order."""
    if jobs < 2 or len(items) <= MIN_ITEMS:
        yield from map(function, items)
        return
    yield function(items[0])  # in this process, so that forked processes inherit the loaded kernels
    with _executor(function, jobs) as (executor, work):
        yield from executor.map(work, items[1:], chunksize=-(-len(items) // (jobs * PORTIONS)))


@contextmanager
def _executor(function: Callable[[Any], Any], jobs: int) -> Iterator[tuple[Executor, Callable[[Any], Any]]]:
    """Provide an executor, with processes if possible and threads otherwise, and the function to submit to it.

    If an item fails, pending items are cancelled.
    """
    if "fork" not in multiprocessing.get_all_start_methods():
        executor: Executor = ThreadPoolExecutor(jobs)
        work = function
    else:
        context = multiprocessing.get_context("fork")
        executor = ProcessPoolExecutor(jobs, context, _initialise, (function,))
        work = _call
    try:
        with warnings.catch_warnings():
            # Zarr keeps an idle thread; the processes use no lock that it could hold
            warnings.filterwarnings("ignore", ".*multi-threaded.*fork", DeprecationWarning)
            yield executor, work
    finally:
        executor.shutdown(cancel_futures=True)


def _initialise(function: Callable[[Any], Any]) -> None:
    """Initialise a new process: set its function, leave Ctrl-C to the parent, and exit when the parent exits."""
    global _function
    _function = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def exit_with_parent() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=exit_with_parent, daemon=True).start()


def _call(item: Any) -> Any:
    assert _function is not None
    return _function(item)
