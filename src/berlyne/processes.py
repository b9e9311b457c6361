"""Processes that compute studies, and all parts of a reproduction: the one meaning of `jobs`.

Between kernels, Python code runs under the interpreter lock: two threads are about 1.5 times as fast as one, two
processes nearly twice. New processes are spawned, because a process with running threads, such as those of Zarr, must
not be forked. They start when they are first needed and serve all work, so they import and load kernels only once.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor
from functools import cached_property, lru_cache
from multiprocessing import connection
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.synchronize import Event
from types import ModuleType, TracebackType
from typing import Any, Self

from berlyne.serialization import StoreError

MIN_ITEMS = 24
"""Compute up to this many items in this process; starting others would take longer."""
PORTIONS = 24
"""Number of chunks for each process, so that all processes finish at about the same time."""


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Process(SpawnProcess):
    """A new interpreter that does not run the script of its parent.

    Python usually runs that script again under another name, so that its functions can be unpickled. A script that runs
    a study outside of `if __name__ == "__main__":` would then run it again in each process. The new interpreter never
    receives Ctrl-C, not even while it starts.
    """

    @staticmethod
    def _Popen(process_obj: Any) -> Any:  # noqa: N802  # Python's name
        script = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if hasattr(signal, "pthread_sigmask") else ()
        try:
            return SpawnProcess._Popen(process_obj)
        finally:
            sys.modules["__main__"] = script
            if hasattr(signal, "pthread_sigmask"):
                signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Context(SpawnContext):
    Process = _Process


class Workers:
    """Up to `jobs` processes, which end with the `with` block; with one job, this process does all the work.

    If the block ends with an error or Ctrl-C, each process ends after its present item.

    Parameters
    ----------
    jobs : int
        Number of processes.
    """

    def __init__(self, jobs: int) -> None:
        self.jobs, self.context = jobs, _Context()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if "executor" in vars(self):
            if error is not None:
                self.stop.set()
            self.executor.shutdown(cancel_futures=True)
        if isinstance(error, BrokenExecutor):
            raise StoreError(
                f"one of {self.jobs} processes was killed, perhaps because memory was full; run the same command again "
                "with fewer --jobs"
            ) from error

    @cached_property
    def stop(self) -> Event:
        """Set once the processes should end."""
        return self.context.Event()

    @cached_property
    def executor(self) -> Executor:
        """The processes, started on first use."""
        return ProcessPoolExecutor(self.jobs, self.context, _initialise, (self.stop,))

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
        """Yield the results from the processes. If an item fails, the end of the block cancels the remaining ones."""
        pickled, size = pickle.dumps(function), -(-len(items) // (self.jobs * PORTIONS))
        futures: list[Future[list[Any]]] = [
            self.executor.submit(_call, pickled, items[i : i + size]) for i in range(0, len(items), size)
        ]
        for future in futures:
            yield from future.result()


STOP: Event | None = None
"""In a process of `Workers`: set once the process should end."""


def _initialise(stop: Event) -> None:
    """Initialise a new process: leave Ctrl-C to the parent, and exit when the parent exits."""
    global STOP
    STOP = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def exit_with_parent() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=exit_with_parent, daemon=True).start()


@lru_cache(maxsize=1)
def unpickle(pickled: bytes) -> Any:
    """Return the object of the present work; the same one for all items, so that its caches are used."""
    return pickle.loads(pickled)


def _call(pickled: bytes, items: Sequence[Any]) -> list[Any]:
    function, results = unpickle(pickled), []
    for item in items:
        if STOP is not None and STOP.is_set():
            raise CancelledError
        results.append(function(item))
    return results
