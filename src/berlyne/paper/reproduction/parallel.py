"""Processes that compute all stages, explorations and figures of a reproduction.

Between kernels, Python code runs under the interpreter lock: two threads are about 1.5 times as fast as one, two
processes nearly twice. New processes are spawned, because a process with running threads, such as those of Zarr, must
not be forked. They start when they are first needed and serve all parts, so they import and load kernels only once.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from functools import cached_property, lru_cache
from multiprocessing import connection
from types import TracebackType
from typing import Any, Self

from berlyne.serialization import StoreError

MIN_ITEMS = 24
"""Compute up to this many items in this process; starting others would take longer."""
PORTIONS = 24
"""Number of chunks for each process, so that all processes finish at about the same time."""


class Workers:
    """Up to `jobs` processes, which end with the `with` block; with one job, this process does all the work.

    Parameters
    ----------
    jobs : int
        Number of processes.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if "executor" in vars(self):
            self.executor.shutdown(cancel_futures=True)
        if isinstance(error, BrokenExecutor):
            raise StoreError(
                f"one of {self.jobs} processes was killed, perhaps because memory was full; run the same command again "
                "with fewer --jobs"
            ) from error

    @cached_property
    def executor(self) -> Executor:
        """The processes, started on first use."""
        return ProcessPoolExecutor(self.jobs, multiprocessing.get_context("spawn"), _initialise)

    def are_useful(self, n_items: int) -> bool:
        """Return whether other processes would be faster for this many items."""
        return self.jobs > 1 and n_items > MIN_ITEMS

    def map(self, label: str, items: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
        """Apply a function to each item, in order, and show progress in a terminal.

        Parameters
        ----------
        label : str
            Name of the work, for the progress bar.
        items : sequence
            Items. They are sent to the processes in portions.
        function : callable
            Function of one item, which can be pickled.

        Returns
        -------
        list
            Results in the order of the items.
        """
        from rich.console import Console
        from rich.progress import track

        console = Console(stderr=True)
        results = self._map(items, function) if self.are_useful(len(items)) else map(function, items)
        return list(track(results, label, len(items), console=console, disable=not console.is_terminal))

    def _map(self, items: Sequence[Any], function: Callable[[Any], Any]) -> Iterator[Any]:
        """Yield the results from the processes. If an item fails, the remaining ones are cancelled."""
        pickled, size = pickle.dumps(function), -(-len(items) // (self.jobs * PORTIONS))
        futures: list[Future[list[Any]]] = [
            self.executor.submit(_call, pickled, items[i : i + size]) for i in range(0, len(items), size)
        ]
        try:
            for future in futures:
                yield from future.result()
        finally:
            for future in futures:
                future.cancel()


def _initialise() -> None:
    """Initialise a new process: leave Ctrl-C to the parent, and exit when the parent exits."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def exit_with_parent() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=exit_with_parent, daemon=True).start()


@lru_cache(maxsize=1)
def _unpickle(pickled: bytes) -> Callable[[Any], Any]:
    """Return the function of the present stage; one object for all portions, so that its caches are used."""
    function: Callable[[Any], Any] = pickle.loads(pickled)
    return function


def _call(pickled: bytes, items: Sequence[Any]) -> list[Any]:
    function = _unpickle(pickled)
    return [function(item) for item in items]
